"""Record real outcomes of solutions, by the codec and in free form: what world models are trained on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from wmrl_env import pipeline, scripts, tasks
from wmrl_env.sandbox import Sandbox
from wmrl_env.tasks.build import reference_solutions
from world_models.outcomes import Submission
from world_models.store import TransitionStore

__all__ = ["collect", "draw_scripts", "draw_solutions"]

# From careless to careful authors: an agent in training passes through all of them.
_CARE = (0.0, 0.6, 0.9, 1.0, 1.0)
_BATCH = 12  # solutions of each task between two writes
_FLAWED = 0.6  # share of scripts whose author makes a mistake


def draw_solutions(task: tasks.ResearchTask, count: int, seed: int) -> list[str]:
    """``count`` distinct solutions of a task, sources; the same seed gives the same list, longer ones extend it."""
    rng = np.random.default_rng([seed, *task.id.encode()])
    found: dict[str, None] = {}
    while len(found) < count:
        for care in _CARE:
            (action,) = pipeline.competent(rng, task, 1, care)
            found.setdefault(pipeline.render(action, task))
    return list(found)[:count]


def draw_scripts(task: tasks.ResearchTask, count: int, seed: int) -> list[str]:
    """``count`` distinct scripts for a task; the same seed gives the same list, longer ones extend it."""
    rng = np.random.default_rng([seed, 1, *task.id.encode()])
    mistakes = list(scripts.MISTAKES)
    found: dict[str, None] = {}
    while len(found) < count:
        mistake = mistakes[rng.integers(len(mistakes))] if rng.random() < _FLAWED else ""
        found.setdefault(scripts.write(rng, task, mistake))
    return list(found)


def _rounds(per_task: Sequence[list[Submission]]) -> Iterator[list[Submission]]:
    """Batches with a few solutions of each task, so that an interrupted collection is balanced."""
    for start in range(0, max(map(len, per_task)), _BATCH):
        yield [submission for submissions in per_task for submission in submissions[start : start + _BATCH]]


def collect(
    store: TransitionStore | str | Path,
    *,
    per_task: int = 350,
    scripts_per_task: int = 0,
    references: bool = True,
    task_ids: Sequence[str] | None = None,
    workers: int = 2,
    seed: int = 0,
    sandbox: Sandbox | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TransitionStore:
    """Execute solutions of each task and record their outcomes.

    Interrupted, it resumes: what the sandbox's cache knows is not run again.

    Args:
        store: where outcomes go.
        per_task: codec solutions drawn for each task.
        scripts_per_task: free-form scripts drawn for each task.
        references: run those of its leaderboard as well.
        task_ids: default all shipped tasks.
        sandbox: default a warm-started one with ``workers`` workers.
        progress: called with (done, total) after each batch.
    """
    chosen = [tasks.get(task_id) for task_id in task_ids] if task_ids else tasks.list()
    planned = []
    for task in chosen:
        sources = [*(next(reference_solutions(task)) if references else ()), *draw_solutions(task, per_task, seed)]
        sources += draw_scripts(task, scripts_per_task, seed)
        planned.append([Submission(task.id, task.text, code) for code in dict.fromkeys(sources)])
    total, done = sum(map(len, planned)), 0
    if progress is not None:
        progress(done, total)
    store = store if isinstance(store, TransitionStore) else TransitionStore(store)
    runner = sandbox or Sandbox(workers, warm_start=True)
    try:
        for batch in _rounds(planned):
            store.add(batch, runner.execute(batch))
            done += len(batch)
            if progress is not None:
                progress(done, total)
    finally:
        if sandbox is None:
            runner.close()
    return store
