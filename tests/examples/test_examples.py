"""The examples run, on backends that answer at once."""

import importlib.util
from pathlib import Path
from types import ModuleType

EXAMPLES = Path(__file__).parents[2] / "examples"
HASH = "wmrl_env.testing:HashBackend"
QUICK = "tests.wmrl_env.demo.quick:QuickSandbox"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_example_is_tested() -> None:
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    assert {path.stem for path in EXAMPLES.glob("*.py")} <= tested


def test_train_agent() -> None:
    assert 0.0 < load("train_agent").main(steps=1024, model=HASH, sandbox=QUICK) < 1.0


def test_correct_rewards() -> None:
    summary = load("correct_rewards").main(steps=100, model=HASH, sandbox=QUICK)
    assert summary["debiased"]["n"] == summary["anchored"] > 40
    assert summary["debiased"]["mae"] < summary["raw"]["mae"]


def test_own_world_model() -> None:
    first, second, broken = load("own_world_model").main()
    assert first > 0.5
    assert 0.0 < second < 0.01
    assert broken == 0.0
