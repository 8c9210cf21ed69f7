"""The real thing: runs solutions on real data and grades what they wrote."""

from __future__ import annotations

import contextlib
import os
import stat
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from wmrl_env import tasks
from wmrl_env.sandbox import isolation as walls
from wmrl_env.sandbox.cache import Result, ResultCache, result_key
from wmrl_env.sandbox.pool import Worker, WorkerLost, remove_orphans
from wmrl_env.tasks.grading import InvalidSubmission, NoSubmission, grade
from wmrl_env.tasks.sources import cache_root
from wmrl_env.tasks.task import ResearchTask
from world_models.gates import exact_outcome
from world_models.outcomes import Outcome, Status, Submission, ladder_score, render_feedback, ungraded

__all__ = ["DEFAULT_CACHE", "Sandbox"]

DEFAULT_CACHE = "default"
_ATTEMPTS = 3
_LOG_TAIL_BYTES = 4000
_DETAIL_LINES = 12
_XCPU, _KILLED = -24, -9


class SolutionKilled(WorkerLost):
    """The solution was ended by SIGKILL, which it, the machine's memory or somebody else may have sent."""


class Sandbox:
    """Backend that executes submissions for real, ``workers`` at a time.

    Args:
        workers: solutions that run at once, each on one thread.
        isolation: ``"bubblewrap"``, ``"process"`` (resource limits, and Landlock where the kernel has it), or
            ``"auto"``: bubblewrap where it works, else plain processes with a warning. See ``docs/sandbox.md``.
        cache: SQLite file of earlier results, served again for the same solution, task and limits; default in
            :func:`wmrl_env.tasks.sources.cache_root`; ``None`` runs every submission anew.
        warm_start: keep worker processes with the usual libraries imported and fork one child a solution, which saves
            the seconds that imports take. Each solution has namespaces of its own either way.
        wall_factor: wall seconds allowed for each CPU second, so that a busy machine times nobody out.

    Raises:
        ValueError: ``workers`` below 1 or an unknown ``isolation``.
        RuntimeError: ``isolation="bubblewrap"`` where it does not work.
    """

    def __init__(
        self,
        workers: int = 2,
        isolation: str = "auto",
        cache: str | Path | None = DEFAULT_CACHE,
        *,
        warm_start: bool = False,
        wall_factor: float = 6.0,
    ) -> None:
        if workers < 1:
            raise ValueError(f"workers must be at least 1, got {workers}")
        if not wall_factor >= 1:
            raise ValueError(f"wall_factor must be at least 1, got {wall_factor}")
        self.workers = workers
        self.isolation = walls.resolve(isolation)
        self.warm_start = warm_start
        self.wall_factor = wall_factor
        self.executions = 0  # solutions really run, cache hits not counted
        self.cpu_seconds = 0.0  # what they took
        self._cache_path = cache_root() / "results.sqlite" if cache == DEFAULT_CACHE else cache
        self._tasks: dict[str, ResearchTask] = {}  # seen so far
        self._open()

    def _open(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._cache = None if self._cache_path is None else ResultCache(self._cache_path)
        self._idle: list[Worker] = []
        self._alive: set[Worker] = set()
        self._executor: ThreadPoolExecutor | None = None
        self._closings = 0  # work begun before the last one is given up

    def __getstate__(self) -> dict[str, object]:
        kept = ("workers", "isolation", "warm_start", "wall_factor", "_cache_path")
        return {name: self.__dict__[name] for name in kept}

    def __setstate__(self, state: dict[str, object]) -> None:
        """In another process: the same settings, workers of its own."""
        self.__dict__.update(state, executions=0, cpu_seconds=0.0, _tasks={})
        self._open()

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """One outcome a submission, in the same order.

        Never raises for what a solution does; a fault of the machine gives UNGRADED after three attempts.

        Raises:
            KeyError: a submission names an unknown task.
            FileNotFoundError: a task's data are missing.
        """
        outcomes: list[Outcome | None] = list(self.lookup(submissions))
        waiting: dict[int, Future[Outcome]] = {}
        first: dict[str, int] = {}
        for i, (submission, outcome) in enumerate(zip(submissions, outcomes, strict=True)):
            if outcome is not None:
                continue
            task = tasks.ensure_data(tasks.get(submission.task_id))
            self._tasks[task.id] = task
            key = result_key(task.cache_key, submission.code)
            if self._cache is not None and key in first:
                continue
            first[key] = i
            waiting[i] = self._submit(task, submission.code, key)
        try:
            for i, future in waiting.items():
                outcomes[i] = future.result()
        except BaseException:
            self._stop(list(waiting.values()))
            raise
        for i, submission in enumerate(submissions):
            if outcomes[i] is None:  # a twin within this call
                twin = outcomes[first[result_key(tasks.get(submission.task_id).cache_key, submission.code)]]
                outcomes[i] = _as_cached(twin)
        return outcomes  # type: ignore[return-value]

    def lookup(self, submissions: Sequence[Submission]) -> list[Outcome | None]:
        """Outcomes known without running anything: exact checks and the cache; ``None`` for the rest."""
        if os.getpid() != self._pid:  # forked: the parent's threads, workers and database handle are not ours
            self._open()
        outcomes: list[Outcome | None] = [exact_outcome(submission, "sandbox") for submission in submissions]
        if self._cache is None:
            return outcomes
        unknown = [i for i, outcome in enumerate(outcomes) if outcome is None]
        keys = {i: result_key(tasks.get(submissions[i].task_id).cache_key, submissions[i].code) for i in unknown}
        results = self._cache.get(list(set(keys.values())))
        for i, key in keys.items():
            if key in results:
                outcomes[i] = _as_cached(_outcome(tasks.get(submissions[i].task_id), results[key]))
        return outcomes

    def _submit(self, task: ResearchTask, code: str, key: str) -> Future[Outcome]:
        if self._executor is None:
            remove_orphans()
            self._executor = ThreadPoolExecutor(self.workers, thread_name_prefix="wmrl-sandbox")
        return self._executor.submit(self._run, task, code, key, self._closings)

    def _run(self, task: ResearchTask, code: str, key: str, begun: int) -> Outcome:
        reason, kills = "", 0
        for _ in range(_ATTEMPTS):
            try:
                result = self._execute_once(task, code, begun)
            except SolutionKilled as error:
                kills += 1
                if kills < _ATTEMPTS:
                    reason = str(error)
                    continue
                # Nobody else does this every time.
                result = Result(Status.RUNTIME_ERROR, None, 0.0, "ProcessError: the solution was ended by signal 9")
            except (WorkerLost, OSError) as error:
                reason = str(error)
                if begun != self._closings:
                    return ungraded("the sandbox was closed", "sandbox")
                continue
            with self._lock:
                self.executions += 1
                self.cpu_seconds += result.seconds
            if self._cache is not None:
                self._cache.put(key, result)
            return _outcome(task, result)
        return ungraded(f"the sandbox failed {_ATTEMPTS} times: {reason}", "sandbox")

    def _execute_once(self, task: ResearchTask, code: str, begun: int) -> Result:
        """Run one solution.

        Raises:
            WorkerLost, OSError: the outcome is unknown.
        """
        worker = self._take(begun)
        try:
            report, folder = worker.run(
                task.id,
                code,
                cpu_s=task.time_limit_s,
                wall_s=self.wall_factor * task.time_limit_s,
                memory_mb=task.memory_limit_mb,
            )
            result = _judge(task, report, folder, worker.scrub)
        except (WorkerLost, OSError):
            self._discard(worker)
            raise
        self._give_back(worker, begun)
        return result

    def run(self, task: ResearchTask, code: str) -> Result:
        """Run one solution of a task whose files are here; no cache, no retry.

        Raises:
            WorkerLost, OSError: the outcome is unknown.
        """
        self._tasks[task.id] = task
        return self._execute_once(task, code, self._closings)

    def _take(self, begun: int) -> Worker:
        """A worker that can read all tasks seen so far.

        Raises:
            WorkerLost: it cannot be started, or the sandbox was closed meanwhile.
        """
        with self._lock:
            worker = self._idle.pop() if self._idle else None
            seen = list(self._tasks.values())
        data_dirs = {task.id: task.public_dir for task in seen}
        if worker is not None and not data_dirs.keys() <= worker.data_dirs.keys():
            self._discard(worker)
            worker = None
        if worker is None:
            worker = Worker(self.isolation, data_dirs, [cache_root(), *(t.private_dir for t in seen)], self.warm_start)
            with self._lock:
                self._alive.add(worker)
        if begun != self._closings:
            self._discard(worker)
            raise WorkerLost("the sandbox was closed")
        return worker

    def _give_back(self, worker: Worker, begun: int) -> None:
        with self._lock:
            keep = self.warm_start and begun == self._closings
            if keep:
                self._idle.append(worker)
        if not keep:
            self._discard(worker)

    def _discard(self, worker: Worker) -> None:
        worker.close()
        with self._lock:
            self._alive.discard(worker)

    def _stop(self, futures: list[Future[Outcome]]) -> None:
        """Give up running work at once: nothing waiting starts, what runs is killed."""
        for future in futures:
            future.cancel()
        self.close()

    def close(self) -> None:
        """End all workers. The sandbox starts new ones when it is used again."""
        if os.getpid() != self._pid:
            return
        executor, self._executor = self._executor, None
        with self._lock:
            self._closings += 1
            workers, self._alive, self._idle = list(self._alive), set(), []
        for worker in workers:
            worker.close()
        if executor is not None:
            executor.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


def _as_cached(outcome: Outcome | None) -> Outcome:
    if outcome is None:
        raise RuntimeError("a submission was neither run nor found")
    if outcome.status is Status.UNGRADED:
        return outcome
    return Outcome(outcome.status, outcome.score, outcome.feedback, outcome.metric_value, outcome.seconds, "cache")


def _outcome(task: ResearchTask, result: Result) -> Outcome:
    percentile = None if result.metric_value is None else task.percentile(result.metric_value)
    score = ladder_score(result.status, percentile)
    metric = None if result.metric_value is None else (task.metric, result.metric_value)
    feedback = render_feedback(result.status, metric=metric, score=score, seconds=result.seconds, detail=result.detail)
    return Outcome(result.status, score, feedback, result.metric_value, result.seconds, "sandbox")


def _log_tail(path: Path, scrub: Callable[[str], str]) -> str:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    info = os.fstat(handle)
    if not stat.S_ISREG(info.st_mode):  # the solution may have put anything in the log's place
        os.close(handle)
        return ""
    with os.fdopen(handle, "rb") as file:
        size = info.st_size
        file.seek(max(0, size - _LOG_TAIL_BYTES))
        text = file.read(_LOG_TAIL_BYTES).decode("utf-8", "replace")
    lines = [line for line in scrub(text).splitlines() if line.strip()]
    return "\n".join(lines[-_DETAIL_LINES:])


def _judge(task: ResearchTask, report: dict, folder: Path, scrub: Callable[[str], str]) -> Result:
    """What a finished run amounts to; its detail starts with the solution's last lines of output.

    Raises:
        WorkerLost: it never began.
        SolutionKilled: something killed it, from outside or itself.
    """
    seconds, code = report["cpu_s"], report["exit_code"]
    if code is None:
        raise WorkerLost("the solution could not be started")
    log = _log_tail(folder / "log", scrub)

    def ending(line: str) -> str:
        return f"{log}\n{line}".lstrip("\n")

    if report["exceeded"] == "memory":
        said = f"MemoryError: the solution's processes took more than {task.memory_limit_mb} MB"
        return Result(Status.OUT_OF_MEMORY, None, seconds, ending(said))
    if report["exceeded"] or code == _XCPU or seconds >= task.time_limit_s:
        what = "wall-clock limit" if report["exceeded"] == "wall" else f"limit of {task.time_limit_s:g} CPU seconds"
        return Result(Status.TIMEOUT, None, seconds, ending(f"TimeoutError: the solution exceeded the {what}"))
    if code == _KILLED:
        raise SolutionKilled("the solution was killed")
    if code != 0:
        last = log.splitlines()[-1] if log else ""
        if "MemoryError" in last.split(":")[0]:
            return Result(Status.OUT_OF_MEMORY, None, seconds, log)
        if code < 0:
            log = ending(f"ProcessError: the solution was ended by signal {-code}")
        return Result(Status.RUNTIME_ERROR, None, seconds, log or f"ProcessError: exit code {code}")
    try:
        return Result(Status.VALID, grade(folder / "submission.csv", task), seconds, log)
    except NoSubmission as reason:
        return Result(Status.NO_SUBMISSION, None, seconds, ending(f"NoSubmission: {reason}"))
    except InvalidSubmission as reason:
        return Result(Status.INVALID_SUBMISSION, None, seconds, ending(f"InvalidSubmission: {reason}"))
