"""Backends that answer at once and a clock that does not depend on the machine, to test the experiment itself."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from wmrl_env.demo import DemoConfig, PPOSettings
from wmrl_env.testing import HashBackend
from world_models.outcomes import Outcome, Submission


class QuickSandbox(HashBackend):
    """Outcomes of :class:`HashBackend` for code that differs by a comment, given out as executions and counted.

    So the same :class:`HashBackend` serves as a world model that is wrong about them.
    """

    def __init__(self, cache: Path | None = None, ungraded: float = 0.0) -> None:
        super().__init__(ungraded, num_members=0)
        self.cache = cache
        self.executions = 0
        self.closed = False

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        self.executions += len(submissions)
        marked = [replace(submission, code=f"{submission.code}# real") for submission in submissions]
        return [replace(outcome, source="sandbox", variance=None) for outcome in super().execute(marked)]

    def lookup(self, submissions: Sequence[Submission]) -> list[Outcome | None]:
        return [None] * len(submissions)

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> QuickSandbox:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def tiny_config() -> DemoConfig:
    settings = PPOSettings(n_envs=8, n_steps=4, batch_size=32, n_epochs=1)
    return DemoConfig(
        seconds=0.5,
        seeds=1,
        tasks=("churn", "ames"),
        episodes=2,
        fraction=0.5,
        mode="sync",
        reuse=False,
        min_pairs=10,
        refit_every=10,
        warmup=2,
        executed=settings,
        predicted=settings,
    )


def tick_by_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time goes by with the steps of training: 32 steps in half a second."""
    ticks = itertools.count(step=2**-6)
    monkeypatch.setattr("wmrl_env.demo.training.time", SimpleNamespace(monotonic=lambda: next(ticks)))
