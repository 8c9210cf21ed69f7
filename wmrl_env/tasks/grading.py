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

_USUAL_NAMES = ("labels.csv", "test_answer.csv", "answers.csv", "test.csv")
_MAX_BYTES = 64 * 2**20
_ONE_A_ROW = "one for each row of test.csv"


class NoSubmission(Exception):
    """The solution wrote no predictions."""


class InvalidSubmission(Exception):
    """The predictions cannot be graded; the message says why and what was expected."""


def answers_file(private_dir: Path) -> Path | None:
    """The CSV file with a task's labels: one called as usual, else the only one there is."""
    for name in _USUAL_NAMES:
        if (private_dir / name).exists():
            return private_dir / name
    files = sorted(private_dir.glob("*.csv"))
    return files[0] if len(files) == 1 else None


def _labels(task: ResearchTask) -> dict[str, str]:
    path = answers_file(task.private_dir)
    if path is None:
        raise FileNotFoundError(f"{task.private_dir} must hold labels.csv, or one CSV file with the labels")
    return _read_labels(path, path.stat().st_mtime_ns, task.target, task.id_column)


@lru_cache(maxsize=64)
def _read_labels(path: Path, modified: int, target: str, id_column: str) -> dict[str, str]:
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
        raise InvalidSubmission(
            "the submission is not UTF-8 text: write plain CSV, uncompressed, e.g. frame.to_csv(path, index=False)"
        ) from None


def read_predictions(path: Path, task: ResearchTask) -> dict[str, str]:
    """Predictions as written, by row id. Columns beyond the two are ignored, as Kaggle does.

    Raises:
        NoSubmission: there is no file.
        InvalidSubmission: it is no CSV with the task's two columns and one row a test row.
    """
    expected = _labels(task)
    predictions: dict[str, str] = {}
    reader = csv.reader(io.StringIO(_read(path), newline=""), strict=True)
    try:
        header = next(reader, [])
        positions = [_position(header, name, task) for name in (task.id_column, task.target)]
        count = 0
        for row in reader:
            if not row:
                continue
            count += 1
            if count > len(expected):  # what follows may be any amount
                raise InvalidSubmission(f"more than {len(expected)} rows, expected {len(expected)}: {_ONE_A_ROW}")
            if len(row) <= max(positions):
                raise InvalidSubmission(f"line {reader.line_num} has {len(row)} cells, the header {len(header)}")
            row_id, predictions[row_id] = (row[position] for position in positions)
    except csv.Error as error:
        raise InvalidSubmission(f"the submission is not a CSV file: {error}") from None
    if count != len(expected):
        raise InvalidSubmission(f"{count} rows, expected {len(expected)}: {_ONE_A_ROW}")
    if predictions.keys() != expected.keys():
        foreign = next((row_id for row_id in predictions if row_id not in expected), None)
        why = f"{task.id_column!r} repeats values" if foreign is None else f"{task.id_column!r} holds {_short(foreign)}"
        raise InvalidSubmission(f"{why}; expected the ids of test.csv, each once, such as {next(iter(expected))}")
    return predictions


def _position(header: list[str], name: str, task: ResearchTask) -> int:
    if header.count(name) != 1:
        fault = "missing column" if name not in header else "two columns are called"
        found = ", ".join(_short(column) for column in header[:5]) or "nothing"
        raise InvalidSubmission(f"{fault} {name!r}: the header must be {task.id_column},{task.target}, found {found}")
    return header.index(name)


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:39]}…")


def _numbers(values: list[str], task: ResearchTask) -> np.ndarray:
    wanted = task.metric_object.prediction
    hint = (
        f": probabilities of class {task.positive!r} are wanted, such as predict_proba(X)[:, 1]"
        if wanted == "probability"
        else ""
    )
    numbers = np.empty(len(values))
    for i, value in enumerate(values):
        try:
            numbers[i] = float(value) if value else math.nan
        except ValueError:
            raise InvalidSubmission(f"column {task.target!r} holds {_short(value)}, which is no number{hint}") from None
    if not np.isfinite(numbers).all():
        count = int((~np.isfinite(numbers)).sum())
        raise InvalidSubmission(f"column {task.target!r} holds {count} missing or infinite values: fill them")
    if wanted == "probability" and not ((numbers >= 0) & (numbers <= 1)).all():
        span = f"{numbers.min():.6g} to {numbers.max():.6g}"
        raise InvalidSubmission(f"column {task.target!r} must hold probabilities in [0, 1], found {span}{hint}")
    if wanted == "non_negative" and not (numbers >= 0).all():
        raise InvalidSubmission(
            f"column {task.target!r} holds negative values, {task.metric} needs at least 0: clip them"
        )
    if wanted == "positive" and not (numbers > 0).all():
        raise InvalidSubmission(
            f"column {task.target!r} holds values of 0 or less, {task.metric} needs more than 0: clip them"
        )
    return numbers


def _known_labels(values: list[str], task: ResearchTask) -> list[str]:
    """Predicted labels as the task spells them; ``1.0`` is as good as ``1``."""
    spelling = {label: label for label in task.classes}
    spelling |= {_canonical(label): label for label in task.classes if _canonical(label) not in spelling}
    labels = [spelling.get(value) or spelling.get(_canonical(value)) for value in values]
    for value, label in zip(values, labels, strict=True):
        if label is None:
            what = _short(value) if value else "missing values"
            raise InvalidSubmission(
                f"column {task.target!r} holds {what}, which is no class; expected {', '.join(task.classes)}"
            )
    return labels  # type: ignore[return-value]


def _canonical(label: str) -> str:
    try:
        number = float(label)
    except ValueError:
        return label
    return str(int(number)) if math.isfinite(number) and number.is_integer() else str(number)


def grade(path: Path, task: ResearchTask) -> float:
    """Metric value of the predictions at ``path``.

    Raises:
        NoSubmission: there is no file.
        InvalidSubmission: it cannot be graded.
    """
    predictions = read_predictions(path, task)
    expected = _labels(task)
    truth = list(expected.values())
    values = [predictions[row] for row in expected]
    metric = task.metric_object
    if metric.prediction == "label":
        answers, guesses = np.array(truth), np.array(_known_labels(values, task))
    elif metric.prediction == "probability":
        answers, guesses = np.array([label == task.positive for label in truth], dtype=int), _numbers(values, task)
    else:
        answers, guesses = np.array(truth, dtype=float), _numbers(values, task)
    with np.errstate(all="ignore"):  # of absurd values; what comes of them is looked at
        try:
            value = metric.compute(answers, guesses)
        except ValueError as error:
            raise InvalidSubmission(f"{task.metric} of these predictions cannot be computed: {error}") from None
    if not math.isfinite(value):
        raise InvalidSubmission(f"{task.metric} of these predictions is {value}: are some absurdly large?")
    return value
