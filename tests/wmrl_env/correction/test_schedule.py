from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_env.correction import AdaptiveSchedule, UniformSchedule

seeds = st.integers(0, 2**32)


@given(st.floats(0.0, 1.0), seeds, st.integers(1, 400))
def test_realised_share_is_within_one_group(fraction: float, seed: int, groups: int) -> None:
    schedule = UniformSchedule(fraction, seed)
    anchored = 0
    for count in range(1, groups + 1):
        anchored += schedule(count - 1)
        assert abs(anchored - fraction * count) < 1.0 + 1e-9


@given(seeds)
def test_none_and_all_are_exact(seed: int) -> None:
    assert not any(UniformSchedule(0.0, seed)(group) for group in range(50))
    assert all(UniformSchedule(1.0, seed)(group) for group in range(50))


def test_is_a_function_of_seed_and_count() -> None:
    first, again, other = (UniformSchedule(0.2, seed) for seed in (1, 1, 2))
    chosen = [first(group) for group in range(200)]
    assert chosen == [again(group) for group in reversed(range(200))][::-1]
    assert chosen != [other(group) for group in range(200)]


def test_tasks_that_take_turns_all_get_their_share() -> None:
    schedule = UniformSchedule(0.1, 0)
    counts = [sum(schedule(group) for group in range(task, 10_000, 10)) for task in range(10)]
    assert sum(counts) == 1000
    assert min(counts) > 60  # a fixed step of 10 groups would give one task all 1000


@pytest.mark.parametrize(("fraction", "seed"), [(-0.1, 0), (1.1, 0), (float("nan"), 0), (0.5, -1)])
def test_bad_arguments(fraction: float, seed: int) -> None:
    with pytest.raises(ValueError, match="must"):
        UniformSchedule(fraction, seed)


def told(schedule: AdaptiveSchedule, error: float, pairs: int = 200, seed: int = 0) -> AdaptiveSchedule:
    """After pairs of two tasks, whose real scores deviate by 0.2 and predictions from them by ``error``."""
    rng = np.random.default_rng(seed)
    tasks = ["a", "b"] * (pairs // 2)
    real = 0.2 * rng.standard_normal(pairs) + np.where(np.array(tasks) == "a", 0.2, 0.8)
    schedule.observe(tasks, error * rng.standard_normal(pairs), real)
    return schedule


@pytest.mark.parametrize(("error", "share"), [(0.01, 0.2), (0.1, 0.5), (0.16, 0.8), (0.4, 1.0)])
def test_share_is_what_predictions_leave_unsaid(error: float, share: float) -> None:
    """Of what scores of one task differ by; that tasks differ is no merit of theirs."""
    assert told(AdaptiveSchedule(0.1), error).share == pytest.approx(share, rel=0.15)


def test_share_rises_on_drift_and_falls_again() -> None:
    schedule = told(AdaptiveSchedule(0.1), 0.05)
    assert schedule.share < 0.35
    assert told(schedule, 0.3, 60, seed=1).share > 0.7
    assert told(schedule, 0.05, 400, seed=2).share < 0.35


def test_few_pairs_change_nothing() -> None:
    assert told(AdaptiveSchedule(0.1), 0.0, 30).share == 1.0


def test_without_spread_nothing_is_to_be_learned() -> None:
    schedule = AdaptiveSchedule(0.1)
    schedule.observe(["a"] * 40, np.zeros(40), np.full(40, 0.5))
    assert schedule.share == schedule.floor


@given(st.floats(0.01, 1.0), seeds, st.sampled_from([0.01, 0.1, 0.5]), st.integers(1, 300))
def test_realised_share_follows(fraction: float, seed: int, error: float, groups: int) -> None:
    schedule = told(AdaptiveSchedule(fraction, seed), error)
    anchored = sum(schedule(group) for group in range(groups))
    assert abs(anchored - fraction * schedule.share * groups) < 2.0  # the places in the first and the last stretch


@pytest.mark.parametrize("fraction", [0.0, 1.0])
def test_none_and_all_are_exact_before_any_pair(fraction: float) -> None:
    schedule = AdaptiveSchedule(fraction, 3)
    assert [schedule(group) for group in range(50)] == [bool(fraction)] * 50


def test_adaptive_state_continues_bit_equal() -> None:
    schedule, copy = told(AdaptiveSchedule(0.3, 5), 0.1), AdaptiveSchedule(0.3, 5)
    before = [schedule(group) for group in range(17)]
    copy.load_state_dict(json.loads(json.dumps(schedule.state_dict())))
    assert any(before)
    assert copy.share == schedule.share
    assert [schedule(group) for group in range(50)] == [copy(group) for group in range(50)]


@pytest.mark.parametrize("floor", [0.0, 1.1, float("nan")])
def test_bad_floor(floor: float) -> None:
    with pytest.raises(ValueError, match="floor must lie in"):
        AdaptiveSchedule(0.1, floor=floor)


def test_equal_real_scores_under_wrong_predictions_are_no_reason_to_look_away() -> None:
    """As when every execution fails."""
    schedule = AdaptiveSchedule(0.1)
    schedule.observe(["a"] * 100, np.full(100, -0.6), np.full(100, 0.1))
    assert schedule.share == 1.0


def test_a_uniform_state_is_refused() -> None:
    with pytest.raises(ValueError, match="of a uniform schedule"):
        AdaptiveSchedule(0.1).load_state_dict(UniformSchedule(0.1).state_dict())
