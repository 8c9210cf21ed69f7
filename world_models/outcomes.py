"""What an execution is asked for and what comes back: the seam between backends and everything else."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol, runtime_checkable

__all__ = [
    "Backend",
    "Outcome",
    "Source",
    "Status",
    "Submission",
    "exception_class",
    "ladder_score",
    "render_feedback",
    "ungraded",
]

Source = Literal["sandbox", "world_model", "cache"]


class Status(StrEnum):
    """How an execution ended. The value is the name, so that a status survives JSON and equals its string."""

    MALFORMED = "MALFORMED"  # the reply holds no code
    SYNTAX_ERROR = "SYNTAX_ERROR"
    RUNTIME_ERROR = "RUNTIME_ERROR"
    TIMEOUT = "TIMEOUT"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    NO_SUBMISSION = "NO_SUBMISSION"  # ran to the end, wrote no predictions
    INVALID_SUBMISSION = "INVALID_SUBMISSION"  # wrote predictions that cannot be graded
    VALID = "VALID"
    UNGRADED = "UNGRADED"  # the outcome is unknown: sandbox lost, endpoint down
    INFO = "INFO"  # the reply asked for information and nothing was executed: an environment's answer, no backend's


_BASE_SCORE = {
    Status.INFO: 0.0,
    Status.MALFORMED: 0.0,
    Status.SYNTAX_ERROR: 0.0,
    Status.RUNTIME_ERROR: 0.1,
    Status.TIMEOUT: 0.1,
    Status.OUT_OF_MEMORY: 0.1,
    Status.NO_SUBMISSION: 0.2,
    Status.INVALID_SUBMISSION: 0.2,
}


def ladder_score(status: Status, percentile: float | None = None) -> float | None:
    """Score of an executed submission on the reward ladder (WMRL, arXiv 2608.12564, released code).

    Args:
        status: how the execution ended.
        percentile: share of the task's leaderboard beaten, in [0, 1]; needed for VALID only.

    Returns:
        A score in [0, 1]: failures below 0.5, VALID ``0.5 + 0.5 * percentile``; ``None`` for UNGRADED,
        because an unknown outcome is not a bad one.

    Raises:
        ValueError: VALID without a percentile in [0, 1].
    """
    if status is Status.UNGRADED:
        return None
    if status is not Status.VALID:
        return _BASE_SCORE[status]
    if percentile is None or not 0.0 <= percentile <= 1.0:
        raise ValueError(f"a VALID outcome needs a percentile in [0, 1], got {percentile!r}")
    return 0.5 + 0.5 * percentile


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one submission led to, executed or predicted.

    Attributes:
        status: how the execution ended, or the most probable ending of a prediction.
        score: on the reward ladder, in [0, 1]; for a prediction its expected value over all endings.
            ``None`` exactly when ``status`` is UNGRADED.
        feedback: text shown to the agent, in the sandbox's format.
        metric_value: the task's metric of a VALID execution, else ``None``; predictions may leave it ``None``.
        seconds: CPU seconds that the execution took, or that the model thinks it would.
        source: ``"sandbox"``, ``"world_model"``, or ``"cache"`` for an earlier execution served again.
        variance: variance of ``score`` as the model estimates it (score units squared); ``None`` for executions.
        member_scores: expected score of each member of an ensemble, empty otherwise.
    """

    status: Status
    score: float | None
    feedback: str
    metric_value: float | None
    seconds: float
    source: Source
    variance: float | None = None
    member_scores: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if (self.score is None) != (self.status is Status.UNGRADED):
            raise ValueError(f"score is None exactly when UNGRADED, got score={self.score!r} for {self.status}")
        if self.score is not None and not 0.0 <= self.score <= 1.0:
            raise ValueError(f"score must lie in [0, 1], got {self.score!r}")
        if self.variance is not None and not (math.isfinite(self.variance) and self.variance >= 0.0):
            raise ValueError(f"variance must be finite and at least 0, got {self.variance!r}")


def render_feedback(
    status: Status,
    *,
    metric: tuple[str, float] | None = None,
    score: float | None = None,
    seconds: float | None = None,
    detail: str = "",
) -> str:
    """Feedback text, one format for executed and predicted outcomes.

    Args:
        status: how the execution ended; the first line.
        metric: name and value of the task's metric, where known.
        score: reward-ladder score in [0, 1], where known.
        seconds: CPU seconds taken, where known.
        detail: what follows after these lines: a traceback's end, or why a submission is invalid.
    """
    lines = [f"Status: {status}"]
    if metric is not None:
        lines.append(f"Metric: {metric[0]} = {metric[1]:.6g}")
    if score is not None:
        lines.append(f"Score: {score:.3f}")
    if seconds is not None:
        lines.append(f"CPU seconds: {seconds:.1f}")
    if detail:
        lines.append(detail.rstrip())
    return "\n".join(lines)


_EXCEPTION = re.compile(
    r"^((?:\w+\.)*[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Iteration|Submission|Code))(?::|$)", re.M
)


def exception_class(feedback: str) -> str | None:
    """Class of the exception that a feedback text ends with, ``None`` where it names none.

    >>> exception_class("Status: RUNTIME_ERROR\\nValueError: Input X contains NaN.\\nPlease impute.")
    'ValueError'
    """
    found = _EXCEPTION.findall(feedback)
    return found[-1] if found else None


def ungraded(reason: str, source: Source) -> Outcome:
    """The outcome of a submission that could not be graded; ``reason`` becomes its feedback."""
    return Outcome(Status.UNGRADED, None, render_feedback(Status.UNGRADED, detail=reason), None, 0.0, source)


@dataclass(frozen=True, slots=True)
class Submission:
    """One solution to be executed or predicted.

    Attributes:
        task_id: id of the research task.
        task_text: the task's description with its data inventory, as the agent sees it.
        code: source text of one Python solution; empty when the agent's reply held none.
        history: outcomes of the episode's earlier turns, oldest first.
    """

    task_id: str
    task_text: str
    code: str
    history: tuple[Outcome, ...] = ()


@runtime_checkable
class Backend(Protocol):
    """Whatever turns submissions into outcomes: a sandbox or a world model, which ``step()`` cannot tell apart."""

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """One outcome a submission, in the same order. Never raises for what a solution does."""
        ...
