import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import world_models
from tests.wmrl_env.demo.quick import QuickSandbox
from wmrl_env import tasks
from wmrl_env.cli import app
from world_models.store import load_transitions


def run(*args: str) -> str:
    result = CliRunner().invoke(app, args, env={"COLUMNS": "200"}, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Recorded outcomes of 40 drawn solutions and the leaderboard's for each of two tasks."""
    monkeypatch.setattr("wmrl_env.collect.Sandbox", lambda workers, warm_start: QuickSandbox())
    path = tmp_path / "outcomes.parquet"
    arguments = ("--per-task", "40", "--task", "churn", "--task", "ames", "--parquet", str(path))
    result = json.loads(run("collect", "--out", str(tmp_path / "outcomes.sqlite"), *arguments, "--json"))
    assert result["recorded"] == sum(result["statuses"].values()) == 2 * 40 + 2 * 54
    return path


def test_collect_records_and_exports(outcomes: Path) -> None:
    live = load_transitions(outcomes.with_suffix(".sqlite"))
    assert live == load_transitions(outcomes)
    assert {transition.submission.task_id for transition in live} == {"churn", "ames"}
    again = run("collect", "--out", str(outcomes.with_suffix(".sqlite")), "--per-task", "40", "--task", "churn")
    assert "188 outcomes" in again


def test_trained_model_can_be_made_from_its_folder(outcomes: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    arguments = ("train-world-model", "--data", str(outcomes), "--out", str(folder), "--epochs", "1")
    result = json.loads(run(*arguments, "--seed", "3", "--json"))
    assert result["tasks"] == ["ames", "churn"]
    assert result["seed"] == 3
    assert world_models.make(folder).version == result["version"]


def test_held_out_tasks_are_never_trained_on(monkeypatch: pytest.MonkeyPatch, outcomes: Path, tmp_path: Path) -> None:
    both = [tasks.get("churn"), tasks.get("ames")]
    monkeypatch.setattr("wmrl_env.tasks.list", lambda split: {"heldout": both}[split])
    with pytest.raises(ValueError, match="at least 50 executed solutions"):
        run("train-world-model", "--data", str(outcomes), "--out", str(tmp_path / "model"))
    assert not (tmp_path / "model").exists()
    assert {task.split for task in both} == {"train"}


def test_fidelity_measures_what_was_not_trained_on(monkeypatch: pytest.MonkeyPatch, outcomes: Path) -> None:
    heldout = [tasks.get("ames")]
    monkeypatch.setattr("wmrl_env.tasks.list", lambda split: {"heldout": heldout}[split])
    arguments = ("fidelity", "--data", str(outcomes), "--model", "wmrl_env.testing:HashBackend")
    recorded = load_transitions(outcomes)

    test = json.loads(run(*arguments, "--json"))
    unseen = [row for row in recorded if row.submission.task_id == "churn"]
    unseen = [row for row in unseen if world_models.split_of(row.submission.task_id, row.submission.code) == "test"]
    assert test["metrics"]["status_accuracy"]["n"] == len(unseen) > 0
    assert list(test["by_task"]) == ["churn"]

    whole = json.loads(run(*arguments, "--split", "heldout", "--json"))
    assert whole["metrics"]["status_accuracy"]["n"] == 94
    assert list(whole["by_task"]) == ["ames"]
    assert "pairwise_accuracy" in run(*arguments)
    with pytest.raises(ValueError, match='split must be "test" or "heldout"'):
        run(*arguments, "--split", "train")
