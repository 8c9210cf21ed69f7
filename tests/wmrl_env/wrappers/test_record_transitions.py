from __future__ import annotations

from pathlib import Path

import pytest

from tests.wmrl_env.wrappers.planted import Distorted, Truth, reply, scalar_env, true_score, vector_env
from wmrl_env.wrappers import AnchorSampling, RecordTransitions, vector
from world_models.outcomes import Outcome, Status, Submission
from world_models.store import TransitionStore

pytestmark = pytest.mark.usefixtures("fake_task")


class Kept:
    def __init__(self) -> None:
        self.pairs: list[tuple[Submission, Outcome]] = []

    def add(self, submissions, outcomes) -> None:  # type: ignore[no-untyped-def]
        self.pairs += zip(submissions, outcomes, strict=True)


def test_outcomes_are_those_of_the_backend() -> None:
    store = Kept()
    env = vector.RecordTransitions(vector_env(3), store)
    env.reset(seed=0)
    env.step((reply(1), "", reply(2) + " vague"))
    expected = Distorted().execute([submission for submission, _ in store.pairs])
    for (submission, outcome), wanted in zip(store.pairs, expected, strict=True):
        assert submission.task_id == "fake"
        assert submission.task_text
        assert (outcome.status, outcome.score, outcome.source) == (wanted.status, wanted.score, wanted.source)
        assert outcome.variance == wanted.variance
        if wanted.member_scores:
            assert outcome.member_scores == wanted.member_scores


def test_anchors_are_recorded_beside_their_predictions(tmp_path: Path) -> None:
    path = tmp_path / "outcomes.sqlite"
    env = RecordTransitions(AnchorSampling(scalar_env(), Truth(), fraction=1.0), path)
    env.reset(seed=0)
    env.step(reply(1))
    env.close()
    transitions = list(TransitionStore(path))
    assert {transition.outcome.source for transition in transitions} == {"sandbox", "world_model"}
    (real,) = (transition for transition in transitions if transition.executed)
    assert real.outcome.score == true_score(real.submission)
    assert real.outcome.status is Status.VALID


def test_a_store_is_needed() -> None:
    with pytest.raises(TypeError, match="TransitionStore"):
        RecordTransitions(scalar_env(), 3)
