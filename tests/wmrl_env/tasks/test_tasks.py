"""The shipped tasks: data, halves, leaderboards, baselines."""

import numpy as np
import pandas as pd
import pytest

from wmrl_env import tasks
from wmrl_env.tasks.grading import InvalidSubmission, grade
from wmrl_env.tasks.sources import SOURCES, halves
from wmrl_env.tasks.task import ResearchTask

ALL = tasks.list()
IDS = [task.id for task in ALL]


def test_ten_tasks_in_two_splits_and_all_kinds():
    assert len(ALL) == len(SOURCES) == 10
    assert {task.id for task in tasks.list("train")} | {task.id for task in tasks.list("heldout")} == set(IDS)
    assert len(tasks.list("heldout")) == 3
    assert {task.kind for task in ALL} == {"binary", "multiclass", "regression", "counts"}


@pytest.mark.parametrize("task", ALL, ids=IDS)
def test_card_agrees_with_the_data(task):
    tasks.ensure_data(task)
    train, test = pd.read_csv(task.public_dir / "train.csv"), pd.read_csv(task.public_dir / "test.csv")
    assert task.target not in test.columns
    assert f"train.csv: {len(train)} rows" in task.text and f"test.csv: {len(test)} rows" in task.text
    assert (task.public_dir / "description.md").read_text(encoding="utf-8") == task.text
    assert len(task.leaderboard) >= 30
    assert len(set(task.leaderboard)) >= 25


@pytest.mark.parametrize("task", ALL, ids=IDS)
def test_no_row_of_one_half_is_in_the_other(task):
    train, test = halves(SOURCES[task.id])
    features = [name for name in train.columns if name not in (task.target, task.id_column)]
    both = pd.concat([train[features], test[features]])
    assert not both.duplicated().any()
    assert not set(train[task.id_column]) & set(test[task.id_column])


@pytest.mark.parametrize("task", ALL, ids=IDS)
def test_grading_orders_a_perfect_a_shuffled_and_a_constant_submission(task, tmp_path):
    tasks.ensure_data(task)
    truth = pd.read_csv(task.private_dir / "labels.csv")
    if task.kind == "binary":
        truth[task.target] = (truth[task.target] == task.positive).astype(float)
    elif task.kind == "counts":
        truth[task.target] += 1e-6  # a Poisson mean is above 0

    def score(values: object) -> float:
        path = tmp_path / "submission.csv"
        truth.assign(**{task.target: values}).to_csv(path, index=False)
        return task.percentile(grade(path, task))

    shuffled = truth[task.target].sample(frac=1, random_state=0, ignore_index=True)
    constant = truth[task.target].mode()[0] if task.kind == "multiclass" else truth[task.target].mean()
    assert score(truth[task.target]) == 1.0
    assert score(shuffled) < 0.2
    assert score(constant) < 0.5
    with pytest.raises(InvalidSubmission):
        score(truth[task.target].astype(object).where(truth.index > 0, "?"))


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
        ({"leaderboard": ()}, "empty leaderboard"),
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
