"""What a correction learns from: one solution, judged by the world model and for real."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["AnchorPair"]


@dataclass(frozen=True, slots=True)
class AnchorPair:
    """One submission graded by both the world model and the sandbox.

    Attributes:
        task_id: id of the research task.
        group: key of the group that was anchored.
        code_hash: hex digest of the solution.
        predicted: the world model's score.
        real: the sandbox's score.
        member_scores: the ensemble members' scores, empty where there are none.
        action_class: see :func:`wmrl_env.correction.action_class`.
        terms: see :func:`wmrl_env.correction.solution_terms`; empty where no correction asks for them.
        weight: how many rows this one stands for, above 0: 1 / the probability with which it was chosen to be executed,
            up to a common factor.

    Raises:
        ValueError: a score is NaN or infinite, or the weight is not a positive number.
    """

    task_id: str
    group: str
    code_hash: str
    predicted: float
    real: float
    member_scores: tuple[float, ...] = ()
    action_class: str = ""
    terms: tuple[str, ...] = ()
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.predicted, self.real, *self.member_scores))):
            raise ValueError(f"the scores of an anchor pair must be finite, got {self}")
        if not 0.0 < self.weight < math.inf:
            raise ValueError(f"the weight of an anchor pair must be positive and finite, got {self.weight}")
