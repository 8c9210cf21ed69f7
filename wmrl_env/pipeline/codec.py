"""Pipeline decisions as a readable Python solution, and nothing that such a solution would not do in life.

A decision vector names one option of each entry of :data:`DECISIONS`. Combinations that do not go together are
rendered all the same: they fail when they are run, as they would for a careless author.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wmrl_env.pipeline import templates
from wmrl_env.tasks.task import ResearchTask

__all__ = ["DECISIONS", "NVEC", "Decision", "competent", "decode", "render", "sample"]


@dataclass(frozen=True)
class Decision:
    """One choice that the author of a solution makes."""

    name: str
    options: tuple[str, ...]


DECISIONS = (
    Decision("imputation", ("none", "median", "mean", "most_frequent", "drop_rows")),
    Decision("encoding", ("none", "ordinal", "onehot", "drop_text")),
    Decision("scaling", ("none", "standard", "minmax", "quantile")),
    Decision("features", ("none", "polynomial", "select", "pca")),
    Decision("model", tuple(templates.MODELS)),
    Decision("capacity", ("small", "medium", "large")),
    Decision("regularisation", ("weak", "strong", "l1")),
    Decision("class_weight", ("none", "balanced")),
    Decision("target_transform", ("none", "log1p")),
    Decision("ensembling", ("single", "bagging", "blend")),
    Decision("output", ("probabilities", "predictions")),
)
NVEC = tuple(len(decision.options) for decision in DECISIONS)


def decode(action: Sequence[int]) -> dict[str, str]:
    """Option names of a decision vector, by decision.

    Raises:
        ValueError: wrong length, or an entry outside its range.
    """
    choices = [int(choice) for choice in action]
    if len(choices) != len(DECISIONS):
        raise ValueError(f"a pipeline action has {len(DECISIONS)} entries, got {len(choices)}")
    for choice, decision in zip(choices, DECISIONS, strict=True):
        if not 0 <= choice < len(decision.options):
            raise ValueError(f"{decision.name} must lie in 0..{len(decision.options) - 1}, got {choice}")
    return {decision.name: decision.options[choice] for choice, decision in zip(choices, DECISIONS, strict=True)}


def render(action: Sequence[int], task: ResearchTask) -> str:
    """The solution that a decision vector stands for, as Python source.

    Raises:
        ValueError: the vector is no action (see :func:`decode`).
    """
    return templates.solution(decode(action), task)


def sample(rng: np.random.Generator, size: int) -> np.ndarray:
    """Uniform decision vectors, int64 of shape (size, len(NVEC))."""
    return rng.integers(0, NVEC, size=(size, len(NVEC)))


def competent(rng: np.random.Generator, task: ResearchTask, size: int, care: float = 1.0) -> np.ndarray:
    """Decision vectors of an author who avoids each known mistake with probability ``care``.

    At ``care=0`` this is :func:`sample`; at 1 nearly all solutions are valid.

    Raises:
        ValueError: ``care`` outside [0, 1].
    """
    if not 0.0 <= care <= 1.0:
        raise ValueError(f"care must lie in [0, 1], got {care}")
    actions = sample(rng, size)
    names = [decision.name for decision in DECISIONS]
    for action in actions:
        for name, options in templates.safe_options(task).items():
            column = names.index(name)
            if rng.random() < care:
                action[column] = DECISIONS[column].options.index(options[rng.integers(len(options))])
        choices = decode(action)
        for name, option in templates.repairs(choices, task).items():
            column = names.index(name)
            if rng.random() < care:
                action[column] = DECISIONS[column].options.index(option)
    return actions
