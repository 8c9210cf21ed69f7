"""For authors of world models: a conformance suite."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence

from world_models.base import WorldModel
from world_models.outcomes import Outcome, Status, Submission
from world_models.registry import make

__all__ = ["ConformanceError", "check_world_model"]

_TOLERANCE = 1e-6


class ConformanceError(AssertionError):
    """A model breaks the contract; the message says which rule, and on what."""


def check_world_model(model: WorldModel, submissions: Sequence[Submission]) -> None:
    """Check that a model keeps the contract of :class:`world_models.WorldModel`.

    Args:
        model: the model; where it can be saved and its name is registered, a copy is saved, loaded and compared.
        submissions: at least 2 whose code compiles. They are predicted about four times.

    Raises:
        ConformanceError: naming the rule that is broken.
        ValueError: fewer than 2 submissions.
    """
    submissions = list(submissions)
    if len(submissions) < 2:
        raise ValueError("the suite needs at least 2 submissions to tell their order")
    for attribute in ("name", "version"):
        value = getattr(model, attribute, None)
        _require(
            isinstance(value, str) and value != "", f"{attribute} must be a string that is not empty, got {value!r}"
        )
    members = model.num_members
    _require(isinstance(members, int) and members >= 0, f"num_members must be an int of at least 0, got {members!r}")
    _require(model.execute([]) == [], "no submissions must give no outcomes")

    outcomes = _execute(model, submissions)
    for outcome in outcomes:
        _check_prediction(outcome, members)
    _require_close(outcomes, _execute(model, submissions[::-1])[::-1], "the order of the batch")
    _require_close(outcomes, [_execute(model, [one])[0] for one in submissions], "what else is in the batch")
    _check_gates(model, submissions[0])
    _check_checkpoint(model, submissions, outcomes)


def _execute(model: WorldModel, submissions: list[Submission]) -> list[Outcome]:
    outcomes = model.execute(submissions)
    _require(isinstance(outcomes, list), f"execute must return a list, got {type(outcomes).__name__}")
    _require(
        len(outcomes) == len(submissions),
        f"{len(submissions)} submissions must give as many outcomes, not {len(outcomes)}",
    )
    return outcomes


def _check_prediction(outcome: Outcome, members: int) -> None:
    _require(outcome.source == "world_model", f'a prediction\'s source must be "world_model", got {outcome.source!r}')
    first = outcome.feedback.split("\n", 1)[0]
    _require(first == f"Status: {outcome.status}", f"feedback must begin with its status, got {first!r}")
    _require(
        math.isfinite(outcome.seconds) and outcome.seconds >= 0,
        f"seconds must be finite and at least 0, got {outcome.seconds}",
    )
    if outcome.score is not None:
        count = len(outcome.member_scores)
        _require(count == members, f"member_scores must hold num_members={members} scores, got {count}")
        _require(members < 2 or outcome.variance is not None, "an ensemble must state its variance, got None")


def _check_gates(model: WorldModel, example: Submission) -> None:
    for code, expected in (
        ("", Status.MALFORMED),
        ("# nothing\n", Status.MALFORMED),
        ("def f(:\n", Status.SYNTAX_ERROR),
    ):
        got = _execute(model, [example, Submission(example.task_id, example.task_text, code)])[1]
        _require(got.status is expected, f"{code!r} must be {expected} without a prediction, got {got.status}")
        _require(got.score == 0.0 and got.variance == 0.0, f"{expected} is certain: score 0 and variance 0, got {got}")


def _check_checkpoint(model: WorldModel, submissions: list[Submission], outcomes: list[Outcome]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            model.save(folder)
        except NotImplementedError:
            return
        copy = make(folder)
        _require(getattr(copy, "version", None) == model.version, "a loaded model must have the saved one's version")
        _require_close(outcomes, copy.execute(submissions), "saving and loading")


def _require_close(first: list[Outcome], second: list[Outcome], what: str) -> None:
    for i, (one, other) in enumerate(zip(first, second, strict=True)):
        numbers = [(one.score, other.score), (one.variance, other.variance)]
        numbers += zip(one.member_scores, other.member_scores, strict=True)
        same = one.status is other.status and all(
            a == b or (a is not None and b is not None and abs(a - b) <= _TOLERANCE) for a, b in numbers
        )
        _require(same, f"an outcome must not depend on {what}: submission {i} gave {one} and then {other}")


def _require(condition: bool, rule: str) -> None:
    if not condition:
        raise ConformanceError(rule)
