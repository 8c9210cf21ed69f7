"""For authors of backends and environments: a conformance suite, and a fast deterministic backend to test against."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

from world_models.gates import exact_outcome
from world_models.outcomes import Backend, Outcome, Status, Submission, ladder_score, render_feedback, ungraded

__all__ = ["STRANGE_CODE", "ConformanceError", "HashBackend", "check_backend"]

STRANGE_CODE = (
    "",
    "   \n\t\n",
    "def broken(:\n",
    "return 1",
    "\0",
    "x = '\ud800'",
    "# -*- coding: no-such-codec -*-\n",
    "(" * 5_000,
    "x = " + "-" * 5_000 + "1",
    "raise SystemExit(0)",
    "é = 'ünïcödé 🙂'\nprint(é)",
    "#" * 200_000,
)


class HashBackend:
    """A world model that knows nothing: outcomes are read off a hash of task and code.

    Equal submissions have equal outcomes, in any order and process, thousands a second: for tests and examples.

    Args:
        ungraded: share of distinct solutions that compile whose outcome stays UNGRADED, in [0, 1].
        num_members: members of the ensemble that it plays, at least 0.
    """

    name = "hash"
    version = "1"

    def __init__(self, ungraded: float = 0.0, num_members: int = 4) -> None:
        if not 0.0 <= ungraded <= 1.0:
            raise ValueError(f"ungraded must lie in [0, 1], got {ungraded}")
        if num_members < 0:
            raise ValueError(f"num_members must be at least 0, got {num_members}")
        self.ungraded = ungraded
        self.num_members = num_members
        self.calls: list[int] = []  # submissions of each call

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        self.calls.append(len(submissions))
        return [self._outcome(submission) for submission in submissions]

    def _outcome(self, submission: Submission) -> Outcome:
        exact = exact_outcome(submission)
        if exact is not None:
            return exact
        key = f"{submission.task_id}\0{submission.code}".encode(errors="surrogatepass")
        draw = [word / 2**32 for word in memoryview(hashlib.sha256(key).digest()).cast("I")]
        if draw[0] < self.ungraded:
            return ungraded("the hash says so", "world_model")
        status = Status.VALID if draw[1] < 0.5 else _FAILURES[int(draw[2] * len(_FAILURES))]
        score = ladder_score(status, draw[3]) or 0.0
        metric = draw[3] if status is Status.VALID else None
        members = tuple(min(1.0, max(0.0, score + 0.1 * (draw[4 + i % 4] - 0.5))) for i in range(self.num_members))
        mean = math.fsum(members) / len(members) if members else score
        return Outcome(
            status=status,
            score=score,
            feedback=render_feedback(
                status, metric=None if metric is None else ("hash", metric), score=score, seconds=draw[4]
            ),
            metric_value=metric,
            seconds=draw[4],
            source="world_model",
            variance=math.fsum((member - mean) ** 2 for member in members) / len(members) if members else 0.01,
            member_scores=members,
        )


_FAILURES = (
    Status.RUNTIME_ERROR,
    Status.TIMEOUT,
    Status.OUT_OF_MEMORY,
    Status.NO_SUBMISSION,
    Status.INVALID_SUBMISSION,
)


class ConformanceError(AssertionError):
    """A backend breaks the contract; the message says which rule, and on what."""


def check_backend(backend: Backend, submissions: Sequence[Submission], *, deterministic: bool = True) -> None:
    """Check that a backend keeps the contract of :class:`world_models.Backend`.

    Args:
        backend: a sandbox or a world model.
        submissions: at least 2 with different outcomes, for tasks that the backend knows. They are executed about
            three times, and so are variants of the first with strange code.
        deterministic: whether equal submissions must have equal outcomes, seconds and feedback included. Set it to
            False for real executions; status and metric must agree all the same.

    Raises:
        ConformanceError: naming the rule that is broken.
        ValueError: fewer than 2 submissions.
    """
    submissions = list(submissions)
    if len(submissions) < 2:
        raise ValueError("the suite needs at least 2 submissions to tell their order")
    _require(backend.execute([]) == [], "no submissions must give no outcomes")

    outcomes = _execute(backend, submissions)
    for submission, outcome in zip(submissions, outcomes, strict=True):
        _check_outcome(backend, submission, outcome)
    _require_equal(outcomes, _execute(backend, submissions[::-1])[::-1], "the order of a batch", deterministic)
    _require_equal(outcomes, [_execute(backend, [one])[0] for one in submissions], "the batch", deterministic)

    first = submissions[0]
    strange = [Submission(first.task_id, first.task_text, code) for code in STRANGE_CODE]
    strange_outcomes = _execute(backend, strange)
    for submission, outcome in zip(strange, strange_outcomes, strict=True):
        _check_outcome(backend, submission, outcome)
    for outcome, code, expected in zip(
        strange_outcomes, STRANGE_CODE, (Status.MALFORMED, Status.MALFORMED, Status.SYNTAX_ERROR), strict=False
    ):
        _require(outcome.status is expected, f"{code!r} must be {expected}, got {outcome.status}")


def _execute(backend: Backend, submissions: list[Submission]) -> list[Outcome]:
    given = list(submissions)
    try:
        outcomes = backend.execute(submissions)
    except Exception as error:
        raise ConformanceError(f"execute must not raise for what a solution does, but raised {error!r}") from error
    _require(submissions == given, "execute must leave its argument as it is")
    _require(isinstance(outcomes, list), f"execute must return a list, got {type(outcomes).__name__}")
    _require(len(outcomes) == len(given), f"{len(given)} submissions must give as many outcomes, got {len(outcomes)}")
    return outcomes


def _check_outcome(backend: Backend, submission: Submission, outcome: Outcome) -> None:
    where = f"on code {submission.code[:60]!r}"
    _require(isinstance(outcome, Outcome), f"outcomes must be Outcome, got {type(outcome).__name__} {where}")
    first_line = outcome.feedback.split("\n", 1)[0]
    _require(
        first_line == f"Status: {outcome.status}", f"feedback must begin with its status, got {first_line!r} {where}"
    )
    _require(
        math.isfinite(outcome.seconds) and outcome.seconds >= 0.0,
        f"seconds must be finite and at least 0, got {outcome.seconds} {where}",
    )
    members = getattr(backend, "num_members", 0)
    _require(
        len(outcome.member_scores) in (0, members),
        f"member_scores must be empty or hold num_members={members}, got {len(outcome.member_scores)} {where}",
    )
    if outcome.source == "world_model" or outcome.score is None:
        return
    if outcome.status is Status.VALID:
        _require(outcome.score >= 0.5, f"a VALID execution scores at least 0.5, got {outcome.score} {where}")
        _require(outcome.metric_value is not None, f"a VALID execution has a metric value {where}")
    else:
        expected = ladder_score(outcome.status)
        _require(outcome.score == expected, f"{outcome.status} scores {expected}, got {outcome.score} {where}")


def _require_equal(first: list[Outcome], second: list[Outcome], what: str, deterministic: bool) -> None:
    for i, (one, other) in enumerate(zip(first, second, strict=True)):
        same = one == other if deterministic else (one.status, one.metric_value) == (other.status, other.metric_value)
        _require(same, f"an outcome must not depend on {what}: submission {i} gave {one} and then {other}")


def _require(condition: bool, rule: str) -> None:
    if not condition:
        raise ConformanceError(rule)
