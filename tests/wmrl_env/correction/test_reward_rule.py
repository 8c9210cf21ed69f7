from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_env.correction import RewardRule

ONE = np.array([0])
unit = st.floats(0.0, 1.0)


def test_score_rule_pays_the_score() -> None:
    rule = RewardRule("score", 2)
    assert rule.rewards(np.array([0.7, 0.2]), ["a", "b"], np.array([0, 1])).tolist() == [0.7, 0.2]


@given(st.lists(unit, min_size=1, max_size=8))
def test_return_of_the_improvement_rule_is_the_best_score(scores: list[float]) -> None:
    rule = RewardRule("improvement")
    rewards = [rule.rewards(np.array([score]), ["a"], ONE).item() for score in scores]
    assert all(reward >= 0.0 for reward in rewards)
    assert sum(rewards) == pytest.approx(max(scores))


def test_reset_starts_only_the_rows_named() -> None:
    rule = RewardRule("improvement", 2)
    both = np.array([0, 1])
    rule.rewards(np.array([0.5, 0.5]), ["a", "a"], both)
    rule.reset(np.array([1]))
    assert rule.rewards(np.array([0.6, 0.6]), ["a", "a"], both) == pytest.approx([0.1, 0.6])


def test_unknown_outcome_pays_the_mean_of_its_task_and_leaves_it_alone() -> None:
    rule = RewardRule("score", 3)
    rewards = rule.rewards(np.array([0.2, np.nan, 0.9]), ["a", "a", "b"], np.arange(3))
    assert rewards.tolist() == [0.2, 0.2, 0.9]  # the batch's own graded rows count, whatever their order
    assert rule.rewards(np.array([0.6, np.nan, np.nan]), ["a", "c", "a"], np.arange(3)) == pytest.approx(
        [0.6, 0.0, 0.4]
    )
    assert rule.task_mean("a") == pytest.approx(0.4)


def test_unknown_outcome_does_not_touch_the_best() -> None:
    rule = RewardRule("improvement")
    for score in (0.5, np.nan):
        rule.rewards(np.array([score]), ["a"], ONE)
    assert rule.best.tolist() == [0.5]


def test_state_continues() -> None:
    rule, copy = RewardRule("improvement", 2), RewardRule("improvement", 2)
    rule.rewards(np.array([0.1, 0.3]), ["a", "b"], np.arange(2))
    copy.load_state_dict(json.loads(json.dumps(rule.state_dict())))
    following = np.array([np.nan, 0.7]), ["b", "a"], np.arange(2)
    assert copy.rewards(*following).tolist() == rule.rewards(*following).tolist()


@pytest.mark.parametrize(("kind", "num_envs"), [("best", 1), ("score", 0)])
def test_bad_arguments(kind: str, num_envs: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        RewardRule(kind, num_envs)  # type: ignore[arg-type]
