"""The process that runs solutions: imports libraries once, then forks one child a solution.

Started by :mod:`wmrl_env.sandbox.pool`, inside the isolation. Standard library only, since it must start wherever the
solution's interpreter does. It reads one JSON job a line from stdin and writes one JSON report a line to stdout; it
ends when stdin does. Limits count from the fork, so that imports are free of charge and a cold start (one job, then
gone) and a warm one give the same outcome.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import errno
import importlib
import importlib.util
import json
import linecache
import math
import os
import resource
import select
import signal
import stat
import sys
import time
import traceback
import types
from pathlib import Path

_PRELOADABLE = {"numpy", "pandas", "scipy", "sklearn"}
_SOLUTION = "solution.py"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_MAX_FILE_BYTES = 64 * 2**20
_TICK_S = 0.1  # between two looks at what a solution uses


def _neighbour(name: str) -> types.ModuleType:
    """A module of this folder, which must not be on the path: a solution could import the others from it."""
    spec = importlib.util.spec_from_file_location(f"_wmrl_{name}", Path(__file__).with_name(f"{name}.py"))
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


walls, landlock = _neighbour("containment"), _neighbour("landlock")


def _prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):  # Linux only; elsewhere the process group must do
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _preload(code: str) -> None:
    """Import the well-known libraries that a solution names, before its limits start to count."""
    try:
        nodes = ast.walk(ast.parse(code))
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in nodes:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        for name in names:
            if name.split(".")[0] in _PRELOADABLE:
                with contextlib.suppress(Exception):
                    importlib.import_module(name)


def _address_space() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _limit(job: dict) -> None:
    cpu = math.ceil(job["cpu_s"])
    resource.setrlimit(resource.RLIMIT_CPU, (cpu, cpu + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MAX_FILE_BYTES, _MAX_FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError, ValueError):  # no /proc and no enforced RLIMIT_AS on macOS
        space = _address_space() + job["memory_mb"] * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (space, space))
    if job["processes"]:
        resource.setrlimit(resource.RLIMIT_NPROC, (job["processes"], job["processes"]))


def _hide(folders: list[str]) -> None:
    """Refuse to open files below ``folders``, where no mount can hide them. C code and other programs get past this."""
    prefixes = tuple(f"{os.path.realpath(folder)}{os.sep}" for folder in folders)

    def refuse(event: str, args: tuple) -> None:
        if event == "open" and isinstance(args[0], (str, bytes)):
            path = os.path.realpath(os.fsdecode(args[0]))
            if path.startswith(prefixes) and not path.endswith((".py", ".pyc")):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    if prefixes:
        sys.addaudithook(refuse)


def _report_exception(error: BaseException) -> None:
    """Print the traceback with the solution's own frames only: others name paths that mean nothing to its author."""
    summary = traceback.TracebackException.from_exception(error)
    summary.stack = traceback.StackSummary.from_list([f for f in summary.stack if f.filename == _SOLUTION])
    summary.__cause__ = summary.__context__ = None
    print("".join(summary.format()), file=sys.stderr, flush=True)


def _solve(job: dict, ready: int) -> None:
    """Run the solution; never returns. What fails before ``ready`` was told is not the solution's fault."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    walls.show(True)
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, signal.SIG_DFL)
    os.chdir(job["work_dir"])
    sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8", errors="replace")
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", errors="replace")
    os.environ["DATA_DIR"], os.environ["SUBMISSION_PATH"] = job["data_dir"], job["submission_path"]
    if "numpy" in sys.modules:  # forked children would otherwise all draw the same unseeded numbers
        sys.modules["numpy"].random.seed()
    main = types.ModuleType("__main__")
    main.__file__ = _SOLUTION
    sys.modules["__main__"] = main
    sys.argv = [_SOLUTION]
    linecache.cache[_SOLUTION] = (len(job["code"]), None, job["code"].splitlines(keepends=True), _SOLUTION)
    if job["confine"] is not None and landlock.confine(**job["confine"]):
        os.environ["TMPDIR"] = job["work_dir"]
    _hide(job["hidden"])
    _limit(job)
    os.write(ready, b"1")
    os.close(ready)
    status = 0
    try:
        exec(compile(job["code"], _SOLUTION, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as error:
        if error.code not in (None, 0):
            _report_exception(error)
            status = 1
    except BaseException as error:
        _report_exception(error)
        status = 1
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    os._exit(status)


def _supervise(job: dict, report: int, contained: bool) -> None:
    """Run the solution as a child, tell how it ended and hand out what it wrote; never returns.

    Where it is ``contained``, this is process 1 of its namespace: what the solution leaves running ends with it.
    """
    out = os.open(job["work_dir"], os.O_RDONLY | os.O_DIRECTORY)
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600, dir_fd=out)
    if contained:
        walls.hide_behind(job["work_dir"])
    begun, ready = os.pipe()
    pid = os.fork()
    if pid == 0:
        null = os.open(os.devnull, os.O_RDONLY)
        for handle, number in ((null, 0), (log, 1), (log, 2), (ready, 3)):
            os.dup2(handle, number)
        os.closerange(4, 1024)
        if contained:
            walls.drop_privileges()
        _solve(job, 3)
    os.close(ready)
    status = None
    while status is None:  # orphans come to process 1
        orphan, code = os.waitpid(-1, 0)
        status = code if orphan == pid else None
    if contained:
        _hand_out(Path(job["submission_path"]), out)
    ended = os.waitstatus_to_exitcode(status) if os.read(begun, 1) else None
    os.write(report, json.dumps({"exit_code": ended}).encode())
    os._exit(0)


def _hand_out(path: Path, out: int) -> None:
    """Copy what the solution wrote out of its own file system. What is no plain file becomes a folder: it is judged."""
    try:
        source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return
    except OSError:
        os.mkdir(path.name, dir_fd=out)
        return
    info = os.fstat(source)
    if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1 or info.st_size > _MAX_FILE_BYTES:
        os.mkdir(path.name, dir_fd=out)
        return
    copy = os.open(path.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=out)
    while os.sendfile(copy, source, None, 2**20):
        pass


def _separate(job: dict, report: int) -> None:
    """Put walls of its own around one solution where they can be raised; never returns."""
    os.setsid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if not (job["contain"] and walls.unshare()):
        _supervise(job, report, contained=False)
    pid = os.fork()
    if pid == 0:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _supervise(job, report, contained=True)
    os.close(report)
    _, status = os.waitpid(pid, 0)
    os._exit(1 if os.WIFEXITED(status) and os.WEXITSTATUS(status) else 0)


def _descendants() -> list[int]:
    """Processes below this one. As subreaper it inherits orphans."""
    found, waiting = [], [os.getpid()]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = [int(child) for child in file.read().split()]
            found += children
            waiting += children
    return found


def _kill_descendants() -> None:
    """End whatever the solution left running."""
    while True:
        for pid in _descendants():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _private_memory(pid: int | str) -> int:
    """Bytes that a process holds in memory for itself, shared files left out."""
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            _, resident, shared, *_ = map(int, file.read().split())
    except (OSError, ValueError):
        return 0
    return (resident - shared) * resource.getpagesize()


def _cpu_seconds(pid: int) -> float:
    """CPU seconds of a process and of its children that have ended."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _excess(job: dict, inherited: int, spent: float) -> str | None:
    """Which limit all processes of the solution together are beyond, ``None`` for none."""
    if sum(max(0, _private_memory(pid) - inherited) for pid in _descendants()) > job["memory_mb"] * 2**20:
        return "memory"
    # Each process has a limit of its own; many of them at once must not get many times as much.
    return "cpu" if spent > job["cpu_s"] + 1.0 else None


def _run(job: dict) -> dict:
    started = time.monotonic()
    inherited = _private_memory("self")
    reports, report = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reports)
            _separate(job, report)
        finally:  # nothing that fails there may come back and take jobs
            os._exit(1)
    os.close(report)
    handle = os.pidfd_open(pid)
    exceeded, spent = None, 0.0
    try:
        while exceeded is None:
            left = started + job["wall_s"] - time.monotonic()
            # Stdin becomes readable only when the caller is gone, since it waits for this job's report.
            ready, _, _ = select.select([handle, 0], [], [], max(0.0, min(_TICK_S, left)))
            if ready:
                break
            spent = sum(map(_cpu_seconds, _descendants()))
            exceeded = "wall" if left <= 0 else _excess(job, inherited, spent)
    finally:
        os.close(handle)
    if handle not in ready:
        os.kill(pid, signal.SIGKILL)  # its child is told to end with it, and its child's namespace with that one
    _, status, usage = os.wait4(pid, 0)
    _kill_descendants()
    with os.fdopen(reports, "rb") as file:
        told = file.read()
    if told:
        code = json.loads(told)["exit_code"]
    else:  # the walls could not be raised, or somebody killed what watches over the solution
        code = None if os.WIFEXITED(status) and os.WEXITSTATUS(status) else -signal.SIGKILL
    return {
        "exit_code": code,
        "exceeded": exceeded,
        "cpu_s": max(spent, usage.ru_utime + usage.ru_stime),
        "wall_s": time.monotonic() - started,
    }


def main() -> None:
    if os.getuid() == 0 and "--drop-root" in sys.argv:
        walls.drop_root()
    walls.show(False)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller decides what Ctrl-C means
    reports = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # a library that prints while being imported must not break the protocol
    with os.fdopen(0, "r", closefd=False) as jobs:
        while line := jobs.readline():
            job = json.loads(line)
            if "preload" in job:
                for name in job["preload"]:
                    with contextlib.suppress(Exception):
                        importlib.import_module(name)
                report = {"ready": True}
            else:
                _preload(job["code"])
                report = _run(job)
            reports.write(json.dumps(report) + "\n")


if __name__ == "__main__":
    main()
