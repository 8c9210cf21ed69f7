"""World model ``ensemble``: several models as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from world_models.base import CheckpointError, WorldModel, checkpoint_config
from world_models.outcomes import Backend, Outcome, Status, Submission, ungraded
from world_models.registry import make
from world_models.store import Transition

__all__ = ["EnsembleModel"]


class EnsembleModel(WorldModel):
    """The weighted mean of models that may be of any kind; each is one member.

    The score is the weighted mean of those models that gave one, the variance that of the models' own variances plus
    their disagreement. The status is the one with most weight behind it, feedback that of the heaviest model which says
    so. A submission that no model graded is UNGRADED.

    Args:
        models: backends, or what :func:`world_models.make` takes; at least one.
        weights: of the models, at least 0 and not all 0; equal by default.

    Raises:
        ValueError: no model, or weights that are none.
    """

    name = "ensemble"

    def __init__(self, models: Sequence[Backend | str | Path], weights: Sequence[float] | None = None) -> None:
        if isinstance(models, (str, Path)) or not len(models):
            raise ValueError(f"an ensemble needs a sequence of at least one model, got {models!r}")
        chosen = np.ones(len(models)) if weights is None else np.asarray(weights, np.float64)
        if chosen.shape != (len(models),) or not np.isfinite(chosen).all() or (chosen < 0).any() or not chosen.sum():
            raise ValueError(f"weights must be {len(models)} numbers of at least 0, not all 0; got {weights!r}")
        self.models: list[Backend] = [make(model) if isinstance(model, (str, Path)) else model for model in models]
        self.weights = chosen / chosen.sum()
        self.num_members = len(self.models)

    def predict_batch(self, submissions: Sequence[Submission]) -> list[Outcome]:
        of_models = [model.execute(submissions) for model in self.models]
        return [self._together(outcomes) for outcomes in zip(*of_models, strict=True)]

    def _together(self, outcomes: Sequence[Outcome]) -> Outcome:
        scores = np.array([np.nan if outcome.score is None else outcome.score for outcome in outcomes])
        graded = np.isfinite(scores) & (self.weights > 0)
        if not graded.any():
            return ungraded("no model of the ensemble graded it", "world_model")
        weights = np.where(graded, self.weights, 0.0)
        weights /= weights.sum()
        score = float(weights @ np.where(graded, scores, 0.0))
        scores = np.where(graded, scores, score)  # a model without an opinion takes that of the others
        behind: dict[Status, float] = {}
        for outcome, weight in zip(outcomes, weights.tolist(), strict=True):
            behind[outcome.status] = behind.get(outcome.status, 0.0) + weight
        status = max(behind, key=lambda one: (behind[one], -list(Status).index(one)))
        said = max(
            (i for i, outcome in enumerate(outcomes) if outcome.status is status), key=lambda i: float(weights[i])
        )
        variances = np.array([outcome.variance or 0.0 for outcome in outcomes])
        return Outcome(
            status=status,
            score=score,
            feedback=outcomes[said].feedback,
            metric_value=outcomes[said].metric_value,
            seconds=outcomes[said].seconds,
            source="world_model",
            variance=float(weights @ (variances + (scores - score) ** 2)),
            member_scores=tuple(scores.tolist()),
        )

    def weigh(self, transitions: Iterable[Transition]) -> None:
        """Set the weights to those of least squared error of the score on executed ``transitions``.

        Raises:
            ValueError: none of them was executed and graded by every model.
        """
        from scipy.optimize import nnls

        rows = [row for row in transitions if row.executed]
        told = [[outcome.score for outcome in model.execute([row.submission for row in rows])] for model in self.models]
        predicted = np.array(told, np.float64).T
        known = np.isfinite(predicted).all(1)
        if not known.any():
            raise ValueError("no executed transition was graded by every model of the ensemble")
        real = np.array([row.outcome.score for row in rows], np.float64)[known]
        # A heavy last row makes the weights add up to 1.
        heavy = 1e3 * np.sqrt(len(real))
        solved, _ = nnls(np.vstack([predicted[known], np.full(len(self.models), heavy)]), np.append(real, heavy))
        self.weights = solved / solved.sum()

    def save(self, folder: str | Path) -> None:
        """Write the ensemble, and each model to a folder of its own inside.

        Raises:
            TypeError: a model cannot be saved.
        """
        for i, model in enumerate(self.models):
            if not isinstance(model, WorldModel):
                raise TypeError(f"a {type(model).__name__} in an ensemble cannot be saved: it is no WorldModel")
            model.save(Path(folder) / str(i))
        super().save(folder)

    @classmethod
    def load(cls, folder: str | Path, **kwargs: Any) -> Self:
        config = checkpoint_config(folder, cls.name)
        try:
            paths = [Path(folder) / str(i) for i in range(int(config["models"]))]
            return cls(paths, config["weights"], **kwargs)
        except (KeyError, TypeError) as error:
            raise CheckpointError(f"the ensemble in {folder} is incomplete: {error!r}") from error

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {"models": len(self.models), "weights": self.weights.tolist()}, {}
