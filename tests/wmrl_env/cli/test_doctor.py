import json
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from wmrl_env.cli import app


def run(*args: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["doctor", *args], env={"COLUMNS": "200"}, catch_exceptions=False)
    return result.exit_code, result.output


@pytest.mark.parametrize("fault", [None, "no bwrap on PATH"])
def test_isolation_decides_the_exit_code(monkeypatch: pytest.MonkeyPatch, fault: str | None) -> None:
    monkeypatch.setattr("wmrl_env.sandbox.isolation.bubblewrap_fault", lambda: fault)
    code, output = run("--json")
    facts = json.loads(output)
    assert code == (1 if fault else 0)
    assert facts["ok"] is (fault is None)
    assert facts["isolation"]["fault"] == fault
    assert facts["isolation"]["used"] == ("process" if fault else "bubblewrap")
    assert (fault or "bubblewrap works") in run()[1]


def test_versions_and_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wmrl_env.cli.doctor._EXTRAS", {"sb3": ("stable-baselines3",), "odd": ("no-such-package",)})
    facts = json.loads(run("--json")[1])
    assert facts["packages"]["gymnasium"] == version("gymnasium")
    assert facts["extras"]["sb3"]["installed"] is True
    assert facts["extras"]["odd"] == {"no-such-package": None, "installed": False}
    assert "missing: pip install 'wmrl[odd]'" in run()[1]
