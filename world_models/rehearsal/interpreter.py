"""Running a program in the head: its statements are followed over values of which only kind and size are known."""

from __future__ import annotations

import ast
import builtins
import contextlib
import operator
from collections.abc import Callable
from typing import Any

from world_models.rehearsal import library
from world_models.rehearsal.arrays import combine, contains, is_textual, names_of
from world_models.rehearsal.inventory import Inventory
from world_models.rehearsal.values import (
    UNKNOWN,
    Class,
    Column,
    Const,
    Each,
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
    Rows,
    Sequence,
    Table,
    Unknown,
    Vector,
    count_of,
    truth,
)  # fmt: skip

__all__ = ["GiveUp", "Interpreter", "Scope"]

_BUILTINS = frozenset(dir(builtins)) | {"__file__", "__doc__"}
_BUDGET = 6000  # expressions; a program is followed no further
_DEPTH = 8  # of calls of the program's own functions
_CONCRETE = 3  # items of a sequence that a loop runs over one by one
_MOST_ITEMS = 4096  # of a list that are remembered
_ROUNDS = 50  # of a loop whose condition is known
_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip
_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip


class GiveUp(Exception):
    """The program is not followed any further."""


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class Scope:
    """Names of a module or of a function's call."""

    __slots__ = ("assigned", "outer", "shared", "values")

    def __init__(
        self,
        outer: Scope | None = None,
        assigned: frozenset[str] = frozenset(),
        shared: frozenset[str] = frozenset(),
    ) -> None:
        self.values: dict[str, Any] = {}
        self.outer = outer
        self.assigned = assigned
        self.shared = shared  # names that belong to a scope further out

    def put(self, name: str, value: Any) -> None:
        scope = self
        while name in scope.shared and scope.outer is not None:
            scope = scope.outer
        scope.values[name] = value

    def find(self, name: str) -> Any:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            if name in scope.assigned:
                raise Fault("UnboundLocalError")
            scope = scope.outer
        if name == "__name__":
            return Const("__main__")
        if name in _BUILTINS:
            return Library(f"builtins.{name}")
        raise Fault("NameError")


class Interpreter:
    """Follows one program.

    Args:
        inventory: the task that it is run on.

    Attributes:
        repeat: how often the current statement runs, by the loops around it.
        operations: statements run in loops.
        bytes: size of the largest array.
        unknown: calls whose result nobody could tell.
        flags: suspicions by name.
        costs: rough operations of fits, by family of estimators.
        fits: (estimator, rows, width) of each fit, in order.
        submitted: the table that was written to the submission's place, ``None`` so far.
    """

    def __init__(self, inventory: Inventory) -> None:
        self.inventory = inventory
        self.repeat = 1.0
        self.operations = 0.0
        self.bytes = 0.0
        self.unknown = 0
        self.flags: dict[str, float] = {}
        self.costs: dict[str, float] = {}
        self.fits: list[tuple[Model, float, float]] = []
        self.submitted: Table | None = None
        self.header: tuple[str, ...] = ()  # of a file written row by row
        self._left = _BUDGET
        self._depth = 0
        self._serial = 0

    # --- helpers for the libraries ---

    def flag(self, name: str, amount: float = 1.0) -> None:
        self.flags[name] = max(self.flags.get(name, 0.0), amount)

    def fresh(self, rows: Rows, share: float = 1.0) -> Rows:
        """A guess of some of these rows."""
        self._serial += 1
        return ((f"{self._serial}?", count_of(rows) * share),)

    def take(self, count: float) -> Rows:
        """Rows of a known number."""
        return (("", float(count)),)

    def allocate(self, rows: float, width: float, size: float = 8.0) -> None:
        """An array of that size comes into being.

        Raises:
            Fault: it is far beyond the limit of memory.
        """
        needed = rows * width * size
        self.bytes = max(self.bytes, needed)
        if needed > 1.3 * self.inventory.memory_mb * 2**20:
            raise Fault("MemoryError")

    def cost(self, family: str, amount: float) -> None:
        self.costs[family] = self.costs.get(family, 0.0) + amount * self.repeat

    # --- statements ---

    def run(self, body: list[ast.stmt], scope: Scope) -> None:
        for statement in body:
            self.statement(statement, scope)

    def statement(self, node: ast.stmt, scope: Scope) -> None:
        self._left -= 1
        if self._left < 0:
            raise GiveUp
        if self.repeat > 1.0:
            self.operations += self.repeat
        handler = _STATEMENTS.get(type(node))
        if handler is not None:
            handler(self, node, scope)

    def _expression_statement(self, node: ast.Expr, scope: Scope) -> None:
        self.eval(node.value, scope)

    def _assign(self, node: ast.Assign, scope: Scope) -> None:
        value = self.eval(node.value, scope)
        for target in node.targets:
            self.bind(target, value, scope)

    def _annotated(self, node: ast.AnnAssign, scope: Scope) -> None:
        if node.value is not None:
            self.bind(node.target, self.eval(node.value, scope), scope)

    def _augmented(self, node: ast.AugAssign, scope: Scope) -> None:
        old = self.eval(_loaded(node.target), scope)
        value = self.eval(node.value, scope)
        if isinstance(old, Sequence) and isinstance(value, Sequence):
            old.items[:] = (old.items + value.items)[:_MOST_ITEMS]
            old.length += value.length
            return
        self.bind(node.target, self.combine(type(node.op), old, value), scope)

    def bind(self, target: ast.expr, value: Any, scope: Scope) -> None:
        if isinstance(target, ast.Name):
            scope.put(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target.elts, value, scope)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, UNKNOWN, scope)
        elif isinstance(target, ast.Subscript):
            holder = self.eval(target.value, scope)
            library.set_item(self, holder, self.eval(target.slice, scope), value)
        elif isinstance(target, ast.Attribute):
            holder = self.eval(target.value, scope)
            if isinstance(holder, Instance):
                holder.attributes[target.attr] = value
            elif isinstance(holder, Table) and target.attr in holder.columns:
                library.set_item(self, holder, Const(target.attr), value)

    def _unpack(self, targets: list[ast.expr], value: Any, scope: Scope) -> None:
        starred = any(isinstance(target, ast.Starred) for target in targets)
        parts: list[Any] | None = None
        if isinstance(value, Const) and isinstance(value.value, tuple):
            parts = [Const(item) for item in value.value]
        elif isinstance(value, Sequence) and value.known:
            parts = value.items
        elif isinstance(value, Sequence):
            parts = [value.items[0] if value.items else UNKNOWN] * len(targets)
        elif isinstance(value, (Const, Vector, Table)) and not isinstance(getattr(value, "value", ""), str):
            raise Fault("TypeError" if isinstance(value, Const) else "ValueError")
        if parts is None or starred:
            parts = [UNKNOWN] * len(targets)
        if len(parts) != len(targets):
            raise Fault("ValueError")
        for target, part in zip(targets, parts, strict=True):
            self.bind(target, part, scope)

    def _if(self, node: ast.If, scope: Scope) -> None:
        verdict = truth(self.eval(node.test, scope))
        if verdict is not None:
            self.run(node.body if verdict else node.orelse, scope)
            return
        for branch in (node.body, node.orelse):
            try:
                self.run(branch, scope)
            except Fault:
                self.flag("fault_in_a_branch")

    def _for(self, node: ast.For, scope: Scope) -> None:
        items, each = self.iterate(self.eval(node.iter, scope))
        before, self.repeat = self.repeat, self.repeat * each
        try:
            for item in items:
                self.bind(node.target, item, scope)
                with contextlib.suppress(_Continue):
                    self.run(node.body, scope)
        except _Break:
            pass
        else:
            self.run(node.orelse, scope)
        finally:
            self.repeat = before

    def _while(self, node: ast.While, scope: Scope) -> None:
        for _ in range(_ROUNDS):
            verdict = truth(self.eval(node.test, scope))
            if verdict is False:
                return
            try:
                self.run(node.body, scope)
            except _Break:
                return
            except _Continue:
                pass
            if verdict is None:
                self.flag("open_loop")
                return
        self.flag("long_loop")
        self.operations += 1e9 if not any(isinstance(one, ast.Break) for one in ast.walk(node)) else 1e3

    def _with(self, node: ast.With, scope: Scope) -> None:
        for item in node.items:
            value = self.eval(item.context_expr, scope)
            if item.optional_vars is not None:
                self.bind(item.optional_vars, value, scope)
        self.run(node.body, scope)

    def _try(self, node: ast.Try, scope: Scope) -> None:
        try:
            self.run(node.body, scope)
        except Fault as fault:
            for handler in node.handlers:
                if _catches(handler, fault.kind):
                    if handler.name:
                        scope.values[handler.name] = UNKNOWN
                    self.run(handler.body, scope)
                    break
            else:
                raise
        else:
            self.run(node.orelse, scope)
        finally:
            self.run(node.finalbody, scope)

    def _function(self, node: ast.FunctionDef, scope: Scope) -> None:
        scope.values[node.name] = Function(node, scope)

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        inner = Scope(scope)
        self.run(node.body, inner)
        methods = {name: value for name, value in inner.values.items() if isinstance(value, Function)}
        for method in methods.values():
            method.scope = scope
        scope.values[node.name] = UNKNOWN if node.bases else Class(node.name, methods)

    def _return(self, node: ast.Return, scope: Scope) -> None:
        raise _Return(Const(None) if node.value is None else self.eval(node.value, scope))

    def _import(self, node: ast.Import, scope: Scope) -> None:
        for alias in node.names:
            library.check_module(alias.name)
            path = alias.name if alias.asname else alias.name.split(".")[0]
            scope.values[alias.asname or path] = Module(path)

    def _import_from(self, node: ast.ImportFrom, scope: Scope) -> None:
        module = node.module or ""
        library.check_module(module)
        for alias in node.names:
            if alias.name == "*":
                raise GiveUp
            scope.values[alias.asname or alias.name] = library.member(module, alias.name, "ImportError")

    def _assert(self, node: ast.Assert, scope: Scope) -> None:
        verdict = truth(self.eval(node.test, scope))
        if verdict is False:
            raise Fault("AssertionError")
        if verdict is None:
            self.flag("open_assertion")

    def _raise(self, node: ast.Raise, scope: Scope) -> None:
        raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        raise Fault(raised.id if isinstance(raised, ast.Name) else "Exception")

    def _delete(self, node: ast.Delete, scope: Scope) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                scope.values.pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                holder, key = self.eval(target.value, scope), self.eval(target.slice, scope)
                if isinstance(holder, Table) and isinstance(key, Const):
                    holder.columns.pop(key.value, None)

    def _break(self, node: ast.Break, scope: Scope) -> None:
        raise _Break

    def _continue(self, node: ast.Continue, scope: Scope) -> None:
        raise _Continue

    # --- loops ---

    def iterate(self, value: Any) -> tuple[list[Any], float]:
        """Items to run a loop over, and how often each."""
        if isinstance(value, Table):
            value = names_of(value)
        if isinstance(value, Const):
            if isinstance(value.value, (int, float)) or value.value is None:
                raise Fault("TypeError")
            if isinstance(value.value, range):
                length = len(value.value)
                few = [Const(item) for item in value.value[: _CONCRETE if length <= _CONCRETE else 1]]
                return few, length / max(1, len(few))
            value = Sequence([Const(item) for item in value.value], len(value.value))
        if isinstance(value, Each):
            return [value], float(len(value.names))
        if isinstance(value, Mapping):
            value = Sequence([Const(key) for key in value.items], len(value.items))
        if isinstance(value, Sequence):
            if not value.length:
                return [], 1.0
            if not value.known:
                return value.items[:1] or [UNKNOWN], max(1.0, value.length)
            if len(value.items) > _CONCRETE:
                names = tuple(
                    item.value for item in value.items if isinstance(item, Const) and isinstance(item.value, str)
                )
                if len(names) == len(value.items):
                    return [Each(names)], float(len(names))
            return value.items[:8], max(1.0, len(value.items) / 8)
        if isinstance(value, (Vector, Matrix)):
            item: Any = Element(value.column)
            if isinstance(value, Matrix):
                item = Vector(value.column, (("", value.width),), False)
            return [item], max(1.0, count_of(value.rows))
        return [UNKNOWN], 1.0

    # --- expressions ---

    def eval(self, node: ast.expr, scope: Scope) -> Any:
        self._left -= 1
        if self._left < 0:
            raise GiveUp
        handler = _EXPRESSIONS.get(type(node))
        return UNKNOWN if handler is None else handler(self, node, scope)

    def _constant(self, node: ast.Constant, scope: Scope) -> Any:
        return Const(node.value)

    def _name(self, node: ast.Name, scope: Scope) -> Any:
        found = scope.values.get(node.id)
        return scope.find(node.id) if found is None else found

    def _attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        return library.attribute(self, self.eval(node.value, scope), node.attr)

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        args: list[Any] = []
        function = node.func
        holder = method = None
        if isinstance(function, ast.Attribute):
            holder, method = self.eval(function.value, scope), function.attr
        else:
            holder = self.eval(function, scope)
        open_ended = False
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                spread = self.eval(argument.value, scope)
                if isinstance(spread, Sequence) and spread.known:
                    args += spread.items
                else:
                    open_ended = True
            else:
                args.append(self.eval(argument, scope))
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value, scope)
            if keyword.arg is not None:
                named[keyword.arg] = value
            elif isinstance(value, Mapping):
                named |= {str(key): item for key, item in value.items.items()}
        if open_ended:
            self.unknown += 1
            return UNKNOWN
        if method is not None:
            return library.call_method(self, holder, method, args, named)
        return self.call(holder, args, named)

    def call(self, function: Any, args: list[Any], named: dict[str, Any]) -> Any:
        """Result of calling a value."""
        if isinstance(function, Function):
            return self._call_function(function, args, named)
        if isinstance(function, Class):
            made = Instance(function)
            begin = function.methods.get("__init__")
            if begin is not None:
                self._call_function(Function(begin.node, begin.scope, made), args, named)
            return made
        if isinstance(function, Library):
            return library.call(self, function.path, args, named)
        if isinstance(function, (Module, Const, Table, Vector, Matrix, Sequence)):
            raise Fault("TypeError")
        self.unknown += 1
        return UNKNOWN

    def _call_function(self, function: Function, args: list[Any], named: dict[str, Any]) -> Any:
        if self._depth >= _DEPTH:
            raise GiveUp
        node = function.node
        own, shared = (frozenset[str](), frozenset[str]()) if isinstance(node, ast.Lambda) else _assigned(node)
        inner = Scope(function.scope, own, shared)
        given = ([function.bound] if function.bound is not None else []) + args
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        if len(given) > len(names) and node.args.vararg is None:
            raise Fault("TypeError")
        values = dict(zip(names, given, strict=False))
        only = [argument.arg for argument in node.args.kwonlyargs]
        for name, value in named.items():
            if name in values or (name not in names and name not in only and node.args.kwarg is None):
                raise Fault("TypeError")
            values[name] = value
        defaults = dict(zip(names[len(names) - len(node.args.defaults) :], node.args.defaults, strict=True))
        defaults |= {name: value for name, value in zip(only, node.args.kw_defaults, strict=True) if value is not None}
        for name in (*names, *only):
            if name not in values:
                if name not in defaults:
                    raise Fault("TypeError")
                values[name] = self.eval(defaults[name], function.scope)
        for extra in (node.args.vararg, node.args.kwarg):
            if extra is not None:
                values[extra.arg] = UNKNOWN
        inner.values = values
        self._depth += 1
        try:
            if isinstance(node, ast.Lambda):
                return self.eval(node.body, inner)
            self.run(node.body, inner)
        except _Return as returned:
            return returned.value
        finally:
            self._depth -= 1
        return Const(None)

    def _subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        return library.get_item(self, self.eval(node.value, scope), self.eval(node.slice, scope))

    def _slice(self, node: ast.Slice, scope: Scope) -> Any:
        return slice(
            *(None if part is None else self.eval(part, scope) for part in (node.lower, node.upper, node.step))
        )

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> Any:
        items: list[Any] = []
        length = 0.0
        for element in node.elts:
            if isinstance(element, ast.Starred):
                spread = self.eval(element.value, scope)
                if isinstance(spread, Sequence):
                    items += spread.items
                    length += spread.length
                else:
                    items.append(UNKNOWN)
                    length += 1.5
            else:
                items.append(self.eval(element, scope))
                length += 1
        return Sequence(items, length, self.repeat)

    def _dict(self, node: ast.Dict, scope: Scope) -> Any:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            item = self.eval(value, scope)
            if key is None:
                if isinstance(item, Mapping):
                    found |= item.items
                continue
            name = self.eval(key, scope)
            try:
                found[name.value if isinstance(name, Const) else name] = item
            except TypeError:
                found[id(name)] = item
        return Mapping(found)

    def _joined(self, node: ast.JoinedStr, scope: Scope) -> Any:
        parts = [self.eval(part.value if isinstance(part, ast.FormattedValue) else part, scope) for part in node.values]
        if parts and isinstance(parts[0], Place):
            rest = "".join(str(part.value) for part in parts[1:] if isinstance(part, Const))
            return Place(parts[0].where, parts[0].name + rest)
        if all(isinstance(part, Const) for part in parts):
            return Const("".join(str(part.value) for part in parts))
        return UNKNOWN

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, scope: Scope) -> Any:
        inner = Scope(scope)
        if len(node.generators) > 1:
            for generator in node.generators:
                items, _ = self.iterate(self.eval(generator.iter, inner))
                if items:
                    self.bind(generator.target, items[0], inner)
            return Sequence([self.eval(node.elt, inner)], 1.5)
        (generator,) = node.generators
        over = self.eval(generator.iter, scope)
        items, each = (over.items, 1.0) if _of_strings(over) else self.iterate(over)
        target = generator.target.id if isinstance(generator.target, ast.Name) else None
        plain = isinstance(node.elt, ast.Name) and node.elt.id == target
        kept: list[Any] = []
        length = 0.0
        before, self.repeat = self.repeat, self.repeat * each
        for item in items:
            self.bind(generator.target, item, inner)
            verdicts = [truth(self.eval(condition, inner)) for condition in generator.ifs]
            if False in verdicts:
                continue
            kept.append(item if plain else self.eval(node.elt, inner))
            length += each if None not in verdicts else 0.5 * each
        if each > 1:
            self.operations += self.repeat
        self.repeat = before
        return Sequence(kept, length, self.repeat)

    def _dict_comprehension(self, node: ast.DictComp, scope: Scope) -> Any:
        return UNKNOWN

    def _lambda(self, node: ast.Lambda, scope: Scope) -> Any:
        return Function(node, scope)

    def _conditional(self, node: ast.IfExp, scope: Scope) -> Any:
        verdict = truth(self.eval(node.test, scope))
        if verdict is not None:
            return self.eval(node.body if verdict else node.orelse, scope)
        first = self.eval(node.body, scope)
        return first if not isinstance(first, Unknown) else self.eval(node.orelse, scope)

    def _boolean(self, node: ast.BoolOp, scope: Scope) -> Any:
        wanted = isinstance(node.op, ast.Or)
        value: Any = UNKNOWN
        for part in node.values:
            value = self.eval(part, scope)
            verdict = truth(value)
            if verdict is None:
                return UNKNOWN
            if verdict is wanted:
                return value
        return value

    def _unary(self, node: ast.UnaryOp, scope: Scope) -> Any:
        value = self.eval(node.operand, scope)
        if isinstance(node.op, ast.Not):
            verdict = truth(value)
            return UNKNOWN if verdict is None else Const(not verdict)
        if isinstance(value, Const) and isinstance(value.value, (int, float)):
            return Const(-value.value if isinstance(node.op, ast.USub) else value.value)
        if isinstance(value, (Vector, Table, Matrix)) and is_textual(value):
            raise Fault("TypeError")
        return value

    def _compare(self, node: ast.Compare, scope: Scope) -> Any:
        left = self.eval(node.left, scope)
        right = self.eval(node.comparators[0], scope)
        kind = type(node.ops[0])
        if kind in (ast.Is, ast.IsNot):
            if isinstance(left, Unknown) or not isinstance(right, Const):
                return UNKNOWN
            return Const((isinstance(left, Const) and left.value is right.value) == (kind is ast.Is))
        if kind in (ast.In, ast.NotIn):
            found = contains(right, left)
            return UNKNOWN if found is None else Const(found == (kind is ast.In))
        if len(node.ops) == 1 and isinstance(left, Const) and isinstance(right, Const):
            try:
                return Const(_COMPARE[kind](left.value, right.value))
            except TypeError:
                raise Fault("TypeError") from None
        if isinstance(left, Element) and isinstance(right, Const) and kind in (ast.Eq, ast.NotEq):
            labels = self.inventory.classes if left.column.source == "target" else ()
            strange = labels and str(right.value) not in labels
            strange = strange or (left.column.kind == "number" and isinstance(right.value, str))
            return Const(kind is ast.NotEq) if strange else UNKNOWN
        for side in (left, right):
            if isinstance(side, Vector):
                return Vector(Column("bool"), side.rows, side.series)
            if isinstance(side, Matrix):
                return Matrix(Column("bool"), side.rows, side.width)
        return UNKNOWN

    def _binary(self, node: ast.BinOp, scope: Scope) -> Any:
        return self.combine(type(node.op), self.eval(node.left, scope), self.eval(node.right, scope))

    def combine(self, kind: type, left: Any, right: Any) -> Any:
        """Result of an arithmetic operator."""
        if isinstance(left, Const) and isinstance(right, Const):
            return self._calculate(kind, left.value, right.value)
        return combine(self, kind, left, right)

    def _calculate(self, kind: type, left: Any, right: Any) -> Any:
        operation = _ARITHMETIC.get(kind)
        try:
            if kind is ast.Pow:
                small = all(isinstance(value, (int, float)) and abs(value) < 1e3 for value in (left, right))
                return Const(float(left) ** right) if small else UNKNOWN
            if operation is None:
                return UNKNOWN
            if kind is ast.Mult and not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
                return UNKNOWN
            if any(len(value) > _MOST_ITEMS for value in (left, right) if hasattr(value, "__len__")):
                return UNKNOWN
            if any(isinstance(value, int) and abs(value) > 1e15 for value in (left, right)):
                return Const(float(operation(float(left), float(right))))
            return Const(operation(left, right))
        except ZeroDivisionError:
            raise Fault("ZeroDivisionError") from None
        except TypeError:
            raise Fault("TypeError") from None
        except (OverflowError, ValueError):
            return UNKNOWN

    def _starred(self, node: ast.Starred, scope: Scope) -> Any:
        return self.eval(node.value, scope)

    def _named(self, node: ast.NamedExpr, scope: Scope) -> Any:
        value = self.eval(node.value, scope)
        self.bind(node.target, value, scope)
        return value


def _of_strings(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and value.known
        and all(isinstance(item, Const) and isinstance(item.value, str) for item in value.items)
    )


def _loaded(target: ast.expr) -> ast.expr:
    """The same place, read."""
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    return target


def _catches(handler: ast.ExceptHandler, kind: str) -> bool:
    if handler.type is None:
        return True
    named = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {getattr(one, "id", getattr(one, "attr", "")) for one in named}
    mother = {"KeyError": "LookupError", "IndexError": "LookupError", "FileNotFoundError": "OSError",
              "ModuleNotFoundError": "ImportError", "UnboundLocalError": "NameError"}.get(kind, "")  # fmt: skip
    return bool(names & {"Exception", "BaseException", kind, mother})


def _assigned(node: ast.FunctionDef) -> tuple[frozenset[str], frozenset[str]]:
    """Names that are a function's own, and those that it shares with a scope further out."""
    found: set[str] = set()
    shared: set[str] = set()
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Name) and isinstance(one.ctx, (ast.Store, ast.Del)):
            found.add(one.id)
        elif isinstance(one, (ast.Global, ast.Nonlocal)):
            shared.update(one.names)
        elif isinstance(one, (ast.FunctionDef, ast.ClassDef)):
            found.add(one.name)
            continue
        elif isinstance(one, (ast.Lambda, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            continue
        elif isinstance(one, (ast.Import, ast.ImportFrom)):
            found.update(alias.asname or alias.name.split(".")[0] for alias in one.names)
        waiting += ast.iter_child_nodes(one)
    return frozenset(found - shared), frozenset(shared)


_STATEMENTS: dict[type, Callable[[Interpreter, Any, Scope], None]] = {
    ast.Expr: Interpreter._expression_statement, ast.Assign: Interpreter._assign, ast.AnnAssign: Interpreter._annotated,
    ast.AugAssign: Interpreter._augmented, ast.If: Interpreter._if, ast.For: Interpreter._for,
    ast.While: Interpreter._while, ast.With: Interpreter._with, ast.Try: Interpreter._try,
    ast.FunctionDef: Interpreter._function, ast.ClassDef: Interpreter._class, ast.Return: Interpreter._return,
    ast.Import: Interpreter._import, ast.ImportFrom: Interpreter._import_from, ast.Assert: Interpreter._assert,
    ast.Raise: Interpreter._raise, ast.Delete: Interpreter._delete, ast.Break: Interpreter._break,
    ast.Continue: Interpreter._continue,
}  # fmt: skip
_EXPRESSIONS: dict[type, Callable[[Interpreter, Any, Scope], Any]] = {
    ast.Constant: Interpreter._constant, ast.Name: Interpreter._name, ast.Attribute: Interpreter._attribute,
    ast.Call: Interpreter._call, ast.Subscript: Interpreter._subscript, ast.Slice: Interpreter._slice,
    ast.List: Interpreter._sequence, ast.Tuple: Interpreter._sequence, ast.Set: Interpreter._sequence,
    ast.Dict: Interpreter._dict, ast.JoinedStr: Interpreter._joined, ast.ListComp: Interpreter._comprehension,
    ast.SetComp: Interpreter._comprehension, ast.GeneratorExp: Interpreter._comprehension,
    ast.DictComp: Interpreter._dict_comprehension, ast.Lambda: Interpreter._lambda, ast.IfExp: Interpreter._conditional,
    ast.BoolOp: Interpreter._boolean, ast.UnaryOp: Interpreter._unary, ast.Compare: Interpreter._compare,
    ast.BinOp: Interpreter._binary, ast.Starred: Interpreter._starred, ast.NamedExpr: Interpreter._named,
}  # fmt: skip
