"""One worker process seen from the outside: start it, hand it jobs, notice when it is lost."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from wmrl_env.sandbox import isolation as walls
from wmrl_env.sandbox.containment import NOBODY

__all__ = ["Worker", "WorkerLost", "remove_orphans"]

_SCRIPT = Path(__file__).with_name("worker.py")
_PREFIX = "wmrl-"
_START_S = 120.0
_GRACE_S = 15.0
_FAREWELL_S = 3.0
_WARM_MODULES = (
    "numpy", "pandas", "scipy.stats", "sklearn.compose", "sklearn.decomposition", "sklearn.ensemble",
    "sklearn.feature_selection", "sklearn.impute", "sklearn.linear_model", "sklearn.metrics",
    "sklearn.model_selection", "sklearn.naive_bayes", "sklearn.neighbors", "sklearn.neural_network",
    "sklearn.pipeline", "sklearn.preprocessing", "sklearn.svm", "sklearn.tree",
)  # fmt: skip


class WorkerLost(Exception):
    """The worker process ended or fell silent: an infrastructure fault, not the solution's."""


def _lock_file(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.lock")  # beside it: within the solution's reach it would prove nothing


def _claim(folder: Path) -> IO[bytes]:
    """Hold a lock for as long as this process lives."""
    file = _lock_file(folder).open("wb")
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return file


def remove_orphans() -> None:
    """Remove folders of workers whose owner was killed before it could."""
    for lock in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*.lock"):
        with contextlib.suppress(OSError), lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
            lock.unlink()


def _modes(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mode for path in (folder, *folder.iterdir())}


class Worker:
    """A worker process under an isolation, with its own folder; not safe for several threads at once.

    Args:
        isolation: the walls around it.
        data_dirs: public halves by task id, all that its solutions can read.
        secrets: folders that they must not see, should they lie in what the walls show.
        warm: import the usual libraries at once, to serve many solutions.
    """

    def __init__(
        self, isolation: walls.Isolation, data_dirs: Mapping[str, Path], secrets: Iterable[Path], warm: bool
    ) -> None:
        self.data_dirs = dict(data_dirs)
        self._isolated = isolation == "bubblewrap"
        self.root = Path(tempfile.mkdtemp(prefix=_PREFIX))
        self._claim = _claim(self.root)
        self._hand_over(self.root)
        prefix = walls.command(isolation, self.root, self.data_dirs, secrets)
        try:
            self._process = subprocess.Popen(
                [*prefix, sys.executable, "-s", "-P", str(_SCRIPT), *(["--drop-root"] if self._isolated else [])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=walls.environment(),
                start_new_session=True,
            )
        except OSError as error:
            self._remove()
            raise WorkerLost(f"the worker could not be started: {error}") from error
        if warm:
            try:
                self._ask({"preload": _WARM_MODULES}, _START_S)
            except BaseException:
                self.close()
                raise

    def run(
        self, task_id: str, code: str, *, cpu_s: float, wall_s: float, memory_mb: int
    ) -> tuple[dict[str, Any], Path]:
        """Run one solution; its report and the folder with ``submission.csv`` and ``log``, valid until the next run.

        Raises:
            WorkerLost: the worker did not answer.
        """
        work = self.root / "run"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        self._hand_over(work)
        inside = Path(walls.WORK, "run") if self._isolated else work
        job = {
            "code": code,
            "work_dir": str(inside),
            "submission_path": str(inside / "submission.csv"),
            "data_dir": f"{walls.DATA}/{task_id}" if self._isolated else str(self.data_dirs[task_id]),
            "cpu_s": cpu_s,
            "wall_s": wall_s,
            "memory_mb": memory_mb,
            "contain": self._isolated,
            "confine": None if self._isolated else walls.reach(str(work), str(self.data_dirs[task_id])),
            "hidden": [] if self._isolated else walls.hidden_folders(),
            "processes": 64 if self._isolated else 0,  # outside a namespace the limit would count the user's own
        }
        modes = {} if self._isolated else _modes(self.data_dirs[task_id])
        try:
            return self._ask(job, _START_S + wall_s + _GRACE_S), work
        finally:
            for path, mode in modes.items():
                if path.stat().st_mode != mode:
                    path.chmod(mode)

    def _hand_over(self, folder: Path) -> None:
        """Let the worker write there, which under root runs as nobody."""
        if self._isolated and os.getuid() == 0:
            os.chown(folder, NOBODY, NOBODY)

    def _remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        self._claim.close()
        _lock_file(self.root).unlink(missing_ok=True)

    def scrub(self, text: str) -> str:
        """``text`` without paths and names of this machine, so that feedback is the same on every one."""
        for place, name in walls.places(self.root, self.data_dirs):
            text = text.replace(place, name)
        return text

    def _ask(self, message: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise WorkerLost("the worker has no pipes")
        try:
            stdin.write(json.dumps(message).encode() + b"\n")
            stdin.flush()
            if not select.select([stdout], [], [], timeout_s)[0]:
                raise WorkerLost(f"no answer within {timeout_s:.0f} s")
            line = stdout.readline()
        except (OSError, ValueError) as error:
            raise WorkerLost(str(error)) from error
        if not line.endswith(b"\n"):
            raise WorkerLost("the worker process ended")
        return json.loads(line)

    def close(self) -> None:
        """End the worker and all that runs below it, and remove its folder. Safe to call from any thread, twice."""
        if not self._isolated:  # no namespace ends with the worker: it is given the time to end what it started
            with contextlib.suppress(OSError, ValueError, AttributeError):
                self._process.stdin.close()  # type: ignore[union-attr]
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_FAREWELL_S)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._remove()
