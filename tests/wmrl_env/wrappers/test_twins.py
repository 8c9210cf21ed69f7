"""Every wrapper's scalar and vector forms held to each other, over envs and autoreset modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tests.wmrl_env.wrappers.planted import MODES, Truth, reply, scalar_env, sync_env, vector_env
from wmrl_env import wrappers
from wmrl_env.wrappers import vector
from world_models.store import TransitionStore

pytestmark = [
    pytest.mark.usefixtures("fake_task"),
    pytest.mark.filterwarnings("ignore:the world model flatters"),
]

Stack = Callable[[Any, Any], Any]


def anchored(env: Any, kinds: Any, fraction: float = 0.5) -> Any:
    return kinds.AnchorSampling(env, Truth(), fraction=fraction, group_size=2, seed=3)


def debiased(env: Any, kinds: Any) -> Any:
    return kinds.OnlineDebiasing(anchored(env, kinds), min_pairs=12, refit_every=5, stratify="action_class")


def guarded(env: Any, kinds: Any) -> Any:
    """With alarms: the planted model flatters every class."""
    env = kinds.OnlineDebiasing(anchored(env, kinds, 0.3), min_pairs=12, refit_every=5, residuals=True)
    return kinds.ExploitGuard(env, 0.6, explore=0.8, alpha=0.9, tolerance=0.0)


STACKS: dict[str, Stack] = {
    "AnchorSampling": anchored,
    "reuse": lambda env, kinds: kinds.AnchorSampling(env, Truth(), 0.5, 2, reuse=True),
    "OnlineDebiasing": debiased,
    "InverseVarianceDenoising": lambda env, kinds: kinds.InverseVarianceDenoising(debiased(env, kinds), warmup=3),
    "carrier": lambda env, kinds: kinds.InverseVarianceDenoising(anchored(env, kinds), warmup=3, carrier="reward"),
    "CompareRewards": lambda env, kinds: kinds.CompareRewards(debiased(env, kinds)),
    "RecordTransitions": lambda env, kinds: kinds.RecordTransitions(anchored(env, kinds), TransitionStore(":memory:")),
    "ExploitGuard": guarded,
    "corrected": lambda env, kinds: wrappers.corrected(
        env, Truth(), fraction=0.5, group_size=2, min_pairs=12, refit_every=5, warmup=3
    ),
}


def rollout(env: gym.vector.VectorEnv, steps: int = 40, vague: float = 0.1) -> list[tuple[Any, ...]]:
    rng = np.random.default_rng(7)
    env.reset(seed=5)
    seen = []
    for _ in range(steps):
        numbers = rng.integers(30, size=env.num_envs)
        # some turns end the episode early, some are lost to one side or the other, some hold no code
        suffix = [
            ["", "\nFINAL", " # lost", " # vague"][int(rng.choice(4, p=[0.8 - vague, 0.1, 0.1, vague]))]
            for _ in numbers
        ]
        replies = [reply(int(number)) + tail for number, tail in zip(numbers, suffix, strict=True)]
        _, rewards, terminated, truncated, infos = env.step(tuple(replies))
        seen.append((rewards, terminated, truncated, infos))
    env.close()
    return seen


def assert_same(one: Any, other: Any) -> None:
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            if key != "final_obs":
                assert_same(one[key], other[key])
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            assert_same(a, b)
    else:
        assert np.shape(one) == np.shape(other)
        for a, b in zip(np.ravel(one).tolist(), np.ravel(other).tolist(), strict=True):
            assert a == b or (a != a and b != b)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", STACKS)
def test_one_row_of_the_vector_form_is_the_scalar_form(name: str, mode: AutoresetMode) -> None:
    stack = STACKS[name]
    inside = SyncVectorEnv([lambda: stack(scalar_env(), wrappers)], autoreset_mode=mode)
    outside = stack(sync_env(1, mode), vector)
    assert_same(rollout(inside), rollout(outside))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", STACKS)
def test_native_batch_and_sync_batch_agree(name: str, mode: AutoresetMode) -> None:
    """Ungraded steps aside, whose reward the native env averages over all its rows."""
    native, sync = (STACKS[name](env, vector) for env in (vector_env(3, mode), sync_env(3, mode)))
    assert_same(rollout(native, vague=0.0), rollout(sync, vague=0.0))


@pytest.mark.parametrize("mode", MODES)
def test_rows_do_not_disturb_each_other(mode: AutoresetMode) -> None:
    """With all groups anchored, three rows in one wrapper are three scalar wrappers (ungraded steps aside)."""
    numbers = np.random.default_rng(0).integers(30, size=(20, 3))
    inside = SyncVectorEnv([lambda: anchored(scalar_env(), wrappers, 1.0)] * 3, autoreset_mode=mode)
    outside = anchored(vector_env(3, mode), vector, 1.0)
    for env in (inside, outside):
        env.reset(seed=1)
    for row in numbers:
        replies = tuple(reply(int(number)) for number in row)
        assert_same(inside.step(replies)[1:], outside.step(replies)[1:])


@pytest.mark.parametrize("fraction", [0.0, 1.0])
def test_rows_audited_all_or_none_do_not_disturb_each_other(fraction: float) -> None:
    """Between that, three scalar wrappers each have draws, rivals and evidence of their own."""

    def stack(env: Any, kinds: Any) -> Any:
        return kinds.ExploitGuard(anchored(env, kinds, 0.0), fraction, tolerance=0.9)

    mode = AutoresetMode.SAME_STEP
    inside = SyncVectorEnv([lambda: stack(scalar_env(), wrappers)] * 3, autoreset_mode=mode)
    outside = stack(vector_env(3, mode), vector)
    seen = [rollout(env, vague=0.0) for env in (inside, outside)]
    assert_same(*seen)
    assert any(infos["audited"].any() for *_, infos in seen[0]) == bool(fraction)


def test_guarded_twins_were_alarmed() -> None:
    env = guarded(vector_env(3), vector)
    rollout(env)
    assert env.alarms


@pytest.mark.parametrize("mode", MODES)
def test_same_seed_same_everything(mode: AutoresetMode) -> None:
    first, again = (rollout(STACKS["corrected"](vector_env(4, mode), vector)) for _ in range(2))
    assert_same(first, again)


@pytest.mark.parametrize("mode", MODES)
def test_taking_a_wrapper_off_changes_nothing_below(mode: AutoresetMode) -> None:
    whole = rollout(STACKS["corrected"](vector_env(3, mode), vector))
    bare = rollout(vector_env(3, mode))
    for (_, *ends, infos), (rewards, *bare_ends, bare_infos) in zip(whole, bare, strict=True):
        assert_same(ends, bare_ends)
        for part, bare_part in ((infos, bare_infos), (infos.get("final_info"), bare_infos.get("final_info"))):
            for key in ("raw_score", "member_scores", "task_id", "status", "source") if bare_part else ():
                if key in bare_part:
                    assert_same(part[key], bare_part[key])
        raw = infos.get("raw_reward", np.zeros(3)).copy()
        if infos.get("final_info"):
            ended = infos["_final_info"]
            raw[ended] = infos["final_info"]["raw_reward"][ended]
        assert raw == pytest.approx(rewards)


def test_disabled_autoreset_with_a_reset_mask() -> None:
    env = anchored(vector_env(2, AutoresetMode.DISABLED), vector, 1.0)
    env.reset(seed=0)
    env.step((reply(1) + "\nFINAL", reply(2)))
    env.reset(options={"reset_mask": np.array([True, False])})
    _, rewards, *_, infos = env.step((reply(3), reply(2)))
    assert rewards[0] == infos["score"][0] == infos["anchor_score"][0]
    assert rewards[1] == 0.0  # its best is from the turn before
    assert env.anchor_summary()["groups"] == 2
