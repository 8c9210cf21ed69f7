"""Keeping every outcome, for training the next world model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wmrl_env.wrappers.anchor_sampling import task_text
from wmrl_env.wrappers.batch import StepBatch
from wmrl_env.wrappers.shell import AnyEnv, Core, ScalarShell
from world_models.outcomes import Outcome, Status, Submission, render_feedback

if TYPE_CHECKING:
    from world_models.store import TransitionStore

__all__ = ["RecordCore", "RecordTransitions"]


class RecordCore(Core):
    """Core of :class:`RecordTransitions`, where the arguments are described."""

    name = "RecordTransitions"

    def __init__(self, env: AnyEnv, store: str | Path | TransitionStore) -> None:
        super().__init__(env)
        self._opened = isinstance(store, (str, Path))
        if isinstance(store, (str, Path)):
            from world_models.store import TransitionStore

            store = TransitionStore(store)
        if not callable(getattr(store, "add", None)):
            raise TypeError(f"store must be a path or a TransitionStore, got {store!r}")
        self.store: TransitionStore = store

    def correct(self, batch: StepBatch, rewards: np.ndarray) -> np.ndarray:
        submissions = [
            Submission(task, task_text(task), code)
            for task, code in zip(batch.task_ids, batch.require("code"), strict=True)
        ]
        rows = list(zip(submissions, _outcomes(batch), batch.get("anchor_outcome"), strict=True))
        rows = [row for row in rows if row[1].status is not Status.INFO]  # nothing was submitted
        pairs = [(submission, outcome) for submission, outcome, _ in rows]
        pairs += [(submission, real) for submission, _, real in rows if real is not None]
        self.store.add([submission for submission, _ in pairs], [outcome for _, outcome in pairs])
        return rewards

    def close(self) -> None:
        if self._opened:
            self.store.close()


class RecordTransitions(ScalarShell):
    """Adds the outcome of every step to a store; above an ``AnchorSampling`` its real outcomes too. Changes nothing.

    Args:
        env: environment.
        store: a ``world_models.TransitionStore``, or the path of one, which is closed with the env.

    Raises:
        TypeError: ``store`` is neither.
    """

    core_type = RecordCore


def _outcomes(batch: StepBatch) -> list[Outcome]:
    """What the env's backend answered, read back from the info."""
    members = batch.matrix("member_scores")
    rows = zip(
        batch.require("status"),
        batch.get("feedback"),
        batch.require("source"),
        *(_optional(batch.floats(key)) for key in ("raw_score", "metric_value", "score_variance")),
        batch.floats("seconds").tolist(),
        members,
        strict=True,
    )
    return [
        Outcome(
            status=Status(status),
            score=score,
            feedback=feedback or render_feedback(Status(status), score=score, seconds=seconds),
            metric_value=metric,
            seconds=seconds,
            source=source,
            variance=variance,
            member_scores=tuple(row.tolist()) if source == "world_model" and np.isfinite(row).all() else (),
        )
        for status, feedback, source, score, metric, variance, seconds, row in rows
    ]


def _optional(values: np.ndarray) -> list[Any]:
    return [None if np.isnan(value) else value for value in values.tolist()]
