"""Which groups are anchored."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["AdaptiveSchedule", "UniformSchedule"]

_FEW = 32  # pairs; errors of fewer are not judged
_MEMORY = 0.99  # of the mean squared error, a pair


class UniformSchedule:
    """Anchors a fixed share of groups, one at a random place in every stretch of ``1 / fraction`` groups.

    Group ``i`` lies in stretch ``floor(i * fraction)``, so that after ``m`` groups the anchored count differs from
    ``fraction * m`` by less than 1. The place inside a stretch is drawn anew each time: a fixed step would meet the
    same task over and over where tasks take turns. ``fraction`` 0 and 1 are exact.

    Args:
        fraction: share of groups, in [0, 1].
        seed: of the places, at least 0.

    Raises:
        ValueError: ``fraction`` outside [0, 1], or a negative seed.
    """

    def __init__(self, fraction: float, seed: int = 0) -> None:
        if not 0.0 <= fraction <= 1.0:
            raise ValueError(f"fraction must lie in [0, 1], got {fraction!r}")
        if seed < 0:
            raise ValueError(f"seed must be at least 0, got {seed}")
        self.fraction = fraction
        self.seed = seed
        self._share = Fraction(fraction)  # exact: stretches neither overlap nor leave a group out

    share = 1.0

    def observe(self, task_ids: list[str], residuals: np.ndarray, real: np.ndarray) -> None:
        """Nothing changes a uniform schedule."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pass

    def __call__(self, group: int) -> bool:
        """Whether the ``group``-th group, counted from 0, is anchored; a pure function of seed and count."""
        if not self._share:
            return False
        stretch = math.floor(group * self._share)
        first, end = math.ceil(stretch / self._share), math.ceil((stretch + 1) / self._share)
        return group == first + math.floor(Fraction(self._place(stretch)) * (end - first))

    def _place(self, stretch: int) -> float:
        """Where in a stretch its anchor is, in [0, 1)."""
        return float(np.random.default_rng([self.seed, stretch]).random())


class AdaptiveSchedule(UniformSchedule):
    """Anchors ``fraction * share`` of the groups: the fewer, the more of what solutions really score is foretold.

    ``share`` is ``sqrt(E / V)`` between ``floor`` and 1: ``E`` is the mean squared residual of predictions, judged
    before anything learned from them (of the last hundred pairs or so), ``V`` the variance of real scores within their
    tasks, over all pairs. That is the allocation of Neyman (1934), executions in proportion to the standard deviation
    of what they tell. A model that says no more than the task's mean gets ``fraction``; after a drift the share rises.
    Of every ``1 / (fraction * share)`` groups one at a random place is anchored.

    Args:
        fraction: largest share of groups, in [0, 1]; in force until 32 pairs are known.
        seed: of the places, at least 0.
        floor: smallest ``share``, in (0, 1].

    Raises:
        ValueError: an argument out of its range.
    """

    def __init__(self, fraction: float, seed: int = 0, floor: float = 0.2) -> None:
        super().__init__(fraction, seed)
        if not 0.0 < floor <= 1.0:
            raise ValueError(f"floor must lie in (0, 1], got {floor!r}")
        self.floor = floor
        self._position = 0.0  # stretches gone by
        self._anchored = 0
        self._squared = np.zeros(2)  # of residuals: weight, sum
        self._tasks: dict[str, np.ndarray] = {}  # real scores: count, mean, sum of squared deviations

    @property
    def share(self) -> float:  # type: ignore[override]
        """Part of ``fraction`` in force, in [floor, 1]."""
        moments = np.array(list(self._tasks.values())).reshape(-1, 3)
        freedom = moments[:, 0].sum() - len(moments)
        if moments[:, 0].sum() < _FEW or freedom < 1.0:
            return 1.0
        spread = moments[:, 2].sum() / freedom
        error = self._squared[1] / self._squared[0]
        return float(np.clip(math.sqrt(error / spread), self.floor, 1.0)) if spread > 0.0 else self.floor

    def observe(self, task_ids: list[str], residuals: np.ndarray, real: np.ndarray) -> None:
        """Hear of n pairs: ``residuals`` are ``real`` less the prediction by corrections that had not seen them."""
        for task, residual, score in zip(task_ids, residuals.tolist(), real.tolist(), strict=True):
            self._squared = _MEMORY * self._squared + (1.0, residual**2)
            moments = self._tasks.setdefault(task, np.zeros(3))
            moments[0] += 1.0
            deviation = score - moments[1]
            moments[1] += deviation / moments[0]
            moments[2] += deviation * (score - moments[1])

    def __call__(self, group: int) -> bool:
        """Whether the next group is anchored. Groups are asked for one after the other."""
        if not self.fraction:
            return False
        self._position += self.fraction * self.share
        stretch = math.floor(self._position)
        due = stretch + (self._place(stretch) < self._position - stretch)
        if self._anchored >= due:
            return False
        self._anchored += 1
        return True

    def state_dict(self) -> dict[str, Any]:
        """Everything that a new schedule of the same arguments needs to go on bit-equal, as JSON types."""
        return {
            "position": self._position,
            "anchored": self._anchored,
            "squared": self._squared.tolist(),
            "tasks": {task: moments.tolist() for task, moments in self._tasks.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._position, self._anchored = state["position"], state["anchored"]
        self._squared = np.array(state["squared"])
        self._tasks = {task: np.array(moments) for task, moments in state["tasks"].items()}
