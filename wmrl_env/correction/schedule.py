"""Which groups are anchored."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

__all__ = ["UniformSchedule"]


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

    def __call__(self, group: int) -> bool:
        """Whether the ``group``-th group, counted from 0, is anchored; a pure function of seed and count."""
        if not self._share:
            return False
        stretch = math.floor(group * self._share)
        first, end = math.ceil(stretch / self._share), math.ceil((stretch + 1) / self._share)
        place = Fraction(np.random.default_rng([self.seed, stretch]).random())
        return group == first + math.floor(place * (end - first))
