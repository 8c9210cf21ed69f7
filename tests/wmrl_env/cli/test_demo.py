import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.wmrl_env.demo.quick import QuickSandbox, tick_by_steps, tiny_config
from wmrl_env.cli import app
from wmrl_env.demo import ARMS, DemoConfig
from wmrl_env.testing import HashBackend


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    tick_by_steps(monkeypatch)
    monkeypatch.setattr(DemoConfig, "quick", classmethod(lambda cls, seed: tiny_config()))
    monkeypatch.setattr("wmrl_env.demo.experiment.make_backends", lambda config: (QuickSandbox, HashBackend))


def test_demo_and_its_report(tmp_path: Path) -> None:
    out, report = tmp_path / "run", tmp_path / "report.html"
    arguments = ["demo", "--quick", "--out", str(out), "--report", str(report)]
    result = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    assert [arm["name"] for arm in printed["arms"]] == list(ARMS)
    for arm in printed["arms"]:
        assert arm["real_score"].keys() == {"value", "low", "high", "n"}
        assert {"wall_s", "real_executions", "predictions"} <= arm.keys()
    assert printed["report"] == str(report)
    first = report.read_text(encoding="utf-8")
    assert printed["verdict"] in first

    again = CliRunner().invoke(
        app,
        ["report", str(out / "result.json"), "--report", str(report), "--picture", str(tmp_path / "picture.png")],
        catch_exceptions=False,
    )
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    assert again.stdout == f"Report: {report}\n"
    assert report.read_text(encoding="utf-8") == first


def test_demo_prints_a_table(tmp_path: Path) -> None:
    arguments = ["demo", "--quick", "--out", str(tmp_path / "run"), "--report", str(tmp_path / "report.html")]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"}, catch_exceptions=False)
    assert "final real score" in result.stdout
    assert all(arm in result.stdout for arm in ARMS)
    assert "At equal wall-clock" in result.stdout
    assert "Ctrl-C stops" in result.stderr
