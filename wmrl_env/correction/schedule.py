"""Which groups are anchored."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["UniformSchedule"]


class UniformSchedule:
    """Anchors a fixed share of groups, one at a random place in every stretch of ``1 / fraction`` groups.

    Group ``i`` lies in stretch ``floor(i * fraction)``, so that after ``m`` groups the anchored count differs from
    ``fraction * m`` by less than 1. The place inside a stretch is drawn anew each time: a fixed step would meet the
    same task over and over where tasks take turns. ``fraction`` 0 and 1 are exact.

    Args:
        fraction: share of groups, in [0, 1].
        seed: of the places.

    Raises:
        ValueError: ``fraction`` outside [0, 1].
    """

    def __init__(self, fraction: float, seed: int = 0) -> None:
        if not 0.0 <= fraction <= 1.0:
            raise ValueError(f"fraction must lie in [0, 1], got {fraction!r}")
        self.fraction = fraction
        self.seed = seed

    def __call__(self, group: int) -> bool:
        """Whether the ``group``-th group, counted from 0, is anchored; a pure function of seed and count."""
        if self.fraction == 0.0:
            return False
        stretch = self._stretch(group)
        first, end = self._start(stretch), self._start(stretch + 1)
        return group == first + int(np.random.default_rng([self.seed, stretch]).integers(end - first))

    def _stretch(self, group: int) -> int:
        return math.floor(group * self.fraction)

    def _start(self, stretch: int) -> int:
        """First group of a stretch, by the same rounded product that :meth:`_stretch` takes."""
        group = math.ceil(stretch / self.fraction)
        while self._stretch(group) < stretch:
            group += 1
        while group > 0 and self._stretch(group - 1) >= stretch:
            group -= 1
        return group
