"""From a solution and a task to numbers."""

from __future__ import annotations

import ast
import math
from functools import lru_cache

import numpy as np

from world_models.rehearsal.interpreter import GiveUp, Interpreter, Scope
from world_models.rehearsal.inventory import Inventory, read_inventory
from world_models.rehearsal.models import DESCRIBED, EVENTS, FAMILIES, describe, family_of
from world_models.rehearsal.values import Fault, count_of, differ
from world_models.syntax import statements_of

__all__ = ["REHEARSAL_NAMES", "rehearse"]

_FAULTS = (
    "NameError", "UnboundLocalError", "ModuleNotFoundError", "ImportError", "AttributeError", "KeyError", "TypeError",
    "ValueError", "IndexError", "FileNotFoundError", "sklearn.exceptions.NotFittedError", "AssertionError",
    "ZeroDivisionError", "numpy.linalg.LinAlgError", "UnicodeError", "MemoryError", "SystemExit", "OSError",
    "pandas.errors.IntCastingNaNError", "sklearn.utils._param_validation.InvalidParameterError",
)  # fmt: skip
_FLAGS = (
    "fault_in_a_branch", "open_loop", "long_loop", "open_assertion", "other_class", "divides_by_zero", "divides",
    "text_array", "drops_rows", "writes_somewhere", "other_separator", "takes_log", "unseen_labels", "other_dummies",
    "fits_missing", "open_kind", "candidates", "selects_more", "wide_target", "fits_often", "log_target", "dummies",
    "codes", "imputes_mean", "imputes_median", "imputes_most_frequent", "log_words", "characters", *EVENTS,
)  # fmt: skip
_COSTS = (*FAMILIES, "words")
# Seconds an operation, by non-negative least squares over recorded executions.
_SECONDS = {
    "forest": 1.6e-8, "extra": 1.2e-8, "boosting": 2e-8, "histogram": 6e-8, "adaboost": 3e-9, "tree": 8e-9,
    "linear": 9e-11, "least_squares": 1.3e-10, "svm": 5e-10, "neighbours": 2.1e-10, "network": 4e-10, "bayes": 2e-11,
    "other": 1e-10, "words": 1e-5,
}  # fmt: skip
_SECONDS_A_STATEMENT, _SECONDS_AT_LEAST = 1.5e-7, 0.14
REHEARSAL_NAMES: tuple[str, ...] = (
    "gave_up", "finished", *(f"raises_{kind}" for kind in _FAULTS), "raises_other",
    *_FLAGS,
    "submits", "wrong_columns", "wrong_rows", "guessed_rows", "missing_answers", "id_of_test", "constant_id",
    "answers_text", "answers_probability", "answers_prediction", "text_for_numbers", "numbers_for_text",
    "labels_for_probabilities", "no_labels",
    *(f"cost_{family}" for family in _COSTS), "cost_all",
    "log_operations", "log_bytes", "log_memory_share", "log_unknown",
    "log_seconds", "log_limit_share",
    *(f"seems_{ending}" for ending in ("VALID", "RUNTIME_ERROR", "OUT_OF_MEMORY", "NO_SUBMISSION", "INVALID")),
    *(f"fits_{family}" for family in FAMILIES), *(f"fit_{name}" for name in DESCRIBED),
    *(f"ends_in_{family}" for family in FAMILIES), "fits", "log_rows", "log_width", "share_of_rows", "share_of_width",
)  # fmt: skip
"""Names of the entries of :func:`rehearse`."""
_PLACE = {name: i for i, name in enumerate(REHEARSAL_NAMES)}


@lru_cache(maxsize=8192)
def rehearse(code: str, task_text: str) -> np.ndarray:
    """What seems to happen when a solution runs on a task; read-only float32 of shape (len(REHEARSAL_NAMES),).

    Answers are 0 or 1, costs and sizes ``log10(1 + x)``. Zeros where the code does not parse.
    """
    vector = np.zeros(len(REHEARSAL_NAMES), np.float32)
    parts = statements_of(code)
    if parts:
        body = [statement for _, statements in parts for statement in statements]
        for name, value in _facts(body, read_inventory(task_text)).items():
            vector[_PLACE[name]] = value
    vector.flags.writeable = False
    return vector


def _log(value: float) -> float:
    return min(math.log10(1.0 + max(0.0, value)), 16.0)


def _facts(body: list[ast.stmt], inventory: Inventory) -> dict[str, float]:
    run = Interpreter(inventory)
    facts: dict[str, float] = {}
    try:
        run.run(body, Scope())
        facts["finished"] = 1.0
    except Fault as fault:
        facts[f"raises_{fault.kind}" if fault.kind in _FAULTS else "raises_other"] = 1.0
    except (GiveUp, RecursionError):
        facts["gave_up"] = 1.0
    facts |= {name: value for name, value in run.flags.items() if name in _PLACE}
    facts |= _submission(run, inventory)
    facts |= {f"cost_{family}": _log(amount) for family, amount in run.costs.items()}
    facts["cost_all"] = _log(sum(run.costs.values()))
    seconds = _SECONDS_AT_LEAST + sum(_SECONDS[family] * amount for family, amount in run.costs.items())
    seconds += _SECONDS_A_STATEMENT * run.operations
    facts["log_seconds"] = min(math.log10(seconds), 4.0)
    facts["log_limit_share"] = min(math.log10(seconds / inventory.cpu_s), 4.0)
    facts["log_operations"], facts["log_bytes"] = _log(run.operations), _log(run.bytes)
    facts["log_memory_share"] = _log(100.0 * run.bytes / (inventory.memory_mb * 2**20))
    facts["log_unknown"] = _log(run.unknown)
    facts[f"seems_{_seeming(facts)}"] = 1.0
    if run.fits:
        model, rows, width = run.fits[-1]
        facts[f"ends_in_{family_of(model.name)}"] = 1.0
        facts |= {f"fits_{family_of(fitted.name)}": 1.0 for fitted, _, _ in run.fits}
        facts |= {f"fit_{name}": value for name, value in describe(run.fits[0][0]).items()}
        facts["fits"] = _log(len(run.fits))
        facts["log_rows"], facts["log_width"] = _log(rows), _log(width)
        facts["share_of_rows"] = min(2.0, rows / max(1, inventory.train_rows))
        facts["share_of_width"] = min(4.0, width / max(1, len(inventory.columns)))
    return facts


def _seeming(facts: dict[str, float]) -> str:
    """How the program seems to end, should time suffice."""
    if any(name.startswith("raises_") for name in facts):
        return "OUT_OF_MEMORY" if "raises_MemoryError" in facts else "RUNTIME_ERROR"
    if not facts.get("submits"):
        return "NO_SUBMISSION"
    wrong = ("wrong_columns", "wrong_rows", "missing_answers", "constant_id", "text_for_numbers")
    return "INVALID" if any(facts.get(name) for name in wrong) else "VALID"


def _submission(run: Interpreter, inventory: Inventory) -> dict[str, float]:
    table = run.submitted
    if table is None:
        return {}
    facts = {"submits": 1.0}
    wanted = {inventory.id_column, inventory.target}
    if table.exact and set(table.columns) != wanted:
        facts["wrong_columns"] = 1.0
    rows = (("test", float(inventory.test_rows)),)
    facts["wrong_rows"] = float(differ(table.rows, rows) and count_of(table.rows) != count_of(rows))
    facts["guessed_rows"] = float(any(origin.endswith("?") for origin, _ in table.rows))
    row_id, answer = table.columns.get(inventory.id_column), table.columns.get(inventory.target)
    if row_id is not None:
        facts["id_of_test"] = float(row_id.source == "id of test")
        facts["constant_id"] = float(row_id.source == "constant")
    if answer is not None:
        labels_are_text = bool(inventory.classes) and not all(_is_number(label) for label in inventory.classes)
        facts["missing_answers"] = float(answer.missing)
        facts["answers_text"] = float(answer.textual)
        facts["answers_probability"] = float(answer.source == "probability")
        facts["answers_prediction"] = float(answer.source == "prediction")
        facts["text_for_numbers"] = float(answer.textual and (inventory.probability or not inventory.classes))
        facts["numbers_for_text"] = float(
            answer.kind in ("number", "bool") and labels_are_text and not inventory.probability
        )
        facts["labels_for_probabilities"] = float(answer.source == "prediction" and inventory.probability)
        facts["no_labels"] = float(
            answer.source == "probability" and bool(inventory.classes) and not inventory.probability
        )
    return facts


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
