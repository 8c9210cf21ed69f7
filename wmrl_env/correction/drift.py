"""Whether the world model has begun to err differently from before."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["DriftDetector"]

_FEW = 16  # values before any is judged
_SLACK = 0.5  # standard deviations: half the shift to be found soonest
_LARGEST = 3.0  # standard deviations that a single value counts for


class DriftDetector:
    """Self-starting CUSUM of the level, up and down, and of the spread, upwards, of a sequence of residuals.

    Each value is standardised by the mean and the deviation of those before it since the last change (Hawkins 1987),
    cut at 3. A sum of what exceeds half a deviation, never below 0, reaches ``threshold`` soon after a change, and by
    chance rarely: at the default once in over 50,000 normal values (18,000 of a Laplace distribution), while a
    shift by one deviation, or a doubled spread, is found after about 20 (Page 1954). After a change everything begins
    anew.

    Args:
        threshold: above 0; each further 1 makes chance alarms about three times rarer and changes found 2 values later.

    Raises:
        ValueError: an argument out of its range.
    """

    def __init__(self, threshold: float = 10.0) -> None:
        if not threshold > 0.0:
            raise ValueError(f"threshold must be above 0, got {threshold}")
        self.threshold = threshold
        self.changes = 0
        self.restart()

    def restart(self) -> None:
        """Forget all values, for one who knows of a change."""
        self._moments = np.zeros(3)  # count, mean, sum of squared deviations
        self._sums = np.zeros(3)  # up, down, spread
        self._since = np.zeros(3, np.int64)  # values since each sum was 0

    def update(self, value: float) -> int:
        """Take the next value in.

        Returns:
            0, or the number of latest values that came after a change just found.
        """
        count, mean, squares = self._moments.tolist()
        if count >= _FEW and squares > 0.0:
            z = (value - mean) / math.sqrt(squares / (count - 1.0) * (1.0 + 1.0 / count))
            z = min(max(z, -_LARGEST), _LARGEST)
            self._sums = np.maximum(self._sums + np.array([z, -z, (z**2 - 1.0) / 2.0]) - _SLACK, 0.0)
            self._since = np.where(self._sums > 0.0, self._since + 1, 0)
            if self._sums.max() >= self.threshold:
                since = int(self._since[self._sums.argmax()])
                self.changes += 1
                self.restart()
                return since
        deviation = value - mean
        mean += deviation / (count + 1.0)
        self._moments = np.array([count + 1.0, mean, squares + deviation * (value - mean)])
        return 0

    def state_dict(self) -> dict[str, Any]:
        """Everything that a new detector of the same arguments needs to go on bit-equal, as JSON types."""
        return {
            "changes": self.changes,
            "moments": self._moments.tolist(),
            "sums": self._sums.tolist(),
            "since": self._since.tolist(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.changes = state["changes"]
        self._moments = np.array(state["moments"])
        self._sums = np.array(state["sums"])
        self._since = np.array(state["since"], np.int64)
