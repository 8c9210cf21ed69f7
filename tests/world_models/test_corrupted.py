import numpy as np
import pytest

import world_models
from tests.world_models.recordings import outcome_of, submission
from world_models.corrupted import CorruptedModel
from world_models.outcomes import Outcome, Status, Submission, ungraded
from world_models.testing import check_world_model


class Truth:
    """Everything is valid, score 0.6."""

    def execute(self, submissions):
        return [outcome_of("clean", 100, 2, True) for _ in submissions]


def many(count: int) -> list[Submission]:
    return [submission("clean", seed=i) for i in range(count)]


def test_without_corruption_the_truth_comes_through() -> None:
    (outcome,) = CorruptedModel(Truth(), noise=0.0).execute(many(1))
    assert outcome.score == pytest.approx(0.6) and outcome.variance == 0.0 and outcome.seconds == 2.5
    assert outcome.feedback == "Status: VALID\nScore: 0.600\nCPU seconds: 2.5" and outcome.metric_value is None


def test_bias_of_all_and_of_a_stratum() -> None:
    model = CorruptedModel(
        Truth(),
        bias=lambda score: score / 2,
        class_bias={"odd": 0.25},
        stratum=lambda one: ("even", "odd")[len(one.code) % 2],
        noise=0.0,
    )
    rows = [Submission("t", "", "x = 1"), Submission("t", "", "xy = 1")]
    assert [outcome.score for outcome in model.execute(rows)] == pytest.approx([0.55, 0.3])
    assert "Score: 0.550" in model.execute(rows)[0].feedback


@pytest.mark.parametrize("correlation", [0.0, 0.5, 1.0])
def test_noise_is_as_chosen(correlation) -> None:
    model = CorruptedModel(Truth(), noise=0.05, correlation=correlation, members=3, seed=1)
    outcomes = model.execute(many(3000))
    members = np.array([outcome.member_scores for outcome in outcomes])
    assert members.mean() == pytest.approx(0.6, abs=0.005)
    assert members.std(0) == pytest.approx(np.full(3, 0.05), rel=0.08)
    pairs = np.corrcoef(members.T)[np.triu_indices(3, 1)]
    assert pairs == pytest.approx(np.full(3, correlation), abs=0.07)
    scores = np.array([outcome.score for outcome in outcomes])
    assert scores.var() == pytest.approx(model.variance(0.6), rel=0.12)
    assert {outcome.variance for outcome in outcomes} == {model.variance(0.6)}


def test_fresh_noise_is_drawn_anew_for_equal_submissions() -> None:
    same = many(1) * 2000
    read_off = CorruptedModel(Truth(), noise=0.05, seed=1).execute(same)
    assert len({outcome.score for outcome in read_off}) == 1
    scores = np.array(
        [outcome.score for outcome in CorruptedModel(Truth(), noise=0.05, seed=1, fresh=True).execute(same)]
    )
    assert len(set(scores.tolist())) == 2000
    assert scores.mean() == pytest.approx(0.6, abs=0.003)
    assert scores.var() == pytest.approx(CorruptedModel(Truth(), noise=0.05).variance(0.6), rel=0.15)
    assert abs(np.corrcoef(scores[1:], scores[:-1])[0, 1]) < 0.1


def test_fresh_noise_goes_on_from_batch_to_batch_and_the_seed_decides_it() -> None:
    first, again, other = (CorruptedModel(Truth(), seed=seed, fresh=True) for seed in (1, 1, 2))
    rows = many(1) * 6
    drawn = first.execute(rows)
    assert [outcome for half in (rows[:2], rows[2:]) for outcome in again.execute(half)] == drawn
    assert other.execute(rows) != drawn
    assert first.execute(rows) != drawn


def test_seed_decides_and_scores_stay_in_range() -> None:
    rows = many(50)
    first = CorruptedModel(Truth(), noise=2.0, seed=1).execute(rows)
    assert first == CorruptedModel(Truth(), noise=2.0, seed=1).execute(rows)
    assert first != CorruptedModel(Truth(), noise=2.0, seed=2).execute(rows)
    assert all(0.0 <= score <= 1.0 for outcome in first for score in outcome.member_scores)


def test_a_class_may_be_turned_round_noise_grow_and_all_drift() -> None:
    class Ladder:
        def execute(self, submissions):
            return [outcome_of("clean", 100, int(one.code[-1]), True) for one in submissions]

    rows = [Submission("t", "", f"x = {depth}") for depth in range(1, 10)]
    model = CorruptedModel(
        Ladder(), class_bias={"all": lambda score: 1.5 - score}, stratum=lambda one: "all", noise=0.0
    )
    shown = [outcome.score for outcome in model.execute(rows)]
    assert shown == sorted(shown, reverse=True) and shown[0] == pytest.approx(0.95)
    noisy = CorruptedModel(Ladder(), noise=lambda score: 0.1 * (score - 0.5))
    assert (
        noisy.execute(rows[:1])[0].variance < noisy.execute(rows[8:])[0].variance == pytest.approx(noisy.variance(0.95))
    )
    drifting = CorruptedModel(Ladder(), noise=0.0, drift=lambda t, score: score - 0.01 * t)
    assert drifting.execute(rows[:3])[0].score == pytest.approx(0.55)
    assert drifting.execute(rows[:3])[0].score == pytest.approx(0.52) and drifting.predicted == 6


def test_unknown_stays_unknown() -> None:
    class Lost:
        def execute(self, submissions):
            return [ungraded("lost", "sandbox") for _ in submissions]

    (outcome,) = CorruptedModel(Lost()).execute(many(1))
    assert outcome.status is Status.UNGRADED and isinstance(outcome, Outcome)


def test_keeps_the_contract_and_wraps_by_name() -> None:
    model = world_models.make("corrupted", truth=f"{__name__}:Truth", noise=0.1)
    check_world_model(model, many(6))


@pytest.mark.parametrize(
    "kwargs",
    [{"noise": -1.0}, {"noise": np.nan}, {"correlation": 1.1}, {"members": 0}, {"class_bias": {"a": 1.0}}],
)
def test_arguments_out_of_range(kwargs) -> None:
    with pytest.raises(ValueError, match=next(iter(kwargs))):
        CorruptedModel(Truth(), **kwargs)
