"""Methods of tables, series and arrays, as far as kinds and sizes of values go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from world_models.rehearsal.access import set_item
from world_models.rehearsal.arrays import (
    as_array,
    column_of,
    is_textual,
    product,
    replace_rows,
    strings_of,
    width_of,
)
from world_models.rehearsal.values import (
    UNKNOWN,
    Column,
    Const,
    Element,
    Fault,
    Function,
    Index,
    Library,
    Mapping,
    Matrix,
    Place,
    Rows,
    Sequence,
    Table,
    Unknown,
    Vector,
    count_of,
)

if TYPE_CHECKING:
    from world_models.rehearsal.interpreter import Interpreter

__all__ = ["argument", "axis_of", "is_answer", "is_constant", "isnull", "method", "reduce"]

_NUMERIC_WORDS = {"number", "float", "float64", "int", "int64", "np.number"}


_REDUCTIONS = {"mean", "median", "std", "var", "sum", "min", "max", "quantile", "mode", "nunique", "count", "skew"}


_FILLING = {"fillna", "ffill", "bfill", "interpolate", "nan_to_num"}


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


def argument(args: list[Any], named: dict[str, Any], place: int, *names: str) -> Any:
    if len(args) > place:
        return args[place]
    return next((named[name] for name in names if name in named), None)


def is_constant(value: Any, constant: Any) -> bool:
    return isinstance(value, Const) and value.value is constant


def axis_of(args: list[Any], named: dict[str, Any], place: int) -> Any:
    value = argument(args, named, place, "axis")
    return value.value if isinstance(value, Const) else 0


def _changed(table: Table, named: dict[str, Any], columns: dict[str, Column], rows: Rows, exact: bool) -> Any:
    """The result of a method that works in place where asked to."""
    if is_constant(named.get("inplace"), True):
        table.columns, table.rows, table.exact = columns, rows, exact
        return Const(None)
    return Table(columns, rows, exact)


@_of((_TABLE,), "drop")
def _drop(run: Interpreter, table: Table, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    wanted = named.get("columns")
    if wanted is None:
        if axis_of(args, named, 1) not in (1, "columns"):
            if "index" in named or not args:
                return Table(dict(table.columns), run.fresh(table.rows, 0.9), table.exact)
            names = strings_of(args[0])
            if names:
                raise Fault("KeyError")  # names of columns looked for among the rows
            return Table(dict(table.columns), run.fresh(table.rows, 0.9), table.exact)
        wanted = argument(args, named, 0, "labels")
    names = strings_of(wanted)
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
    names = strings_of(args[0]) if args else None
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
    include, exclude = _kinds(argument(args, named, 0, "include")), _kinds(argument(args, named, 1, "exclude"))
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
    value = argument(args, named, 0, "value")
    if isinstance(holder, Vector):
        return Vector(replace(holder.column, missing=False, whole=False), holder.rows, holder.series)
    filled = dict(holder.columns)
    for one, column in holder.columns.items():
        if isinstance(value, Table) and value.exact and one not in value.columns:
            continue
        if isinstance(value, Mapping) and one not in value.items:
            continue
        if isinstance(value, Vector) and value.column.source == "numbers only" and column.textual:
            continue
        filled[one] = replace(column, missing=False)
    return _changed(holder, named, filled, holder.rows, holder.exact)


@_of((_TABLE, _VECTOR), "dropna")
def _dropna(run: Interpreter, holder: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    if isinstance(holder, Table) and axis_of(args, named, 0) in (1, "columns"):
        kept = {one: column for one, column in holder.columns.items() if not column.missing}
        return _changed(holder, named, kept, holder.rows, holder.exact)
    subset = strings_of(named["subset"]) if "subset" in named else None
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


@_of((_TABLE, _VECTOR), "copy", "reset_index", "sort_values", "sort_index", "set_index", "infer_objects", "squeeze",
     "convert_dtypes", "replace", "rename", "rename_axis", "reindex", "clip", "round", "abs", "where", "mask", "rank",
     "shift", "diff", "cumsum", "rolling", "assign", "head", "tail", "sample", "to_frame", "isin", "duplicated",
     "drop_duplicates", "query", "filter", "ravel", "flatten", "reshape", "to_numpy", "view", "toarray", "between",
     "nlargest")  # fmt: skip
def _mostly_same(run: Interpreter, holder: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    if name in ("to_numpy", "ravel", "flatten", "toarray", "view"):
        return as_array(holder)
    if name == "reshape":
        return _reshaped(holder, args)
    if name in ("isin", "duplicated", "between"):
        return Vector(Column("bool"), holder.rows)
    if name in ("head", "tail", "sample", "drop_duplicates", "query"):
        size = argument(args, named, 0, "n")
        if isinstance(size, Const) and isinstance(size.value, int):
            return replace_rows(holder, run.take(min(float(size.value), count_of(holder.rows))))
        if name in ("head", "tail"):
            return replace_rows(holder, run.take(min(5.0, count_of(holder.rows))))
        return replace_rows(holder, run.fresh(holder.rows, 0.5))
    if isinstance(holder, Vector):
        if name == "reset_index":
            return holder if is_constant(named.get("drop"), True) else Table({"index": Column()}, holder.rows, False)
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
        names = strings_of(argument(args, named, 0, "keys")) or []
        if table.exact and any(one not in table.columns for one in names):
            raise Fault("KeyError")
        kept = {one: column for one, column in table.columns.items() if one not in names}
        return _changed(table, named, kept, table.rows, table.exact)
    if name == "reset_index":  # without drop, a column comes back whose name nobody remembers
        exact = table.exact and is_constant(named.get("drop"), True)
        return _changed(table, named, dict(table.columns), table.rows, exact)
    if name == "reindex" and "columns" in named:
        wanted = strings_of(named["columns"])
        if wanted is None:
            return Table({}, table.rows, False)
        fill = "fill_value" not in named
        return Table({one: table.columns.get(one, Column(missing=fill)) for one in wanted}, table.rows)
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
    kind = argument(args, named, 0, "dtype")
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
            kind = "number" if column.kind in ("bool", "number", "any") else column.kind
            return replace(column, kind=kind, whole=column.whole or column.kind == "bool" or word.startswith("int"))
        return column

    if isinstance(holder, Vector):
        return Vector(cast(holder.column), holder.rows, holder.series)
    return Table({one: cast(column) for one, column in holder.columns.items()}, holder.rows, holder.exact)


@_of((_TABLE, _VECTOR, _MATRIX), *_REDUCTIONS, "argmax", "any", "all", "prod", "idxmax", "argsort")
def reduce(run: Interpreter, holder: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    axis = axis_of(args, named, 0)
    if name in ("mean", "median", "std", "var", "quantile", "skew", "prod") and is_textual(holder):
        if not (isinstance(holder, Table) and is_constant(named.get("numeric_only"), True)):
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


@_of((_TABLE, _MATRIX), "dot")
def _dot(run: Interpreter, holder: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    return product(holder, args[0] if args else UNKNOWN)


@_of((_TABLE, _VECTOR), "isnull", "isna", "notnull", "notna", "eq", "ne", "gt", "lt", "ge", "le")
def isnull(run: Interpreter, holder: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
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


@_of((_TABLE,), "apply", "applymap", "transform", "agg", "groupby", "merge", "join", "pivot_table", "melt", "stack",
     "corr", "describe", "info", "iterrows", "itertuples", "to_dict", "explode", "set_axis", "transpose",
     "pipe")  # fmt: skip
def _beyond(run: Interpreter, table: Table, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    if name in ("describe", "info", "corr"):
        return UNKNOWN
    if name in ("apply", "transform", "applymap"):
        how = args[0] if args else None
        axis = axis_of(args, named, 1)
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
    path = where.value if isinstance(where, Const) else where.name if isinstance(where, Place) else None
    return path in ("submission.csv", "./submission.csv") and getattr(where, "where", "other") == "other"


def _elsewhere(path: object) -> bool:
    """Whether a path leads to a folder that is not there."""
    return isinstance(path, str) and not path.startswith("/tmp/") and "/" in path.removeprefix("./")


@_of((_TABLE,), "to_csv")
def _to_csv(run: Interpreter, table: Table, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    where = argument(args, named, 0, "path_or_buf")
    if (isinstance(where, Place) and where.where == "submission") or is_answer(where):
        written = table.copy()
        if not is_constant(named.get("index"), False):
            written.columns = {"": Column(), **written.columns}
        if is_constant(named.get("header"), False):
            written.columns = {}
        run.submitted = written
    elif isinstance(where, Unknown):
        run.flag("writes_somewhere")
    elif (isinstance(where, Place) and where.where == "data") or (isinstance(where, Const) and _elsewhere(where.value)):
        raise Fault("OSError")
    return Const(None)


@_of((_VECTOR,), "to_csv")
def _series_to_csv(run: Interpreter, vector: Vector, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    return _to_csv(run, Table({"0": vector.column}, vector.rows), name, args, named)
