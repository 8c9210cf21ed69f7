import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.wmrl_env.demo.quick import QuickSandbox, tick_by_steps
from wmrl_env.cli import app
from wmrl_env.testing import HashBackend

QUICK = "tests.wmrl_env.demo.quick:QuickSandbox"
HASH = "wmrl_env.testing:HashBackend"


def run(*args: str) -> str:
    result = CliRunner().invoke(app, args, env={"COLUMNS": "200"}, catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def compare(*args: str) -> str:
    return run("compare", "--steps", "200", "--fraction", "0.5", "--model", HASH, "--sandbox", QUICK, *args)


def test_compare_holds_each_stage_against_real_scores(tmp_path: Path) -> None:
    summary = json.loads(compare("--json", "--plot", str(tmp_path / "plot.png")))
    assert summary["kept"] >= 200
    assert summary["anchored"] > 0
    assert summary["real"]["bias"] == 0.0
    for stage in ("raw", "debiased", "denoised"):
        assert summary[stage]["n"] == summary["anchored"]
        assert summary[stage]["mae"] > 0
    assert (tmp_path / "plot.png").stat().st_size > 0


def test_compare_takes_a_seed_and_prints_a_table() -> None:
    assert compare("--json", "--seed", "1") == compare("--json", "--seed", "1")
    assert compare("--json", "--seed", "1") != compare("--json", "--seed", "2")
    assert "rank correlation" in compare()


def test_train_keeps_the_policy_and_grades_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tick_by_steps(monkeypatch)
    monkeypatch.setattr("wmrl_env.demo.experiment.make_backends", lambda config: (QuickSandbox, HashBackend))
    out = tmp_path / "policy.zip"
    arguments = ("train", "--seconds", "0.25", "--task", "churn", "--out", str(out))
    result = json.loads(run(*arguments, "--json"))
    assert result["arm"] == "corrected"
    assert result["predictions"] > 0
    assert 0 <= result["real_score"]["value"] <= 1
    assert result["policy"] == str(out)
    assert out.exists()
    assert "final real score" in run(*arguments)


def test_train_names_the_arms() -> None:
    with pytest.raises(ValueError, match="arm must be one of real, raw, mixed, corrected, got 'best'"):
        run("train", "--arm", "best")
