"""What a task is; the shipped ones as a suite are in ``tests/tasks``."""

import math

import numpy as np
import pandas as pd
import pytest

from wmrl_env import tasks
from wmrl_env.tasks.sources import SOURCES
from wmrl_env.tasks.task import ResearchTask


def test_percentile_counts_ties_half_and_respects_direction():
    task = tasks.get("churn")
    higher = ResearchTask(
        "h", "h", "", "roc_auc", True, task.public_dir, task.private_dir, (0.1, 0.2, 0.2, 0.4), kind="binary",
        classes=("a", "b"),
    )  # fmt: skip
    lower = ResearchTask("l", "l", "", "rmse", False, task.public_dir, task.private_dir, (0.1, 0.2, 0.2, 0.4))
    assert [higher.percentile(value) for value in (0.0, 0.1, 0.2, 0.3, 0.5)] == [0, 0.125, 0.5, 0.75, 1]
    assert [lower.percentile(value) for value in (0.0, 0.1, 0.2, 0.3, 0.5)] == [1, 0.875, 0.5, 0.25, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"leaderboard": ()}, "finite metric values"),
        ({"leaderboard": (0.1, math.nan)}, "finite metric values"),
        ({"leaderboard": (math.inf,)}, "finite metric values"),
        ({"id": ""}, "id of a task"),
        ({"split": "valid"}, "split must be one of"),
        ({"modality": "audio"}, "modality must be one of"),
        ({"kind": "ranking"}, "kind must be one of"),
        ({"memory_limit_mb": math.inf}, "finite"),
        ({"time_limit_s": math.nan}, "positive"),
        ({"higher_is_better": True}, "contradicts"),
        ({"metric": "beauty"}, "unknown metric"),
        ({"time_limit_s": 0}, "positive"),
    ],
)
def test_a_bad_task_is_refused(change, message, tmp_path):
    fields = {
        "id": "t", "title": "t", "description": "", "metric": "rmse", "higher_is_better": False,
        "public_dir": tmp_path, "private_dir": tmp_path, "leaderboard": (1.0,),
    }  # fmt: skip
    ResearchTask(**fields)
    with pytest.raises(ValueError, match=message):
        ResearchTask(**{**fields, **change})


def test_registry_errors_say_what_is_known(tmp_path):
    with pytest.raises(KeyError, match="churn"):
        tasks.get("nonesuch")
    with pytest.raises(ValueError, match="split"):
        tasks.list("validation")
    task = ResearchTask("churn", "mine", "", "rmse", False, tmp_path, tmp_path, (1.0,))
    with pytest.raises(ValueError, match="already"):
        tasks.register(task)
    absent = ResearchTask("absent", "mine", "", "rmse", False, tmp_path / "no", tmp_path, (1.0,))
    with pytest.raises(FileNotFoundError, match="absent"):
        tasks.ensure_data(absent)


def test_loading_data_is_deterministic():
    first, second = (SOURCES["credit"].load() for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    assert np.isfinite(tasks.get("credit").leaderboard).all()


def test_details_tell_what_a_solution_may_rely_on():
    task = tasks.get("tate")
    assert task.details.startswith(task.text)
    assert "Text: title, medium" in task.text and "Modality: text" in task.text
    for fact in ("DATA_DIR", "SUBMISSION_PATH", "pandas ", "scikit-learn ", task.sample_rows.splitlines()[1]):
        assert fact in task.details
    assert "Time: date" in tasks.get("births").text
