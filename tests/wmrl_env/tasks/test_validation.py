"""Everything that makes a task directory unusable is found, and all of it at once; sound tasks raise no alarm."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.support import make_task_dir
from wmrl_env import tasks
from wmrl_env.tasks.directory import TaskError, inspect, load
from wmrl_env.tasks.metrics import METRICS

Damage = Callable[[Path], object]


def edit(path: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Damage:
    """Damage that rewrites a table."""

    def damage(root: Path) -> None:
        change(pd.read_csv(root / path)).to_csv(root / path, index=False)

    return damage


def labels(root: Path) -> pd.DataFrame:
    return pd.read_csv(root / "private/labels.csv")


def reveal(column: Callable[[pd.Series], object]) -> Damage:
    """Damage that gives ``test.csv`` a column made of the labels."""

    def damage(root: Path) -> None:
        edit("public/test.csv", lambda frame: frame.assign(z=column(labels(root)["y"])))(root)

    return damage


def put(path: str, content: str) -> Damage:
    return lambda root: (root / path).write_text(content)


def settings(**values: object) -> Damage:
    def damage(root: Path) -> None:
        known = json.loads((root / "task.json").read_text())
        (root / "task.json").write_text(json.dumps(known | values))

    return damage


def relabel(change: Callable[[pd.Series], object], *paths: str) -> Damage:
    """Damage that changes the target of the labels, and of the training rows where asked."""

    def damage(root: Path) -> None:
        for path in paths or ("private/labels.csv",):
            edit(path, lambda frame: frame.assign(y=change(frame["y"])))(root)

    return damage


def everywhere(change: Callable[[pd.Series], object]) -> Damage:
    return relabel(change, "private/labels.csv", "public/train.csv")


def put_test_rows_into_train(root: Path) -> None:
    rows = pd.read_csv(root / "public/test.csv").merge(labels(root)).head(3)
    edit("public/train.csv", lambda frame: pd.concat([frame, rows]))(root)


def put_labels_into_train(root: Path) -> None:
    shown = labels(root).assign(x=0)
    edit("public/train.csv", lambda frame: pd.concat([frame, shown]))(root)


def sort_by_label(root: Path) -> None:
    order = labels(root).sort_values("y", kind="stable")["row_id"]
    edit("public/test.csv", lambda frame: frame.set_index("row_id").loc[order].reset_index())(root)


def link(target: str, name: str = "public/more.csv") -> Damage:
    return lambda root: (root / name).symlink_to(root / target)


FAULTS: dict[str, tuple[str, Damage, str]] = {
    "target in test": ("rmse", reveal(lambda y: y), "column 'z' equals the labels"),
    "target's name in test": ("rmse", edit("public/test.csv", lambda f: f.assign(y=1)), "shows the target 'y'"),
    "target but for noise": (
        "rmse",
        reveal(lambda y: 2 * y + np.random.default_rng(0).normal(scale=1e-5, size=len(y))),
        "column 'z' determines the labels",
    ),
    "target falling": ("mae", reveal(lambda y: -np.log(y)), "column 'z' determines the labels"),
    "classes coded": ("roc_auc", reveal(lambda y: (y == "a") * 7), "column 'z' determines the labels"),
    "classes in words": ("accuracy", reveal(lambda y: "is " + y), "column 'z' determines the labels"),
    "order of rows": ("rmse", sort_by_label, "the order of rows determines the labels"),
    "sorted by class": ("accuracy", sort_by_label, "rows are sorted by their labels"),
    "labels in sample": (
        "rmse",
        lambda root: labels(root).to_csv(root / "public/sample_submission.csv", index=False),
        "sample_submission.csv holds the labels",
    ),
    "copy of labels": (
        "rmse",
        lambda root: (root / "public/extra.bin").write_bytes((root / "private/labels.csv").read_bytes()),
        "extra.bin is a copy of labels.csv",
    ),
    "labels by id": (
        "rmse",
        lambda root: labels(root).sample(frac=1, random_state=0).to_csv(root / "public/extra.csv", index=False),
        "extra.csv holds the labels",
    ),
    "labels zipped below": (
        "accuracy",
        lambda root: (root / "public/deep").mkdir() or labels(root).to_csv(root / "public/deep/a.csv.gz", sep=","),
        "deep/a.csv.gz holds the labels",
    ),
    "labels without ids": (
        "accuracy",
        lambda root: labels(root)["y"].to_csv(root / "public/extra.txt", index=False, header=False),
        "extra.txt holds the labels",
    ),
    "labels as JSON": (
        "rmse",
        lambda root: put("public/e.json", json.dumps(dict(labels(root).astype(str).to_numpy().tolist())))(root),
        "e.json holds the labels",
    ),
    "labels as array": (
        "rmse",
        lambda root: np.save(root / "public/e.npy", labels(root)["y"].to_numpy()),
        "e.npy holds the labels",
    ),
    "labels as Parquet": (
        "rmse",
        lambda root: labels(root).to_parquet(root / "public/e.parquet"),
        "e.parquet holds the labels",
    ),
    "test rows in train": (
        "rmse",
        put_test_rows_into_train,
        "3 rows of train.csv carry ids of test.csv, with their labels",
    ),
    "test labels in train": ("rmse", put_labels_into_train, "20 rows of train.csv carry ids of test.csv"),
    "link to labels": ("rmse", link("private/labels.csv"), "more.csv is a symbolic link"),
    "link to all": ("rmse", link(".", "public/more"), "public/more is a symbolic link"),
    "dead link": ("rmse", link("nothing"), "which does not exist"),
    "hard link": (
        "rmse",
        lambda root: os.link(root / "private/labels.csv", root / "public/more.csv"),
        "public/more.csv is a hard link",
    ),
    "ids of labels": ("rmse", edit("private/labels.csv", lambda f: f.assign(row_id=f["row_id"] + 1)), "different ids"),
    "ids of sample": (
        "rmse",
        edit("public/sample_submission.csv", lambda f: f.iloc[:-1]),
        "sample_submission.csv (the sample submission) and test.csv have different ids",
    ),
    "ids twice in test": (
        "rmse",
        edit("public/test.csv", lambda f: f.iloc[[0, *range(20)]]),
        "test.csv (test rows) has duplicate",
    ),
    "ids twice in labels": (
        "rmse",
        edit("private/labels.csv", lambda f: f.iloc[[0, *range(20)]]),
        "labels.csv (the labels) has duplicate ids in 'row_id', such as 40",
    ),
    "no id": ("rmse", put("public/sample_submission.csv", "row_id,y\n,1\n"), "rows without 'row_id'"),
    "missing labels": ("rmse", relabel(lambda y: y.where(y.index > 1)), "labels.csv has 2 missing labels"),
    "equal labels": ("rmse", relabel(lambda y: 1.0), "all labels in labels.csv are equal"),
    "no test": ("rmse", lambda root: (root / "public/test.csv").unlink(), "public/test.csv is missing"),
    "no train": ("rmse", lambda root: (root / "public/train.csv").unlink(), "public/train.csv is missing"),
    "no sample": (
        "rmse",
        lambda root: (root / "public/sample_submission.csv").unlink(),
        "public/sample_submission.csv is missing",
    ),
    "no labels": ("rmse", lambda root: (root / "private/labels.csv").unlink(), "private/labels.csv is missing"),
    "several tests": (
        "rmse",
        lambda root: (
            [(root / "public" / name).write_text("a\n1\n") for name in ("my_test.csv", "my-test.csv")]
            and (root / "public/test.csv").unlink()
        ),
        "several files for test.csv: my-test.csv, my_test.csv",
    ),
    "empty table": ("rmse", put("public/train.csv", "row_id,x,y\n"), "train.csv has no rows"),
    "no column": ("rmse", put("public/train.csv", "a,b\n1,2\n"), "train.csv lacks column 'y', found a, b"),
    "broken CSV": ("rmse", put("public/train.csv", "row_id,x,y\n1,2\n3,4,5,6,7\n"), "train.csv is no readable CSV"),
    "binary CSV": (
        "rmse",
        lambda root: (root / "private/labels.csv").write_bytes(b"\xff\xfe\x00\x81" * 9),
        "labels.csv is no readable CSV file",
    ),
    "broken zip": (
        "rmse",
        lambda root: (root / "public/test.csv").rename(root / "public/test.csv.zip"),
        "test.csv.zip is no readable CSV file",
    ),
    "broken gzip": (
        "rmse",
        lambda root: (
            (root / "public/test.csv.gz").write_bytes(gzip.compress(b"row_id,x\n" * 99)[:-30] + b"\0" * 30)
            and (root / "public/test.csv").unlink()
        ),
        "test.csv.gz is no readable CSV file",
    ),
    "broken xz": (
        "rmse",
        lambda root: (root / "public/test.csv").rename(root / "public/test.csv.xz"),
        "test.csv.xz is no readable CSV file",
    ),
    "several targets": (
        "rmse",
        edit("public/sample_submission.csv", lambda f: f.assign(z=1)),
        "sample_submission.csv has the columns row_id, y, z: one id and one target are wanted",
    ),
    "no leaderboard": ("rmse", lambda root: (root / "leaderboard.csv").unlink(), "leaderboard.csv with a column"),
    "empty leaderboard": ("rmse", put("leaderboard.csv", "score\n"), "leaderboard.csv is empty"),
    "words on leaderboard": ("rmse", put("leaderboard.csv", "score\n1\ngood\n"), "line 3 holds 'good'"),
    "infinite leaderboard": ("rmse", put("leaderboard.csv", "score\ninf\n"), "line 2 holds 'inf'"),
    "no scores": ("rmse", put("leaderboard.csv", "team,rank\na,1\n"), "no column metric_value or score"),
    "flat leaderboard": ("rmse", put("leaderboard.csv", "score\n1\n1\n1\n"), "all 3 entries of the leaderboard are 1"),
    "other leaderboard": (
        "roc_auc",
        put("leaderboard.csv", "score\n0.9\n87.5\n"),
        "holds 87.5, which roc_auc never is",
    ),
    "three classes for AUC": (
        "roc_auc",
        everywhere(lambda y: y.where(y.index % 3 > 0, "c")),
        "metric 'roc_auc' needs two classes, but 'y' has 3",
    ),
    "three classes for log loss": (
        "log_loss",
        everywhere(lambda y: y.where(y.index % 3 > 0, "c")),
        "metric 'log_loss' needs two classes",
    ),
    "negative for RMSLE": ("rmsle", relabel(lambda y: y - 1), "metric 'rmsle' needs labels of at least 0"),
    "negative for Poisson": ("poisson_deviance", relabel(lambda y: y - 1), "'poisson_deviance' needs labels of at"),
    "zeros for MAPE": ("mape", relabel(lambda y: y.round()), "metric 'mape' divides by the labels"),
    "words for kappa": ("quadratic_kappa", lambda root: None, "metric 'quadratic_kappa' needs whole numbers"),
    "words for R2": ("r2", everywhere(lambda y: "about " + y.astype(str)), "metric 'r2' needs numbers"),
    "numbers for accuracy": ("rmse", settings(metric="accuracy"), "metric 'accuracy' needs classes"),
    "other spelling": (
        "accuracy",
        lambda root: [
            everywhere(lambda y: (y == "b") * 1)(root),
            relabel(lambda y: y.map({0: "0.0", 1: "1.0"}))(root),
        ],
        "labels.csv spells labels otherwise than train.csv",
    ),
    "kind of counts": ("rmse", settings(kind="counts"), "kind 'counts' needs whole numbers"),
    "kind of two": (
        "accuracy",
        lambda root: [settings(kind="binary")(root), everywhere(lambda y: y.where(y.index % 3 > 0, "c"))(root)],
        "kind 'binary' needs two classes, but 'y' has 3",
    ),
    "one column for both": ("rmse", settings(id_column="y"), "id_column and target are both 'y'"),
    "kind of classes": ("rmse", settings(kind="binary"), "kind 'binary' does not go with metric 'rmse'"),
    "kind of numbers": ("roc_auc", settings(kind="regression"), "kind 'regression' does not go with"),
    "no time": ("rmse", settings(time_limit_s=0), "time_limit_s must be a number above 0, got 0"),
    "endless time": ("rmse", settings(time_limit_s=float("inf")), "time_limit_s must be a number above 0, got inf"),
    "no memory": ("rmse", settings(memory_limit_mb=-3), "memory_limit_mb must be a whole number above 0"),
    "unknown key": ("rmse", settings(colour=3), "unknown keys ['colour']"),
    "unknown metric": ("rmse", settings(metric="beauty"), "metric must be one of roc_auc"),
    "unknown split": ("rmse", settings(split="test"), "split must be one of train, heldout"),
    "unknown modality": ("rmse", settings(modality="smell"), "modality must be one of tabular"),
    "metric not named": ("rmse", put("task.json", "{}"), "metric is not set"),
    "broken JSON": ("rmse", put("task.json", "{'metric'"), "task.json is not JSON"),
    "no object": ("rmse", put("task.json", "[]"), "task.json must hold an object"),
    "text column": ("rmse", settings(text_columns=["prose"]), "text_columns names 'prose', which train.csv lacks"),
    "numbers as text": ("rmse", settings(text_columns=["x"]), "text_columns names 'x', which holds numbers"),
    "no list": ("rmse", settings(text_columns="x"), "text_columns must be a list of column names"),
    "time column": ("rmse", settings(time_column="when"), "time_column names 'when', which train.csv lacks"),
    "test before train": ("rmse", settings(time_column="x"), "test rows must be later than train rows"),
    "no time at all": (
        "rmse",
        lambda root: [
            settings(time_column="day")(root),
            edit("public/train.csv", lambda f: f.assign(day="2020-01-01"))(root),
            edit("public/test.csv", lambda f: f.assign(day="soon"))(root),
        ],
        "time column 'day' of test.csv has 20 values that are no time",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_each_fault_is_named(tmp_path: Path, case: str) -> None:
    metric, damage, message = FAULTS[case]
    root = make_task_dir(tmp_path / "toy", metric=metric)
    damage(root)
    with pytest.raises(TaskError) as caught:
        load(root)
    assert any(message in fault for fault in caught.value.faults), caught.value.faults
    assert str(root) in str(caught.value)


def test_all_faults_are_listed_at_once(tmp_path: Path) -> None:
    root = make_task_dir(tmp_path / "toy", rows=90)
    cases = [
        "target in test", "labels by id", "link to labels", "ids of sample", "missing labels", "flat leaderboard",
        "no memory", "unknown key", "text column", "kind of counts",
    ]  # fmt: skip
    for case in cases:
        FAULTS[case][1](root)
    found = inspect(root)
    assert found.task is None
    for case in cases:
        assert any(FAULTS[case][2] in fault for fault in found.faults), (case, found.faults)


def test_what_is_missing_hides_no_other_fault(tmp_path: Path) -> None:
    root = make_task_dir(tmp_path / "toy")
    cases = ["no train", "ids of sample", "ids twice in labels", "target's name in test", "no memory"]
    for case in cases:
        FAULTS[case][1](root)
    faults = inspect(root).faults
    for case in cases:
        assert any(FAULTS[case][2] in fault for fault in faults), (case, faults)


@pytest.mark.parametrize("metric", [metric for metric in METRICS if metric != "quadratic_kappa"])
def test_a_sound_task_has_no_fault(tmp_path: Path, metric: str) -> None:
    found = inspect(make_task_dir(tmp_path / "toy", metric=metric))
    assert found.task is not None and not found.faults
    assert [warning.split(":")[0] for warning in found.warnings] == ["the leaderboard has 9 entries"]


@pytest.mark.parametrize("task_id", ["churn", "hpc", "diamonds", "visits", "electricity"])
def test_real_data_raise_no_alarm(task_id: str) -> None:
    task = tasks.ensure_data(tasks.get(task_id))
    found = inspect(
        task.public_dir.parent,
        metric=task.metric,
        kind=task.kind,
        time_column=task.time_column,
        leaderboard=np.linspace(0.1, 0.9, 12),
    )
    assert (found.faults, found.warnings) == ([], [])
    assert found.task is not None
    assert (found.task.inventory, found.task.classes) == (task.inventory, task.classes)


WARNINGS: dict[str, tuple[Damage, str]] = {
    "rows of test in train": (
        lambda root: edit(
            "public/train.csv",
            lambda f: pd.concat([f, pd.read_csv(root / "public/test.csv").head(2).assign(row_id=[900, 901], y=1.0)]),
        )(root),
        "2 of 20 rows of test.csv are in train.csv too",
    ),
    "ids begin anew": (
        edit("public/train.csv", lambda f: f.assign(row_id=f["row_id"] + 30)),
        "20 rows of train.csv carry ids of test.csv, which look like other rows",
    ),
    "leading zeros": (
        lambda root: [
            edit(path, lambda f: f.assign(row_id="0" + f["row_id"].astype(str)))(root)
            for path in ("public/test.csv", "public/sample_submission.csv", "private/labels.csv")
        ],
        "leading zeros",
    ),
    "only in train": (
        edit("public/train.csv", lambda f: f.assign(z=1)),
        "train.csv has columns that test.csv lacks: z",
    ),
    "only in test": (edit("public/test.csv", lambda f: f.assign(z=1)), "test.csv has columns that train.csv lacks: z"),
    "no target": (
        edit("public/train.csv", lambda f: f.assign(y=f["y"].where(f.index > 0))),
        "train.csv has 1 rows without 'y'",
    ),
    "link elsewhere": (lambda root: (root / "public/more").symlink_to("/etc"), "which solutions cannot see"),
}


@pytest.mark.parametrize("case", WARNINGS)
def test_what_deserves_a_look_is_a_warning(tmp_path: Path, case: str, caplog: pytest.LogCaptureFixture) -> None:
    damage, message = WARNINGS[case]
    root = make_task_dir(tmp_path / "toy")
    damage(root)
    assert load(root).id == "toy"
    assert any(message in record.getMessage() for record in caplog.records), caplog.text


def test_a_column_that_nearly_tells_is_a_warning(tmp_path: Path) -> None:
    root = make_task_dir(tmp_path / "toy", metric="accuracy", rows=600)
    reveal(lambda y: (y == "a") ^ (y.index < 2))(root)
    found = inspect(root)
    assert found.task is not None
    assert any("column 'z' nearly determines the labels" in warning for warning in found.warnings)


def test_a_class_that_is_never_shown_is_a_warning(tmp_path: Path) -> None:
    root = make_task_dir(tmp_path / "toy", metric="accuracy")
    relabel(lambda y: y.where(y.index > 0, "c"))(root)
    found = inspect(root)
    assert found.task is not None and found.task.classes == ("a", "b")
    assert any("labels.csv has classes that train.csv never shows: c" in warning for warning in found.warnings)


def test_files_that_are_no_tables_are_no_fault(tmp_path: Path) -> None:
    root = make_task_dir(tmp_path / "toy")
    for name in ("a.csv", "a.zip", "a.gz", "a.xz", "a.json", "a.jsonl", "a.parquet", "a.npy", "a.txt", "a.png"):
        (root / "public" / name).write_bytes(bytes(range(256)))
    (root / "public/b.json").write_text('{"a": [1, {"b": 2}], "c": "d"}')
    (root / "public/c.json").write_text("3")
    (root / "public/empty.csv").write_text("")
    assert inspect(root).faults == []


def test_time_split_is_accepted(tmp_path: Path) -> None:
    root = make_task_dir(tmp_path / "toy")
    for path, start in (("public/train.csv", "2020-01-01"), ("public/test.csv", "2021-01-01")):
        edit(path, lambda f, start=start: f.assign(day=pd.date_range(start, periods=len(f)).strftime("%Y-%m-%d")))(root)
    settings(time_column="day", origin="me", licence="CC0")(root)
    task = load(root)
    assert (task.modality, task.time_column, task.origin, task.licence) == ("series", "day", "me", "CC0")
    assert "Time: day" in task.text
