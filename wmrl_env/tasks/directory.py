"""Tasks from a directory: one's own layout, MLE-bench's and MLE-Dojo's, as ``docs/tasks.md`` describes them.

=========  ====================  =====================  =============================  =============================
layout     public half           private half           text                           leaderboard
=========  ====================  =====================  =============================  =============================
own        ``public/``           ``private/``           ``public/description.md``      ``leaderboard.csv``
MLE-bench  ``prepared/public/``  ``prepared/private/``  ``description.md``             ``leaderboard.csv``
MLE-Dojo   ``data/public/``      ``data/private/``      ``info/description.txt``       ``*leaderboard*.csv``
=========  ====================  =====================  =============================  =============================

``task.json`` beside them names the metric and whatever else is known; keyword arguments override it.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from wmrl_env.tasks.inventory import describe, sample_rows
from wmrl_env.tasks.layouts import (
    HALVES,
    TABLE_ENDINGS,
    column_names,
    find_tables,
    halves,
    read_description,
    read_leaderboard,
)
from wmrl_env.tasks.leakage import check_leakage
from wmrl_env.tasks.metrics import METRICS, get_metric
from wmrl_env.tasks.task import Kind, Modality, ResearchTask, Split
from wmrl_env.tasks.validation import Findings, Tables, check_leaderboard, check_links, check_tables

__all__ = ["SETTINGS", "Inspection", "TaskError", "inspect", "load"]

_log = logging.getLogger(__name__)

SETTINGS: dict[str, tuple[str, ...] | type] = {
    "id": str, "title": str, "description": str, "metric": tuple(METRICS), "kind": get_args(Kind), "target": str,
    "id_column": str, "split": get_args(Split), "modality": get_args(Modality), "text_columns": list,
    "time_column": str, "origin": str, "licence": str, "time_limit_s": float, "memory_limit_mb": int,
}  # fmt: skip
"""Keys of ``task.json``, with the values or the type that each takes."""


class TaskError(ValueError):
    """A task directory is not usable; the message lists every fault found, ``faults`` holds them one by one."""

    def __init__(self, root: Path, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__(f"{root}: " + "; ".join(self.faults))


@dataclass
class Inspection:
    """What was found in a task directory.

    Attributes:
        task: the task, ``None`` where there are faults.
        faults: why it cannot be used, all of them.
        warnings: what deserves a look.
        files: names of the public half's tables by role: ``"train"``, ``"test"``, ``"sample"``.
        train_target: the target's name in the training table, which some competitions spell otherwise.
    """

    task: ResearchTask | None = None
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    train_target: str = ""


def load(root: Path, **overrides: Any) -> ResearchTask:
    """The task in a directory. Warnings are logged.

    Args:
        root: the directory.
        overrides: any key of ``task.json``; ``leaderboard``: metric values, or the path of a CSV file with them.

    Raises:
        TaskError: the directory is not a usable task; every fault is listed, not the first only.
        TypeError: an unknown override.
    """
    found = inspect(root, **overrides)
    if found.task is None:
        raise TaskError(root, found.faults)
    for warning in found.warnings:
        _log.warning("%s: %s", root, warning)
    return found.task


def inspect(root: Path, **overrides: Any) -> Inspection:
    """Look at a directory as :func:`load` does, and say everything that is wrong with it.

    Raises:
        TypeError: an unknown override.
    """
    board = overrides.pop("leaderboard", None)
    if unknown := overrides.keys() - SETTINGS.keys():
        raise TypeError(f"unknown task settings {sorted(unknown)}; known: {sorted([*SETTINGS, 'leaderboard'])}")
    root = Path(root).expanduser().resolve()
    found = Inspection()
    findings = Findings(found.faults, found.warnings)
    found_halves = halves(root)
    if found_halves is None:
        what = f"has none of the folders {', '.join(HALVES)}: is it a task directory?"
        found.faults.append(what if root.is_dir() else "is no directory")
        return found
    public, private = found_halves

    settings = _settings(root, findings) | overrides
    paths = find_tables(root, public, private, findings)
    check_links(root, public, private, findings)
    named = column_names(paths.get("sample"), settings, findings)
    _check_settings(named, findings)
    leaderboard = read_leaderboard(root, public.parent, board, findings)
    metric = METRICS.get(str(named.get("metric")))
    if leaderboard:
        check_leaderboard(leaderboard, metric, findings)
    target, id_column = str(named.get("target", "")), str(named.get("id_column", ""))
    if not target or not id_column:
        return found
    if target == id_column:
        findings.fault(f"id_column and target are both {target!r}: they must be two columns")
        return found
    tables = Tables.read(paths, target, id_column, public, findings)
    if tables is None:
        return found
    check_tables(tables, metric, named, findings)
    check_leakage(tables, str(named.get("time_column", "")), findings)
    found.files = {role: paths[role].name for role in ("train", "test", "sample")}
    found.train_target = tables.train_target
    if not found.faults:
        found.task = _task(root, public, private, named, tables, leaderboard)
    return found


def _task(
    root: Path, public: Path, private: Path, settings: dict[str, Any], tables: Tables, leaderboard: tuple[float, ...]
) -> ResearchTask:
    metric = get_metric(settings["metric"])
    labelled = metric.prediction in ("probability", "label")
    classes = tuple(sorted(tables.train[tables.target].dropna().unique())) if labelled else ()
    texts = tuple(settings.get("text_columns", ()))
    defaults = {
        "id": root.name,
        "title": root.name,
        "split": "train",
        "description": read_description(root, public),
        "kind": "regression" if not labelled else "binary" if len(classes) == 2 else "multiclass",
        "modality": "text" if texts else "series" if settings.get("time_column") else "tabular",
    }
    return ResearchTask(
        **(defaults | settings | {"text_columns": texts}),
        classes=classes,
        higher_is_better=metric.higher_is_better,
        public_dir=public.resolve(),
        private_dir=private.resolve(),
        leaderboard=leaderboard,
        inventory=_inventory(tables, classes),
        sample_rows=sample_rows(tables.train.rename(columns={tables.target: tables.train_target})),
        fingerprint=_fingerprint(public, private),
    )


def _inventory(tables: Tables, classes: tuple[str, ...]) -> str:
    """The inventory, headed by the names that files and target go by in this competition."""
    train = tables.shared_train(bool(classes))
    lines = [
        f"{standard} is called {tables.name(role)} here"
        for role, standard in (("train", "train.csv"), ("test", "test.csv"), ("sample", "sample_submission.csv"))
        if tables.name(role) != standard
    ]
    if tables.train_target != tables.target:
        lines.append(f"{tables.target} is called {tables.train_target} in {tables.name('train')}")
    return "\n".join([*lines, describe(train, tables.test, tables.target, tables.id_column, classes)])


def _settings(root: Path, findings: Findings) -> dict[str, Any]:
    """What ``task.json`` says."""
    path = root / "task.json"
    if not path.exists():
        return {}
    try:
        settings = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        findings.fault(f"task.json is not JSON: {error}")
        return {}
    if not isinstance(settings, dict):
        findings.fault(f"task.json must hold an object, got {type(settings).__name__}")
        return {}
    if unknown := settings.keys() - SETTINGS.keys():
        findings.fault(f"task.json has unknown keys {sorted(unknown)}; known: {', '.join(SETTINGS)}")
    return {key: value for key, value in settings.items() if key in SETTINGS}


def _check_settings(settings: dict[str, Any], findings: Findings) -> None:
    """Name what is not of its kind, and leave it out."""
    if "metric" not in settings:
        findings.fault(f"metric is not set: put it into task.json, one of {', '.join(METRICS)}")
    for key, value in list(settings.items()):
        wanted = SETTINGS[key]
        if isinstance(wanted, tuple):
            good, expected = isinstance(value, str) and value in wanted, f"one of {', '.join(wanted)}"
        elif wanted is list:
            good = isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
            expected = "a list of column names"
        elif wanted is str:
            good, expected = isinstance(value, str) and (bool(value) or key not in ("id", "target")), "a string"
        else:
            number = isinstance(value, int | wanted) and not isinstance(value, bool)
            good = number and math.isfinite(value) and value > 0
            expected = "a whole number above 0" if wanted is int else "a number above 0"
        if not good:
            findings.fault(f"{key} must be {expected}, got {value!r}")
            del settings[key]


def _fingerprint(public: Path, private: Path) -> str:
    """Hash of both halves: tables by content, other files (such as pictures) by name and size."""
    digest = hashlib.sha256()
    for half in (public, private):
        for path in sorted(path for path in half.rglob("*") if path.is_file()):
            digest.update(f"{half.name}/{path.relative_to(half).as_posix()}\0{path.stat().st_size}\0".encode())
            if TABLE_ENDINGS.search(path.name):
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:16]
