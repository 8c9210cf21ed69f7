"""From a file of predictions to a metric value, or to the reason why there is none."""

from __future__ import annotations

import csv
import io
import math
import os
import stat
from functools import lru_cache
from pathlib import Path

import numpy as np

from wmrl_env.tasks.task import ResearchTask

__all__ = ["InvalidSubmission", "NoSubmission", "answers_file", "grade", "read_predictions"]

_MAX_BYTES = 64 * 2**20


class NoSubmission(Exception):
    """The solution wrote no predictions."""


class InvalidSubmission(Exception):
    """The predictions cannot be graded; the message says why and what was expected."""


def answers_file(private_dir: Path) -> Path | None:
    """The CSV file with a task's labels: ``labels.csv``, else the only CSV file there is."""
    named = private_dir / "labels.csv"
    if named.exists():
        return named
    files = sorted(private_dir.glob("*.csv"))
    return files[0] if len(files) == 1 else None


@lru_cache(maxsize=64)
def _labels(private_dir: Path, target: str, id_column: str) -> dict[str, str]:
    path = answers_file(private_dir)
    if path is None:
        raise FileNotFoundError(f"{private_dir} must hold labels.csv, or one CSV file with the labels")
    with path.open(encoding="utf-8-sig", newline="") as file:
        return {row[id_column]: row[target] for row in csv.DictReader(file)}


def _read(path: Path) -> str:
    # The file was written by untrusted code: no link is followed and no pipe waited for.
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise NoSubmission("no file was written to SUBMISSION_PATH") from None
    except OSError as error:
        raise InvalidSubmission(f"SUBMISSION_PATH cannot be read: {error.strerror}") from None
    info = os.fstat(handle)
    if not stat.S_ISREG(info.st_mode) or info.st_nlink != 1:
        os.close(handle)
        raise InvalidSubmission("SUBMISSION_PATH is not a plain file of its own")
    with os.fdopen(handle, "rb") as file:
        if info.st_size > _MAX_BYTES:
            raise InvalidSubmission(f"the submission has {info.st_size} bytes, at most {_MAX_BYTES} are read")
        data = file.read(_MAX_BYTES + 1)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidSubmission("the submission is not UTF-8 text") from None


def read_predictions(path: Path, task: ResearchTask) -> dict[str, str]:
    """Predictions as written, by row id.

    Raises:
        NoSubmission: there is no file.
        InvalidSubmission: it is no CSV with the task's two columns and one row a test row.
    """
    text = _read(path)
    try:
        # Columns beyond the two are ignored, as Kaggle does.
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        missing = [name for name in (task.id_column, task.target) if name not in (reader.fieldnames or [])]
        if missing:
            raise InvalidSubmission(f"missing column {missing[0]!r}, expected {task.id_column},{task.target}")
        rows = [(row[task.id_column], row[task.target]) for row in reader]
    except csv.Error as error:
        raise InvalidSubmission(f"the submission is not a CSV file: {error}") from None
    predictions = dict(rows)
    expected = _labels(task.private_dir, task.target, task.id_column)
    if len(rows) != len(expected):
        raise InvalidSubmission(f"{len(rows)} rows, expected {len(expected)}: one a row of test.csv")
    if predictions.keys() != expected.keys():
        raise InvalidSubmission(f"the values of {task.id_column!r} are not those of test.csv, each once")
    return predictions


def _numbers(values: list[str], task: ResearchTask) -> np.ndarray:
    try:
        numbers = np.array([float(value) if value else math.nan for value in values])
    except (ValueError, TypeError):
        raise InvalidSubmission(f"column {task.target!r} holds values that are not numbers") from None
    if not np.isfinite(numbers).all():
        count = int((~np.isfinite(numbers)).sum())
        raise InvalidSubmission(f"column {task.target!r} holds {count} missing or infinite values")
    wanted = task.metric_object.prediction
    if wanted == "probability" and not ((numbers >= 0) & (numbers <= 1)).all():
        raise InvalidSubmission(f"column {task.target!r} must hold probabilities in [0, 1]")
    if wanted == "non_negative" and not (numbers >= 0).all():
        raise InvalidSubmission(f"column {task.target!r} holds negative values, {task.metric} needs at least 0")
    if wanted == "positive" and not (numbers > 0).all():
        raise InvalidSubmission(f"column {task.target!r} holds values of 0 or less, {task.metric} needs more than 0")
    return numbers


def grade(path: Path, task: ResearchTask) -> float:
    """Metric value of the predictions at ``path``.

    Raises:
        NoSubmission: there is no file.
        InvalidSubmission: it cannot be graded.
    """
    predictions = read_predictions(path, task)
    expected = _labels(task.private_dir, task.target, task.id_column)
    truth = list(expected.values())
    values = [predictions[row] for row in expected]
    metric = task.metric_object
    if metric.prediction == "label":
        if unknown := {value for value in values if value not in task.classes}:
            example = min(unknown, key=str)
            raise InvalidSubmission(f"{example!r} is no class of {task.target!r}; expected {', '.join(task.classes)}")
        value = metric.compute(np.array(truth), np.array(values))
    elif metric.prediction == "probability":
        value = metric.compute(np.array([label == task.positive for label in truth], dtype=int), _numbers(values, task))
    else:
        value = metric.compute(np.array(truth, dtype=float), _numbers(values, task))
    if not math.isfinite(value):
        raise InvalidSubmission(f"{task.metric} of these predictions is {value}")
    return value
