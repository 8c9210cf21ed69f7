"""Functions of pandas and numpy, as far as kinds and sizes of values go."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from world_models.rehearsal.arrays import (
    Array,
    as_array,
    column_of,
    is_textual,
    rows_of,
    strings_of,
    together,
    width_of,
)
from world_models.rehearsal.methods import argument, axis_of, isnull, reduce
from world_models.rehearsal.values import (
    UNKNOWN,
    Column,
    Const,
    Fault,
    Library,
    Mapping,
    Matrix,
    Place,
    Sequence,
    Table,
    Vector,
    count_of,
    differ,
)

if TYPE_CHECKING:
    from world_models.rehearsal.interpreter import Interpreter

__all__ = ["numpy", "pandas"]

_ELEMENTWISE = {
    "log1p", "expm1", "log", "exp", "sqrt", "abs", "clip", "maximum", "minimum", "round", "rint", "square",
    "nan_to_num", "sin", "cos", "tanh", "power", "floor", "ceil", "log10", "log2", "sign", "absolute",
    "add", "subtract", "multiply", "divide", "where", "isnan", "isfinite", "isinf", "around",
}  # fmt: skip


def make_table(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    """``pd.DataFrame(...)``."""
    data = argument(args, named, 0, "data")
    names = strings_of(named["columns"]) if "columns" in named else None
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
    empty = data is None
    return Table({one: Column("any") for one in names or ()}, run.fresh((("", 1.0),)), empty or names is not None)


def pandas(run: Interpreter, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    """Result of ``pd.name(...)``; ``None`` where nothing is known of it."""
    function = _PANDAS.get(name)
    return None if function is None else function(run, args, named)


def _read_csv(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    where = argument(args, named, 0, "filepath_or_buffer")
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
            names = strings_of(named["index_col"])
            for one in names or list(table.columns)[:1]:
                if one not in table.columns:
                    raise Fault("ValueError")
                table.columns.pop(one)
        if "usecols" in named:
            names = strings_of(named["usecols"])
            if names is None:
                table.exact = False
            elif any(one not in table.columns for one in names):
                raise Fault("ValueError")
            else:
                table.columns = {one: table.columns[one] for one in names}
        for one in strings_of(named.get("parse_dates")) or ():
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
    if axis_of(args, named, 1) in (1, "columns"):
        columns: dict[str, Column] = {}
        for i, part in enumerate(parts):
            apart = differ(part.rows, parts[0].rows)
            of_part = part.columns if isinstance(part, Table) else {f"#{i}": part.column}
            columns |= {one: replace(column, missing=column.missing or apart) for one, column in of_part.items()}
        return Table(columns, parts[0].rows, all(getattr(part, "exact", True) for part in parts))
    rows = tuple(one for part in parts for one in part.rows)
    if all(isinstance(part, Vector) for part in parts):
        return Vector(together(part.column for part in parts), rows)
    tables = [part for part in parts if isinstance(part, Table)]
    everywhere = {one for table in tables for one in table.columns}
    columns = {}
    for one in dict.fromkeys(name for table in tables for name in table.columns if name in everywhere):
        of_tables = [table.columns[one] for table in tables if one in table.columns]
        column = together(of_tables)
        columns[one] = replace(
            column, missing=column.missing or len(of_tables) < len(tables), source=of_tables[0].source
        )
    return Table(columns, rows, all(table.exact for table in tables))


def _get_dummies(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    data = argument(args, named, 0, "data")
    if isinstance(data, Vector):
        return Table({"=": Column(width=int(min(data.column.unique, 1000)))}, data.rows, False)
    if not isinstance(data, Table):
        return UNKNOWN
    chosen = strings_of(named["columns"]) if "columns" in named else None
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
    return isnull(run, args[0], "isnull", [], {}) if args and isinstance(args[0], (Table, Vector)) else UNKNOWN


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
    axis = axis_of([], named, 9)
    if is_textual(first) or (isinstance(first, Sequence) and first.items and is_textual(first.items[0])):
        raise Fault("TypeError")
    if isinstance(first, Sequence) and first.items and "axis" in named:
        inner = first.items[0]
        if isinstance(inner, Array):
            return as_array(inner) if axis == 0 else UNKNOWN
    if isinstance(first, (Matrix, Table)) and "axis" in named:
        return reduce(run, as_array(first), name, [], named)
    return UNKNOWN


def _elementwise(run: Interpreter, name: str, args: list[Any]) -> Any:
    arrays = [value for value in args if isinstance(value, (Vector, Matrix, Table))]
    if not arrays:
        return UNKNOWN
    if name not in ("where", "isnan") and any(is_textual(value) for value in arrays):
        raise Fault("TypeError")
    first = arrays[-1] if name == "where" else arrays[0]
    column = column_of(first)
    if name == "where":
        column = together(column_of(value) for value in args[1:]) if len(args) > 1 else Column("any")
        first = as_array(first)
    if name == "nan_to_num":
        column = replace(column, missing=False)
        first = as_array(first)
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
    sideways = name in ("hstack", "column_stack", "c_") or (axis_of([], named, 9) in (1, -1))
    if sideways and all(not isinstance(part, Vector) for part in parts):
        if any(differ(part.rows, parts[0].rows) for part in parts):
            raise Fault("ValueError")
        width = sum(width_of(part) for part in parts)
        run.allocate(count_of(parts[0].rows), width)
        return Matrix(column, parts[0].rows, width)
    if name in ("column_stack", "c_"):
        return Matrix(column, parts[0].rows, sum(width_of(part) for part in parts))
    rows = tuple(one for part in parts for one in part.rows)
    if all(isinstance(part, Vector) for part in parts):
        return UNKNOWN if name in ("vstack", "stack") else Vector(column, rows, False)
    if name in ("hstack", "concatenate") and any(isinstance(part, Vector) for part in parts):
        raise Fault("ValueError")
    guessed = any(getattr(part, "sparse", False) or not getattr(part, "exact", True) for part in parts)
    if not guessed and len({width_of(part) for part in parts}) > 1 and name != "stack":
        raise Fault("ValueError")
    return Matrix(column, rows, width_of(parts[0]))


def _repeated(run: Interpreter, first: Any, name: str, args: list[Any]) -> Any:
    times = args[1].value if len(args) > 1 and isinstance(args[1], Const) else None
    if isinstance(first, (Vector, Matrix)) and isinstance(times, (int, float)):
        run.allocate(count_of(first.rows) * width_of(first), float(times))
    if name == "outer" and isinstance(first, Vector):
        run.allocate(count_of(first.rows), count_of(first.rows))
    return UNKNOWN
