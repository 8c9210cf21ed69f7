"""World model ``retrieval``: what the most similar recorded solutions led to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from world_models.base import CheckpointError, WorldModel
from world_models.facts import FACTS_HASH, solution_facts
from world_models.features import task_features
from world_models.outcomes import Outcome, Status, Submission, render_feedback
from world_models.store import Transition, load_transitions

__all__ = ["RetrievalModel"]

_TINY = 1e-9


class RetrievalModel(WorldModel):
    """Nearest neighbours among recorded executions, those of the same task by far the nearest.

    Solutions are compared by the standardised facts that the model ``learned`` reads as well. The ``neighbours`` vote
    with weight ``exp(-(d / d_k)^2)``, ``d_k`` the distance of the farthest of them; the score is their weighted mean,
    its variance their weighted variance. Nothing is trained, so that it learns from every row added.

    Args:
        transitions: a recording, or the path of one; predictions and unknown outcomes in it are left out.
        neighbours: at least 1.
        same_task: what another task adds to the distance, in standard deviations of all facts together; at least 0.

    Raises:
        ValueError: an argument out of its range, or nothing executed in the recording.
        FileNotFoundError: no recording at that path.
    """

    name = "retrieval"

    def __init__(
        self, transitions: str | Path | Iterable[Transition], neighbours: int = 10, same_task: float = 1.0
    ) -> None:
        if neighbours < 1 or not same_task >= 0.0:
            raise ValueError(f"neighbours must be at least 1 and same_task at least 0, got {neighbours}, {same_task}")
        recorded = load_transitions(transitions) if isinstance(transitions, (str, Path)) else transitions
        rows = [row for row in recorded if row.executed]
        if not rows:
            raise ValueError("no executed transitions to retrieve from")
        self.neighbours = neighbours
        self.same_task = same_task
        facts = _facts([submission for submission, _ in rows])
        self._tasks = np.array([submission.task_id for submission, _ in rows], dtype=object)
        self._outcomes = [outcome for _, outcome in rows]
        self._fit(facts)

    def _fit(self, facts: np.ndarray) -> None:
        self._raw = facts.astype(np.float32)
        self._mean, deviation = facts.mean(0), facts.std(0)
        self._scale = np.where(deviation > 1e-6, 1.0 / np.maximum(deviation, 1e-6), 0.0)
        self._known = self._standardised(facts)
        self._squares = (self._known**2).sum(1)
        self._scores = np.array([outcome.score for outcome in self._outcomes], np.float64)

    def _standardised(self, facts: np.ndarray) -> np.ndarray:
        used = max(1, int((self._scale > 0).sum()))
        return np.clip((facts - self._mean) * self._scale, -5.0, 5.0) / np.sqrt(used)

    def predict_batch(self, submissions: Sequence[Submission]) -> list[Outcome]:
        facts = self._standardised(_facts(submissions))
        # One by one: a matrix product's rounding depends on its size, and predictions must not.
        return [self._predict(submission, row) for submission, row in zip(submissions, facts, strict=True)]

    def _predict(self, submission: Submission, facts: np.ndarray) -> Outcome:
        distances = np.sqrt(np.maximum(self._squares - 2.0 * (self._known @ facts) + facts @ facts, 0.0)).round(9)
        distances = distances + self.same_task * (self._tasks != submission.task_id)
        nearest = np.argsort(distances, kind="stable")[: self.neighbours]
        close = distances[nearest]
        weights = np.exp(-((close / max(float(close[-1]), _TINY)) ** 2))
        weights /= weights.sum()
        scores = self._scores[nearest]
        score = float(weights @ scores)
        behind: dict[Status, float] = {}
        for place, weight in zip(nearest.tolist(), weights.tolist(), strict=True):
            status = self._outcomes[place].status
            behind[status] = behind.get(status, 0.0) + weight
        status = max(behind, key=behind.__getitem__)
        example = next(self._outcomes[place] for place in nearest.tolist() if self._outcomes[place].status is status)
        seconds = float(weights @ np.array([self._outcomes[place].seconds for place in nearest.tolist()]))
        _, *lines = example.feedback.split("\n")
        detail = "\n".join(line for line in lines if not line.startswith(("Score: ", "CPU seconds: ", "Metric: ")))
        return Outcome(
            status=status,
            score=score,
            feedback=render_feedback(status, score=score, seconds=seconds, detail=detail if status != "VALID" else ""),
            metric_value=None,
            seconds=seconds,
            source="world_model",
            variance=float(weights @ (scores - score) ** 2),
        )

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        rows = [
            [task, str(one.status), one.score, one.seconds, one.feedback]
            for task, one in zip(self._tasks, self._outcomes, strict=True)
        ]
        config = {"neighbours": self.neighbours, "same_task": self.same_task, "facts": FACTS_HASH}
        text = np.frombuffer(json.dumps(rows).encode(), np.uint8)
        return config, {"facts": self._raw, "rows": text}

    @classmethod
    def _restore(cls, config: dict[str, Any], tensors: dict[str, np.ndarray], **kwargs: Any) -> Self:
        if config["facts"] != FACTS_HASH:
            raise CheckpointError("the checkpoint holds other facts than this version computes; record them anew")
        model = cls.__new__(cls)
        model.neighbours, model.same_task = int(config["neighbours"]), float(config["same_task"])
        rows = json.loads(tensors["rows"].tobytes())
        model._tasks = np.array([row[0] for row in rows], dtype=object)
        model._outcomes = [
            Outcome(Status(status), score, feedback, None, seconds, "sandbox")
            for _, status, score, seconds, feedback in rows
        ]
        if len(tensors["facts"]) != len(rows) or not np.isfinite(tensors["facts"]).all():
            raise ValueError(f"{len(tensors['facts'])} rows of facts for {len(rows)} outcomes, or values not finite")
        model._fit(tensors["facts"].astype(np.float64))
        return model


def _facts(submissions: Sequence[Submission]) -> np.ndarray:
    """What solutions and tasks are to each other: float64 (B, facts)."""
    return np.hstack(
        [
            solution_facts(submissions).astype(np.float64),
            np.stack([task_features(one.task_text) for one in submissions]),
        ]
    )
