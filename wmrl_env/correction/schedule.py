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
        self._tasks: dict[str, tuple[int, float]] = {}  # real scores: count and mean
        self._spread = np.zeros(2)  # of real scores within tasks: degrees of freedom, sum of squared deviations

    @property
    def share(self) -> float:  # type: ignore[override]
        """Part of ``fraction`` in force, in [floor, 1]."""
        freedom, squares = self._spread.tolist()
        if freedom < 1.0 or freedom + len(self._tasks) < _FEW:
            return 1.0
        error = float(self._squared[1] / self._squared[0])
        if squares == 0.0:
            return 1.0 if error > 0.0 else self.floor
        return min(max(math.sqrt(error * freedom / squares), self.floor), 1.0)

    def observe(self, task_ids: list[str], residuals: np.ndarray, real: np.ndarray) -> None:
        """Hear of n pairs: ``residuals`` are ``real`` less the prediction by corrections that had not seen them."""
        for task, residual, score in zip(task_ids, residuals.tolist(), real.tolist(), strict=True):
            self._squared = _MEMORY * self._squared + (1.0, residual**2)
            count, mean = self._tasks.get(task, (0, 0.0))
            moved = mean + (score - mean) / (count + 1)
            self._spread += (float(count > 0), (score - mean) * (score - moved))
            self._tasks[task] = count + 1, moved

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
            "spread": self._spread.tolist(),
            "tasks": {task: list(moments) for task, moments in self._tasks.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if "position" not in state:
            raise ValueError("the state is of a uniform schedule, and this one is adaptive")
        self._position, self._anchored = state["position"], state["anchored"]
        self._squared = np.array(state["squared"])
        self._spread = np.array(state["spread"])
        self._tasks = {task: (count, mean) for task, (count, mean) in state["tasks"].items()}
