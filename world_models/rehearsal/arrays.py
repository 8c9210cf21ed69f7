"""Tables, series and arrays: their sizes and kinds, and arithmetic on them."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from world_models.rehearsal.values import (
    UNKNOWN,
    Column,
    Const,
    Each,
    Fault,
    Index,
    Mapping,
    Matrix,
    Place,
    Rows,
    Sequence,
    Table,
    Unknown,
    Vector,
    count_of,
    differ,
)

if TYPE_CHECKING:
    from world_models.rehearsal.interpreter import Interpreter

__all__ = [
    "Array",
    "as_array",
    "column_of",
    "combine",
    "contains",
    "is_textual",
    "names_of",
    "product",
    "replace_rows",
    "rows_of",
    "sliced",
    "strings_of",
    "together",
    "width_of",
]

Array = (Vector, Matrix, Table)
_MOST_ITEMS = 4096  # of a list that are remembered


def rows_of(value: Any) -> Rows | None:
    """Rows of a value, ``None`` where it has none or nobody can tell."""
    if isinstance(value, (Table, Vector, Matrix, Index)):
        return value.rows
    if isinstance(value, Sequence):
        return (("", float(value.length)),)
    return None


def column_of(value: Any) -> Column:
    """What all values are alike in."""
    if isinstance(value, (Vector, Matrix)):
        return value.column
    if isinstance(value, Table):
        if not value.columns:
            return Column()
        kinds = {column.kind for column in value.columns.values()}
        kind = next((k for k in ("text", "category", "time", "any") if k in kinds), "number")
        return Column(kind, value.missing, low=min(column.low for column in value.columns.values()))
    if isinstance(value, Const):
        return Column("text" if isinstance(value.value, str) else "number", value.value is None)
    if isinstance(value, Sequence) and value.items:
        return column_of(value.items[0])
    return Column("any")


def width_of(value: Any) -> float:
    if isinstance(value, (Table, Matrix)):
        return value.width
    return 1.0


def is_textual(value: Any) -> bool:
    return column_of(value).textual


def names_of(table: Table) -> Any:
    """Names of a table's columns, one for each."""
    return Sequence([Const(name) for name in table.columns], len(table.columns))


def strings_of(value: Any) -> list[str] | None:
    """Strings of a constant or a list of constants; ``None`` where they are not known."""
    if isinstance(value, Const) and isinstance(value.value, str):
        return [value.value]
    if isinstance(value, Each):
        return list(value.names)
    if isinstance(value, Sequence) and value.known:
        parts = [strings_of(item) for item in value.items]
        return None if None in parts else [name for part in parts for name in part or ()]
    return None


def as_array(value: Any) -> Any:
    """The value without names of rows and columns."""
    if isinstance(value, Table):
        return Matrix(column_of(value), value.rows, value.width)
    if isinstance(value, Vector):
        return Vector(value.column, value.rows, False)
    if isinstance(value, Sequence):
        if value.items and isinstance(value.items[0], Vector):
            return Matrix(value.items[0].column, (("", value.length),), count_of(value.items[0].rows))
        if value.items and isinstance(value.items[0], (Matrix, Sequence, Mapping)):
            return UNKNOWN
        return Vector(column_of(value), (("", value.length),), False)
    return value


def together(columns: Iterable[Column]) -> Column:
    """What several columns are alike in."""
    found = list(columns)
    kind = next((k for k in ("text", "category", "any") if any(c.kind == k for c in found)), found[0].kind)
    return Column(kind, any(c.missing for c in found), max(c.unique for c in found), min(c.low for c in found))


def sliced(run: Interpreter, rows: Rows, key: slice) -> Rows:
    low, high = (part.value if isinstance(part, Const) else part for part in (key.start, key.stop))
    if key.step is not None or not all(part is None or isinstance(part, (int, float)) for part in (low, high)):
        return run.fresh(rows, 0.5)
    low, high, count = low or 0, math.inf if high is None else high, count_of(rows)
    if low < 0 or high < 0:
        return run.take(max(0.0, (count if high == math.inf else count + high) - (low if low >= 0 else count + low)))
    edges = [0.0]
    for _, part in rows:
        edges.append(edges[-1] + part)
    if low in edges and (high in edges or high >= count):
        return rows[edges.index(low) : edges.index(high) if high in edges else len(rows)]
    return run.take(max(0.0, min(high, count) - low))


def replace_rows(value: Any, rows: Rows) -> Any:
    if isinstance(value, Table):
        return Table(dict(value.columns), rows, value.exact)
    if isinstance(value, Vector):
        return Vector(value.column, rows, value.series, value.extension)
    return Matrix(value.column, rows, value.width, value.sparse)


def contains(holder: Any, item: Any) -> bool | None:
    """``item in holder``, ``None`` where nobody can tell."""
    if isinstance(holder, Table):
        holder = names_of(holder)
    if isinstance(holder, Mapping) and isinstance(item, Const):
        return item.value in holder.items
    if isinstance(holder, Sequence) and holder.known and isinstance(item, Const):
        if all(isinstance(one, Const) for one in holder.items):
            return any(one.value == item.value for one in holder.items)
        return None
    if isinstance(holder, Const) and isinstance(item, Const):
        try:
            return item.value in holder.value
        except TypeError:
            raise Fault("TypeError") from None
    return None


def combine(run: Interpreter, kind: type, left: Any, right: Any) -> Any:
    """Result of an operator between values of which at least one is no constant."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Place):
            if kind is ast.Div and isinstance(other, Const) and isinstance(other.value, str):
                return Place(one.where, f"{one.name}/{other.value}")
            if kind is ast.Add and isinstance(other, Const) and isinstance(other.value, str):
                return Place(one.where, one.name + other.value)
            if isinstance(other, Place):
                raise Fault("TypeError")
            return one
    if isinstance(left, Sequence) and isinstance(right, Sequence) and kind is ast.Add:
        return Sequence((left.items + right.items)[:_MOST_ITEMS], left.length + right.length)
    if isinstance(left, Sequence) and isinstance(right, Const) and kind is ast.Mult:
        if not isinstance(right.value, int):
            return UNKNOWN
        return Sequence((left.items * right.value)[:_MOST_ITEMS], left.length * max(0.0, float(right.value)))
    arrays = [side for side in (left, right) if isinstance(side, Array)]
    if not arrays:
        if any(isinstance(side, Mapping) for side in (left, right)) and kind is not ast.BitOr:
            raise Fault("TypeError")
        return UNKNOWN
    columns = [column_of(side) for side in (left, right)]
    if kind in (ast.BitAnd, ast.BitOr, ast.BitXor):
        return arrays[0]
    known = not any(isinstance(side, Unknown) for side in (left, right))
    if known and any(column.textual for column in columns):
        both_text = all(column.textual for column in columns) and kind is ast.Add
        if not both_text and not (kind is ast.Mult and isinstance(right, Const) and isinstance(right.value, int)):
            raise Fault("TypeError")
    return _broadcast(run, kind, left, right, arrays, columns)


def product(left: Any, right: Any) -> Any:
    """``left @ right``."""
    if isinstance(left, (Table, Matrix)) and isinstance(right, (Vector, Table, Matrix)):
        if isinstance(left, Table) or not left.sparse:
            inner = count_of(right.rows)
            if inner != width_of(left) and not any(origin.endswith("?") for origin, _ in right.rows):
                raise Fault("ValueError")
        if isinstance(right, Vector):
            return Vector(Column(), left.rows, isinstance(left, Table))
        return UNKNOWN if isinstance(left, Table) else Matrix(Column(), left.rows, width_of(right))
    return UNKNOWN


def _broadcast(run: Interpreter, kind: type, left: Any, right: Any, arrays: list[Any], columns: list[Column]) -> Any:
    missing = any(column.missing for column in columns)
    if kind is ast.MatMult:
        return product(left, right)
    if kind in (ast.Div, ast.FloorDiv, ast.Mod):
        if isinstance(right, Const) and right.value == 0:
            run.flag("divides_by_zero")
        if isinstance(right, Array):
            run.flag("divides")
    kinds = {column.kind for column in columns}
    kind_of = "text" if "text" in kinds else "number" if kinds <= {"number", "bool"} else "any"
    column = Column(kind_of, missing, source=columns[0].source or columns[1].source)
    first = arrays[0]
    if len(arrays) == 2:
        second = arrays[1]
        if isinstance(left, Matrix) and isinstance(right, Matrix):
            rows = max((left.rows, right.rows), key=count_of)
            width = max(left.width, right.width)
            run.allocate(count_of(rows), width)
            return Matrix(column, rows, width)
        if isinstance(first, Vector) and isinstance(second, Vector) and differ(first.rows, second.rows):
            if not (first.series and second.series):
                raise Fault("ValueError")
            return Vector(replace(column, missing=True), max((first.rows, second.rows), key=count_of))
        wide = [side for side in arrays if isinstance(side, (Table, Matrix))]
        first = wide[0] if wide else first
        if isinstance(first, Vector):
            return Vector(column, first.rows, arrays[0].series or arrays[1].series)
    if isinstance(first, Table):
        changed = {
            name: replace(old, missing=old.missing or missing, whole=False) for name, old in first.columns.items()
        }
        return Table(changed, first.rows, first.exact)
    if isinstance(first, Matrix):
        return Matrix(column, first.rows, first.width, first.sparse)
    return Vector(column, first.rows, first.series)
