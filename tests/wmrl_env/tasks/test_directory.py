"""Tasks from directories: one's own layout, MLE-bench's and MLE-Dojo's, loaded and run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import wmrl_env  # noqa: F401
from tests.support import make_task_dir
from wmrl_env import tasks
from wmrl_env.sandbox import Sandbox
from wmrl_env.tasks.baseline import baseline
from wmrl_env.tasks.directory import TaskError, inspect
from wmrl_env.tasks.grading import grade
from wmrl_env.tasks.task import ResearchTask
from world_models.outcomes import Status, Submission


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(workers=1, cache=None) as sandbox:
        yield sandbox


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """No task that a test registers outlives it."""
    known = dict(tasks._registered)
    yield
    tasks._registered.clear()
    tasks._registered.update(known)


@pytest.fixture(scope="module")
def wine() -> tuple[pd.DataFrame, pd.DataFrame]:
    frame = load_wine(as_frame=True).frame.sample(frac=1, random_state=0).reset_index(drop=True)
    frame.columns = frame.columns.str.replace("/", "_")
    frame.insert(0, "Id", [f"w{row}" for row in range(len(frame))])
    return frame.iloc[:110], frame.iloc[110:]


FEATURES = ["alcohol", "ash"]


@pytest.fixture
def mle_bench(tmp_path: Path, wine: tuple[pd.DataFrame, pd.DataFrame]) -> Path:
    """Cultivars of wine, as MLE-bench prepares a competition: zipped tables, answers with all columns."""
    root = tmp_path / "wine-cultivars"
    public, private = root / "prepared/public", root / "prepared/private"
    public.mkdir(parents=True)
    private.mkdir()
    train, test = (half.rename(columns={"target": "cultivar"}) for half in wine)
    train.to_csv(public / "train.csv.zip", index=False)
    test.drop(columns="cultivar").to_csv(public / "test.csv", index=False)
    test[["Id"]].assign(cultivar=0).to_csv(public / "sampleSubmission.csv", index=False)
    test.to_csv(private / "test.csv", index=False)
    (public / "description.md").write_text("Tell the cultivar.")
    board = pd.DataFrame({"teamName": [f"team {i}" for i in range(20)], "score": np.linspace(0.3, 1, 20)})
    board.to_csv(root / "leaderboard.csv", index=False)
    return root


@pytest.fixture
def mle_dojo(tmp_path: Path, wine: tuple[pd.DataFrame, pd.DataFrame]) -> Path:
    """One cultivar or not, as MLE-Dojo prepares a competition, under names of the competition's own."""
    root = tmp_path / "one-cultivar"
    public, private, info = root / "data/public", root / "data/private", root / "info"
    for folder in (public, private, info):
        folder.mkdir(parents=True)
    train, test = (half.assign(target=(half["target"] == 0) * 1).rename(columns={"target": "IsFirst"}) for half in wine)
    train.to_csv(public / "cs-training.csv", index=False)
    test.drop(columns="IsFirst").to_csv(public / "cs-test.csv", index=False)
    test[["Id"]].assign(Probability=0.0).to_csv(public / "sample_submission.csv", index=False)
    test[["Id", "IsFirst"]].rename(columns={"IsFirst": "Probability"}).to_csv(private / "test_answer.csv", index=False)
    (info / "description.txt").write_text("Tell whether it is the first cultivar.")
    for name, best in (("private", 0.99), ("public", 0.95)):
        board = pd.DataFrame({"Rank": range(1, 16), "Score": np.linspace(best, 0.5, 15)})
        board.to_csv(info / f"{name}_leaderboard.csv", index=False)
    (root / "task.json").write_text(json.dumps({"metric": "roc_auc"}))
    return root


SOLUTION = """
import os
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
data = os.environ["DATA_DIR"]
train, test = pd.read_csv(data + "/{train}"), pd.read_csv(data + "/{test}")
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(train[{features}], train["{target}"])
sample = pd.read_csv(data + "/{sample}")
sample["{column}"] = model.{predict}
sample.to_csv(os.environ["SUBMISSION_PATH"], index=False)
"""


def by_hand(wine: tuple[pd.DataFrame, pd.DataFrame], first: bool) -> tuple[object, np.ndarray, pd.Series]:
    train, test = (half.assign(target=half["target"] == 0) if first else half for half in wine)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(train[FEATURES], train["target"])
    return model, test[FEATURES], test["target"]


def test_mle_bench_loads_and_runs(mle_bench: Path, wine: tuple[pd.DataFrame, pd.DataFrame], sandbox: Sandbox) -> None:
    task = ResearchTask.from_directory(mle_bench, metric="accuracy")
    assert (task.id, task.kind, task.classes) == ("wine-cultivars", "multiclass", ("0", "1", "2"))
    assert (task.id_column, task.target, task.description) == ("Id", "cultivar", "Tell the cultivar.")
    assert len(task.leaderboard) == 20
    assert "train.csv is called train.csv.zip here" in task.text
    env = gym.make("wmrl/AutoResearchSandbox-v0", task=task, backend=sandbox)
    env.reset(seed=0)
    code = SOLUTION.format(
        train="train.csv.zip", test="test.csv", sample="sampleSubmission.csv", features=FEATURES,
        target="cultivar", column="cultivar", predict=f"predict(test[{FEATURES}])",
    )  # fmt: skip
    info = env.step(code)[4]
    model, features, truth = by_hand(wine, first=False)
    assert info["status"] == "VALID", info
    assert info["metric_value"] == pytest.approx(accuracy_score(truth, model.predict(features)), abs=1e-9)
    env.close()


def test_mle_dojo_loads_and_runs(mle_dojo: Path, wine: tuple[pd.DataFrame, pd.DataFrame], sandbox: Sandbox) -> None:
    env = gym.make("wmrl/AutoResearchSandbox-v0", task=str(mle_dojo), backend=sandbox)
    env.reset(seed=0)
    task = tasks.get("one-cultivar")
    assert (task.kind, task.target, task.positive) == ("binary", "Probability", "1")
    assert max(task.leaderboard) == 0.99 and len(task.leaderboard) == 15  # the private one counts
    assert "Probability is called IsFirst in cs-training.csv" in task.text
    assert "IsFirst" in task.sample_rows
    code = SOLUTION.format(
        train="cs-training.csv", test="cs-test.csv", sample="sample_submission.csv", features=FEATURES,
        target="IsFirst", column="Probability", predict=f"predict_proba(test[{FEATURES}])[:, 1]",
    )  # fmt: skip
    info = env.step(code)[4]
    model, features, truth = by_hand(wine, first=True)
    assert info["status"] == "VALID", info
    assert info["metric_value"] == pytest.approx(roc_auc_score(truth, model.predict_proba(features)[:, 1]), abs=1e-9)
    env.close()


@pytest.mark.parametrize("layout", ["mle_bench", "mle_dojo"])
def test_the_plain_solution_fits_every_layout(layout: str, request: pytest.FixtureRequest, sandbox: Sandbox) -> None:
    root = request.getfixturevalue(layout)
    found = inspect(root, metric="accuracy" if layout == "mle_bench" else "roc_auc")
    assert found.task is not None, found.faults
    tasks.register(found.task)
    code = baseline(found.task, found)
    (outcome,) = sandbox.execute([Submission(found.task.id, found.task.text, code)])
    assert outcome.status is Status.VALID, outcome.feedback
    assert outcome.metric_value is not None and outcome.metric_value > 0.9


def test_own_layout(tmp_path: Path) -> None:
    task = ResearchTask.from_directory(make_task_dir(tmp_path / "toy", metric="roc_auc"))
    assert (task.id, task.kind, task.classes, task.positive) == ("toy", "binary", ("a", "b"), "b")
    assert task.text.startswith("# toy\n") and "x: float, missing" in task.text
    assert task.sample_rows.startswith("row_id,x,y\n0,")
    tasks.register(task)
    assert tasks.get("toy") is task
    tasks.register(task)  # the same task again is no conflict


def test_overrides_win(tmp_path: Path) -> None:
    root = make_task_dir(tmp_path / "toy", title="Old")
    (tmp_path / "scores.csv").write_text("score\n1\n\n2\n")
    task = ResearchTask.from_directory(root, title="New", metric="mae", leaderboard=tmp_path / "scores.csv")
    assert (task.title, task.metric, task.leaderboard) == ("New", "mae", (1.0, 2.0))
    assert ResearchTask.from_directory(root, leaderboard=[3, 4]).leaderboard == (3.0, 4.0)
    for useless in ([], [float("nan")]):
        with pytest.raises(TaskError, match="must hold finite numbers"):
            ResearchTask.from_directory(root, leaderboard=useless)


@pytest.mark.parametrize(
    "name", ["leaderboard/private.csv", "leaderboards/private_leaderboard.csv", "data/my_leaderboard.csv"]
)
def test_leaderboards_in_other_places(mle_dojo: Path, name: str) -> None:
    (mle_dojo / "info/private_leaderboard.csv").unlink()
    (mle_dojo / "info/public_leaderboard.csv").unlink()
    (mle_dojo / name).parent.mkdir(exist_ok=True)
    (mle_dojo / name).write_text("rank,score\n1,0.9\n2,0.8\n")
    assert ResearchTask.from_directory(mle_dojo).leaderboard == (0.9, 0.8)


def test_the_fingerprint_tells_data_apart(tmp_path: Path) -> None:
    root = make_task_dir(tmp_path / "toy")
    before = ResearchTask.from_directory(root)
    assert ResearchTask.from_directory(root).fingerprint == before.fingerprint
    labels = root / "private/labels.csv"
    labels.write_text(labels.read_text().replace("\n40,", "\n40,1"))
    after = ResearchTask.from_directory(root)
    assert after.fingerprint != before.fingerprint and after.cache_key != before.cache_key


def test_byte_order_marks_are_no_part_of_names(tmp_path: Path) -> None:
    root = make_task_dir(tmp_path / "toy")
    for path in (*root.glob("*/*.csv"), root / "leaderboard.csv", root / "task.json"):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    task = ResearchTask.from_directory(root)
    assert task.id_column == "row_id"
    (tmp_path / "submission.csv").write_bytes((task.public_dir / "sample_submission.csv").read_bytes())
    assert grade(tmp_path / "submission.csv", task) > 0


def test_a_submission_of_any_name_is_the_sample(mle_bench: Path) -> None:
    public = mle_bench / "prepared/public"
    (public / "sampleSubmission.csv").rename(public / "gender_submission.csv")
    task = ResearchTask.from_directory(mle_bench, metric="accuracy")
    assert "sample_submission.csv is called gender_submission.csv here" in task.text


def test_not_a_task_directory(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="none of the folders"):
        ResearchTask.from_directory(tmp_path)
    with pytest.raises(TaskError, match="is no directory"):
        ResearchTask.from_directory(tmp_path / "nothing")
    with pytest.raises(TypeError, match="unknown task settings"):
        ResearchTask.from_directory(make_task_dir(tmp_path / "toy"), colour="red")
