"""Research tasks: real data, private labels, a leaderboard of real solutions.

>>> from wmrl_env import tasks
>>> tasks.get("churn").metric
'roc_auc'
"""

from __future__ import annotations

import builtins
import csv
import json
import logging
import shutil
from functools import lru_cache
from pathlib import Path

from wmrl_env.tasks.task import ResearchTask, Split

__all__ = ["ResearchTask", "ensure_data", "get", "list", "register"]

_log = logging.getLogger(__name__)
_HERE = Path(__file__).parent
_registered: dict[str, ResearchTask] = {}
_ready: set[ResearchTask] = set()  # whose files this process has seen


def _load_card(path: Path) -> ResearchTask:
    from wmrl_env.tasks.sources import task_dir

    card = json.loads(path.read_text(encoding="utf-8"))
    with (_HERE / "leaderboards" / f"{card['id']}.csv").open(encoding="utf-8", newline="") as file:
        leaderboard = tuple(float(row["metric_value"]) for row in csv.DictReader(file))
    folder = task_dir(card["id"])
    card |= {name: tuple(card[name]) for name in ("classes", "text_columns")}
    return ResearchTask(public_dir=folder / "public", private_dir=folder / "private", leaderboard=leaderboard, **card)


@lru_cache(maxsize=1)
def _shipped() -> dict[str, ResearchTask]:
    from wmrl_env.tasks.sources import SOURCES

    paths = (_HERE / "cards" / f"{task_id}.json" for task_id in SOURCES)
    return {path.stem: _load_card(path) for path in paths if path.exists()}


def register(task: ResearchTask) -> None:
    """Make a task of one's own known by its id, so that backends find it.

    Raises:
        ValueError: another task has this id.
    """
    known = _registered.get(task.id) or _shipped().get(task.id)
    if known is not None and known != task:
        raise ValueError(f"another task is already called {task.id!r}; give this one another id")
    _registered[task.id] = task


def get(task_id: str) -> ResearchTask:
    """The task of that id.

    Raises:
        KeyError: unknown id; the message lists the known ones.
    """
    task = _registered.get(task_id) or _shipped().get(task_id)
    if task is None:
        known = ", ".join([*_shipped(), *_registered])
        raise KeyError(f"unknown task {task_id!r}; known: {known}; register your own with wmrl_env.tasks.register")
    return task


def list(split: Split | None = None) -> builtins.list[ResearchTask]:
    """All shipped tasks, or those of one split.

    Raises:
        ValueError: unknown split.
    """
    if split not in (None, "train", "heldout"):
        raise ValueError(f'split must be "train", "heldout" or None, got {split!r}')
    return [task for task in _shipped().values() if split in (None, task.split)]


def _prepare_alike(task: ResearchTask) -> None:
    """Prepare a shipped task's data; what another version of the package prepared is made anew."""
    from wmrl_env.tasks.sources import fingerprint, prepare

    folder = prepare(task.id)
    if fingerprint(folder) != task.fingerprint:
        shutil.rmtree(folder)
        if fingerprint(prepare(task.id)) != task.fingerprint:
            _log.warning(
                "the data of task %r differ from those that its leaderboard was made with: scores may not compare. "
                "Is another version of the package that carries them installed?",
                task.id,
            )


def ensure_data(task: ResearchTask) -> ResearchTask:
    """Have the task's files on disk: shipped tasks are prepared on first use, others must be there.

    Raises:
        FileNotFoundError: a task of one's own whose files are missing.
        ImportError: the package that carries a shipped task's data is missing.
    """
    if task in _ready:
        return task
    if task.id in _shipped():
        _prepare_alike(task)
        description = task.public_dir / "description.md"
        if not description.exists() or description.read_text(encoding="utf-8") != task.details:
            description.write_text(task.details, encoding="utf-8")
    for path in (task.public_dir, task.private_dir):
        if not path.is_dir():
            raise FileNotFoundError(f"task {task.id!r} needs the folder {path}, which does not exist")
    _ready.add(task)
    return task
