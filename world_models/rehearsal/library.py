"""What names of modules, functions and methods stand for."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from world_models.rehearsal import access, estimators, functions, methods
from world_models.rehearsal.arrays import column_of, contains, names_of, rows_of, strings_of
from world_models.rehearsal.models import family_of
from world_models.rehearsal.names import attributes_of, is_installed, names_in
from world_models.rehearsal.values import (
    UNKNOWN,
    Class,
    Column,
    Const,
    Element,
    Fault,
    Function,
    Instance,
    Library,
    Mapping,
    Matrix,
    Model,
    Module,
    Place,
    Sequence,
    Table,
    Unknown,
    Vector,
    count_of,
)  # fmt: skip

if TYPE_CHECKING:
    from world_models.rehearsal.interpreter import Interpreter

__all__ = ["attribute", "call", "call_method", "check_module", "get_item", "member", "set_item"]

_CONSTANTS = {
    "numpy.nan": math.nan,
    "numpy.inf": math.inf,
    "numpy.pi": math.pi,
    "math.pi": math.pi,
    "numpy.newaxis": None,
}
_ENVIRONMENT = {"DATA_DIR": Place("data"), "SUBMISSION_PATH": Place("submission")}


def check_module(path: str) -> None:
    """Importing a module.

    Raises:
        Fault: it is not there.
    """
    if not is_installed(path):
        raise Fault("ModuleNotFoundError")


def member(module: str, name: str, fault: str = "AttributeError") -> Any:
    """``module.name``.

    Raises:
        Fault: of the given kind, where the module has no such name.
    """
    path = f"{module}.{name}"
    if path in _CONSTANTS:
        return Const(_CONSTANTS[path])
    if path == "os.environ":
        return Mapping(dict(_ENVIRONMENT))
    offered = names_in(module)
    if offered is not None and name not in offered and names_in(path) is None:
        raise Fault(fault)
    if module.split(".")[0] in ("numpy", "sklearn", "os", "scipy", "pandas") and (
        names_in(path) is not None or path in ("os.path", "numpy.linalg", "numpy.random")
    ):
        return Module(path)
    return Library(path)


def attribute(run: Interpreter, holder: Any, name: str) -> Any:
    """``holder.name``."""
    if isinstance(holder, Module):
        return member(holder.path, name)
    if isinstance(holder, (Table, Vector, Matrix)):
        found = access.attribute(run, holder, name)
        if found is not None:
            return found
        kind = "DataFrame" if isinstance(holder, Table) else "Series" if getattr(holder, "series", False) else "ndarray"
        known = attributes_of(kind)
        if isinstance(holder, Matrix) and holder.sparse:
            return UNKNOWN
        if known is not None and name not in known and not (isinstance(holder, Table) and not holder.exact):
            raise Fault("AttributeError")
        return UNKNOWN
    if isinstance(holder, access.Accessor):
        found = access.accessor(run, holder, name)
        return UNKNOWN if found is None else found
    if isinstance(holder, Instance):
        if name in holder.attributes:
            return holder.attributes[name]
        method = holder.of.methods.get(name)
        if method is None:
            raise Fault("AttributeError")
        return Function(method.node, method.scope, holder)
    if isinstance(holder, Place) and name in ("parent", "name", "stem", "suffix"):
        if name == "parent":
            return Place("other")
        file = PurePosixPath(holder.name)
        return Const(getattr(file, name)) if file.name else UNKNOWN
    if isinstance(holder, Const) and (holder.value is None or not hasattr(holder.value, name)):
        raise Fault("AttributeError")
    if isinstance(holder, Library):
        return Library(f"{holder.path}.{name}")
    if isinstance(holder, Model) and name.endswith("_") and holder.fitted is None:
        computed = name == "feature_importances_" and family_of(holder.name) in ("forest", "extra", "tree", "boosting")
        raise Fault("sklearn.exceptions.NotFittedError" if computed else "AttributeError")
    if isinstance(holder, Model) and name == "best_estimator_" and holder.steps:
        inner = holder.steps[0]
        if isinstance(inner, Model):
            inner.fitted, inner.target = holder.fitted, holder.target
        return inner
    return UNKNOWN


def get_item(run: Interpreter, holder: Any, key: Any) -> Any:
    """``holder[key]``."""
    if isinstance(holder, access.Indexer):
        return access.index_into(run, holder, key)
    if isinstance(holder, Library) and holder.path.startswith("numpy") and isinstance(key, Sequence):
        return functions.numpy(run, holder.name, [key], {}) or UNKNOWN
    return access.get_item(run, holder, key)


def set_item(run: Interpreter, holder: Any, key: Any, value: Any) -> None:
    """``holder[key] = value``."""
    access.set_item(run, holder, key, value)


def call_method(run: Interpreter, holder: Any, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    """``holder.name(...)``."""
    if isinstance(holder, Module):
        return run.call(member(holder.path, name), args, named)
    if isinstance(holder, Model):
        return estimators.method(run, holder, name, args, named)
    if isinstance(holder, (Table, Vector, Matrix)):
        found = methods.method(run, holder, name, args, named)
        if found is None:
            attribute(run, holder, name)  # is there such a method at all?
            run.unknown += 1
            return UNKNOWN
        return found
    if isinstance(holder, Instance):
        return run.call(attribute(run, holder, name), args, named)
    if isinstance(holder, Sequence):
        return _of_sequence(run, holder, name, args)
    if isinstance(holder, Mapping):
        return _of_mapping(holder, name, args)
    if isinstance(holder, Place):
        return _of_place(holder, name, args)
    if isinstance(holder, access.Accessor):
        column = holder.holder.column
        kind = "number" if name in ("len", "count", "find", "contains", "startswith", "dayofyear") else "any"
        return Vector(Column(kind if kind == "number" else "text", column.missing), holder.holder.rows)
    if isinstance(holder, Const):
        return _of_constant(holder, name, args)
    if isinstance(holder, Library):
        return call(run, f"{holder.path}.{name}", args, named)
    if isinstance(holder, _Writer):
        return holder.write(run, name, args)
    if isinstance(holder, (Class, Function)):
        raise Fault("AttributeError")
    run.unknown += not isinstance(holder, Unknown)
    return UNKNOWN


def _of_constant(holder: Const, name: str, args: list[Any]) -> Any:
    function = getattr(holder.value, name, None)
    if function is None:
        raise Fault("AttributeError")
    if isinstance(holder.value, str) and all(isinstance(arg, Const) for arg in args) and name not in ("join", "format"):
        try:
            value = function(*(arg.value for arg in args))
        except (TypeError, ValueError, AttributeError):
            return UNKNOWN
        return Sequence([Const(part) for part in value], len(value)) if isinstance(value, list) else Const(value)
    return UNKNOWN


def _of_sequence(run: Interpreter, holder: Sequence, name: str, args: list[Any]) -> Any:
    value = args[0] if args else UNKNOWN
    if name == "append":
        holder.items.append(value)
        holder.length += max(1.0, run.repeat / holder.born)
    elif name == "extend":
        more = value.items if isinstance(value, Sequence) else [UNKNOWN]
        holder.items += more[: max(0, 4096 - len(holder.items))]
        holder.length += value.length if isinstance(value, Sequence) else 2.5
    elif name == "remove":
        found = contains(holder, value) if isinstance(value, Const) else None
        if found is False:
            raise Fault("ValueError")
        if found:
            holder.items = [
                item
                for item in holder.items
                if not (isinstance(item, Const) and item.value == getattr(value, "value", None))
            ]
            holder.length = len(holder.items)
    elif name in ("tolist", "to_list", "copy"):
        return Sequence(list(holder.items), holder.length)
    elif name in ("drop", "difference"):
        names = strings_of(value)
        if names is None or not holder.known:
            return Sequence(holder.items, holder.length + 0.5)
        kept = [item for item in holder.items if not (isinstance(item, Const) and item.value in names)]
        if name == "drop" and len(holder.items) - len(kept) < len(names):
            raise Fault("KeyError")
        return Sequence(kept, len(kept))
    elif name in ("intersection",):
        names = strings_of(value) or []
        kept = [item for item in holder.items if isinstance(item, Const) and item.value in names]
        return Sequence(kept, len(kept))
    elif name in ("fit", "predict", "shape", "values"):
        raise Fault("AttributeError")
    elif name in ("mean", "std", "sum", "index", "count", "isin"):
        return UNKNOWN
    return Const(None)


def _of_mapping(holder: Mapping, name: str, args: list[Any]) -> Any:
    if name == "get":
        key = args[0] if args else UNKNOWN
        if isinstance(key, Const) and key.value in holder.items:
            return holder.items[key.value]
        return args[1] if len(args) > 1 else Const(None)
    if name == "items":
        pairs = [Sequence([Const(key), value], 2) for key, value in holder.items.items()]
        return Sequence(pairs, len(pairs))
    if name in ("keys", "values"):
        found = [Const(key) for key in holder.items] if name == "keys" else list(holder.items.values())
        return Sequence(found, len(found))
    return UNKNOWN


def _of_place(holder: Place, name: str, args: list[Any]) -> Any:
    if name == "joinpath":
        rest = "/".join(str(arg.value) for arg in args if isinstance(arg, Const))
        return Place(holder.where, f"{holder.name}/{rest}")
    if name in ("exists", "is_file", "is_dir"):
        return Const(holder.where == "data")
    if name in ("open", "write_text", "write_bytes"):
        return _Writer(holder) if name == "open" else UNKNOWN
    return holder if name in ("resolve", "absolute", "expanduser") else UNKNOWN


class _Writer:
    """An open file, or a csv writer on one."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def write(self, run: Interpreter, name: str, args: list[Any]) -> Any:
        if self.place.where != "submission":
            return UNKNOWN
        value = args[0] if args else UNKNOWN
        if name == "writerow" and not run.header:
            run.header = tuple(strings_of(value) or ()) or ("?",)
            if isinstance(value, Sequence) and any(not isinstance(item, Const) for item in value.items):
                run.header = ("?",)
            run.submitted = Table({one: Column("any") for one in run.header}, (("0", 0.0),))
        elif name in ("writerows", "writerow") and run.header:
            row = value.items[0] if name == "writerows" and isinstance(value, Sequence) and value.items else None
            items = row.items if isinstance(row, Sequence) else []
            columns = [column_of(item) for item in items] or [Column("any")] * len(run.header)
            rows = getattr(value, "rows", None) or (run.take(run.repeat) if run.repeat > 1 else run.fresh((("", 1.0),)))
            if name == "writerows" and isinstance(value, _Zipped):
                columns, rows = [column_of(part) for part in value.parts], value.rows
            run.submitted = Table(dict(zip(run.header, columns, strict=False)), rows, "?" not in run.header)
        elif name == "write":
            run.flag("writes_somewhere")
        return Const(None)


class _Zipped(Sequence):
    """Several arrays, row by row."""

    __slots__ = ("parts", "rows")

    def __init__(self, parts: list[Any], rows: Any) -> None:
        super().__init__([Sequence([UNKNOWN] * len(parts), len(parts))], count_of(rows))
        self.parts = parts
        self.rows = rows


def call(run: Interpreter, path: str, args: list[Any], named: dict[str, Any]) -> Any:
    """Result of calling a function or class of a library by its full name."""
    module, _, name = path.rpartition(".")
    root = path.partition(".")[0]
    if module == "builtins":
        return _builtin(run, name, args, named)
    if root == "sklearn":
        return estimators.sklearn(run, path, args, named)
    if root == "pandas":
        found = functions.pandas(run, path.removeprefix("pandas."), args, named)
    elif root == "numpy":
        found = functions.numpy(run, path.removeprefix("numpy."), args, named)
    else:
        found = _standard(run, path, args)
    if found is None:
        run.unknown += path not in _HARMLESS and not path.startswith(
            ("warnings.", "time.", "gc.", "random.", "logging.")
        )
        return UNKNOWN
    return found


_HARMLESS = {"numpy.random.seed", "numpy.errstate", "pandas.set_option", "os.makedirs"}


def _standard(run: Interpreter, path: str, args: list[Any]) -> Any:
    first = args[0] if args else UNKNOWN
    if path in ("pathlib.Path", "pathlib.PurePath"):
        if isinstance(first, Const) and first.value is None:
            raise Fault("TypeError")
        return first if isinstance(first, Place) else Place("other", str(getattr(first, "value", "")))
    if path == "os.path.join":
        if isinstance(first, Const) and first.value is None:
            raise Fault("TypeError")
        if isinstance(first, Place):
            rest = "/".join(str(arg.value) for arg in args[1:] if isinstance(arg, Const))
            return Place(first.where, f"{first.name}/{rest}")
        if isinstance(first, Const):
            return Place("other", str(first.value))
    if path == "os.path.exists":
        return (
            Const(isinstance(first, Place) and first.where == "data") if isinstance(first, (Place, Const)) else UNKNOWN
        )
    if path in ("os.getenv", "os.environ.get"):
        return _of_mapping(Mapping(dict(_ENVIRONMENT)), "get", args)
    if path == "csv.writer":
        return first
    if path.startswith("math.") and isinstance(first, (Vector, Table, Matrix)):
        raise Fault("TypeError")
    if path in ("sys.exit",):
        raise Fault("SystemExit")
    return None


def _builtin(run: Interpreter, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    first = args[0] if args else UNKNOWN
    if name == "len":
        rows = rows_of(first)
        if isinstance(first, Const):
            if not hasattr(first.value, "__len__"):
                raise Fault("TypeError")
            return Const(len(first.value))
        if isinstance(first, Mapping):
            return Const(len(first.items))
        if isinstance(first, Matrix) and first.sparse:
            raise Fault("TypeError")
        return UNKNOWN if rows is None or not float(count_of(rows)).is_integer() else Const(int(count_of(rows)))
    if name in ("list", "tuple", "set", "sorted", "reversed", "frozenset"):
        if isinstance(first, Table):
            return names_of(first)
        if isinstance(first, Sequence):
            items = list(first.items)
            if name == "reversed":
                items.reverse()
            elif name == "sorted" and not named and all(isinstance(one, Const) for one in items):
                with contextlib.suppress(TypeError):
                    items.sort(key=lambda one: one.value)
            return Sequence(items, first.length)
        if isinstance(first, Vector):
            return Sequence([Element(first.column)], count_of(first.rows))
        if isinstance(first, Matrix):
            return Sequence([UNKNOWN], count_of(first.rows))
        if isinstance(first, Mapping):
            return Sequence([Const(key) for key in first.items], len(first.items))
        if isinstance(first, Const) and isinstance(first.value, (int, float, type(None))):
            raise Fault("TypeError")
        return Sequence([], 0) if not args else UNKNOWN
    if name == "range":
        sizes = [arg.value for arg in args if isinstance(arg, Const) and isinstance(arg.value, int)]
        return Const(range(*sizes)) if sizes and len(sizes) == len(args) else UNKNOWN
    if name == "enumerate":
        items, each = run.iterate(first)
        return Sequence([Sequence([UNKNOWN, item], 2) for item in items], len(items) * each)
    if name == "zip":
        if args and all(isinstance(arg, (Vector, Matrix)) for arg in args):
            rows = min((arg.rows for arg in args), key=count_of)
            return _Zipped(args, rows)
        lists = [run.iterate(arg) for arg in args]
        if not lists:
            return UNKNOWN
        together = [Sequence(list(items), len(items)) for items in zip(*(items for items, _ in lists), strict=False)]
        return Sequence(list(together), len(together) * min(each for _, each in lists))
    if name == "open":
        return _open(first, args, named)
    if name in _CONVERSIONS:
        return _converted(name, first)
    if name in ("sum", "max", "min"):
        if name == "sum" and isinstance(first, Sequence) and not first.items:
            return Const(0)
        if isinstance(first, Sequence) and first.length == 0 and name != "sum":
            raise Fault("ValueError")
        if name == "sum" and isinstance(first, Sequence) and first.known:
            if all(isinstance(item, Const) and isinstance(item.value, (int, float)) for item in first.items):
                return Const(sum(item.value for item in first.items))
            if first.items and isinstance(first.items[0], Vector):
                return first.items[0]
        return UNKNOWN
    if name == "dict":
        return Mapping(dict(named)) if not args else first if isinstance(first, Mapping) else UNKNOWN
    if name in ("exit", "quit"):
        raise Fault("SystemExit")
    if name == "isinstance":
        return UNKNOWN
    if name in ("any", "all"):
        return UNKNOWN
    if name.endswith(("Error", "Exception")):
        return UNKNOWN
    return Const(None) if name == "print" else UNKNOWN


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "int": int, "float": float, "str": str, "bool": bool, "abs": abs, "round": round,
}  # fmt: skip


def _converted(name: str, first: Any) -> Any:
    if isinstance(first, (Table, Vector, Matrix)) and name in ("int", "float"):
        if count_of(first.rows) > 1:
            raise Fault("TypeError")
        return UNKNOWN
    if isinstance(first, Place) and name == "str":
        return first
    if isinstance(first, Const):
        try:
            return Const(_CONVERSIONS[name](first.value))
        except (TypeError, ValueError, OverflowError) as error:
            raise Fault(type(error).__name__) from None
    if isinstance(first, (Sequence, Mapping)) and name in ("int", "float"):
        raise Fault("TypeError")
    return UNKNOWN


def _open(place: Any, args: list[Any], named: dict[str, Any]) -> Any:
    mode = args[1] if len(args) > 1 else named.get("mode", Const("r"))
    writes = isinstance(mode, Const) and any(letter in str(mode.value) for letter in "wax")
    if isinstance(place, Place):
        if place.where == "data" and not writes and place.name.strip("/") not in (
            "train.csv", "test.csv", "sample_submission.csv", "description.md",
        ):  # fmt: skip
            raise Fault("FileNotFoundError")
        return _Writer(place)
    if isinstance(place, Const):
        if not writes:
            raise Fault("FileNotFoundError")
        return _Writer(Place("submission" if methods.is_answer(place) else "other"))
    return UNKNOWN
