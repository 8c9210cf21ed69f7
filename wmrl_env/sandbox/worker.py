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
import json
import linecache
import math
import os
import resource
import select
import signal
import sys
import time
import traceback
import types

_PRELOADABLE = {"numpy", "pandas", "scipy", "sklearn"}
_SOLUTION = "solution.py"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_MAX_FILE_BYTES = 64 * 2**20


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


def _child(job: dict) -> None:
    """Run the solution; never returns."""
    os.setsid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, signal.SIG_DFL)
    os.chdir(job["work_dir"])
    null, log = os.open(os.devnull, os.O_RDONLY), os.open(job["log_path"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.closerange(3, 256)
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
    status = 0
    try:
        _hide(job["hidden"])
        _limit(job)
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


def _kill_descendants() -> None:
    """End whatever the solution left running: as subreaper, this process inherits its orphans."""
    while True:
        with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            for pid in file.read().split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _run(job: dict) -> dict:
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _child(job)
    handle = os.pidfd_open(pid)
    try:
        # Stdin becomes readable only when the caller is gone, since it waits for this job's report.
        ready, _, _ = select.select([handle, 0], [], [], job["wall_s"])
    finally:
        os.close(handle)
    if handle not in ready:
        os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    _kill_descendants()
    return {
        "exit_code": os.waitstatus_to_exitcode(status),
        "wall_exceeded": not ready,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "wall_s": time.monotonic() - started,
    }


def main() -> None:
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
