"""What a rehearsed program computes with: values of which only kind and size are known."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "UNKNOWN", "Class", "Column", "Const", "Each", "Element", "Fault", "Function", "Index", "Instance", "Library",
    "Mapping", "Matrix", "Model", "Module", "Place", "Rows", "Sequence", "Table", "Unknown", "Vector", "count_of",
    "differ", "same", "truth",
]  # fmt: skip

Rows = tuple[tuple[str, float], ...]
"""Where rows come from, and how many: ``(("train", 800.0),)``. Two numbers of rows that nobody can tell are told apart
by their origin; one that ends in ``?`` is a guess."""


def count_of(rows: Rows) -> float:
    """Number of rows."""
    return sum(count for _, count in rows)


def _guessed(rows: Rows) -> bool:
    return any(origin.endswith("?") for origin, _ in rows)


def same(one: Rows, other: Rows) -> bool:
    """Whether they are certainly the same rows."""
    return one == other


def differ(one: Rows, other: Rows) -> bool:
    """Whether they certainly differ in number. Guesses of other origin are taken to differ from what is known."""
    if one == other:
        return False
    if _guessed(one) and _guessed(other):
        return False
    return _guessed(one) or _guessed(other) or count_of(one) != count_of(other)


class Fault(Exception):
    """The program raises here.

    Args:
        kind: class of the exception.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Column:
    """Values of one kind.

    Attributes:
        kind: ``"number"``, ``"bool"``, ``"text"``, ``"category"``, ``"time"`` or ``"any"``.
        missing: some are.
        unique: number of different ones.
        low: the least.
        whole: they are whole numbers.
        width: columns that this one stands for, as after one-hot encoding.
        source: ``"id of test"``, ``"target"``, ``"prediction"``, ``"probability"``, ``"counter"`` or ``""``.
    """

    kind: str = "number"
    missing: bool = False
    unique: float = math.inf
    low: float = 0.0
    whole: bool = False
    width: int = 1
    source: str = ""

    @property
    def textual(self) -> bool:
        return self.kind in ("text", "category")


class Unknown:
    """Nothing is known of it."""

    __slots__ = ()


UNKNOWN = Unknown()


@dataclass(slots=True)
class Const:
    """A Python constant."""

    value: Any


@dataclass(slots=True)
class Each:
    """One of several strings, all of which meet the same fate."""

    names: tuple[str, ...]


@dataclass(slots=True)
class Place:
    """A path: in the folder of the data, at the submission's place, or elsewhere."""

    where: str  # "data", "submission", "other"
    name: str = ""


@dataclass(slots=True)
class Module:
    path: str


@dataclass(slots=True)
class Library:
    """Something that a library offers, by its full name."""

    path: str

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]


@dataclass(slots=True)
class Function:
    """A function of the program's own; ``bound`` is its first argument where it is a method."""

    node: ast.FunctionDef | ast.Lambda
    scope: Any
    bound: Any = None


@dataclass(slots=True)
class Class:
    name: str
    methods: dict[str, Function]


@dataclass(slots=True)
class Instance:
    of: Class
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Sequence:
    """A list or tuple, ``length`` long: each item is known, or ``items`` are the kinds of items that there are."""

    items: list[Any]
    length: float
    born: float = 1.0  # repetitions of the loop that it was made in

    @property
    def known(self) -> bool:
        return self.length == len(self.items)


@dataclass(slots=True)
class Mapping:
    items: dict[Any, Any]


@dataclass(slots=True)
class Index:
    """Positions of rows, as splitters give them."""

    rows: Rows


@dataclass(slots=True)
class Table:
    """A pandas frame. Not frozen: programs change frames in place."""

    columns: dict[str, Column]
    rows: Rows
    exact: bool = True  # no column is there that is not named

    @property
    def width(self) -> int:
        return sum(column.width for column in self.columns.values())

    @property
    def textual(self) -> bool:
        return any(column.textual for column in self.columns.values())

    @property
    def missing(self) -> bool:
        return any(column.missing for column in self.columns.values())

    def copy(self) -> Table:
        return Table(dict(self.columns), self.rows, self.exact)


@dataclass(slots=True)
class Vector:
    """A pandas series or a one-dimensional array."""

    column: Column
    rows: Rows
    series: bool = True
    extension: bool = False  # pandas' own array of strings, which scikit-learn cannot split


@dataclass(slots=True)
class Element:
    """One value of a vector."""

    column: Column


@dataclass(slots=True)
class Matrix:
    """A two-dimensional array, dense or sparse."""

    column: Column
    rows: Rows
    width: float
    sparse: bool = False
    frame: bool = False  # a pandas frame whose columns nobody knows by name


@dataclass(slots=True)
class Model:
    """A scikit-learn object.

    Attributes:
        name: class.
        parameters: what it was given, by name.
        steps: what it is made of, the final one last.
        fitted: what it was fitted to, ``None`` before.
    """

    name: str
    parameters: dict[str, Any]
    steps: list[Any] = field(default_factory=list)
    fitted: Any = None
    target: Any = None

    def number(self, name: str, default: float) -> float:
        value = self.parameters.get(name)
        if isinstance(value, Const) and isinstance(value.value, (int, float)) and not isinstance(value.value, bool):
            return float(value.value)
        return default

    def constant(self, name: str, default: Any = None) -> Any:
        value = self.parameters.get(name)
        return value.value if isinstance(value, Const) else default


def truth(value: Any) -> bool | None:
    """Whether a value is true, ``None`` where nobody can tell."""
    if isinstance(value, Const):
        return bool(value.value)
    if isinstance(value, Sequence):
        return value.length > 0
    if isinstance(value, Mapping):
        return bool(value.items)
    if isinstance(value, (Table, Vector)):
        raise Fault("ValueError")
    return None
