import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.wmrl_env.demo.quick import QuickSandbox
from wmrl_env.demo import ARMS, DemoConfig, run
from wmrl_env.demo.experiment import make_backends
from wmrl_env.report import render_report
from wmrl_env.testing import HashBackend


def test_demo_runs_every_arm_and_resumes(config: DemoConfig, tmp_path: Path) -> None:
    caches: list[Path] = []
    said: list[tuple[str, float]] = []

    def make_sandbox(cache: Path | None) -> QuickSandbox:
        assert cache is not None
        caches.append(cache)
        return QuickSandbox(cache)

    def interrupted(what: str, seconds: float) -> None:
        said.append((what, seconds))
        if what.startswith("mixed"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(config, tmp_path, interrupted, backends=(make_sandbox, HashBackend))
    (unfinished,) = tmp_path.iterdir()
    assert sorted(path.name for path in unfinished.iterdir()) == ["raw-0.json", "real-0.json"]

    said.clear()
    result = run(
        config,
        tmp_path,
        lambda what, seconds: said.append((what, seconds)),
        backends=(make_sandbox, HashBackend),
    )
    assert {what.split(",")[0] for what, _ in said} == {"mixed", "corrected"}
    assert said[-1] == ("corrected, seed 0: grading by real execution", 4 * config.seconds)
    assert [arm["name"] for arm in result["arms"]] == list(ARMS)
    assert json.loads((tmp_path / "result.json").read_text()) == result
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert len({cache for cache in caches if cache.name == "training.sqlite"}) == len(ARMS) + 1
    assert len({cache for cache in caches if cache.name == "grading.sqlite"}) == 1
    assert render_report(result).count("<svg") == 5


def test_backends_are_those_of_the_configuration(config: DemoConfig, tmp_path: Path) -> None:
    named = replace(config, world_model="wmrl_env.testing:HashBackend", workers=3)
    make_sandbox, make_world_model = make_backends(named)
    assert isinstance(make_world_model(), HashBackend)
    with make_sandbox(tmp_path / "cache.sqlite") as sandbox:
        assert sandbox.workers == 3
        assert sandbox.executions == 0
    assert (tmp_path / "cache.sqlite").exists()
