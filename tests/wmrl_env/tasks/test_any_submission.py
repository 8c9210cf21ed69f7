"""Whatever a solution writes is graded as the metric says or refused, through the sandbox's ``execute``."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import math

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import make_task_dir
from wmrl_env import tasks
from wmrl_env.sandbox import Sandbox
from wmrl_env.tasks.task import ResearchTask
from world_models.outcomes import Status, Submission

WRITE = """
import base64, os, pathlib
path = pathlib.Path(os.environ["SUBMISSION_PATH"])
path.write_bytes(base64.b64decode({data!r}))
"""
SPECIAL = {
    "symlink": "os.symlink(os.path.join(os.environ['DATA_DIR'], 'sample_submission.csv'), path)",
    "fifo": "os.mkfifo(path)",
    "folder": "os.mkdir(path)",
    "empty": "open(path, 'w').close()",
    "million rows": "open(path, 'w').write('row_id,y\\n' + '40,1.0\\n' * 1_000_000)",
    "one long line": "open(path, 'w').write('row_id,y\\n' + '4' * 30_000_000)",
    "nothing but newlines": "open(path, 'w').write('\\n' * 30_000_000)",
    "sparse": "open(path, 'wb').truncate(2 ** 26)",
}


@pytest.fixture(scope="module", params=["rmse", "roc_auc", "macro_f1", "mape"])
def task(request, tmp_path_factory):
    folder = make_task_dir(tmp_path_factory.mktemp("any"), metric=request.param, id=f"any-{request.param}")
    task = ResearchTask.from_directory(folder)
    tasks.register(task)
    yield task
    tasks._registered.pop(task.id)


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(1, "process", None, warm_start=True) as sandbox:
        yield sandbox


def truth(task):
    with (task.private_dir / "labels.csv").open(newline="") as file:
        return {row["row_id"]: row["y"] for row in csv.DictReader(file)}


numbers = st.one_of(
    st.floats(0, 1).map(repr),
    st.floats().map(repr),
    st.sampled_from(
        ["", "nan", "inf", "-inf", "1e308", "-1e308", "1e400", "5e-324", "0", "a", "b", "True", " 1 ", "1,5"]
    ),
)
cells = {"number": st.floats(0, 1).map(repr), "label": st.sampled_from("ab"), "anything": numbers}


@st.composite
def contents(draw, labels):
    """(bytes of a file, predictions by id where the file is in order, else None)."""
    kind = draw(st.sampled_from(sorted(cells)))
    ids = draw(st.permutations(list(labels)))
    values = draw(st.lists(cells[kind], min_size=len(ids), max_size=len(ids)))
    if draw(st.booleans()) and draw(st.booleans()):
        ids = draw(st.sampled_from([ids[:-1], [*ids[:-1], ids[0]], [*ids, "0"], [f"{i}.0" for i in ids]]))
        values = (values + values[:1])[: len(ids)]
    header = draw(st.sampled_from([["row_id", "y"]] * 4 + [["y", "row_id"], ["row_id", "Y"], ["row_id"], ["y", "y"]]))
    extra = draw(st.booleans())
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=draw(st.sampled_from(["\n", "\r\n"])))
    writer.writerow([*header, *(["note"] if extra else [])])
    for row_id, value in zip(ids, values, strict=True):
        row = {"row_id": row_id, "y": value, "Y": value}
        writer.writerow([*(row[name] for name in header), *(["x"] if extra else [])])
    data = text.getvalue().encode("utf-8-sig" if draw(st.booleans()) else "utf-8")
    in_order = sorted(header) == ["row_id", "y"] and sorted(ids) == sorted(labels)
    if draw(st.integers(0, 9)) == 0:
        return gzip.compress(data), None
    return data, dict(zip(ids, values, strict=True)) if in_order else None


def metric_of(task, labels, predictions):
    """The metric computed without any of the package's code; NaN where it cannot be."""
    answers, guesses = list(labels.values()), [predictions[row_id] for row_id in labels]
    try:
        if task.metric == "macro_f1":
            return (
                sklearn.metrics.f1_score(answers, guesses, average="macro") if set(guesses) <= {"a", "b"} else math.nan
            )
        values = np.array(guesses, dtype=float)
        if task.metric == "roc_auc":
            inside = ((values >= 0) & (values <= 1)).all()
            return sklearn.metrics.roc_auc_score([label == "b" for label in answers], values) if inside else math.nan
        score = {"rmse": "root_mean_squared_error", "mape": "mean_absolute_percentage_error"}[task.metric]
        return getattr(sklearn.metrics, score)(np.array(answers, dtype=float), values)
    except ValueError:
        return math.nan


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@given(data=st.data())
def test_a_score_is_what_the_metric_gives_and_everything_else_is_invalid(task, sandbox, data):
    labels = truth(task)
    content, predictions = data.draw(contents(labels))
    code = WRITE.format(data=base64.b64encode(content).decode())
    (outcome,) = sandbox.execute([Submission(task.id, task.text, code)])
    expected = math.nan if predictions is None else metric_of(task, labels, predictions)
    if math.isfinite(expected):
        assert outcome.status is Status.VALID, outcome.feedback
        assert outcome.metric_value == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert outcome.score == 0.5 + 0.5 * task.percentile(outcome.metric_value)
    else:
        assert outcome.status is Status.INVALID_SUBMISSION, outcome.feedback
        assert "InvalidSubmission: " in outcome.feedback


@pytest.mark.parametrize("name", SPECIAL)
def test_what_is_no_file_of_predictions_is_invalid(task, sandbox, name):
    code = f"import os\npath = os.environ['SUBMISSION_PATH']\n{SPECIAL[name]}"
    (outcome,) = sandbox.execute([Submission(task.id, task.text, code)])
    assert outcome.status is Status.INVALID_SUBMISSION, outcome.feedback
    assert len(outcome.feedback) < 2000
