"""What a language model is asked: the task, solved examples, a solution, and labels of how it can end."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from world_models.learned.model import ENDINGS
from world_models.outcomes import Outcome, Status, Submission, exception_class
from world_models.store import Transition

__all__ = [
    "DECILES",
    "EXCEPTIONS",
    "LABELS",
    "Question",
    "decile_of",
    "prefix",
    "questions",
    "ranked",
    "suffix",
    "usable",
]

LABELS = {
    Status.VALID: "valid",
    Status.RUNTIME_ERROR: "error",
    Status.TIMEOUT: "timeout",
    Status.OUT_OF_MEMORY: "memory",
    Status.NO_SUBMISSION: "missing",
    Status.INVALID_SUBMISSION: "invalid",
}
DECILES = 10
EXCEPTIONS = (
    "ValueError",
    "TypeError",
    "AttributeError",
    "KeyError",
    "IndexError",
    "NameError",
    "ImportError",
    "FileNotFoundError",
)
"""Classes of exceptions that are asked for where no others are named."""

_INTRODUCTION = """Python solutions of machine-learning tasks were run. Each had one of these outcomes:
valid: it wrote predictions that were graded; decile 0 is the worst tenth of the leaderboard, 9 the best
error: it raised an exception
timeout: it exceeded the limit of CPU seconds
memory: it exceeded the limit of memory
missing: it ended without predictions
invalid: it wrote predictions that cannot be graded

"""
_OPEN, _CLOSE = "Solution:\n```python\n", "\n```\n"
_OUTCOME, _DECILE, _EXCEPTION = "Outcome:", "\nDecile:", "\nException:"


class Question(NamedTuple):
    """What follows ``"Outcome:"``, and the labels of which one comes next. Labels begin with a space."""

    lead: str
    labels: tuple[str, ...]


def questions(exceptions: Sequence[str]) -> tuple[Question, Question, Question]:
    """How it ends (in the order of ``ENDINGS``), the decile of a valid one, and the class of an exception."""
    return (
        Question("", tuple(f" {LABELS[status]}" for status in ENDINGS)),
        Question(f" {LABELS[Status.VALID]}{_DECILE}", tuple(f" {i}" for i in range(DECILES))),
        Question(f" {LABELS[Status.RUNTIME_ERROR]}{_EXCEPTION}", tuple(f" {name}" for name in exceptions)),
    )


def decile_of(score: float) -> int:
    """Tenth of the leaderboard, 0 to 9, of a VALID outcome's score in [0.5, 1]."""
    return min(int((2.0 * score - 1.0) * DECILES), DECILES - 1)


def usable(rows: Iterable[Transition]) -> list[Transition]:
    """The rows whose outcome is known and that ran at all."""
    return [row for row in rows if row.executed and row.outcome.status in ENDINGS]


def ranked(examples: Iterable[Transition], task_id: str, seed: int) -> list[Transition]:
    """Examples in the order in which they are shown: those of the same task first, else by a hash of the seed."""

    def key(row: Transition) -> tuple[bool, bytes]:
        submission = row.submission
        text = f"{seed}\0{task_id}\0{submission.task_id}\0{submission.code}"
        return submission.task_id != task_id, hashlib.sha256(text.encode(errors="surrogatepass")).digest()

    return sorted(examples, key=key)


def prefix(submission: Submission, examples: Sequence[Transition]) -> str:
    """Everything before the code; the same for all solutions of a task with the same examples.

    Examples of other tasks come first, each with its task's text; those of this task follow its text.
    """
    own = [row for row in examples if row.submission.task_id == submission.task_id]
    other = [row for row in examples if row.submission.task_id != submission.task_id]
    parts = [_INTRODUCTION]
    parts += [_task(row.submission.task_text) + _example(row) for row in other]
    parts.append(_task(submission.task_text))
    parts += [_example(row) for row in own]
    return "".join([*parts, _OPEN])


def suffix(part: int = 1, parts: int = 1) -> str:
    """Everything after the code, or after one part of it, counted from 1."""
    note = "" if parts == 1 else f"This was part {part} of {parts} of the solution.\n"
    return f"{_CLOSE}{note}{_OUTCOME}"


def _task(text: str) -> str:
    return f"Task:\n{text.strip()}\n\n"


def _example(row: Transition) -> str:
    return f"{_OPEN}{row.submission.code.strip()}{suffix()}{_answer(row.outcome)}\n\n"


def _answer(outcome: Outcome) -> str:
    answer = f" {LABELS[outcome.status]}"
    if outcome.status is Status.VALID and outcome.score is not None:
        return f"{answer}{_DECILE} {decile_of(outcome.score)}"
    name = exception_class(outcome.feedback)
    return f"{answer}{_EXCEPTION} {name}" if outcome.status is Status.RUNTIME_ERROR and name else answer
