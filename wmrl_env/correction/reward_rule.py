"""From scores to rewards: the one rule that the env and every correction apply at their own height."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np

__all__ = ["RewardKind", "RewardRule"]

RewardKind = Literal["score", "improvement"]


class RewardRule:
    """Rewards of ``num_envs`` parallel episodes from their scores.

    ``"score"`` pays each turn's score; ``"improvement"`` pays ``max(0, score - best so far)``, so that an episode's
    return is its best score. A step whose outcome is unknown (NaN score) pays the running mean of its task's rewards,
    so that its advantage is about 0.

    Args:
        kind: ``"score"`` or ``"improvement"``.
        num_envs: number of parallel episodes, ``n`` below.

    Raises:
        ValueError: unknown ``kind`` or ``num_envs`` below 1.
    """

    def __init__(self, kind: RewardKind, num_envs: int = 1) -> None:
        if kind not in get_args(RewardKind):
            raise ValueError(f"reward must be one of {get_args(RewardKind)}, got {kind!r}")
        if num_envs < 1:
            raise ValueError(f"num_envs must be at least 1, got {num_envs}")
        self.kind: RewardKind = kind
        self.best = np.zeros(num_envs)  # best score of the running episode, 0 before the first
        self._task_sum: dict[str, float] = {}
        self._task_count: dict[str, int] = {}

    def reset(self, rows: np.ndarray) -> None:
        """Start new episodes on ``rows`` (boolean mask or indices into n)."""
        self.best[rows] = 0.0

    def rewards(self, scores: np.ndarray, task_ids: Sequence[str], rows: np.ndarray) -> np.ndarray:
        """Rewards of one step, float64 of shape (k,).

        Args:
            scores: shape (k,), in [0, 1] or beyond it for corrected scores; NaN where the outcome is unknown.
            task_ids: k task ids.
            rows: k distinct indices into the n episodes that took this step.
        """
        best = self.best[rows]
        gained = scores if self.kind == "score" else np.maximum(0.0, scores - best)
        self.best[rows] = np.fmax(best, scores)
        rewards = np.array(gained, dtype=np.float64)
        # Graded rows enter the mean first: within one batched step order must not matter.
        unknown = np.isnan(rewards)
        for reward, task in zip(rewards[~unknown].tolist(), np.asarray(task_ids, dtype=object)[~unknown], strict=True):
            self._task_sum[task] = self._task_sum.get(task, 0.0) + reward
            self._task_count[task] = self._task_count.get(task, 0) + 1
        for i in np.flatnonzero(unknown).tolist():
            rewards[i] = self.task_mean(task_ids[i])
        return rewards

    def task_mean(self, task_id: str) -> float:
        """Running mean of the task's graded rewards, 0 before the first."""
        count = self._task_count.get(task_id, 0)
        return self._task_sum[task_id] / count if count else 0.0

    def state_dict(self) -> dict[str, Any]:
        return {"best": self.best.tolist(), "task_sum": dict(self._task_sum), "task_count": dict(self._task_count)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state.

        Raises:
            ValueError: it is of another number of episodes.
        """
        best = np.array(state["best"], dtype=np.float64)
        if best.shape != self.best.shape:
            raise ValueError(f"the state is of {best.size} environments, and here are {self.best.size}")
        self.best = best
        self._task_sum = dict(state["task_sum"])
        self._task_count = dict(state["task_count"])
