"""pandas and numpy, as far as kinds and sizes of values go."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from world_models.rehearsal.values import (
    UNKNOWN,
    Column,
    Const,
    Each,
    Element, Fault,
    Function,
    Index,
    Instance,
    Library,
    Mapping,
    Matrix,
    Model,
    Place,
    Rows,
    Sequence,
    Table,
    Unknown,
    Vector,
    count_of,
    differ,
    same,
)  # fmt: skip

if TYPE_CHECKING:
    from world_models.rehearsal.interpreter import Interpreter

__all__ = [
    "as_array", "attribute", "combine", "contains", "get_item", "is_textual", "make_table", "method", "names_of", "numpy",
    "pandas", "rows_of", "set_item",
]  # fmt: skip

Array = (Vector, Matrix, Table)
_NUMERIC_WORDS = {"number", "float", "float64", "int", "int64", "np.number"}
_TEXT_WORDS = {"object", "string", "str", "O", "category"}
_REDUCTIONS = {"mean", "median", "std", "var", "sum", "min", "max", "quantile", "mode", "nunique", "count", "skew"}
_ELEMENTWISE = {
    "log1p", "expm1", "log", "exp", "sqrt", "abs", "clip", "maximum", "minimum", "round", "rint", "square", "nan_to_num",
    "sin", "cos", "tanh", "power", "floor", "ceil", "log10", "log2", "sign", "absolute", "add", "subtract", "multiply",
    "divide", "where", "isnan", "isfinite", "isinf", "around",
}  # fmt: skip
_FILLING = {"fillna", "ffill", "bfill", "interpolate", "nan_to_num"}


# --- sizes and kinds ---


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


def _strings(value: Any) -> list[str] | None:
    """Strings of a constant or a list of constants; ``None`` where they are not known."""
    if isinstance(value, Const) and isinstance(value.value, str):
        return [value.value]
    if isinstance(value, Each):
        return list(value.names)
    if isinstance(value, Sequence) and value.known:
        found = [name for item in value.items for name in (_strings(item) or [None])]
        return None if None in found else found  # type: ignore[return-value]
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


# --- reading and writing parts ---


def get_item(run: Interpreter, holder: Any, key: Any) -> Any:
    """``holder[key]``."""
    if isinstance(holder, Table):
        return _get_from_table(run, holder, key)
    if isinstance(holder, Vector):
        return _get_from_vector(run, holder, key)
    if isinstance(holder, Matrix):
        return _get_from_matrix(run, holder, key)
    if isinstance(holder, Sequence):
        return _get_from_sequence(holder, key)
    if isinstance(holder, Mapping):
        if isinstance(key, Const):
            if key.value in holder.items:
                return holder.items[key.value]
            raise Fault("KeyError")
        return next(iter(holder.items.values()), UNKNOWN)
    if isinstance(holder, (Const, Function, Model)) and not isinstance(getattr(holder, "value", None), (str, tuple)):
        raise Fault("TypeError")
    return UNKNOWN


def _get_from_sequence(holder: Sequence, key: Any) -> Any:
    if isinstance(key, slice):
        low, high = (part.value if isinstance(part, Const) else None for part in (key.start, key.stop))
        if holder.known and key.step is None and all(part is None or isinstance(part, int) for part in (low, high)):
            kept = holder.items[low:high]
            return Sequence(kept, len(kept))
        return Sequence(holder.items, holder.length)
    if isinstance(key, Const) and isinstance(key.value, int):
        if key.value >= holder.length or -key.value > holder.length:
            raise Fault("IndexError")
        return holder.items[key.value] if holder.known else holder.items[0] if holder.items else UNKNOWN
    if isinstance(key, (Index, Vector, Sequence)) or (isinstance(key, Const) and isinstance(key.value, str)):
        raise Fault("TypeError")
    return holder.items[0] if holder.items else UNKNOWN


def _get_from_table(run: Interpreter, table: Table, key: Any) -> Any:
    if isinstance(key, Const) and not isinstance(key.value, str):
        raise Fault("KeyError")
    if isinstance(key, slice):
        return Table(dict(table.columns), sliced(run, table.rows, key), table.exact)
    if isinstance(key, (Index,)):
        raise Fault("KeyError")
    if isinstance(key, Vector):
        if key.column.kind == "bool":
            return Table(dict(table.columns), run.fresh(table.rows, 0.5), table.exact)
        return Table({}, table.rows, False)
    names = _strings(key)
    if names is None:
        return Table({}, table.rows, False) if isinstance(key, (Sequence, Library)) else UNKNOWN
    absent = [name for name in names if name not in table.columns]
    if absent and table.exact:
        raise Fault("KeyError")
    if isinstance(key, Const):
        column = table.columns.get(key.value, Column("any"))
        return Vector(column, table.rows)
    if isinstance(key, Each):
        return Vector(_together(table.columns.get(name, Column("any")) for name in names), table.rows)
    return Table({name: table.columns.get(name, Column("any")) for name in names}, table.rows, True)


def _together(columns: Iterable[Column]) -> Column:
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


def _get_from_vector(run: Interpreter, vector: Vector, key: Any) -> Any:
    if isinstance(key, slice):
        return replace_rows(vector, sliced(run, vector.rows, key))
    if isinstance(key, Index):
        return replace_rows(vector, key.rows)
    if isinstance(key, Sequence):
        if vector.series or len(key.items) != 2:
            return UNKNOWN
        if any(isinstance(part, Const) and part.value is None for part in key.items):
            return _expanded(vector, key.items)
        raise Fault("IndexError")
    if isinstance(key, Vector):
        return replace_rows(vector, run.fresh(vector.rows, 0.5)) if key.column.kind == "bool" else UNKNOWN
    if isinstance(key, Const) and isinstance(key.value, int):
        if key.value >= count_of(vector.rows):
            raise Fault("KeyError" if vector.series else "IndexError")
        return UNKNOWN
    if isinstance(key, Const) and isinstance(key.value, str) and not vector.series:
        raise Fault("IndexError")
    return UNKNOWN


def _expanded(vector: Vector, parts: list[Any]) -> Matrix:
    """``vector[:, None]`` or ``vector[None, :]``."""
    if isinstance(parts[0], Const):
        return Matrix(vector.column, (("", 1.0),), count_of(vector.rows))
    return Matrix(vector.column, vector.rows, 1.0)


def replace_rows(value: Any, rows: Rows) -> Any:
    if isinstance(value, Table):
        return Table(dict(value.columns), rows, value.exact)
    if isinstance(value, Vector):
        return Vector(value.column, rows, value.series, value.extension)
    return Matrix(value.column, rows, value.width, value.sparse)


def _get_from_matrix(run: Interpreter, matrix: Matrix, key: Any) -> Any:
    if isinstance(key, slice):
        return replace_rows(matrix, sliced(run, matrix.rows, key))
    if isinstance(key, Index):
        return replace_rows(matrix, key.rows)
    if isinstance(key, Const) and isinstance(key.value, int):
        return Vector(matrix.column, (("", matrix.width),), False)
    if isinstance(key, (Const, Each)) or (isinstance(key, Sequence) and _strings(key) and key.items):
        raise Fault("IndexError")
    if isinstance(key, Sequence) and len(key.items) == 2:
        row, column = key.items
        rows = sliced(run, matrix.rows, row) if isinstance(row, slice) else None
        if isinstance(column, Const) and isinstance(column.value, int):
            if column.value >= matrix.width or -column.value > matrix.width:
                raise Fault("IndexError")
            if rows is None:
                return UNKNOWN
            source = matrix.column.source
            if source == "probability" and column.value not in (1, -1):
                run.flag("other_class")
            return Vector(matrix.column, rows, False)
        if isinstance(column, slice) and rows is not None:
            width = count_of(sliced(run, (("", matrix.width),), column))
            return Matrix(matrix.column, rows, width, matrix.sparse)
        if isinstance(column, slice):
            return Vector(matrix.column, (("", matrix.width),), False)
    if isinstance(key, Vector) and key.column.kind == "bool":
        return replace_rows(matrix, run.fresh(matrix.rows, 0.5))
    return UNKNOWN


def set_item(run: Interpreter, holder: Any, key: Any, value: Any) -> None:
    """``holder[key] = value``."""
    if isinstance(holder, Mapping):
        if isinstance(key, Const):
            holder.items[key.value] = value
        return
    if not isinstance(holder, Table):
        return
    names = _strings(key)
    if names is None:
        if isinstance(key, (Sequence, Unknown)):
            holder.exact = False
        return
    if isinstance(value, Vector) and not value.series and differ(value.rows, holder.rows):
        raise Fault("ValueError")
    if isinstance(value, Sequence) and value.known and value.length != count_of(holder.rows) and value.length != 1:
        raise Fault("ValueError")
    if isinstance(value, Table):
        columns = list(value.columns.values())
        if value.exact and len(columns) != len(names):
            raise Fault("ValueError")
        if len(columns) != len(names):
            columns = [Column("any")] * len(names)
    elif isinstance(value, Matrix) and value.width != len(names) and not isinstance(key, Each):
        raise Fault("ValueError")
    else:
        column = column_of(value)
        if isinstance(value, Vector) and value.series and not same(value.rows, holder.rows):
            column = replace(column, missing=column.missing or differ(value.rows, holder.rows))
        columns = [replace(column, width=1)] * len(names)
    holder.columns.update(zip(names, columns, strict=True))


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


# --- arithmetic ---


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
        return Sequence(left.items + right.items, left.length + right.length)
    if isinstance(left, Sequence) and isinstance(right, Const) and kind is ast.Mult:
        return Sequence(left.items, left.length * float(right.value)) if isinstance(right.value, int) else UNKNOWN
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


def _broadcast(run: Interpreter, kind: type, left: Any, right: Any, arrays: list[Any], columns: list[Column]) -> Any:
    missing = any(column.missing for column in columns)
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


# --- attributes and methods ---


def attribute(run: Interpreter, holder: Any, name: str) -> Any:
    """``holder.name`` of a table, series or array; ``None`` where it is a method."""
    if name == "shape":
        rows = rows_of(holder) or ()
        sizes = [Const(int(count_of(rows)))]
        if isinstance(holder, (Table, Matrix)):
            sizes.append(Const(int(width_of(holder))))
        return Sequence(list(sizes), len(sizes))
    if name in ("iloc", "loc", "at", "iat") and (not isinstance(holder, Matrix) or holder.frame):
        return _Indexer(holder, name)
    if isinstance(holder, Table):
        if name == "columns":
            return names_of(holder)
        if name == "values":
            return as_array(holder)
        if name == "T":
            return UNKNOWN
        if name in holder.columns:
            return Vector(holder.columns[name], holder.rows)
    elif isinstance(holder, Vector):
        if name == "values" and holder.series:
            return Vector(holder.column, holder.rows, False, extension=holder.column.kind == "text")
        if name == "dt" and holder.series:
            if holder.column.kind not in ("time", "any"):
                raise Fault("AttributeError")
            return _Accessor(holder, "dt")
        if name == "str" and holder.series:
            if holder.column.kind in ("number", "bool", "time"):
                raise Fault("AttributeError")
            return _Accessor(holder, "str")
        if name in ("codes", "categories") and holder.column.kind == "category":
            return Vector(Column(whole=True, low=-1.0), holder.rows, False) if name == "codes" else UNKNOWN
        if name == "cat" and holder.series:
            if holder.column.kind not in ("category", "any"):
                raise Fault("AttributeError")
            return _Accessor(holder, "cat")
        if name == "T":
            return holder
    elif name == "values" and holder.frame:
        return Matrix(holder.column, holder.rows, holder.width)
    elif name == "T":
        return Matrix(holder.column, (("", holder.width),), count_of(holder.rows))
    if name in ("dtype", "dtypes", "index", "size", "empty", "name", "nnz", "ndim"):
        return Vector(Column(unique=count_of(holder.rows)), holder.rows) if name == "index" else UNKNOWN
    return None


class _Indexer:
    """``frame.iloc`` and the like."""

    __slots__ = ("holder", "kind")

    def __init__(self, holder: Any, kind: str) -> None:
        self.holder = holder
        self.kind = kind


class _Accessor:
    """``series.dt`` and the like."""

    __slots__ = ("holder", "kind")

    def __init__(self, holder: Vector, kind: str) -> None:
        self.holder = holder
        self.kind = kind


def index_into(run: Interpreter, indexer: _Indexer, key: Any) -> Any:
    """``frame.iloc[key]``."""
    holder = indexer.holder
    row, column = (key.items[0], key.items[1]) if isinstance(key, Sequence) and len(key.items) == 2 else (key, None)
    found = holder
    if isinstance(row, slice):
        if row.start is not None or row.stop is not None or row.step is not None:
            found = replace_rows(holder, sliced(run, holder.rows, row))
    elif isinstance(row, Index):
        found = replace_rows(holder, row.rows)
    elif isinstance(row, Vector):
        found = replace_rows(holder, run.fresh(holder.rows, 0.5))
    elif isinstance(row, Const) and isinstance(holder, (Table, Matrix)):
        return Vector(column_of(holder), (("", float(width_of(holder))),))
    else:
        return UNKNOWN
    if column is None or not isinstance(found, Table):
        return found
    if indexer.kind == "loc":
        return found if isinstance(column, slice) else _get_from_table(run, found, column)
    names = list(found.columns)
    if isinstance(column, Const) and isinstance(column.value, int):
        if column.value >= len(names):
            raise Fault("IndexError")
        return Vector(found.columns[names[column.value]], found.rows)
    if isinstance(column, slice):
        low, high = (part.value if isinstance(part, Const) else None for part in (column.start, column.stop))
        return Table({name: found.columns[name] for name in names[low:high]}, found.rows, found.exact)
    return Table({}, found.rows, False)


def accessor(run: Interpreter, one: _Accessor, name: str) -> Any:
    """``series.dt.name`` and the like."""
    if one.kind == "cat":
        if name == "codes":
            return Vector(Column(whole=True), one.holder.rows)
        return UNKNOWN
    if one.kind == "dt":
        return Vector(
            Column("any" if name in ("date", "time") else "number", one.holder.column.missing), one.holder.rows
        )
    return None


_TABLE: dict[str, Callable[..., Any]] = {}
_VECTOR: dict[str, Callable[..., Any]] = {}
_MATRIX: dict[str, Callable[..., Any]] = {}


def _of(
    tables: tuple[dict[str, Callable[..., Any]], ...], *names: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for table in tables:
            for name in names:
                table[name] = function
        return function

    return register


def method(run: Interpreter, holder: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    """Result of a method of a table, series or array; ``None`` where nothing is known of it."""
    table = _TABLE if isinstance(holder, Table) else _VECTOR if isinstance(holder, Vector) else _MATRIX
    function = table.get(name)
    return None if function is None else function(run, holder, name, args, named)


def _argument(args: list[Any], named: dict[str, Any], place: int, *names: str) -> Any:
    if len(args) > place:
        return args[place]
    return next((named[name] for name in names if name in named), None)


def _is(value: Any, constant: Any) -> bool:
    return isinstance(value, Const) and value.value is constant


def _axis(args: list[Any], named: dict[str, Any], place: int) -> Any:
    value = _argument(args, named, place, "axis")
    return value.value if isinstance(value, Const) else 0


def _changed(table: Table, named: dict[str, Any], columns: dict[str, Column], rows: Rows, exact: bool) -> Any:
    """The result of a method that works in place where asked to."""
    if _is(named.get("inplace"), True):
        table.columns, table.rows, table.exact = columns, rows, exact
        return Const(None)
    return Table(columns, rows, exact)


@_of((_TABLE,), "drop")
def _drop(run: Interpreter, table: Table, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    wanted = named.get("columns")
    if wanted is None:
        if _axis(args, named, 1) not in (1, "columns"):
            if "index" in named or not args:
                return Table(dict(table.columns), run.fresh(table.rows, 0.9), table.exact)
            names = _strings(args[0])
            if names:
                raise Fault("KeyError")  # names of columns looked for among the rows
            return Table(dict(table.columns), run.fresh(table.rows, 0.9), table.exact)
        wanted = _argument(args, named, 0, "labels")
    names = _strings(wanted)
    if names is None:
        return _changed(table, named, dict(table.columns), table.rows, False)
    ignore = isinstance(named.get("errors"), Const) and named["errors"].value == "ignore"
    if table.exact and not ignore and any(one not in table.columns for one in names):
        raise Fault("KeyError")
    return _changed(
        table,
        named,
        {one: column for one, column in table.columns.items() if one not in names},
        table.rows,
        table.exact,
    )


@_of((_TABLE,), "pop")
def _pop(run: Interpreter, table: Table, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    names = _strings(args[0]) if args else None
    if names is None:
        table.exact = False
        return UNKNOWN
    if names[0] not in table.columns:
        if table.exact:
            raise Fault("KeyError")
        return Vector(Column("any"), table.rows)
    return Vector(table.columns.pop(names[0]), table.rows)


@_of((_TABLE,), "select_dtypes")
def _select(run: Interpreter, table: Table, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    include, exclude = _kinds(_argument(args, named, 0, "include")), _kinds(_argument(args, named, 1, "exclude"))
    if include is None or exclude is None:
        return Table({}, table.rows, False)
    kept = {
        one: column
        for one, column in table.columns.items()
        if (not include or _group(column) in include) and _group(column) not in exclude
    }
    return Table(kept, table.rows, table.exact)


def _group(column: Column) -> str:
    return {"text": "text", "category": "category", "bool": "bool", "time": "time"}.get(column.kind, "number")


def _kinds(value: Any) -> set[str] | None:
    """Groups of kinds that a selection names, ``None`` where it is not known."""
    if value is None:
        return set()
    found: set[str] = set()
    for item in value.items if isinstance(value, Sequence) else [value]:
        word = (
            item.value
            if isinstance(item, Const)
            else item.path.rpartition(".")[2]
            if isinstance(item, Library)
            else None
        )
        if word is None:
            return None
        if word in _NUMERIC_WORDS or word in ("floating", "integer", "int32", "float32"):
            found.add("number")
        elif word in ("object", "string", "str", "O"):
            found.add("text")
        elif word == "category":
            found.add("category")
        elif word in ("bool", "boolean"):
            found.add("bool")
        elif word in ("datetime", "datetime64"):
            found.add("time")
        else:
            return None
    return found


@_of((_TABLE, _VECTOR), *_FILLING)
def _fill(run: Interpreter, holder: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    value = _argument(args, named, 0, "value")
    if isinstance(holder, Vector):
        return Vector(replace(holder.column, missing=False, whole=False), holder.rows, holder.series)
    filled = dict(holder.columns)
    for one, column in holder.columns.items():
        if isinstance(value, Table) and value.exact and one not in value.columns:
            continue
        if isinstance(value, Vector) and value.column.source == "numbers only" and column.textual:
            continue
        filled[one] = replace(column, missing=False)
    return _changed(holder, named, filled, holder.rows, holder.exact)


@_of((_TABLE, _VECTOR), "dropna")
def _dropna(run: Interpreter, holder: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    if isinstance(holder, Table) and _axis(args, named, 0) in (1, "columns"):
        kept = {one: column for one, column in holder.columns.items() if not column.missing}
        return _changed(holder, named, kept, holder.rows, holder.exact)
    subset = _strings(named["subset"]) if "subset" in named else None
    columns = holder.columns if isinstance(holder, Table) else {"": holder.column}
    looked = [column for one, column in columns.items() if subset is None or one in subset]
    if not any(column.missing for column in looked):
        return (
            _changed(holder, named, dict(holder.columns), holder.rows, holder.exact)
            if isinstance(holder, Table)
            else holder
        )
    rows = run.fresh(holder.rows, 0.7)
    run.flag("drops_rows")
    if isinstance(holder, Vector):
        return Vector(replace(holder.column, missing=False), rows, holder.series)
    filled = {
        one: replace(column, missing=False) if subset is None or one in subset else column
        for one, column in holder.columns.items()
    }
    return _changed(holder, named, filled, rows, holder.exact)


@_of((_TABLE, _VECTOR), "copy", "reset_index", "sort_values", "sort_index", "set_index", "infer_objects", "convert_dtypes",
     "replace", "rename", "rename_axis", "reindex", "clip", "round", "abs", "where", "mask", "rank", "shift", "diff",
     "cumsum", "rolling", "squeeze", "assign", "head", "tail", "sample", "to_frame", "isin", "duplicated",
     "drop_duplicates", "query", "filter", "ravel", "flatten", "reshape", "to_numpy", "view", "toarray", "between")  # fmt: skip
def _mostly_same(run: Interpreter, holder: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    if name in ("to_numpy", "ravel", "flatten", "toarray", "view"):
        return as_array(holder)
    if name == "reshape":
        return _reshaped(holder, args)
    if name in ("isin", "duplicated", "between"):
        return Vector(Column("bool"), holder.rows)
    if name in ("head", "tail", "sample", "drop_duplicates", "query"):
        size = _argument(args, named, 0, "n")
        if isinstance(size, Const) and isinstance(size.value, int):
            return replace_rows(holder, run.take(min(float(size.value), count_of(holder.rows))))
        if name in ("head", "tail"):
            return replace_rows(holder, run.take(min(5.0, count_of(holder.rows))))
        return replace_rows(holder, run.fresh(holder.rows, 0.5))
    if isinstance(holder, Vector):
        if name == "reset_index":
            return holder if _is(named.get("drop"), True) else Table({"index": Column()}, holder.rows, False)
        if name == "to_frame":
            return Table({"0": holder.column}, holder.rows, False)
        missing = holder.column.missing or name in ("shift", "diff", "rolling", "reindex", "where", "mask")
        if name in ("clip", "abs", "round", "diff", "cumsum") and holder.column.textual:
            raise Fault("TypeError")
        return Vector(replace(holder.column, missing=missing), holder.rows, holder.series)
    return _mostly_same_table(run, holder, name, args, named)


def _mostly_same_table(run: Interpreter, table: Table, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    if name == "assign":
        copy = table.copy()
        for one, value in named.items():
            if isinstance(value, Function):
                value = run.call(value, [copy], {})
            set_item(run, copy, Const(one), value)
        return copy
    if name == "rename" and isinstance(named.get("columns"), Mapping):
        mapping = {old: new.value for old, new in named["columns"].items.items() if isinstance(new, Const)}
        renamed = {mapping.get(one, one): column for one, column in table.columns.items()}
        return _changed(table, named, renamed, table.rows, table.exact)
    if name == "set_index":
        names = _strings(_argument(args, named, 0, "keys")) or []
        if table.exact and any(one not in table.columns for one in names):
            raise Fault("KeyError")
        kept = {one: column for one, column in table.columns.items() if one not in names}
        return _changed(table, named, kept, table.rows, table.exact)
    if name == "reset_index":
        kept = dict(table.columns) if _is(named.get("drop"), True) else {"index": Column(), **table.columns}
        return _changed(table, named, kept, table.rows, table.exact)
    if name == "reindex" and "columns" in named:
        names = _strings(named["columns"])
        if names is None:
            return Table({}, table.rows, False)
        fill = "fill_value" not in named
        return Table({one: table.columns.get(one, Column(missing=fill)) for one in names}, table.rows)
    if name in ("shift", "diff", "rolling", "where", "mask"):
        return Table({one: replace(c, missing=True) for one, c in table.columns.items()}, table.rows, table.exact)
    if name in ("clip", "abs", "round", "diff", "cumsum") and table.textual and name != "round":
        raise Fault("TypeError")
    if name in ("filter", "squeeze", "to_frame"):
        return Table({}, table.rows, False)
    return _changed(table, named, dict(table.columns), table.rows, table.exact)


def _reshaped(holder: Any, args: list[Any]) -> Any:
    sizes = [item.value if isinstance(item, Const) else None for item in args]
    if sizes == [-1, 1]:
        return Matrix(column_of(holder), holder.rows, 1.0)
    if sizes == [1, -1]:
        return Matrix(column_of(holder), (("", 1.0),), count_of(holder.rows))
    if sizes == [-1]:
        return Vector(column_of(holder), holder.rows, False)
    return UNKNOWN


@_of((_TABLE, _VECTOR), "astype")
def _astype(run: Interpreter, holder: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    kind = _argument(args, named, 0, "dtype")
    word = (
        kind.value if isinstance(kind, Const) else kind.path.rpartition(".")[2] if isinstance(kind, Library) else None
    )
    if not isinstance(word, str):
        return holder

    def cast(column: Column) -> Column:
        if word in ("str", "object", "string"):
            return replace(column, kind="text", missing=column.missing and word != "str", whole=False)
        if word == "category":
            return replace(column, kind="category")
        if column.textual and (word.startswith(("int", "float")) or word in ("float64", "float32")):
            raise Fault("ValueError")
        if word.startswith("int") and column.missing:
            raise Fault("pandas.errors.IntCastingNaNError")
        if word.startswith(("int", "float", "bool")):
            return replace(column, kind="number" if column.kind in ("bool", "number", "any") else column.kind)
        return column

    if isinstance(holder, Vector):
        return Vector(cast(holder.column), holder.rows, holder.series)
    return Table({one: cast(column) for one, column in holder.columns.items()}, holder.rows, holder.exact)


@_of((_TABLE, _VECTOR, _MATRIX), *_REDUCTIONS, "argmax", "any", "all", "prod", "idxmax", "argsort")
def _reduce(run: Interpreter, holder: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    axis = _axis(args, named, 0)
    if name in ("mean", "median", "std", "var", "quantile", "skew", "prod") and is_textual(holder):
        if not (isinstance(holder, Table) and _is(named.get("numeric_only"), True)):
            raise Fault("TypeError")
        return Vector(Column(source="numbers only"), (("", float(holder.width)),))
    if isinstance(holder, Vector):
        if name == "mode":
            return Vector(holder.column, run.take(1), holder.series)
        if name == "argsort":
            return Index(holder.rows)
        if name == "any":
            return UNKNOWN
        return UNKNOWN
    column = Column("bool" if name in ("any", "all") else "number", source=column_of(holder).source)
    if axis in (1, "columns"):
        return Vector(column, holder.rows, isinstance(holder, Table))
    if name == "mode" and isinstance(holder, Matrix):
        return Matrix(holder.column, run.take(1), holder.width, frame=holder.frame)
    if name == "mode":
        return Table(dict(getattr(holder, "columns", {})), run.take(1), getattr(holder, "exact", False))
    if isinstance(holder, Matrix) and "axis" not in named and not args:
        return UNKNOWN
    return Vector(column, (("", float(width_of(holder))),), isinstance(holder, Table))


@_of((_TABLE, _VECTOR), "isnull", "isna", "notnull", "notna", "eq", "ne", "gt", "lt", "ge", "le")
def _ask(run: Interpreter, holder: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    if isinstance(holder, Vector):
        return Vector(Column("bool"), holder.rows, holder.series)
    return Table({one: Column("bool") for one in holder.columns}, holder.rows, holder.exact)


@_of((_VECTOR,), "map", "apply", "transform", "str", "cut", "pipe")
def _map(run: Interpreter, vector: Vector, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    how = args[0] if args else None
    if isinstance(how, Vector):
        return Vector(replace(how.column, missing=vector.rows != (("train", count_of(vector.rows)),)), vector.rows)
    if isinstance(how, Mapping):
        kinds = [column_of(item) for item in how.items.values()]
        return Vector(Column(kinds[0].kind if kinds else "number", missing=True), vector.rows)
    if isinstance(how, Library) and how.name in ("str", "len", "float", "int"):
        return Vector(Column("text" if how.name == "str" else "number"), vector.rows)
    return Vector(Column("any"), vector.rows, vector.series)


@_of((_VECTOR,), "value_counts", "unique", "tolist", "to_list", "items", "to_dict", "groupby", "describe", "keys")
def _summarise(run: Interpreter, vector: Vector, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    if name in ("tolist", "to_list"):
        return Sequence([Element(vector.column)], count_of(vector.rows))
    if name == "value_counts":
        return Vector(Column(), (("", min(vector.column.unique, count_of(vector.rows))),))
    if name == "unique":
        return Vector(vector.column, (("", min(vector.column.unique, count_of(vector.rows))),), False)
    return UNKNOWN


@_of((_TABLE,), "apply", "applymap", "transform", "agg", "groupby", "merge", "join", "pivot_table", "melt", "stack", "corr",
     "describe", "info", "iterrows", "itertuples", "to_dict", "explode", "set_axis", "transpose", "nlargest", "pipe")  # fmt: skip
def _beyond(run: Interpreter, table: Table, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    if name in ("describe", "info", "corr"):
        return UNKNOWN
    if name in ("apply", "transform", "applymap"):
        how = args[0] if args else None
        axis = _axis(args, named, 1)
        if axis == 1:
            run.operations += count_of(table.rows)
            return Vector(Column("any"), table.rows)
        if isinstance(how, Library) and how.name in ("LabelEncoder", "fit_transform"):
            return Table({one: Column() for one in table.columns}, table.rows, table.exact)
        return Table({one: Column("any") for one in table.columns}, table.rows, table.exact)
    if name in ("merge", "join"):
        return Table(dict(table.columns), table.rows, False)
    if name in ("iterrows", "itertuples"):
        return Sequence([Sequence([UNKNOWN, UNKNOWN], 2)], count_of(table.rows))
    run.unknown += 1
    return UNKNOWN


@_of((_MATRIX,), "toarray", "todense", "tocsr", "astype", "copy", "reshape", "clip", "round", "ravel", "tolist", "dot",
     "flatten", "sort", "squeeze")  # fmt: skip
def _of_matrix(run: Interpreter, matrix: Matrix, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    if name in ("toarray", "todense"):
        run.allocate(count_of(matrix.rows), matrix.width)
        return Matrix(matrix.column, matrix.rows, matrix.width)
    if name == "astype":
        if matrix.column.textual and args and not (isinstance(args[0], Library) and args[0].name == "str"):
            raise Fault("ValueError")
        return matrix
    if name in ("ravel", "flatten"):
        return Vector(matrix.column, (("", count_of(matrix.rows) * matrix.width),), False)
    if name == "tolist":
        return Sequence([Sequence([UNKNOWN], matrix.width)], count_of(matrix.rows))
    if name in ("tocsr", "copy", "clip", "round"):
        return matrix
    return UNKNOWN


def is_answer(where: Any) -> bool:
    """Whether a path is that of the answer in the folder that a solution runs in."""
    return isinstance(where, Const) and where.value in ("submission.csv", "./submission.csv")


@_of((_TABLE,), "to_csv")
def _to_csv(run: Interpreter, table: Table, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    where = _argument(args, named, 0, "path_or_buf")
    if (isinstance(where, Place) and where.where == "submission") or is_answer(where):
        written = table.copy()
        if not _is(named.get("index"), False):
            written.columns = {"": Column(), **written.columns}
        if _is(named.get("header"), False):
            written.columns = {}
        run.submitted = written
    elif isinstance(where, Unknown):
        run.flag("writes_somewhere")
    elif isinstance(where, Place) and where.where == "data":
        raise Fault("OSError")
    elif isinstance(where, Const) and isinstance(where.value, str) and "/" in where.value.lstrip("./"):
        if not where.value.startswith("/tmp/"):
            raise Fault("OSError")
    return Const(None)


@_of((_VECTOR,), "to_csv")
def _series_to_csv(run: Interpreter, vector: Vector, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    return _to_csv(run, Table({"0": vector.column}, vector.rows), name, args, named)


# --- functions ---


def make_table(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    """``pd.DataFrame(...)``."""
    data = _argument(args, named, 0, "data")
    names = _strings(named["columns"]) if "columns" in named else None
    if isinstance(data, Mapping):
        sized = [value for value in data.items.values() if rows_of(value) is not None]
        rows = next((value.rows for value in sized if isinstance(value, Array)), None)
        if rows is None:
            rows = rows_of(sized[0]) if sized else None
        if rows is None:
            if all(isinstance(value, Const) for value in data.items.values()):
                raise Fault("ValueError")
            return Table({str(key): Column("any") for key in data.items}, run.fresh((("", 1.0),)))
        arrays = [value for value in sized if not (isinstance(value, Vector) and value.series)]
        for value in arrays:
            of_value = rows_of(value)
            if of_value is not None and differ(of_value, rows):
                raise Fault("ValueError")
            if isinstance(value, (Matrix, Table)) and width_of(value) > 1:
                raise Fault("ValueError")
        columns = {}
        for key, value in data.items.items():
            of_value, column = rows_of(value), column_of(value)
            if of_value is not None and differ(of_value, rows):
                column = replace(column, missing=True)
            if isinstance(value, Const):
                column = replace(column, source="constant")
            columns[str(key)] = column
        return Table(columns, rows)
    if isinstance(data, (Matrix, Table, Vector)):
        rows = data.rows
        width = int(width_of(data))
        if isinstance(data, Table) and names is None:
            return data.copy()
        if names is None:
            names = [f"#{i}" for i in range(min(width, 64))]
        elif not isinstance(data, Table) and len(names) != width:
            raise Fault("ValueError")
        column = column_of(data)
        return Table(dict.fromkeys(names, column), rows, len(names) == width)
    if isinstance(data, Sequence):
        if data.items and isinstance(data.items[0], Vector):
            whole = as_array(data)
            return Matrix(whole.column, whole.rows, whole.width, frame=True)
        return Table({one: Column("any") for one in names or ()}, (("", data.length),), names is not None)
    return Table({one: Column("any") for one in names or ()}, run.fresh((("", 1.0),)), names is not None)


def pandas(run: Interpreter, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    """Result of ``pd.name(...)``; ``None`` where nothing is known of it."""
    function = _PANDAS.get(name)
    return None if function is None else function(run, args, named)


def _read_csv(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    where = _argument(args, named, 0, "filepath_or_buffer")
    if isinstance(where, Place) and where.where == "data":
        name = where.name.strip("/")
        if name not in ("train.csv", "test.csv", "sample_submission.csv"):
            raise Fault("FileNotFoundError")
        encoding, separator = named.get("encoding"), named.get("sep")
        if isinstance(encoding, Const) and "16" in str(encoding.value):
            raise Fault("UnicodeError")
        table = run.inventory.table(name.removesuffix(".csv"))
        if separator is not None and not (isinstance(separator, Const) and separator.value == ","):
            run.flag("other_separator")
            return Table({"all in one": Column("text")}, table.rows)
        if "index_col" in named:
            names = _strings(named["index_col"])
            for one in names or list(table.columns)[:1]:
                if one not in table.columns:
                    raise Fault("ValueError")
                table.columns.pop(one)
        if "usecols" in named:
            names = _strings(named["usecols"])
            if names is None:
                table.exact = False
            elif any(one not in table.columns for one in names):
                raise Fault("ValueError")
            else:
                table.columns = {one: table.columns[one] for one in names}
        for one in _strings(named.get("parse_dates")) or ():
            if one not in table.columns:
                raise Fault("ValueError")
            table.columns[one] = replace(table.columns[one], kind="time")
        if not run.inventory.columns:
            table.exact = False
        return table
    if isinstance(where, (Place, Const)):
        raise Fault("FileNotFoundError")
    return Table({}, run.fresh((("", 1000.0),)), False)


def _concat(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    parts = args[0].items if args and isinstance(args[0], Sequence) and args[0].known else []
    if not parts or not all(isinstance(part, (Table, Vector)) for part in parts):
        return UNKNOWN
    if _axis(args, named, 1) in (1, "columns"):
        columns: dict[str, Column] = {}
        for i, part in enumerate(parts):
            apart = differ(part.rows, parts[0].rows)
            of_part = part.columns if isinstance(part, Table) else {f"#{i}": part.column}
            columns |= {one: replace(column, missing=column.missing or apart) for one, column in of_part.items()}
        return Table(columns, parts[0].rows, all(getattr(part, "exact", True) for part in parts))
    rows = tuple(one for part in parts for one in part.rows)
    if all(isinstance(part, Vector) for part in parts):
        return Vector(_together(part.column for part in parts), rows)
    tables = [part for part in parts if isinstance(part, Table)]
    everywhere = {one for table in tables for one in table.columns}
    columns = {}
    for one in dict.fromkeys(name for table in tables for name in table.columns if name in everywhere):
        of_tables = [table.columns[one] for table in tables if one in table.columns]
        column = _together(of_tables)
        columns[one] = replace(
            column, missing=column.missing or len(of_tables) < len(tables), source=of_tables[0].source
        )
    return Table(columns, rows, all(table.exact for table in tables))


def _get_dummies(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    data = _argument(args, named, 0, "data")
    if isinstance(data, Vector):
        return Table({"=": Column(width=int(min(data.column.unique, 1000)))}, data.rows, False)
    if not isinstance(data, Table):
        return UNKNOWN
    chosen = _strings(named["columns"]) if "columns" in named else None
    if "columns" in named and chosen is None:
        return Table({one: Column() for one in data.columns}, data.rows, False)
    if chosen is not None and data.exact and any(one not in data.columns for one in chosen):
        raise Fault("KeyError")
    columns: dict[str, Column] = {}
    part = data.rows[0][0] if len(data.rows) == 1 else "both"
    width = 0.0
    for one, column in data.columns.items():
        if (chosen is None and column.textual) or (chosen is not None and one in chosen):
            values = int(max(1.0, min(column.unique, count_of(data.rows))))
            width += values
            columns[f"{one}=*{part}" if values > 2 else f"{one}=*"] = Column("bool", width=values)
        else:
            columns[one] = column
    run.allocate(count_of(data.rows), width, 1.0)
    run.flag("dummies")
    return Table(columns, data.rows, data.exact)


def _categorical(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    value = args[0] if args else UNKNOWN
    run.flag("codes")
    return Vector(replace(column_of(value), kind="category"), rows_of(value) or run.fresh((("", 1.0),)))


def _to_numeric(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    value = args[0] if args else UNKNOWN
    if not isinstance(value, Vector):
        return UNKNOWN
    coerce = isinstance(named.get("errors"), Const) and named["errors"].value == "coerce"
    if value.column.textual and not coerce:
        raise Fault("ValueError")
    return Vector(Column(missing=value.column.missing or value.column.textual), value.rows)


def _to_datetime(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    value = args[0] if args else UNKNOWN
    if not isinstance(value, Vector):
        return UNKNOWN
    return Vector(replace(value.column, kind="time"), value.rows)


def _factorize(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    value = args[0] if args else UNKNOWN
    return Sequence([Vector(Column(whole=True), rows_of(value) or (("?", 1.0),), False), UNKNOWN], 2)


def _series(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    value = as_array(args[0]) if args else UNKNOWN
    if isinstance(value, Vector):
        return Vector(value.column, value.rows)
    return UNKNOWN


def _isnull(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    return _ask(run, args[0], "isnull", [], {}) if args and isinstance(args[0], (Table, Vector)) else UNKNOWN


_PANDAS: dict[str, Callable[[Any, list[Any], dict[str, Any]], Any]] = {
    "DataFrame": make_table, "read_csv": _read_csv, "concat": _concat, "get_dummies": _get_dummies,
    "Categorical": _categorical, "to_numeric": _to_numeric, "to_datetime": _to_datetime, "factorize": _factorize,
    "Series": _series, "isnull": _isnull, "isna": _isnull,
}  # fmt: skip


def numpy(run: Interpreter, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    """Result of ``np.name(...)``; ``None`` where nothing is known of it."""
    short = name.rpartition(".")[2]
    first = args[0] if args else UNKNOWN
    if short in ("asarray", "array", "ascontiguousarray"):
        value = as_array(first)
        kind = named.get("dtype", args[1] if len(args) > 1 else None)
        word = (
            kind.path.rpartition(".")[2] if isinstance(kind, Library) else kind.value if isinstance(kind, Const) else ""
        )
        if isinstance(word, str) and word.startswith(("float", "int")) and is_textual(value):
            raise Fault("ValueError")
        return value
    if short in ("zeros", "ones", "empty", "full"):
        return _filled(run, first)
    if short in ("zeros_like", "ones_like", "full_like"):
        return as_array(first)
    if short == "arange":
        sizes = [item.value for item in args if isinstance(item, Const) and isinstance(item.value, (int, float))]
        if not sizes:
            return UNKNOWN
        length = sizes[0] if len(sizes) == 1 else sizes[1] - sizes[0]
        run.allocate(max(0.0, length), 1)
        return Vector(Column(unique=length, whole=True, source="counter"), (("", float(max(0.0, length))),), False)
    if short in ("mean", "median", "average", "sum", "max", "min", "std", "amax", "amin"):
        return _numpy_reduce(run, first, short, named)
    if short in _ELEMENTWISE:
        return _elementwise(run, short, args)
    if short in ("hstack", "vstack", "concatenate", "column_stack", "c_", "stack"):
        return _stacked(run, first, short, named)
    if short in ("repeat", "tile", "outer"):
        return _repeated(run, first, short, args)
    if short == "argmax":
        return Vector(Column(whole=True), first.rows, False) if isinstance(first, (Matrix,)) else UNKNOWN
    if name in ("linalg.inv", "linalg.solve"):
        if isinstance(first, Matrix) and first.column.source == "filled":
            raise Fault("numpy.linalg.LinAlgError")
        return UNKNOWN
    if short in ("ravel", "squeeze"):
        return as_array(first)
    if short == "unique":
        return Vector(column_of(first), (("?", 2.0),), False)
    return None


def _filled(run: Interpreter, size: Any) -> Any:
    sizes = [size] if isinstance(size, Const) else size.items if isinstance(size, Sequence) else []
    numbers = [item.value for item in sizes if isinstance(item, Const) and isinstance(item.value, (int, float))]
    if not numbers or len(numbers) != len(sizes):
        return UNKNOWN
    run.allocate(float(math.prod(numbers)), 1)
    column = Column(source="filled")
    rows = (("", float(numbers[0])),)
    return Vector(column, rows, False) if len(numbers) == 1 else Matrix(column, rows, float(numbers[1]))


def _numpy_reduce(run: Interpreter, first: Any, name: str, named: dict[str, Any]) -> Any:
    axis = _axis([], named, 9)
    if is_textual(first) or (isinstance(first, Sequence) and first.items and is_textual(first.items[0])):
        raise Fault("TypeError")
    if isinstance(first, Sequence) and first.items and "axis" in named:
        inner = first.items[0]
        if isinstance(inner, Array):
            return as_array(inner) if axis == 0 else UNKNOWN
    if isinstance(first, (Matrix, Table)) and "axis" in named:
        return _reduce(run, as_array(first), name, [], named)
    return UNKNOWN


def _elementwise(run: Interpreter, name: str, args: list[Any]) -> Any:
    arrays = [value for value in args if isinstance(value, (Vector, Matrix, Table))]
    if not arrays:
        return UNKNOWN
    if name not in ("where", "isnan") and any(is_textual(value) for value in arrays):
        raise Fault("TypeError")
    first = arrays[-1] if name == "where" else arrays[0]
    column = column_of(first)
    if name in ("nan_to_num",):
        column = replace(column, missing=False)
    if name in ("log", "log10", "log2"):
        run.flag("takes_log")
    if name == "log1p" and column.source == "target":
        run.flag("log_target")
    column = replace(column, whole=column.whole and name in ("clip", "maximum", "minimum", "round", "rint", "abs"))
    if isinstance(first, Table):
        changed = {
            one: replace(old, missing=old.missing and name != "nan_to_num", whole=False)
            for one, old in first.columns.items()
        }
        return Table(changed, first.rows, first.exact)
    if isinstance(first, Matrix):
        return Matrix(column, first.rows, first.width, first.sparse)
    return Vector(column, first.rows, first.series)


def _stacked(run: Interpreter, first: Any, name: str, named: dict[str, Any]) -> Any:
    parts = first.items if isinstance(first, Sequence) and first.known else []
    if not parts or not all(isinstance(part, Array) for part in parts):
        return UNKNOWN
    kinds = [column_of(part) for part in parts]
    column = Column(
        next((c.kind for c in kinds if c.textual or c.kind == "any"), "number"), any(c.missing for c in kinds)
    )
    sideways = name in ("hstack", "column_stack", "c_") or (_axis([], named, 9) in (1, -1))
    if sideways and all(not isinstance(part, Vector) for part in parts):
        if any(differ(part.rows, parts[0].rows) for part in parts):
            raise Fault("ValueError")
        width = sum(width_of(part) for part in parts)
        run.allocate(count_of(parts[0].rows), width)
        return Matrix(column, parts[0].rows, width)
    if name == "column_stack":
        return Matrix(column, parts[0].rows, sum(width_of(part) for part in parts))
    rows = tuple(one for part in parts for one in part.rows)
    if all(isinstance(part, Vector) for part in parts):
        return UNKNOWN if name in ("vstack", "stack") else Vector(column, rows, False)
    return Matrix(column, rows, width_of(parts[0]))


def _repeated(run: Interpreter, first: Any, name: str, args: list[Any]) -> Any:
    times = args[1].value if len(args) > 1 and isinstance(args[1], Const) else None
    if isinstance(first, (Vector, Matrix)) and isinstance(times, (int, float)):
        run.allocate(count_of(first.rows) * width_of(first), float(times))
    if name == "outer" and isinstance(first, Vector):
        run.allocate(count_of(first.rows), count_of(first.rows))
    return UNKNOWN


def is_own(value: Any) -> bool:
    """Whether a value is one of the kinds here."""
    return isinstance(value, (Table, Vector, Matrix, _Indexer, _Accessor))


Indexer, Accessor = _Indexer, _Accessor
_ = Instance  # kinds that nothing here looks into
