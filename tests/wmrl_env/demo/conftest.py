import itertools
from types import SimpleNamespace

import pytest

from wmrl_env.demo import DemoConfig, PPOSettings


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time goes by with the steps of training, however busy the machine is: 32 steps in half a second."""
    ticks = itertools.count(step=2**-6)
    monkeypatch.setattr("wmrl_env.demo.training.time", SimpleNamespace(monotonic=lambda: next(ticks)))


@pytest.fixture
def config() -> DemoConfig:
    settings = PPOSettings(n_envs=8, n_steps=4, batch_size=32, n_epochs=1)
    return DemoConfig(
        seconds=0.5,
        seeds=1,
        tasks=("churn", "ames"),
        episodes=2,
        fraction=0.5,
        min_pairs=10,
        refit_every=10,
        warmup=2,
        executed=settings,
        predicted=settings,
    )
