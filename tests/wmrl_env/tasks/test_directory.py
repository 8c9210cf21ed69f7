"""Tasks from directories: three layouts, and every fault named at once."""

import json
import shutil

import pytest

from tests.support import make_task_dir
from wmrl_env import tasks
from wmrl_env.tasks.directory import TaskError
from wmrl_env.tasks.grading import grade
from wmrl_env.tasks.task import ResearchTask


def test_own_layout(tmp_path):
    task = ResearchTask.from_directory(make_task_dir(tmp_path / "toy", metric="roc_auc"))
    assert (task.id, task.kind, task.classes, task.positive) == ("toy", "binary", ("a", "b"), "b")
    assert task.text.startswith("# toy\n") and "x: float, missing" in task.text
    tasks.register(task)
    assert tasks.get("toy") is task
    tasks.register(task)  # the same task again is no conflict


@pytest.mark.parametrize("layout", ["prepared", "data"])
def test_layouts_of_mle_bench_and_mle_dojo(tmp_path, layout):
    source = make_task_dir(tmp_path / "source", metric="rmse")
    root = tmp_path / "competition"
    shutil.copytree(source / "public", root / layout / "public")
    (root / layout / "private").mkdir()
    shutil.copy(source / "private" / "labels.csv", root / layout / "private" / "test.csv")
    description = root / ("prepared/public/description.md" if layout == "prepared" else "info/description.txt")
    description.parent.mkdir(exist_ok=True)
    description.write_text("Predict y well.")
    (root / "leaderboard.csv").write_text("score\n1.0\n2.0\n3.0\n")
    task = ResearchTask.from_directory(root, metric="rmse")
    assert task.description == "Predict y well." and task.leaderboard == (1.0, 2.0, 3.0)
    assert (task.id_column, task.target) == ("row_id", "y")
    sample = task.public_dir / "sample_submission.csv"
    assert grade(sample, task) >= 0


def test_every_fault_is_listed(tmp_path):
    root = make_task_dir(tmp_path / "toy", metric="rmse")
    (root / "public" / "test.csv").unlink()
    (root / "leaderboard.csv").unlink()
    settings = json.loads((root / "task.json").read_text())
    (root / "task.json").write_text(json.dumps({**settings, "metric": "beauty", "colour": 3}))
    with pytest.raises(TaskError) as caught:
        ResearchTask.from_directory(root)
    for part in ("test.csv is missing", "no leaderboard", "metric must be one of", "unknown keys ['colour']"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda root: (root / "public/test.csv").write_text((root / "public/train.csv").read_text()),
            "shows the target",
        ),
        (lambda root: (root / "private/labels.csv").write_text("row_id,y\n1,2\n"), "different ids"),
        (lambda root: (root / "public/train.csv").write_text("a,b\n1,2\n"), "train.csv lacks column 'y'"),
    ],
)
def test_data_that_leak_or_disagree_are_refused(tmp_path, damage, message):
    root = make_task_dir(tmp_path / "toy", metric="rmse")
    damage(root)
    with pytest.raises(TaskError, match=message):
        ResearchTask.from_directory(root)


def test_not_a_task_directory(tmp_path):
    with pytest.raises(TaskError, match="none of the folders"):
        ResearchTask.from_directory(tmp_path)
    with pytest.raises(TypeError, match="unknown task settings"):
        ResearchTask.from_directory(make_task_dir(tmp_path / "toy"), colour="red")
