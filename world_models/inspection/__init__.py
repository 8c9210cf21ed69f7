"""What a careful reader checks before running a solution: names, arguments, columns, files, missing values.

Each check is a number that a model learns to weigh; none decides an outcome by itself.
"""

from __future__ import annotations

import ast
import builtins
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from world_models.inspection.names import is_installed, names_in, parameters_of

__all__ = ["CHECK_NAMES", "inspect_solution"]

_FILLS = {"fillna", "SimpleImputer", "KNNImputer", "interpolate", "ffill", "bfill", "nan_to_num"}
_ENCODES = {
    "get_dummies", "OneHotEncoder", "OrdinalEncoder", "LabelEncoder", "TargetEncoder", "factorize", "Categorical",
    "codes", "select_dtypes", "map", "cat", "make_column_selector",
}  # fmt: skip
_VECTORISES = {"TfidfVectorizer", "CountVectorizer", "HashingVectorizer"}
_TOLERANT = {"HistGradientBoostingClassifier", "HistGradientBoostingRegressor", "DecisionTreeClassifier",
             "DecisionTreeRegressor", "RandomForestClassifier", "RandomForestRegressor"}  # fmt: skip
_SEARCHES = {"GridSearchCV", "RandomizedSearchCV", "cross_val_score", "KFold", "StratifiedKFold"}

CHECK_NAMES: tuple[str, ...] = (
    "undefined_names",
    "absent_modules",
    "wrong_names",
    "unknown_arguments",
    "unknown_columns",
    "names_target",
    "names_id",
    "drops_target",
    "target_of_test",
    "reads_data_dir",
    "reads_literal_path",
    "writes_submission_path",
    "writes_literal_path",
    "writes_index",
    "needs_filling",
    "needs_encoding",
    "needs_vectorising",
    "fills",
    "drops_rows",
    "wants_probability",
    "gives_probability",
    "takes_second_column",
    "takes_other_column",
    "takes_one_row",
    "predicts_train",
    "never_fits",
    "logs",
    "unlogs",
    "log_trees",
    "log_trees_per_row",
    "log_largest_number",
    "log_candidates",
    "searches",
    "nested_loops",
    "endless_loops",
    "asserts",
    "raises",
)
"""Names of the entries of :func:`inspect_solution`."""


# --- tasks ---

_COLUMN = re.compile(r"^(\S.*?)(?: \((\d+) columns\))?: (int|float|text), missing ([\d.]+)%", re.M)
_FIELD = re.compile(r"^(Metric|Target|Id|Text|Time): (.*)$", re.M)


@dataclass(frozen=True)
class _Task:
    columns: frozenset[str]
    target: str
    id_column: str
    missing: bool
    words: bool
    prose: bool
    probability: bool


@lru_cache(maxsize=1024)
def _task(text: str) -> _Task:
    fields = dict(reversed(_FIELD.findall(text)))  # the first of each, should a description hold more
    prose = set(fields["Text"].split(", ")) if "Text" in fields else set()
    columns: set[str] = set()
    missing = words = False
    for name, count, dtype, share in _COLUMN.findall(text.partition("## Columns")[2]):
        if count:
            stem = re.match(r"\D*", name)
            columns |= {f"{stem[0] if stem else ''}{i}" for i in range(int(count) + 1)}
        columns.add(name)
        missing |= float(share) > 0
        words |= dtype == "text" and name not in prose
    target, id_column = fields.get("Target", ""), fields.get("Id", "")
    metric = fields.get("Metric", "").split(" ")[0]
    return _Task(
        frozenset(columns | {target, id_column}), target, id_column, missing, words, bool(prose),
        metric in ("roc_auc", "log_loss"),
    )  # fmt: skip


# --- solutions ---


@dataclass
class _Code:
    """Facts of a solution that no task is needed for."""

    counts: dict[str, float] = field(default_factory=dict)
    columns: set[str] = field(default_factory=set)  # read by name
    made: set[str] = field(default_factory=set)  # written by name
    dropped: set[str] = field(default_factory=set)
    of_test: set[str] = field(default_factory=set)  # read from something called test
    used: set[str] = field(default_factory=set)  # names and attributes
    strings: set[str] = field(default_factory=set)


def _name(node: ast.AST | None) -> str:
    while isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _strings(node: ast.AST | None) -> Iterator[str]:
    """String constants of an expression, lists and tuples included."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        for element in node.elts:
            yield from _strings(element)


def _depth(node: ast.AST) -> int:
    """How deeply loops are nested below a node. No recursion: code may be nested more deeply than a stack is."""
    deepest, waiting = 0, [(node, 0)]
    while waiting:
        node, above = waiting.pop()
        depth = above + isinstance(node, (ast.For, ast.While))
        deepest = max(deepest, depth)
        waiting += ((child, depth) for child in ast.iter_child_nodes(node))
    return deepest


@lru_cache(maxsize=4096)
def _read(code: str) -> _Code | None:
    """Facts of a solution; ``None`` where it does not parse."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    facts = _Code()
    counts = dict.fromkeys(CHECK_NAMES, 0.0)
    bound, loaded = set(dir(builtins)) | {"__file__", "__name__"}, set[str]()
    star = False
    numbers: list[float] = [0.0]
    trees: list[float] = [0.0]
    candidates = 1.0
    nodes = list(ast.walk(tree))
    tests = _tests(nodes)
    for node in nodes:
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else bound).add(node.id)
            facts.used.add(node.id)
        elif isinstance(node, ast.Attribute):
            facts.used.add(node.attr)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)):
            bound.add(node.name or "")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                bound.add(alias.asname or alias.name.split(".")[0])
                counts["absent_modules"] += not is_installed(alias.name)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            counts["absent_modules"] += not is_installed(module)
            offered = names_in(module)
            for alias in node.names:
                bound.add(alias.asname or alias.name)
                star |= alias.name == "*"
                counts["wrong_names"] += offered is not None and alias.name not in offered | {"*"}
        elif isinstance(node, ast.Subscript):
            _subscript(node, facts, counts, tests)
        elif isinstance(node, ast.Call):
            _call(node, facts, counts)
            trees += [
                float(min(abs(keyword.value.value), 10**15))
                for keyword in node.keywords
                if keyword.arg in ("n_estimators", "max_iter")
                and isinstance(keyword.value, ast.Constant)
                and isinstance(keyword.value.value, int)
            ]
        elif isinstance(node, ast.Dict):
            sizes = [len(value.elts) for value in node.values if isinstance(value, ast.List)]
            candidates = max(candidates, float(math.prod(sizes[:12])))
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                facts.strings.add(node.value)
            elif isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
                numbers.append(float(min(abs(node.value), 10**15)))
        elif isinstance(node, ast.While):
            counts["endless_loops"] += 1
        elif isinstance(node, ast.Assert):
            counts["asserts"] += 1
        elif isinstance(node, ast.Raise):
            counts["raises"] += 1
    counts["undefined_names"] = 0.0 if star else float(len(loaded - bound))
    counts["log_trees"] = math.log10(1.0 + max(trees))
    counts["log_largest_number"] = math.log10(1.0 + max(numbers))
    counts["log_candidates"] = math.log10(candidates) if facts.used & {"GridSearchCV", "RandomizedSearchCV"} else 0.0
    counts["nested_loops"] = float(_depth(tree))
    counts["searches"] = float(bool(facts.used & _SEARCHES))
    counts["fills"] = float(bool(facts.used & _FILLS))
    counts["drops_rows"] = float("dropna" in facts.used)
    counts["gives_probability"] = float("predict_proba" in facts.used)
    counts["never_fits"] = float(not any(name.startswith("fit") for name in facts.used))
    counts["logs"] = float("log1p" in facts.used or "log" in facts.used)
    counts["unlogs"] = float("expm1" in facts.used or "exp" in facts.used)
    counts["reads_data_dir"] = float("DATA_DIR" in facts.strings)
    counts["writes_submission_path"] = float(
        "SUBMISSION_PATH" in facts.strings and bool(facts.used & {"to_csv", "write", "open", "savetxt"})
    )
    facts.counts = counts
    return facts


def _tests(nodes: list[ast.AST]) -> set[str]:
    """Names of test rows: those that say so, and what a loop over frames calls each of them."""
    names = {node.id for node in nodes if isinstance(node, ast.Name) and "test" in node.id.lower()}
    for node in nodes:
        if (
            isinstance(node, ast.For)
            and isinstance(node.target, ast.Name)
            and isinstance(node.iter, (ast.Tuple, ast.List))
        ) and any(_name(element) in names for element in node.iter.elts):
            names.add(node.target.id)
    return names


def _subscript(node: ast.Subscript, facts: _Code, counts: dict[str, float], tests: set[str]) -> None:
    names = list(_strings(node.slice))
    holder = _name(node.value)
    if isinstance(node.ctx, ast.Load):
        if holder != "environ":
            facts.columns.update(names)
            if holder in tests:
                facts.of_test.update(names)
    else:
        facts.made.update(names)
    if isinstance(node.value, ast.Call) and _name(node.value).startswith("predict"):
        index = node.slice
        if isinstance(index, ast.Tuple) and len(index.elts) == 2 and isinstance(index.elts[1], ast.Constant):
            counts["takes_second_column" if index.elts[1].value == 1 else "takes_other_column"] += 1
        else:
            counts["takes_one_row"] += 1


def _call(node: ast.Call, facts: _Code, counts: dict[str, float]) -> None:
    name = _name(node)
    given = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    takes = parameters_of(name)
    if takes is not None and isinstance(node.func, ast.Name):
        counts["unknown_arguments"] += len(given.keys() - takes)
    if name == "drop" and "index" not in given:
        for place in (*node.args[:1], given.get("columns"), given.get("labels")):
            facts.dropped.update(_strings(place))
    elif name == "read_csv" and node.args:
        counts["reads_literal_path"] += isinstance(node.args[0], ast.Constant)
    elif name == "to_csv":
        counts["writes_literal_path"] += bool(node.args) and isinstance(node.args[0], ast.Constant)
        index = given.get("index")
        counts["writes_index"] += not (isinstance(index, ast.Constant) and index.value is False)
    elif name.startswith("predict") and node.args:
        counts["predicts_train"] += _name(node.args[0]) in ("X", "X_train", "train")
    elif name in ("DataFrame", "dict", "rename", "assign", "agg"):
        facts.made.update(given)
        for argument in (*node.args, *given.values()):
            if isinstance(argument, ast.Dict):
                for key, value in zip(argument.keys, argument.values, strict=True):
                    facts.made.update(_strings(key))
                    facts.made.update(_strings(value))


@lru_cache(maxsize=8192)
def inspect_solution(code: str, task_text: str) -> np.ndarray:
    """Checks of a solution on a task; read-only float32 of shape (len(CHECK_NAMES),).

    Counts and logarithms are as they are, answers 0 or 1. Zeros where the code does not parse.
    """
    facts, task = _read(code), _task(task_text)
    vector = np.zeros(len(CHECK_NAMES), np.float32)
    if facts is not None:
        used = facts.used
        filled = bool(used & _FILLS) or "dropna" in used or bool(used & _TOLERANT)
        encoded = bool(used & _ENCODES)
        values = facts.counts | {
            "unknown_columns": float(len(facts.columns - facts.made - task.columns)),
            "names_target": float(task.target in facts.strings),
            "names_id": float(task.id_column in facts.strings),
            "drops_target": float(task.target in facts.dropped),
            "target_of_test": float(task.target in facts.of_test),
            "needs_filling": float(task.missing and not filled),
            "needs_encoding": float(task.words and not encoded),
            "needs_vectorising": float(task.prose and not used & _VECTORISES),
            "wants_probability": float(task.probability),
        }
        values["log_trees_per_row"] = values["log_trees"] * (1.0 + float(values["nested_loops"]))
        vector[:] = [min(values[name], 16.0) for name in CHECK_NAMES]
    vector.flags.writeable = False
    return vector
