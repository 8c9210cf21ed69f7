"""What a task's text says of its data: files, columns, target, limits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from world_models.rehearsal.values import Column, Table

__all__ = ["Inventory", "read_inventory"]

_NUMBER = r"-?[\d.]+(?:e[+-]?\d+)?|nan|-?inf"
_FIELD = re.compile(r"^(Kind|Metric|Limits|Target|Id|Text|Time|Classes): (.*)$", re.M)
_ROWS = re.compile(r"^(train|test)\.csv: (\d+) rows", re.M)
_COLUMN = re.compile(
    rf"^(\S.*?)(?: \((\d+) columns\))?: (int|float|text), missing ([\d.]+)%, unique (\d+)(?:, min ({_NUMBER}))?", re.M
)
_CLASS = re.compile(r"(?:^|, )(.*?) ([01]\.\d+)(?=, |$)")
_LIMITS = re.compile(r"([\d.]+) CPU seconds, ([\d.]+) MB")


@dataclass(frozen=True)
class Inventory:
    """A task as far as its text tells.

    Attributes:
        columns: of train.csv without id and target, by name.
        target, id_column: names, ``""`` where the text names none.
        kind: ``"binary"``, ``"multiclass"``, ``"regression"``, ``"counts"`` or ``""``.
        metric: its name; ``probability`` says whether it judges probabilities.
        classes: labels, as text.
        train_rows, test_rows: their number, 0 where unknown.
        cpu_s, memory_mb: limits.
        prose: names of columns of prose; ``time``: of the column of times, ``""`` for none.
    """

    columns: dict[str, Column]
    target: str = ""
    id_column: str = ""
    kind: str = ""
    metric: str = ""
    classes: tuple[str, ...] = ()
    train_rows: int = 0
    test_rows: int = 0
    cpu_s: float = 10.0
    memory_mb: float = 1024.0
    prose: frozenset[str] = frozenset()
    time: str = ""

    @property
    def probability(self) -> bool:
        return self.metric in ("roc_auc", "log_loss")

    @cached_property
    def missing(self) -> bool:
        """Whether any column has missing values."""
        return any(column.missing for column in self.columns.values())

    @cached_property
    def words(self) -> bool:
        """Whether any column holds strings that are no prose."""
        return any(c.kind == "text" and name not in self.prose for name, c in self.columns.items())

    def table(self, part: str) -> Table:
        """``train.csv``, ``test.csv`` or ``sample_submission.csv``, as pandas reads it."""
        rows = ((part, float(self.train_rows if part == "train" else self.test_rows)),)
        row_id = Column(unique=rows[0][1], whole=True, source=f"id of {part}")
        if part == "sample_submission":
            rows = (("test", float(self.test_rows)),)
            return Table({self.id_column: Column(whole=True, source="id of test"), self.target: Column()}, rows)
        table = {self.id_column: row_id, **self.columns}
        if part == "train":
            table[self.target] = self._target_column()
        return Table(table, rows)

    def _target_column(self) -> Column:
        if not self.classes:
            return Column(whole=self.kind == "counts", source="target")
        numeric = all(re.fullmatch(r"-?\d+(\.\d+)?", label) for label in self.classes)
        kind = "number" if numeric else "bool" if set(self.classes) == {"False", "True"} else "text"
        return Column(kind, unique=len(self.classes), whole=True, source="target")


@lru_cache(maxsize=1024)
def read_inventory(text: str) -> Inventory:
    """Inventory of a task's text in the format of ``docs/architecture.md``; an empty one for other texts."""
    fields = dict(reversed(_FIELD.findall(text)))  # the first of each, should a description hold more
    prose = frozenset(fields["Text"].split(", ")) if "Text" in fields else frozenset()
    time = fields.get("Time", "").partition(" (")[0]
    columns: dict[str, Column] = {}
    for name, count, dtype, missing, unique, low in _COLUMN.findall(text.partition("## Columns")[2]):
        column = Column(
            "text" if dtype == "text" else "number",
            missing=float(missing) > 0,
            unique=float(unique),
            low=float(low) if low else 0.0,
            whole=dtype == "int" and not float(missing),
        )
        if not count:
            columns[name] = column
            continue
        first = re.search(r"\d+$", name)  # many numbered ones share a line, which names the first of them
        stem, start = (name[: first.start()], int(first[0])) if first else (name, 0)
        columns |= {f"{stem}{start + i}": column for i in range(int(count))}
    rows = {part: int(number) for part, number in _ROWS.findall(text)}
    limits = _LIMITS.search(fields.get("Limits", ""))
    classes = _CLASS.findall(fields.get("Classes", ""))
    return Inventory(
        columns,
        fields.get("Target", "").strip(),
        fields.get("Id", "").strip(),
        fields.get("Kind", "").strip(),
        fields.get("Metric", "").split(" ")[0],
        tuple(name for name, _ in classes),
        rows.get("train", 0),
        rows.get("test", 0),
        float(limits[1]) if limits else 10.0,
        float(limits[2]) if limits else 1024.0,
        prose,
        time,
    )
