"""Pictures of an episode: as text, and as scores by turn in pixels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wmrl_env.envs.spaces import FEEDBACK_LENGTH, printable
from wmrl_env.tasks import ResearchTask
from world_models.outcomes import Outcome, Status

__all__ = ["ansi", "rgb_array"]

_FEEDBACK_LINES = 8
_HEIGHT, _WIDTH, _MARGIN = 120, 240, 10
_WHITE, _GREY, _GREEN, _RED, _BLACK = (255, 255, 255), (200, 200, 200), (46, 125, 50), (198, 40, 40), (33, 33, 33)


def ansi(task: ResearchTask | None, outcomes: Sequence[Outcome], max_turns: int) -> str:
    """Turn, task, status, scores and the head of the feedback."""
    if task is None:
        return "no episode yet"
    header = f"{task.id}: {task.title}   turn {len(outcomes)}/{max_turns}"
    if not outcomes:
        return header
    last = outcomes[-1]
    scores = [outcome.score for outcome in outcomes if outcome.score is not None]
    score = "unknown" if last.score is None else f"{last.score:.3f}"
    feedback = printable(last.feedback, FEEDBACK_LENGTH).splitlines()[:_FEEDBACK_LINES]
    return "\n".join([header, f"{last.status}   score {score}   best {max(scores, default=0.0):.3f}", *feedback])


def rgb_array(outcomes: Sequence[Outcome], max_turns: int) -> np.ndarray:
    """Scores by turn as bars, uint8 of shape (120, 240, 3).

    Green bars are VALID, red ones failed, a full grey one is UNGRADED; the black line is the best score so far, the
    grey ones stand at 0, 0.5 and 1.
    """
    picture = np.full((_HEIGHT, _WIDTH, 3), _WHITE, np.uint8)
    for level in (0.0, 0.5, 1.0):
        picture[_height(level)] = _GREY
    edges = np.linspace(_MARGIN, _WIDTH - _MARGIN, max_turns + 1).astype(int)
    best = 0.0
    for outcome, left, right in zip(outcomes, edges[:-1], edges[1:], strict=False):
        colour = _GREY if outcome.score is None else _GREEN if outcome.status is Status.VALID else _RED
        top = _height(1.0 if outcome.score is None else outcome.score)
        gap = (right - left) // 5
        picture[top : _height(0.0) + 1, left + gap : max(right - gap, left + gap + 1)] = colour
        best = max(best, outcome.score or 0.0)
        picture[_height(best), left : right + 1] = _BLACK
    return picture


def _height(score: float) -> int:
    return round(_HEIGHT - _MARGIN - 1 - score * (_HEIGHT - 2 * _MARGIN))
