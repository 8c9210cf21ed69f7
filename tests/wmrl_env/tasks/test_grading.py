"""Anything that a solution may have written gets a metric value or a reason."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import make_task_dir
from wmrl_env.tasks.grading import InvalidSubmission, NoSubmission, grade
from wmrl_env.tasks.task import ResearchTask


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return ResearchTask.from_directory(make_task_dir(tmp_path_factory.mktemp("grading") / "toy", metric="rmse"))


def ids(task):
    return [line.split(",")[0] for line in (task.private_dir / "labels.csv").read_text().splitlines()[1:]]


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def rows(task, value="1.5"):
    return [f"{row},{value}" for row in ids(task)]


@pytest.mark.parametrize(
    "shape",
    [
        lambda lines: "\n".join(lines),
        lambda lines: "\r\n".join(lines) + "\r\n",
        lambda lines: "﻿" + "\n".join(lines),
        lambda lines: "\n".join([lines[0], *reversed(lines[1:])]),
        lambda lines: "\n".join(f"{line},extra" for line in lines),
    ],
    ids=["plain", "crlf", "bom", "reordered", "extra-column"],
)
def test_the_same_predictions_in_any_dress_get_the_same_value(task, tmp_path, shape):
    lines = ["row_id,y", *rows(task)]
    plain = grade(write(tmp_path / "plain.csv", "\n".join(lines)), task)
    assert grade(write(tmp_path / "s.csv", shape(lines)), task) == plain


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "missing column"),
        ("a,b\n1,2\n", "missing column 'row_id'"),
        ("row_id\n1\n", "missing column 'y'"),
        ("row_id,y\n1,2\n", "rows, expected"),
        (b"\xff\xfe\x00\x01", "UTF-8"),
        ('row_id,y\n"unclosed', "not a CSV"),
    ],
)
def test_the_reason_names_the_fault(task, tmp_path, text, message):
    with pytest.raises(InvalidSubmission, match=message):
        grade(write(tmp_path / "s.csv", text), task)


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "", "high"])
def test_values_that_are_no_finite_numbers_are_invalid(task, tmp_path, value):
    lines = ["row_id,y", *rows(task)]
    lines[3] = f"{ids(task)[2]},{value}"
    with pytest.raises(InvalidSubmission):
        grade(write(tmp_path / "s.csv", "\n".join(lines)), task)


def test_duplicate_and_foreign_ids_are_invalid(task, tmp_path):
    for other in (ids(task)[0], "foreign"):
        lines = ["row_id,y", *rows(task)]
        lines[3] = f"{other},1.0"
        with pytest.raises(InvalidSubmission, match="each once"):
            grade(write(tmp_path / "s.csv", "\n".join(lines)), task)


def test_what_is_no_plain_file_is_not_read(task, tmp_path):
    with pytest.raises(NoSubmission):
        grade(tmp_path / "nothing.csv", task)
    (tmp_path / "link.csv").symlink_to(task.private_dir / "labels.csv")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    os.link(write(tmp_path / "s.csv", "\n".join(["row_id,y", *rows(task)])), tmp_path / "second-name.csv")
    for name in ("link.csv", "pipe.csv", "folder.csv", "second-name.csv"):
        with pytest.raises(InvalidSubmission):
            grade(tmp_path / name, task)


@given(text=st.one_of(st.text(max_size=300), st.binary(max_size=300)))
def test_no_content_raises_anything_else(task, tmp_path_factory, text):
    path = write(
        tmp_path_factory.mktemp("any") / "s.csv", text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    )
    with pytest.raises((InvalidSubmission, NoSubmission)):
        grade(path, task)


@pytest.mark.parametrize(
    ("metric", "value", "message"),
    [("rmsle", "-1", "negative"), ("poisson_deviance", "0", "more than 0"), ("roc_auc", "1.5", "probabilities"),
     ("macro_f1", "z", "no class")],
)  # fmt: skip
def test_each_kind_of_prediction_has_its_range(tmp_path, metric, value, message):
    task = ResearchTask.from_directory(make_task_dir(tmp_path / "toy", metric=metric))
    path = write(tmp_path / "s.csv", "\n".join(["row_id,y", *rows(task, value)]))
    with pytest.raises(InvalidSubmission, match=message):
        grade(path, task)
