"""What an author knows of a task: its text, as numbers and names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from wmrl_env.tasks.task import ResearchTask

__all__ = ["Facts", "facts_of"]

_COLUMN = re.compile(r"^(\S.*?)( \(\d+ columns\))?: (int|float|text), missing", re.M)


@dataclass(frozen=True)
class Facts:
    """A task as its author sees it.

    Attributes:
        numeric, categories: names of columns of numbers, and of text with few values; prose and times are in neither.
    """

    task: ResearchTask
    numeric: tuple[str, ...]
    categories: tuple[str, ...]

    @property
    def classifies(self) -> bool:
        return bool(self.task.classes)

    @property
    def wants_probability(self) -> bool:
        return self.task.metric_object.prediction == "probability"


@lru_cache(maxsize=256)
def facts_of(task: ResearchTask) -> Facts:
    """Facts read from the inventory of a task's text."""
    found = _COLUMN.findall(task.inventory.partition("## Columns")[2])
    special = {*task.text_columns, task.time_column}
    single = [(name, dtype) for name, several, dtype in found if not several and name not in special]
    numeric = tuple(name for name, dtype in single if dtype != "text")
    return Facts(task, numeric, tuple(name for name, dtype in single if dtype == "text"))
