import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from world_models.outcomes import Outcome, Status, exception_class, ladder_score, render_feedback, ungraded


@given(st.floats(0, 1))
def test_valid_scores_lie_above_all_failures(percentile) -> None:
    score = ladder_score(Status.VALID, percentile)
    assert score == 0.5 + 0.5 * percentile
    assert all(ladder_score(status) < score for status in Status if status not in (Status.VALID, Status.UNGRADED))


def test_an_unknown_outcome_has_no_score() -> None:
    assert ladder_score(Status.UNGRADED) is None
    outcome = ungraded("endpoint down", "world_model")
    assert outcome.score is None and outcome.feedback == "Status: UNGRADED\nendpoint down"


@pytest.mark.parametrize("percentile", [None, -0.1, 1.1, math.nan])
def test_valid_needs_a_percentile(percentile) -> None:
    with pytest.raises(ValueError, match="percentile"):
        ladder_score(Status.VALID, percentile)


@pytest.mark.parametrize(
    ("status", "score", "variance"),
    [
        (Status.VALID, None, None),
        (Status.UNGRADED, 0.5, None),
        (Status.VALID, 1.5, None),
        (Status.VALID, math.nan, None),
        (Status.VALID, 0.5, -1.0),
        (Status.VALID, 0.5, math.inf),
    ],
)
def test_outcomes_that_contradict_themselves(status, score, variance) -> None:
    with pytest.raises(ValueError, match=r"score|variance"):
        Outcome(status, score, "", None, 0.0, "sandbox", variance)


def test_feedback_format() -> None:
    assert render_feedback(Status.VALID, metric=("mae", 1 / 3), score=0.75, seconds=1.26) == (
        "Status: VALID\nMetric: mae = 0.333333\nScore: 0.750\nCPU seconds: 1.3"
    )
    assert render_feedback(Status.TIMEOUT, detail="TimeoutError: slow\n\n") == "Status: TIMEOUT\nTimeoutError: slow"


@pytest.mark.parametrize(
    ("feedback", "name"),
    [
        ("Status: VALID\nScore: 0.8", None),
        ("Status: TIMEOUT\nTimeoutError: slow", "TimeoutError"),
        ("Traceback:\nValueError: first\n\nDuring that:\nnumpy.linalg.LinAlgError: second", "numpy.linalg.LinAlgError"),
        ("Status: RUNTIME_ERROR\nMemoryError", "MemoryError"),
        ("ValueError: NaN.\nPlease see: https://x\nNote: y", "ValueError"),
        ("  ValueError: indented is no last line", None),
    ],
)
def test_class_of_an_exception(feedback, name) -> None:
    assert exception_class(feedback) == name
