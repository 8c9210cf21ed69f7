from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_env.correction import UniformSchedule

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
