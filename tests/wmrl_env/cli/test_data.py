import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.wmrl_env.demo.quick import QuickSandbox
from wmrl_env.cli import app
from world_models.store import load_transitions


def run(*args: str) -> str:
    result = CliRunner().invoke(app, args, env={"COLUMNS": "200"}, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Recorded outcomes of 30 solutions for each of two tasks."""
    monkeypatch.setattr("wmrl_env.collect.Sandbox", lambda workers, warm_start: QuickSandbox())
    path = tmp_path / "outcomes.parquet"
    arguments = ("--per-task", "30", "--task", "churn", "--task", "ames", "--parquet", str(path))
    result = json.loads(run("collect", "--out", str(tmp_path / "outcomes.sqlite"), *arguments, "--json"))
    assert result["recorded"] == sum(result["statuses"].values()) == 60
    return path


def test_collect_records_and_exports(outcomes: Path) -> None:
    live = load_transitions(outcomes.with_suffix(".sqlite"))
    assert live == load_transitions(outcomes)
    assert {transition.submission.task_id for transition in live} == {"churn", "ames"}
    again = run("collect", "--out", str(outcomes.with_suffix(".sqlite")), "--per-task", "30", "--task", "churn")
    assert "60 outcomes" in again
