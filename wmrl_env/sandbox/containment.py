"""Namespaces around a single solution, raised from inside by the process that is about to run it.

Loaded by the worker from its file, so standard library only; Linux only. A process of any user may give itself a user
namespace, and in it file systems, processes and a network of its own; see ``user_namespaces(7)``.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

__all__ = ["drop_privileges", "drop_root", "hide_behind", "show", "unshare"]

NOBODY = 65534
_NAMESPACES = 0x20000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000  # mount, uts, ipc, user, pid, net
_NOSUID, _NODEV, _BIND, _REC, _PRIVATE = 0x2, 0x4, 0x1000, 0x4000, 0x40000
_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 4, 24, 38
_CAPABILITY_VERSION = 0x20080522
_LAST_CAPABILITY = 63

_SIZES_MB = {"/tmp": 128, "/dev/shm": 128}
_WORK_MB, _WORK_FILES = 256, 65_536


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(name: str, *args: object) -> None:
    """Call the C library.

    Raises:
        OSError: it says that it failed.
    """
    if getattr(_libc(), name)(*args) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def drop_root() -> None:
    """Become nobody for good. Limits on the number of processes do not bind root."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def show(visible: bool) -> None:
    """Whether other processes of the same user may look into this one, and itself into its own ``/proc`` entries."""
    with contextlib.suppress(OSError, AttributeError):  # only Linux knows
        _call("prctl", _PR_SET_DUMPABLE, int(visible), 0, 0, 0)


def unshare() -> bool:
    """Leave all namespaces for new ones, as nobody in them; whether this machine lets us. Children are process 1."""
    uid, gid = os.getuid(), os.getgid()
    try:
        _call("unshare", _NAMESPACES)
    except (OSError, AttributeError):
        return False
    show(True)
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{NOBODY} {uid} 1")
    _write("/proc/self/gid_map", f"{NOBODY} {gid} 1")
    _call("mount", None, b"/", None, _REC | _PRIVATE, None)
    _write("/proc/sys/user/max_user_namespaces", "0")  # no further ones below these
    show(False)
    return True


def _tmpfs(path: str, options: str) -> None:
    _call("mount", b"tmpfs", os.fsencode(path), b"tmpfs", _NOSUID | _NODEV, options.encode())


def _mounted_below(path: str) -> list[str]:
    """Folders below ``path`` that something is mounted on, those in others of them left out."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        points = {line.split()[4].replace("\\040", " ") for line in file}
    found: list[str] = []
    for point in sorted(points):
        if point.startswith(f"{path}/") and not any(point.startswith(f"{above}/") for above in found):
            found.append(point)
    return found


def _cover(path: str, options: str) -> None:
    """Put an empty file system over a folder, but for what is mounted in it: an interpreter may lie in ``/tmp``."""
    kept = [(point, os.open(point, os.O_PATH)) for point in _mounted_below(path)]
    _tmpfs(path, options)
    for point, handle in kept:
        os.makedirs(point, exist_ok=True)
        _call("mount", b"/proc/self/fd/%d" % handle, os.fsencode(point), None, _BIND | _REC, None)
        os.close(handle)


def hide_behind(work_dir: str) -> None:
    """Put empty file systems of limited size over all that can be written to, and over other processes' entries."""
    me = os.readlink("/proc/self")
    for name in os.listdir("/proc"):
        if name.isdigit() and name != me:
            with contextlib.suppress(OSError):  # it has just ended
                _tmpfs(f"/proc/{name}", "size=4k,nr_inodes=2,mode=000")
    for path, size in _SIZES_MB.items():
        if os.path.isdir(path):
            _cover(path, f"size={size}m,nr_inodes={_WORK_FILES},mode=1777")
    _tmpfs(os.path.dirname(work_dir), f"size={_WORK_MB}m,nr_inodes={_WORK_FILES},mode=755")
    os.mkdir(work_dir)
    os.chdir(work_dir)


def drop_privileges() -> None:
    """Give up all that a namespace's owner may do in it, for good."""
    for capability in range(_LAST_CAPABILITY + 1):
        _libc().prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)  # those that the kernel does not know are an error
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _call("capset", header, (ctypes.c_uint32 * 6)())
    _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
