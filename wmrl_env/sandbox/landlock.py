"""Landlock: what a process may do with files, ports and other processes, where there are no namespaces.

Loaded by the worker from its file, so standard library only. Linux 5.13 and later; see ``landlock(7)``. UDP, and
changing the mode and times of one's own files, stay possible.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable

__all__ = ["abi", "confine"]

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on all architectures
_VERSION_ONLY, _PATH_BENEATH = 1, 1
_PR_SET_NO_NEW_PRIVS = 38
_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE, _IOCTL = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _IOCTL
_TCP = 0b11  # bind and connect
_SCOPES = 0b11  # abstract sockets and signals
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}  # how many a version knows; 16 from 5 on


def _syscall(number: int, *args: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    result = libc.syscall(number, *args)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"system call {number}: {os.strerror(error)}")
    return result


def abi() -> int:
    """Version of Landlock that this kernel has, 0 for none."""
    try:
        return _syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION_ONLY))
    except (OSError, AttributeError):
        return 0


def confine(readable: Iterable[str], writable: Iterable[str], hidden: Iterable[str] = ()) -> int:
    """Give up, for good, all access to files but to these; from version 4 on TCP, from 6 on signals to others.

    Args:
        readable: files and folders to read, list and execute.
        writable: folders to do anything in.
        hidden: folders in readable ones whose files stay unreadable.

    Returns:
        The version of Landlock, 0 where there is none and nothing was done.
    """
    version = abi()
    if not version:
        return 0
    every = (1 << _RIGHTS.get(version, 16)) - 1
    attributes = struct.pack("QQQ", every, _TCP if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = _syscall(_CREATE, attributes[:size], ctypes.c_size_t(size), ctypes.c_uint32(0))
    out_of_sight = frozenset(hidden)
    for path in writable:
        _allow(ruleset, path, every)
    for path in readable:
        _allow_tree(ruleset, path, out_of_sight)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _syscall(_RESTRICT, ruleset, ctypes.c_uint32(0))
    os.close(ruleset)
    return version


def _allow_tree(ruleset: int, path: str, hidden: frozenset[str]) -> None:
    if path in hidden:
        return
    inside = frozenset(folder for folder in hidden if folder.startswith(f"{path}/"))
    if not inside:
        _allow(ruleset, path, _EXECUTE | _READ | _LIST)
        return
    _allow(ruleset, path, _LIST)  # rules reach down: files are allowed one by one
    for name in os.listdir(path):
        _allow_tree(ruleset, f"{path}/{name}", inside)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # not there, or not ours to read in any case
        return
    try:
        kept = rights if stat.S_ISDIR(os.fstat(handle).st_mode) else rights & _OF_FILES
        rule = struct.pack("=Qi", kept, handle)
        _syscall(_ADD, ruleset, ctypes.c_int(_PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(handle)
