"""Solved examples: which ones a prompt shows, and how they are kept in a checkpoint."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from world_models.language import prompts
from world_models.outcomes import Outcome, Status, Submission
from world_models.store import Transition

__all__ = ["Shots", "rows_from_state", "rows_state"]

_TASKS = 256  # whose order of examples is remembered
_FIELDS = ("status", "score", "feedback", "metric_value", "seconds")


class Shots:
    """The examples that a solution's prompt shows.

    Args:
        rows: executed solutions to choose from.
        count: how many are shown, at most.
        seed: of the choice.
        fits: whether a code is short enough to be shown.
    """

    def __init__(self, rows: Sequence[Transition], count: int, seed: int, fits: Callable[[str], bool]) -> None:
        self.rows = list(rows) if count else []
        self._count, self._seed, self._fits = count, seed, fits
        self._short: dict[str, bool] = {}
        self._ranked: OrderedDict[str, list[Transition]] = OrderedDict()

    def prefix(self, submission: Submission) -> str:
        """All that is read before the code: its task, and examples, of which none has the same code."""
        chosen: list[Transition] = []
        for row in self._order(submission.task_id):
            if len(chosen) == self._count:
                break
            if row.submission.code != submission.code and self._is_short(row.submission.code):
                chosen.append(row)
        return prompts.prefix(submission, chosen)

    def _order(self, task_id: str) -> list[Transition]:
        if not self.rows:
            return []
        if task_id not in self._ranked:
            self._ranked[task_id] = prompts.ranked(self.rows, task_id, self._seed)
            if len(self._ranked) > _TASKS:
                self._ranked.popitem(last=False)
        return self._ranked[task_id]

    def _is_short(self, code: str) -> bool:
        if code not in self._short:
            self._short[code] = self._fits(code)
        return self._short[code]


def rows_state(rows: Sequence[Transition]) -> dict[str, Any]:
    """JSON-able; the text of a task once."""
    return {
        "texts": {submission.task_id: submission.task_text for submission, _ in rows},
        "rows": [[one.task_id, one.code, *(getattr(outcome, name) for name in _FIELDS)] for one, outcome in rows],
    }


def rows_from_state(state: dict[str, Any]) -> list[Transition]:
    """The inverse of :func:`rows_state`."""
    return [
        Transition(
            Submission(task, state["texts"][task], code),
            Outcome(Status(status), score, feedback, metric, seconds, "sandbox"),
        )
        for task, code, status, score, feedback, metric, seconds in state["rows"]
    ]
