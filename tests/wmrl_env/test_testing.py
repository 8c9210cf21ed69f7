from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from wmrl_env.testing import ConformanceError, HashBackend, check_backend
from world_models.outcomes import Outcome, Submission

SUBMISSIONS = [Submission("task", "text", f"x = {i}") for i in range(8)]


class Broken(HashBackend):
    """A backend whose outcomes are spoilt."""

    def __init__(self, spoil: Callable[[list[Outcome]], object]) -> None:
        super().__init__()
        self.spoil = spoil

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        outcomes = super().execute(submissions)
        return self.spoil(outcomes) if outcomes else []


def test_the_hash_backend_conforms() -> None:
    check_backend(HashBackend(), SUBMISSIONS)
    check_backend(HashBackend(num_members=0), SUBMISSIONS)
    check_backend(HashBackend(ungraded=0.5), SUBMISSIONS[:3])


@pytest.mark.parametrize(
    ("spoil", "rule"),
    [
        (lambda outcomes: outcomes[:-1], "as many outcomes"),
        (tuple, "must return a list"),
        (lambda outcomes: [*outcomes[1:], outcomes[0]], "the order of a batch"),
        (lambda outcomes: [outcomes[0]] * len(outcomes), "the order of a batch"),
        (lambda outcomes: [replace(outcome, feedback="fine") for outcome in outcomes], "begin with its status"),
        (lambda outcomes: [replace(outcome, seconds=-1.0) for outcome in outcomes], "seconds must be finite"),
        (lambda outcomes: [replace(outcome, member_scores=(0.5,)) for outcome in outcomes], "num_members=4"),
        (lambda outcomes: [replace(outcome, source="sandbox", score=0.3) for outcome in outcomes], "scores"),
        (lambda outcomes: [object() for _ in outcomes], "must be Outcome"),
        (
            lambda outcomes: [replace(outcome, seconds=float(len(outcomes))) for outcome in outcomes],
            "not depend on the batch",
        ),
    ],
)
def test_what_breaks_the_contract_is_named(spoil: Callable[[list[Outcome]], object], rule: str) -> None:
    with pytest.raises(ConformanceError, match=rule):
        check_backend(Broken(spoil), SUBMISSIONS)


def test_raising_for_strange_code_is_a_fault() -> None:
    class Naive(HashBackend):
        def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
            for submission in submissions:
                submission.code.encode()
            return super().execute(submissions)

    with pytest.raises(ConformanceError, match="must not raise"):
        check_backend(Naive(), SUBMISSIONS)


def test_the_exact_statuses_are_not_a_matter_of_opinion() -> None:
    class Lenient(HashBackend):
        def _outcome(self, submission: Submission) -> Outcome:
            return super()._outcome(replace(submission, code=submission.code.strip() or "pass"))

    with pytest.raises(ConformanceError, match="must be MALFORMED"):
        check_backend(Lenient(), SUBMISSIONS)


def test_executions_may_differ_in_their_seconds() -> None:
    class Timed(HashBackend):
        def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
            return [replace(outcome, seconds=float(len(self.calls))) for outcome in super().execute(submissions)]

    check_backend(Timed(), SUBMISSIONS, deterministic=False)
    with pytest.raises(ConformanceError, match="not depend on"):
        check_backend(Timed(), SUBMISSIONS)


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        check_backend(HashBackend(), SUBMISSIONS[:1])
    with pytest.raises(ValueError, match="ungraded"):
        HashBackend(ungraded=2.0)
    with pytest.raises(ValueError, match="num_members"):
        HashBackend(num_members=-1)
