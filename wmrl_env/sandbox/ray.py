"""The sandbox over a Ray cluster: the same contract, solutions run on whichever node has a processor free."""

from __future__ import annotations

import os
from concurrent.futures import Future
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from wmrl_env import tasks
from wmrl_env.sandbox.cache import Result
from wmrl_env.sandbox.sandbox import DEFAULT_CACHE, Sandbox
from wmrl_env.tasks.sources import SOURCES, cache_root
from wmrl_env.tasks.task import ResearchTask

__all__ = ["RaySandbox"]

_RETRIES = 3  # of a solution whose node or worker was lost

Files = dict[str, bytes]


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise ImportError("RaySandbox needs Ray: pip install 'wmrl[ray]'") from error
    return ray


class RaySandbox(Sandbox):
    """Backend that executes submissions on the nodes of a Ray cluster.

    Ray places, retries and cancels; each node runs a solution in a :class:`Sandbox` of its own. Results are cached
    here, so that a solution runs once however many nodes there are. What a lost node was running is run again
    elsewhere, and counted once.

    Args:
        workers: solutions that run at once at most; default: the processors of the cluster.
        isolation, cache, warm_start, wall_factor: as for :class:`Sandbox`; the isolation is that of the nodes.
        address: of the cluster, as ``ray.init`` takes it. ``None``: the one that this process is connected to, else
            a new one on this machine.
        cpus, memory_mb: what a solution reserves of its node.

    Raises:
        ImportError: Ray is not installed.
        ValueError: an argument out of its range.
    """

    def __init__(
        self,
        workers: int | None = None,
        isolation: str = "auto",
        cache: str | Path | None = DEFAULT_CACHE,
        *,
        address: str | None = None,
        cpus: float = 1.0,
        memory_mb: int | None = None,
        warm_start: bool = False,
        wall_factor: float = 6.0,
    ) -> None:
        if cpus <= 0:
            raise ValueError(f"cpus must be above 0, got {cpus}")
        ray = _ray()
        if not ray.is_initialized():
            ray.init(address=address, log_to_driver=False)
        if workers is None:
            workers = max(1, int(ray.cluster_resources().get("CPU", 1) / cpus))
        super().__init__(workers, isolation, cache, warm_start=warm_start, wall_factor=wall_factor)
        self._settings = {"isolation": isolation, "warm_start": warm_start, "wall_factor": wall_factor}
        reserved = {} if memory_mb is None else {"memory": memory_mb * 2**20}
        self._remote = ray.remote(_run_on_node).options(num_cpus=cpus, max_retries=_RETRIES, **reserved)
        self._running: dict[Future[Any], Any] = {}  # object references, to be cancelled
        self._shipped: dict[str, Any] = {}  # files of tasks of one's own, put into the cluster once

    def _execute_once(self, task: ResearchTask, code: str, begun: int) -> Result:
        """Run one solution on some node. Called by ``workers`` threads at once, each waiting for its own."""
        ray = _ray()
        reference = self._remote.remote(_portable(task), self._files(task), code, self._settings)
        waiting: Future[Any] = reference.future()
        with self._lock:
            self._running[waiting] = reference
        try:
            return waiting.result()
        except ray.exceptions.RayError as error:
            raise OSError(f"the cluster lost the solution: {error}") from error
        finally:
            with self._lock:
                self._running.pop(waiting, None)

    def _files(self, task: ResearchTask) -> Any:
        """Both halves of a task of one's own; shipped tasks are prepared by each node from its packages."""
        if task.id in SOURCES:
            return None
        if task.cache_key not in self._shipped:
            found = {
                f"{half}/{path.relative_to(folder)}": path.read_bytes()
                for half, folder in (("public", task.public_dir), ("private", task.private_dir))
                for path in sorted(folder.rglob("*"))
                if path.is_file()
            }
            self._shipped[task.cache_key] = _ray().put(found)
        return self._shipped[task.cache_key]

    def close(self) -> None:
        """Cancel what runs. The cluster stays."""
        with self._lock:
            running = list(self._running.values()) if os.getpid() == self._pid else []
        for reference in running:
            _ray().cancel(reference, force=True)
        super().close()


def _portable(task: ResearchTask) -> ResearchTask:
    """The task without folders of this machine."""
    return replace(task, public_dir=Path(), private_dir=Path())


@lru_cache(maxsize=4)
def _sandbox(**settings: Any) -> Sandbox:
    return Sandbox(1, cache=None, **settings)


def _run_on_node(task: ResearchTask, files: Files | None, code: str, settings: dict[str, Any]) -> Result:
    """Run one solution on this node, in a sandbox that its process keeps."""
    here = tasks.ensure_data(tasks.get(task.id)) if files is None else _unpacked(task, files)
    return _sandbox(**settings).run(here, code)


def _unpacked(task: ResearchTask, files: Files) -> ResearchTask:
    folder = cache_root() / "nodes" / task.cache_key[:16]
    for name, content in files.items():
        path = folder / name
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            written = path.with_name(f".{path.name}.{os.getpid()}")
            written.write_bytes(content)
            written.replace(path)
    return replace(task, public_dir=folder / "public", private_dir=folder / "private")
