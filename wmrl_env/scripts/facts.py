"""What an author knows of a task: its text, as numbers and names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from wmrl_env.tasks.task import ResearchTask

__all__ = ["Column", "Facts", "facts_of"]

_LINE = re.compile(r"^(\S.*?)(?: \((\d+) columns\))?: (int|float|text), missing ([\d.]+)%, unique (\d+)(.*)$", re.M)
_RANGE = re.compile(r"min (\S+), max (\S+)")


@dataclass(frozen=True)
class Column:
    """One line of the inventory."""

    name: str
    dtype: str
    missing: bool
    unique: int
    positive: bool
    count: int


@dataclass(frozen=True)
class Facts:
    """A task as its author sees it.

    Attributes:
        numeric, categories: names of columns of numbers, and of text with few values; prose and times are in neither.
    """

    task: ResearchTask
    columns: tuple[Column, ...]
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
    columns = []
    for name, count, dtype, missing, unique, rest in _LINE.findall(task.inventory.partition("## Columns")[2]):
        span = _RANGE.search(rest)
        columns.append(
            Column(name, dtype, float(missing) > 0, int(unique), span is not None and float(span[1]) >= 0, int(count or 1))
        )
    single = [column for column in columns if column.count == 1]
    special = {*task.text_columns, task.time_column}
    return Facts(
        task,
        tuple(columns),
        tuple(column.name for column in single if column.dtype != "text"),
        tuple(column.name for column in single if column.dtype == "text" and column.name not in special),
    )
