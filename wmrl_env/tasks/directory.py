"""Tasks from a directory: one's own layout, MLE-bench's and MLE-Dojo's.

=========  ====================  =====================  ================================================
layout     public half           private half           text and leaderboard
=========  ====================  =====================  ================================================
own        ``public/``           ``private/``           ``task.json``, ``leaderboard.csv``
MLE-bench  ``prepared/public/``  ``prepared/private/``  ``description.md``, ``leaderboard.csv``
MLE-Dojo   ``data/public/``      ``data/private/``      ``info/description.txt``, ``*leaderboard*.csv``
=========  ====================  =====================  ================================================

The public half holds ``train.csv``, ``test.csv`` and ``sample_submission.csv``, the private half one CSV file with the
id and target columns. ``task.json`` holds any of ``id``, ``title``, ``description``, ``metric``, ``kind``, ``target``,
``id_column``, ``split``, ``time_limit_s``, ``memory_limit_mb``; keyword arguments of the loader override it, and stand
in for it in the layouts that have none. Target and id columns default to what the sample submission names.
"""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wmrl_env.tasks.grading import answers_file
from wmrl_env.tasks.inventory import describe
from wmrl_env.tasks.metrics import METRICS, get_metric
from wmrl_env.tasks.sources import fingerprint
from wmrl_env.tasks.task import ResearchTask

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TaskError", "load"]

_HALVES = {"public": "private", "prepared/public": "prepared/private", "data/public": "data/private"}
_DESCRIPTIONS = ("prepared/public/description.md", "public/description.md", "info/description.txt", "description.md")
_KEYS = {
    "id", "title", "description", "metric", "kind", "target", "id_column", "split", "time_limit_s", "memory_limit_mb",
}  # fmt: skip


class TaskError(ValueError):
    """A task directory is not usable; the message lists every fault found."""


def _halves(root: Path) -> tuple[Path, Path]:
    for public, private in _HALVES.items():
        if (root / public).is_dir():
            return root / public, root / private
    raise TaskError(f"{root} has none of the folders {', '.join(_HALVES)}: is it a task directory?")


def _leaderboard(root: Path) -> tuple[float, ...]:
    values: list[float] = []
    for path in sorted(root.glob("*leaderboard*.csv")) + sorted(root.glob("info/*leaderboard*.csv")):
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                text = next((row[name] for name in ("metric_value", "score", "Score") if row.get(name)), None)
                if text is not None and math.isfinite(float(text)):
                    values.append(float(text))
    return tuple(values)


def load(root: Path, **overrides: Any) -> ResearchTask:
    """The task in a directory.

    Args:
        root: the directory.
        overrides: any key of ``task.json``.

    Raises:
        TaskError: the directory is not a usable task; every fault is listed, not the first only.
        TypeError: an unknown override.
    """
    import pandas as pd

    if unknown := overrides.keys() - _KEYS:
        raise TypeError(f"unknown task settings {sorted(unknown)}; known: {sorted(_KEYS)}")
    root = root.expanduser().resolve()
    public, private = _halves(root)
    settings = _settings(root, public) | overrides
    leaderboard, answers = _leaderboard(root), answers_file(private)
    _require(root, _missing(settings, public, private, leaderboard))

    train, test, labels = (pd.read_csv(path) for path in (public / "train.csv", public / "test.csv", answers))
    target, id_column = settings["target"], settings["id_column"]
    _require(root, _inconsistent(train, test, labels, target, id_column))
    metric = get_metric(settings["metric"])
    labelled = metric.prediction in ("probability", "label")
    classes = tuple(sorted(train[target].astype(str).unique())) if labelled else ()
    kind = "regression" if not labelled else "binary" if len(classes) == 2 else "multiclass"
    description = next((root / name for name in _DESCRIPTIONS if (root / name).exists()), None)
    found = {"kind": kind, "description": description.read_text(encoding="utf-8") if description else ""}
    return ResearchTask(
        **(found | settings),
        classes=classes,
        higher_is_better=metric.higher_is_better,
        public_dir=public,
        private_dir=private,
        leaderboard=leaderboard,
        inventory=describe(train, test, target, id_column, classes),
        fingerprint=fingerprint(public.parent),
    )


def _require(root: Path, faults: list[str]) -> None:
    if faults:
        raise TaskError(f"{root}: " + "; ".join(faults))


def _settings(root: Path, public: Path) -> dict[str, Any]:
    """What the directory says of its task, by key of ``task.json``."""
    settings: dict[str, Any] = {"id": root.name, "title": root.name, "split": "train"}
    sample = next(iter(sorted(public.glob("sample*ubmission*.csv"))), None)
    if sample is not None:
        with sample.open(encoding="utf-8-sig", newline="") as file:
            header = next(csv.reader(file), [])
        if len(header) == 2:
            settings |= {"id_column": header[0], "target": header[1]}
    if (root / "task.json").exists():
        settings |= json.loads((root / "task.json").read_text(encoding="utf-8"))
    return settings


def _missing(settings: dict[str, Any], public: Path, private: Path, leaderboard: tuple[float, ...]) -> list[str]:
    """Faults that show before any data are read."""
    faults = [f"{public.name}/{name} is missing" for name in ("train.csv", "test.csv") if not (public / name).exists()]
    if extra := settings.keys() - _KEYS:
        faults.append(f"task.json has unknown keys {sorted(extra)}")
    if settings.get("metric") not in METRICS:
        faults.append(f"metric must be one of {', '.join(METRICS)}, got {settings.get('metric')!r}")
    faults += [f"{key} is not set" for key in ("id_column", "target") if key not in settings]
    if answers_file(private) is None:
        faults.append(f"{private} must hold labels.csv, or one CSV file with the labels")
    if not leaderboard:
        faults.append("no leaderboard: a CSV file with a column metric_value or score is needed")
    return faults


def _inconsistent(
    train: pd.DataFrame, test: pd.DataFrame, labels: pd.DataFrame, target: str, id_column: str
) -> list[str]:
    """Faults of the data themselves."""
    wanted = {"train.csv": (train, (target, id_column)), "test.csv": (test, (id_column,))}
    wanted["labels"] = (labels, (target, id_column))
    faults = [
        f"{name} lacks column {column!r}"
        for name, (frame, columns) in wanted.items()
        for column in columns
        if column not in frame.columns
    ]
    if target in test.columns:
        faults.append(f"test.csv shows the target {target!r}")
    if faults:
        return faults
    if set(test[id_column]) != set(labels[id_column]):
        faults.append("test.csv and the labels have different ids")
    if labels[target].isna().any():
        faults.append("some labels are missing")
    if labels[target].nunique() < 2:
        faults.append("all labels are equal, so that every metric is constant")
    return faults
