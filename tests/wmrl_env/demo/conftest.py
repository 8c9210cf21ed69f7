import pytest

from tests.wmrl_env.demo.quick import tick_by_steps, tiny_config
from wmrl_env.demo import DemoConfig


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    tick_by_steps(monkeypatch)


@pytest.fixture
def config() -> DemoConfig:
    return tiny_config()
