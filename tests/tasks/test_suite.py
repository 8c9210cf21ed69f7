"""The shipped tasks as a suite: how many of which kind, honest halves, grading that orders, baselines in the middle."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from wmrl_env import tasks
from wmrl_env.sandbox import Sandbox
from wmrl_env.tasks.build import plain_solutions
from wmrl_env.tasks.grading import InvalidSubmission, grade
from wmrl_env.tasks.sources import SOURCES, halves, task_dir
from world_models.outcomes import Status, Submission

ALL = tasks.list()
IDS = [task.id for task in ALL]
every_task = pytest.mark.parametrize("task", ALL, ids=IDS)


def minority(task) -> float:
    shares = task.inventory.splitlines()[0].removeprefix("Classes: ").split(", ")
    return min(float(share.rsplit(" ", 1)[1]) for share in shares)


def test_forty_tasks_of_all_modalities_kinds_and_metrics():
    assert len(ALL) == len(SOURCES) >= 40
    modality = Counter(task.modality for task in ALL)
    assert modality["series"] >= 6 and modality["text"] >= 6 and modality["image"] >= 4
    tables = [task for task in ALL if task.modality == "tabular"]
    assert sum(task.kind == "regression" for task in tables) >= 10
    labelled = [task for task in tables if task.classes]
    assert len(labelled) >= 10
    assert sum(task.kind == "multiclass" for task in labelled) >= 4
    assert sum(minority(task) <= 0.2 for task in labelled if task.kind == "binary") >= 4
    assert sum(task.kind == "counts" for task in tables) >= 4
    assert {task.metric for task in ALL} >= {
        "roc_auc", "log_loss", "accuracy", "macro_f1", "rmse", "mae", "rmsle", "r2", "quadratic_kappa", "mape",
    }  # fmt: skip


def test_about_twelve_tasks_are_held_out_of_every_modality():
    heldout = tasks.list("heldout")
    assert 11 <= len(heldout) <= 13 and len(tasks.list("train")) == len(ALL) - len(heldout)
    assert {task.modality for task in heldout} == {task.modality for task in ALL}
    origins = {task.origin for task in tasks.list("train")}
    assert sum(task.origin not in origins for task in heldout) >= 9


@every_task
def test_the_card_says_where_the_data_come_from_and_agrees_with_them(task):
    tasks.ensure_data(task)
    assert task.origin and task.licence and task.title and task.description.endswith(".")
    train, test = (pd.read_csv(task.public_dir / name) for name in ("train.csv", "test.csv"))
    assert set(train.columns) - set(test.columns) == {task.target}
    assert f"train.csv: {len(train)} rows" in task.text and f"test.csv: {len(test)} rows" in task.text
    assert (task.public_dir / "description.md").read_text(encoding="utf-8") == task.details
    assert len(task.details) < 16_000
    assert set(task.text_columns) <= set(train.columns) and len(train) >= 300
    assert len(task.leaderboard) >= 40 and len(set(task.leaderboard)) >= 30
    assert np.isfinite(task.leaderboard).all()


@every_task
def test_no_row_of_one_half_is_in_the_other_and_time_runs_forward(task):
    train, test = halves(SOURCES[task.id])
    features = [name for name in train.columns if name not in (task.target, task.id_column)]
    assert not pd.concat([train[features], test[features]]).duplicated().any()
    assert not set(train[task.id_column]) & set(test[task.id_column])
    assert (task.modality == "series") == bool(task.time_column)
    if task.time_column:
        assert pd.to_datetime(train[task.time_column]).max() < pd.to_datetime(test[task.time_column]).min()


@every_task
def test_grading_orders_a_perfect_a_shuffled_a_constant_and_a_broken_submission(task, tmp_path):
    tasks.ensure_data(task)
    labels = pd.read_csv(task.private_dir / "labels.csv", dtype={task.target: str} if task.classes else None)
    predictions = labels[task.target]
    kind = task.metric_object.prediction
    if kind == "probability":
        predictions = (predictions == task.positive).astype(float)
    elif kind == "positive":
        predictions = predictions + 1e-6

    def percentile(values: object) -> float:
        path = tmp_path / "submission.csv"
        labels.assign(**{task.target: values}).to_csv(path, index=False)
        return task.percentile(grade(path, task))

    perfect = percentile(predictions)
    shuffled = percentile(predictions.sample(frac=1, random_state=0, ignore_index=True))
    constant = percentile(predictions.mode()[0] if kind == "label" else predictions.mean())
    assert perfect == 1.0
    assert shuffled < 0.2
    assert constant < 0.5
    with pytest.raises(InvalidSubmission):
        percentile(predictions.astype(object).where(predictions.index > 0, "?"))


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(2, warm_start=True) as sandbox:
        yield sandbox


@every_task
def test_a_plain_solution_lands_in_the_middle_third_of_the_leaderboard(task, sandbox):
    percentiles = {}
    for name, code in plain_solutions(task).items():
        (outcome,) = sandbox.execute([Submission(task.id, task.text, code)])
        if outcome.status is Status.VALID:
            percentiles[name] = task.percentile(outcome.metric_value)
            if 1 / 3 <= percentiles[name] <= 2 / 3:
                return
    pytest.fail(f"{task.id}: {percentiles}")


def test_the_suite_fits_on_a_small_disk():
    files = [path for task in ALL for path in task_dir(tasks.ensure_data(task).id).rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 200 * 2**20
