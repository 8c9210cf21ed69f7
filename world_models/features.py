"""What tasks and solutions are to a model: fixed-length vectors of numbers, the same in every process.

A task's features are facts with a meaning (rows, missing values, class shares, skew of the target, limits), so that a
model can carry over to tasks that it never saw. A solution's features are hashed from its syntax tree, values of
arguments included.
"""

from __future__ import annotations

import ast
import math
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from world_models.syntax import REMEMBERED_CHARS, statements_of

__all__ = ["CODE_FEATURES", "TASK_FEATURE_NAMES", "code_features", "task_features"]

# --- tasks ------------------------------------------------------------------------------------------------------------

_KINDS = ("binary", "multiclass", "regression", "counts")
_MODALITIES = ("tabular", "series", "text", "image")
_METRICS = (
    "roc_auc", "log_loss", "accuracy", "macro_f1", "quadratic_kappa", "r2", "rmse", "mae", "mape", "rmsle",
    "poisson_deviance",
)  # fmt: skip
_FACTS = (
    "higher_is_better",
    "log_train_rows",
    "log_test_rows",
    "log_cpu_limit",
    "log_memory_limit",
    "log_int_columns",
    "log_float_columns",
    "log_text_columns",
    "log_prose_columns",
    "share_text",
    "any_missing_numeric",
    "any_missing_text",
    "share_missing_numeric",
    "share_missing_text",
    "max_missing",
    "log_complete_rows",
    "any_negative",
    "log_max_magnitude",
    "log_text_values",
    "max_log_text_unique",
    "fewer_than_ten_columns",
    "log_quadratic_cells",
    "classes",
    "majority_share",
    "minority_share",
    "class_entropy",
    "numeric_classes",
    "log_target_max",
    "log_target_mean",
    "target_skew",
    "target_has_zero",
    "target_has_negative",
)
TASK_FEATURE_NAMES: tuple[str, ...] = (
    "recognised",
    *(f"kind={kind}" for kind in _KINDS),
    *(f"modality={modality}" for modality in _MODALITIES),
    *(f"metric={metric}" for metric in _METRICS),
    *_FACTS,
)

_NUMBER = r"-?[\d.]+(?:e[+-]?\d+)?|nan|-?inf"
_FIELD = re.compile(r"^(Kind|Metric|Limits|Classes|Modality|Text): (.*)$", re.M)
_TARGET = re.compile(rf"^Target range: ({_NUMBER}) to ({_NUMBER}), mean ({_NUMBER}), skew ({_NUMBER})\s*$", re.M)
_ROWS = re.compile(r"^(train|test)\.csv: (\d+) rows, (\d+) columns\s*$", re.M)
_COLUMN = re.compile(
    r"^.*?(?: \((\d+) columns\))?: (int|float|text), missing ([\d.]+)%, unique (\d+)"
    rf"(?:, min ({_NUMBER}), max ({_NUMBER}))?",
    re.M,
)
_LIMITS = re.compile(rf"({_NUMBER}) CPU seconds, ({_NUMBER}) MB")
_CLASS = re.compile(r"(?:^|, )(.*?) ([01]\.\d+)(?=, |$)")


class _Column(NamedTuple):
    copies: int  # many numbered ones share a line
    dtype: str
    missing: float
    unique: int
    low: float
    high: float


def _finite(text: str | None) -> float:
    try:
        value = float(text or 0.0)
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0


def _log(value: float) -> float:
    """Signed ``log10(1 + |value|)``."""
    return math.copysign(math.log10(1.0 + abs(value)), value)


@lru_cache(maxsize=1024)
def task_features(task_text: str) -> np.ndarray:
    """Features of a task, read from its text; read-only float32 of shape (T,), entries in [-10, 10].

    The text is in the format of ``docs/architecture.md``. Any other text gives zeros, ``recognised`` included.
    Names of the T entries: :data:`TASK_FEATURE_NAMES`. Shares are in [0, 1]; ``log`` is ``log10(1 + x)``.
    """
    fields = dict(_FIELD.findall(task_text))
    columns = [
        _Column(int(count or 1), dtype, _finite(missing) / 100, int(unique), _finite(low), _finite(high))
        for count, dtype, missing, unique, low, high in _COLUMN.findall(task_text)
    ]
    values = dict.fromkeys(TASK_FEATURE_NAMES, 0.0)
    if fields.get("Kind") in _KINDS and columns:
        values["recognised"] = 1.0
        values[f"kind={fields['Kind']}"] = 1.0
        values[f"modality={fields.get('Modality', 'tabular')}"] = 1.0
        values["log_prose_columns"] = _log(len(fields["Text"].split(", "))) if "Text" in fields else 0.0
        metric, _, direction = fields.get("Metric", "").partition(" ")
        if metric in _METRICS:
            values[f"metric={metric}"] = 1.0
        values["higher_is_better"] = float("higher" in direction)
        rows = {part: int(count) for part, count, _ in _ROWS.findall(task_text)}
        limits = _LIMITS.search(fields.get("Limits", ""))
        if limits:
            values["log_cpu_limit"], values["log_memory_limit"] = _log(_finite(limits[1])), _log(_finite(limits[2]))
        values |= _column_facts(columns, rows.get("train", 0), rows.get("test", 0))
        values |= _target_facts(task_text, fields.get("Classes", ""))
    vector = np.clip(np.array([values[name] for name in TASK_FEATURE_NAMES], np.float32), -10.0, 10.0)
    vector.flags.writeable = False
    return vector


def _column_facts(columns: list[_Column], train_rows: int, test_rows: int) -> dict[str, float]:
    numeric = [column for column in columns if column.dtype != "text"]
    text = [column for column in columns if column.dtype == "text"]
    complete = math.prod((1.0 - column.missing) ** column.copies for column in columns)  # missing independently
    counts = {dtype: sum(c.copies for c in columns if c.dtype == dtype) for dtype in ("int", "float", "text")}
    numbers, total = counts["int"] + counts["float"], sum(counts.values())
    return {
        "log_train_rows": _log(train_rows),
        "log_test_rows": _log(test_rows),
        "log_int_columns": _log(counts["int"]),
        "log_float_columns": _log(counts["float"]),
        "log_text_columns": _log(len(text)),
        "share_text": len(text) / total,
        "any_missing_numeric": float(any(column.missing for column in numeric)),
        "any_missing_text": float(any(column.missing for column in text)),
        "share_missing_numeric": sum(column.copies * column.missing for column in numeric) / max(1, numbers),
        "share_missing_text": sum(column.missing for column in text) / max(1, len(text)),
        "max_missing": max(column.missing for column in columns),
        "log_complete_rows": _log(complete * train_rows),
        "any_negative": float(any(column.low < 0 for column in numeric)),
        "log_max_magnitude": max((_log(max(-column.low, column.high)) for column in numeric), default=0.0),
        "log_text_values": _log(sum(column.unique for column in text)),
        "max_log_text_unique": max((_log(column.unique) for column in text), default=0.0),
        "fewer_than_ten_columns": float(total < 10),
        "log_quadratic_cells": _log(train_rows * numbers * (numbers + 3) / 2),
    }


def _target_facts(task_text: str, classes: str) -> dict[str, float]:
    found = _CLASS.findall(classes)
    facts: dict[str, float] = {}
    if found:
        shares = [float(share) for _, share in found]
        facts = {
            "classes": float(len(shares)),
            "majority_share": max(shares),
            "minority_share": min(shares),
            "class_entropy": -sum(share * math.log(share) for share in shares if share > 0),
            "numeric_classes": float(all(re.fullmatch(_NUMBER, label.strip()) for label, _ in found)),
        }
    target = _TARGET.search(task_text)
    if target:
        low, high, mean, skew = map(_finite, target.groups())
        facts |= {
            "log_target_max": _log(high),
            "log_target_mean": _log(mean),
            "target_skew": _log(skew),
            "target_has_zero": float(low == 0),
            "target_has_negative": float(low < 0),
        }
    return facts


# --- solutions --------------------------------------------------------------------------------------------------------

_HASHED = 2048  # presence of a token
_MAGNITUDES = 256  # numeric arguments, by name
_COUNTS = ("parsed", "lines", "characters", "calls", "imports", "loops", "branches", "functions", "handlers", "fits")
CODE_FEATURES: int = len(_COUNTS) + _MAGNITUDES + _HASHED
"""Length C of the vectors of :func:`code_features`."""

_COUNTED: dict[str, tuple[type[ast.AST], ...]] = {
    "calls": (ast.Call,),
    "imports": (ast.Import, ast.ImportFrom),
    "loops": (ast.For, ast.While, ast.comprehension),
    "branches": (ast.If, ast.IfExp),
    "functions": (ast.FunctionDef, ast.ClassDef, ast.Lambda),
    "handlers": (ast.Try, ast.With),
}


class _Part(NamedTuple):
    """What one statement, or a few, add to the features of a solution."""

    counts: np.ndarray  # of _COUNTED and of fits
    slots: np.ndarray  # of the tokens
    places: np.ndarray  # of the magnitudes
    magnitudes: np.ndarray


def _walk(statement: ast.stmt) -> list[ast.AST]:
    """The nodes of a statement as :func:`ast.walk` orders them, without contexts and operators."""
    nodes: list[ast.AST] = [statement]
    for node in nodes:
        for field in node._fields:
            value = getattr(node, field, None)
            if value.__class__ is list:
                nodes += [item for item in value if isinstance(item, ast.AST)]
            elif field not in ("ctx", "op") and isinstance(value, ast.AST):
                nodes.append(value)
    return nodes


def _read_part(statements: tuple[ast.stmt, ...]) -> _Part:
    nodes = [node for statement in statements for node in _walk(statement)]
    fits = 0
    tokens: set[str] = set()
    places: list[int] = []
    magnitudes: list[float] = []
    for node in nodes:
        if type(node) in _SAYING:
            tokens.update(_tokens(node))
        if isinstance(node, ast.Attribute):
            fits += node.attr.startswith("fit")
        elif isinstance(node, ast.Call):
            for name, value in _numbers(node):
                places.append(_slot(name, _MAGNITUDES))
                magnitudes.append(max(-10.0, min(10.0, _log(value))))
    kinds = Counter(map(type, nodes))
    counts = [*(sum(kinds[kind] for kind in counted) for counted in _COUNTED.values()), fits]
    return _Part(
        np.array(counts, np.int64),
        np.array([_slot(token, _HASHED) for token in tokens], np.int64),
        np.array(places, np.int64),
        np.array(magnitudes, np.float32),
    )


_read_known_part = lru_cache(maxsize=8192)(_read_part)  # trees are remembered, so that equal ones are the same


@lru_cache(maxsize=2048)  # 9 kB each
def code_features(code: str) -> np.ndarray:
    """Features of a solution; read-only float32 of shape (:data:`CODE_FEATURES`,).

    Counts (log-scaled), magnitudes of numeric arguments (signed logarithm, in slots hashed by call and argument), then
    the presence of hashed tokens: calls, their arguments with values, imports, names, what is assigned to a name.
    Code that does not parse gives zeros, ``parsed`` included.
    """
    vector = np.zeros(CODE_FEATURES, np.float32)
    parts = statements_of(code)
    if parts:
        read = [(_read_known_part if len(part) <= REMEMBERED_CHARS else _read_part)(trees) for part, trees in parts]
        *counted, fits = np.sum([part.counts for part in read], axis=0).tolist()
        counts = {**dict(zip(_COUNTED, counted, strict=True)), "fits": fits}
        counts |= {"lines": code.count("\n") + 1, "characters": len(code)}
        vector[: len(_COUNTS)] = [1.0, *(_log(counts[name]) for name in _COUNTS[1:])]
        magnitudes = vector[len(_COUNTS) : len(_COUNTS) + _MAGNITUDES]
        hashed = vector[len(_COUNTS) + _MAGNITUDES :]
        hashed[np.concatenate([part.slots for part in read])] = 1.0
        places, values = (np.concatenate([part[i] for part in read]) for i in (2, 3))
        np.add.at(magnitudes, places, values)
    vector.flags.writeable = False
    return vector


def _slot(token: str, size: int) -> int:
    return zlib.crc32(token.encode("utf-8", "replace")) % size


def _label(node: ast.AST | None, depth: int = 2) -> str:
    """Short name of an expression: what it calls, its name or its value."""
    if isinstance(node, ast.Call):
        while isinstance(node, ast.Call):
            node = node.func
        return _label(node, 0)
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant):
        return repr(node.value) if not isinstance(node.value, int) or abs(node.value) < 10**18 else "huge"
    if isinstance(node, ast.UnaryOp):
        operand = "UnaryOp" if isinstance(node.operand, ast.UnaryOp) else _label(node.operand, 0)
        return f"{type(node.op).__name__}({operand})"
    if isinstance(node, (ast.Tuple, ast.List)) and depth:
        return f"({','.join(_label(element, depth - 1) for element in node.elts[:8])})"
    return type(node).__name__


def _arguments(call: ast.Call) -> list[str]:
    """Labels of positional arguments; what is popped is a column's name, which only tells tasks apart."""
    return [] if _label(call.func) == "pop" else [_label(argument) for argument in call.args]


_SAYING = frozenset({
    ast.Call, ast.Import, ast.ImportFrom, ast.Assign, ast.Attribute, ast.Name, ast.Subscript, ast.BinOp, ast.BoolOp,
    ast.UnaryOp, ast.Compare, ast.For, ast.comprehension, ast.Raise, ast.ExceptHandler,
})  # fmt: skip


def _tokens(node: ast.AST) -> Iterator[str]:
    """What a node of one of these kinds says, as text to be hashed."""
    if isinstance(node, ast.Call):
        call = _label(node.func)
        yield f"call {call}"
        labels = _arguments(node)
        for label in labels:
            yield f"{call} < {label}"
        for first, second in pairwise(labels):
            yield f"{call} < {first} > {second}"
        for keyword in node.keywords:
            yield f"{call} {keyword.arg}={_label(keyword.value)}"
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        module = getattr(node, "module", None) or ""
        for alias in node.names:
            yield f"import {module}.{alias.name}"
    elif isinstance(node, ast.Assign):
        target = _label(node.targets[0])
        yield f"{target} = {_label(node.value)}"
        if isinstance(node.value, ast.Call):
            for label in _arguments(node.value):
                yield f"{target} = {_label(node.value)} < {label}"
    elif isinstance(node, ast.Attribute):
        yield f".{node.attr}"
    elif isinstance(node, ast.Name):
        yield f"name {node.id}"
    elif isinstance(node, ast.Subscript):
        holder = _label(node.value)
        yield f"{holder}[{type(node.slice).__name__}]"
        if holder == "environ":
            yield f"environ {_label(node.slice)}"
    elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.UnaryOp)):
        yield f"op {type(node.op).__name__}"
    elif isinstance(node, ast.Compare):
        yield f"{_label(node.left)} {type(node.ops[0]).__name__}"
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield f"for {_label(node.iter)}"
    elif isinstance(node, (ast.Raise, ast.ExceptHandler)):
        yield f"{type(node).__name__} {_label(node.exc if isinstance(node, ast.Raise) else node.type)}"


def _numbers(call: ast.Call) -> Iterator[tuple[str, float]]:
    """(argument, value) of each numeric argument of a call."""
    label = _label(call.func)
    named = [(f"{label} {keyword.arg}", keyword.value) for keyword in call.keywords]
    for name, value in [*((f"{label} {i}", argument) for i, argument in enumerate(call.args)), *named]:
        for element in value.elts if isinstance(value, (ast.Tuple, ast.List)) else (value,):
            if isinstance(element, ast.Constant) and isinstance(element.value, (int, float)):
                yield name, _as_float(element.value)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
