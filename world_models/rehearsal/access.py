"""Parts and attributes of tables, series, arrays and lists: ``holder[key]`` and ``holder.name``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from world_models.rehearsal.arrays import (
    as_array,
    column_of,
    names_of,
    replace_rows,
    rows_of,
    sliced,
    strings_of,
    together,
    width_of,
)
from world_models.rehearsal.values import (
    UNKNOWN,
    Column,
    Const,
    Each,
    Fault,
    Function,
    Index,
    Library,
    Mapping,
    Matrix,
    Model,
    Sequence,
    Table,
    Unknown,
    Vector,
    count_of,
    differ,
    same,
)

if TYPE_CHECKING:
    from world_models.rehearsal.interpreter import Interpreter

__all__ = ["Accessor", "Indexer", "accessor", "attribute", "get_item", "index_into", "set_item"]


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
    names = strings_of(key)
    if names is None:
        return Table({}, table.rows, False) if isinstance(key, (Sequence, Library)) else UNKNOWN
    absent = [name for name in names if name not in table.columns]
    if absent and table.exact:
        raise Fault("KeyError")
    if isinstance(key, Const):
        column = table.columns.get(key.value, Column("any"))
        return Vector(column, table.rows)
    if isinstance(key, Each):
        return Vector(together(table.columns.get(name, Column("any")) for name in names), table.rows)
    return Table({name: table.columns.get(name, Column("any")) for name in names}, table.rows, True)


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


def _get_from_matrix(run: Interpreter, matrix: Matrix, key: Any) -> Any:
    if isinstance(key, slice):
        return replace_rows(matrix, sliced(run, matrix.rows, key))
    if isinstance(key, Index):
        return replace_rows(matrix, key.rows)
    if isinstance(key, Const) and isinstance(key.value, int):
        return Vector(matrix.column, (("", matrix.width),), False)
    if isinstance(key, (Const, Each)) or (isinstance(key, Sequence) and strings_of(key) and key.items):
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
    if isinstance(holder, Indexer) and holder.kind == "loc" and isinstance(key, Sequence) and len(key.items) == 2:
        row, key = key.items
        whole = isinstance(row, slice) and row.start is None and row.stop is None
        holder = holder.holder
        if not whole:  # some rows change, the others keep what they have
            for one in strings_of(key) or () if isinstance(holder, Table) else ():
                old, new = holder.columns.get(one), column_of(value)
                holder.columns[one] = replace(new, missing=True) if old is None else together((old, new))
            return
    if not isinstance(holder, Table):
        return
    if not holder.columns and holder.exact and isinstance(value, (Vector, Table, Matrix)):
        holder.rows = value.rows
    names = strings_of(key)
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


def attribute(run: Interpreter, holder: Any, name: str) -> Any:
    """``holder.name`` of a table, series or array; ``None`` where it is a method."""
    if name == "shape":
        rows = rows_of(holder) or ()
        sizes = [Const(int(count_of(rows)))]
        if isinstance(holder, (Table, Matrix)):
            sizes.append(Const(int(width_of(holder))))
        return Sequence(list(sizes), len(sizes))
    if name in ("iloc", "loc", "at", "iat") and (not isinstance(holder, Matrix) or holder.frame):
        return Indexer(holder, name)
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
            return Accessor(holder, "dt")
        if name == "str" and holder.series:
            if holder.column.kind in ("number", "bool", "time"):
                raise Fault("AttributeError")
            return Accessor(holder, "str")
        if name in ("codes", "categories") and holder.column.kind == "category":
            return Vector(Column(whole=True, low=-1.0), holder.rows, False) if name == "codes" else UNKNOWN
        if name == "cat" and holder.series:
            if holder.column.kind not in ("category", "any"):
                raise Fault("AttributeError")
            return Accessor(holder, "cat")
        if name == "T":
            return holder
    elif name == "values" and holder.frame:
        return Matrix(holder.column, holder.rows, holder.width)
    elif name == "T":
        return Matrix(holder.column, (("", holder.width),), count_of(holder.rows))
    if name in ("dtype", "dtypes", "index", "size", "empty", "name", "nnz", "ndim"):
        return Vector(Column(unique=count_of(holder.rows)), holder.rows) if name == "index" else UNKNOWN
    return None


class Indexer:
    """``frame.iloc`` and the like."""

    __slots__ = ("holder", "kind")

    def __init__(self, holder: Any, kind: str) -> None:
        self.holder = holder
        self.kind = kind


class Accessor:
    """``series.dt`` and the like."""

    __slots__ = ("holder", "kind")

    def __init__(self, holder: Vector, kind: str) -> None:
        self.holder = holder
        self.kind = kind


def index_into(run: Interpreter, indexer: Indexer, key: Any) -> Any:
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


def accessor(run: Interpreter, one: Accessor, name: str) -> Any:
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
