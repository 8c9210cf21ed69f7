from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit

from tests.wmrl_env.wrappers.planted import SANDBOX, Truth, reply, scalar_env, sync_env, vector_env
from wmrl_env import wrappers
from wmrl_env.wrappers import AnchorSampling, CompareRewards, InverseVarianceDenoising, OnlineDebiasing, vector
from wmrl_env.wrappers.shell import ORDER, layers

pytestmark = pytest.mark.usefixtures("fake_task")


def names(env: object) -> list[str]:
    return [type(layer).__name__ for layer in layers(env)]


@pytest.mark.parametrize("env", ["scalar", "vector"])
def test_corrected_stacks_in_order(env: str) -> None:
    built = wrappers.corrected(scalar_env() if env == "scalar" else vector_env(2), Truth(), seed=4, carrier="reward")
    assert names(built)[:-1] == ["CompareRewards", "InverseVarianceDenoising", "OnlineDebiasing", "AnchorSampling"]
    assert built.get_wrapper_attr("schedule").seed == 4
    assert built.get_wrapper_attr("carrier") == "reward"
    assert built.get_wrapper_attr("reward_kind") == "improvement"


@pytest.mark.parametrize("make", [scalar_env, lambda: vector_env(2)], ids=["scalar", "vector"])
def test_corrected_has_a_guard_where_there_are_audits(make: Callable[[], Any]) -> None:
    built = wrappers.corrected(
        make(), Truth(), audits=0.2, explore=0.4, optimism=1.5, pessimism=2.5, seed=4, update=False
    )
    of_kind = wrappers if isinstance(built, gym.Env) else vector
    assert [layer for layer in layers(built) if isinstance(layer, of_kind.ExploitGuard)]
    assert names(built)[:3] == ["CompareRewards", "ExploitGuard", "InverseVarianceDenoising"]
    guard = built.env
    assert (guard.fraction, guard.explore, guard.optimism, guard.pessimism) == (0.2, 0.4, 1.5, 2.5)
    assert not guard.core.update
    another = wrappers.corrected(make(), Truth(), audits=0.2, seed=5)
    assert guard.state_dict()["rng"] != another.env.state_dict()["rng"]
    assert guard.state_dict()["rng"] == wrappers.corrected(make(), Truth(), audits=0.1, seed=4).env.state_dict()["rng"]


@pytest.mark.parametrize("make", [scalar_env, lambda: vector_env(2)], ids=["scalar", "vector"])
def test_corrected_has_none_without_audits_and_refuses_more_than_all(make: Callable[[], Any]) -> None:
    assert "ExploitGuard" not in names(wrappers.corrected(make(), Truth(), audits=0.0))
    with pytest.raises(ValueError, match="fraction"):
        wrappers.corrected(make(), Truth(), audits=1.1)


def test_a_wrong_order_says_the_right_one() -> None:
    def sampled() -> gym.Env:  # type: ignore[type-arg]
        return AnchorSampling(scalar_env(), Truth())

    wrong = (
        lambda: OnlineDebiasing(InverseVarianceDenoising(sampled())),
        lambda: AnchorSampling(CompareRewards(scalar_env()), Truth()),
        lambda: InverseVarianceDenoising(CompareRewards(OnlineDebiasing(sampled()))),
        lambda: AnchorSampling(TimeLimit(sampled(), 5), Truth()),
        lambda: vector.AnchorSampling(vector.OnlineDebiasing(vector_env(1), stream="memory://x"), Truth()),
    )
    for build in wrong:
        with pytest.raises(ValueError, match=", ".join(ORDER)):
            build()


def test_other_wrappers_may_stand_between() -> None:
    env = OnlineDebiasing(
        TimeLimit(AnchorSampling(TimeLimit(scalar_env(), 9), Truth(), 1.0), 9), min_pairs=2, capacity=2
    )
    env.reset()
    for number in range(3):
        env.step(reply(number))
    assert env.calibrator.fitted


def test_each_kind_of_env_needs_its_kind_of_wrapper() -> None:
    with pytest.raises(TypeError, match=r"wmrl_env\.wrappers\.vector"):
        AnchorSampling(vector_env(1))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="VectorEnv"):
        vector.AnchorSampling(scalar_env())  # type: ignore[arg-type]


def test_a_failed_wrapper_leaves_the_env_open() -> None:
    env = vector_env(1)
    with pytest.raises(ValueError, match="fraction"):
        vector.AnchorSampling(env, Truth(), fraction=2.0)
    env.reset()


def test_an_env_of_another_kind_is_refused() -> None:
    with pytest.raises(AttributeError, match="reward_kind"):
        AnchorSampling(gym.make("CartPole-v1"), Truth())
    unknown = vector_env(1)
    del unknown.metadata["autoreset_mode"]
    with pytest.raises(ValueError, match="autoreset_mode"):
        vector.AnchorSampling(unknown, Truth())


def test_infos_without_what_corrections_need() -> None:
    class Bare(gym.Env):  # type: ignore[type-arg]
        reward_kind = "score"

        def reset(self, **_):  # type: ignore[no-untyped-def]
            return 0, {"task_id": "fake", "group": 0}

        def step(self, action):  # type: ignore[no-untyped-def]
            return 0, 0.0, False, False, {"task_id": "fake"}

    env = AnchorSampling(Bare(), Truth())
    env.reset()
    with pytest.raises(KeyError, match="score"):
        env.step(0)


def test_signatures_are_those_of_the_documentation() -> None:
    for kind in (
        "AnchorSampling",
        "OnlineDebiasing",
        "InverseVarianceDenoising",
        "ExploitGuard",
        "CompareRewards",
        "RecordTransitions",
    ):
        scalar, batched = inspect.signature(getattr(wrappers, kind)), inspect.signature(getattr(vector, kind))
        assert scalar == batched
        assert next(iter(scalar.parameters)) == "env"
    assert list(inspect.signature(AnchorSampling).parameters)[:7] == [
        *("env", "sandbox", "fraction", "group_size", "schedule", "mode", "seed")
    ]
    with pytest.raises(TypeError, match="fracton"):
        AnchorSampling(scalar_env(), fracton=0.1)


def test_attributes_of_lower_wrappers_are_found_from_the_top() -> None:
    env = wrappers.corrected(sync_env(2, gym.vector.AutoresetMode.NEXT_STEP), Truth())
    assert env.get_wrapper_attr("reward_kind") == "improvement"
    assert env.has_wrapper_attr("calibrator")
    assert env.get_wrapper_attr("realised_fraction") == 0.0
    assert env.get_wrapper_attr("update") is True
    assert not env.has_wrapper_attr("nothing")
    with pytest.raises(AttributeError):
        env.get_wrapper_attr("nothing")


def test_codecs_are_exported_under_plain_names() -> None:
    for module in (wrappers, vector):
        assert {"PipelineAction", "TextFeatures"} <= set(module.__all__)
    assert vector.PipelineAction.__name__ == "VectorPipelineAction"


@pytest.mark.parametrize("make", [scalar_env, lambda: vector_env(2)], ids=["scalar", "vector"])
def test_one_switch_freezes_all_wrappers_below(make: Callable[[], Any]) -> None:
    top = wrappers.corrected(make(), Truth())
    of_kind = wrappers if isinstance(top, gym.Env) else vector
    learning = [layer for layer in layers(top) if hasattr(layer.__dict__.get("core"), "update")]
    assert len(learning) == 3
    for switch in (lambda value: setattr(top, "update", value), lambda value: top.set_wrapper_attr("update", value)):
        for value in (False, True):
            switch(value)
            assert [layer.update for layer in learning] == [value] * 3
    assert top.update is True
    alone = of_kind.CompareRewards(make())
    with pytest.raises(AttributeError, match="learn nothing"):
        alone.update = False
    if of_kind is vector:
        with pytest.raises(AttributeError, match="nonesuch"):
            top.set_wrapper_attr("nonesuch", 1)


def test_an_autoreset_below_the_stack_is_a_reset() -> None:
    env = wrappers.corrected(gym.wrappers.Autoreset(scalar_env(max_turns=2)), Truth(), fraction=1.0)
    env.reset(seed=0)
    ends = [env.step(reply(number))[1:3] for number in range(6)]
    assert [bool(ended) for _, ended in ends] == [False, True, False] * 2
    assert ends[2][0] == ends[5][0] == 0.0
    summary = env.get_wrapper_attr("anchor_summary")()
    assert summary["groups"] == 1 and summary["steps"] == 4


def test_state_of_other_environments_is_refused() -> None:
    states = [wrappers.corrected(vector_env(number), Truth()) for number in (2, 3)]
    for layer, other in zip(layers(states[0]), layers(states[1]), strict=True):
        if "core" in layer.__dict__:
            with pytest.raises(ValueError, match="is of 3 environments, and here are 2"):
                layer.load_state_dict(other.state_dict())


def test_seeds_of_numpy_survive_a_spec() -> None:
    env = gym.make("wmrl/AutoResearch-v0", backend="wmrl_env.testing:HashBackend")
    env = wrappers.AnchorSampling(env, SANDBOX, fraction=np.float64(0.5), seed=np.int64(3))
    spec = gym.envs.registration.EnvSpec.from_json(env.spec.to_json())
    assert gym.make(spec).get_wrapper_attr("schedule").seed == 3
