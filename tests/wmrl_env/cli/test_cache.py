from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from wmrl_env.cli import app
from wmrl_env.sandbox.cache import Result, ResultCache
from world_models.outcomes import Status


@pytest.fixture
def cached(tmp_path, monkeypatch):
    monkeypatch.setenv("WMRL_CACHE_DIR", str(tmp_path))
    cache = ResultCache(tmp_path / "results.sqlite")
    for i in range(50):
        cache.put(str(i), Result(Status.VALID, 0.5, 1.0, "x" * 9000))
    cache.close()
    (tmp_path / "tasks" / "v1").mkdir(parents=True)
    (tmp_path / "tasks" / "v1" / "train.csv").write_text("x" * 2**20)
    return tmp_path


def run(*args: str) -> dict[str, object]:
    result = CliRunner().invoke(app, ["cache", "--json", *args])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_it_shows_and_shrinks_what_is_kept(cached):
    shown = run()
    assert shown["results"] == 50 and shown["removed"] == 0 and shown["tasks_mb"] == 1.0
    pruned = run("--max-mb", "0.2")
    assert 0 < pruned["results"] < 50 and pruned["removed"] == 50 - pruned["results"]
    assert run("--clear", "--tasks")["results"] == 0
    assert not (cached / "tasks").exists()
