import json
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.comparison import assert_same
from wmrl_env import pipeline
from wmrl_env.envs import AutoResearchEnv, AutoResearchVectorEnv
from wmrl_env.tasks import ResearchTask
from wmrl_env.testing import HashBackend
from wmrl_env.wrappers.codec import PipelineAction, TextFeatures, VectorPipelineAction, VectorTextFeatures
from wmrl_env.wrappers.shell import layers

HASH = "wmrl_env.testing:HashBackend"
ID = "wmrl/AutoResearchPipeline-v0"


def play(env: VectorEnv, seed: int, steps: int) -> list[Any]:
    env.action_space.seed(seed)
    history: list[Any] = [env.reset(seed=seed)]
    for _ in range(steps):
        history.append(env.step(env.action_space.sample()))
        over = history[-1][2] | history[-1][3]
        if env.metadata["autoreset_mode"] is AutoresetMode.DISABLED and over.any():
            history.append(env.reset(options={"reset_mask": over}))
    return history


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("ungraded", [0.0, 0.3])
@given(seed=st.integers(0, 2**31), num_envs=st.integers(1, 4))
@settings(max_examples=10, deadline=None)
def test_batched_equals_scalar_step_by_step(mode: AutoresetMode, ungraded: float, seed: int, num_envs: int) -> None:
    def settings_() -> dict[str, Any]:
        return {"task": "all", "max_turns": 3, "backend": HashBackend(ungraded)}

    native = gym.make_vec(ID, num_envs=num_envs, autoreset_mode=mode.value, **settings_())
    scalar = SyncVectorEnv([lambda: gym.make(ID, **settings_())] * num_envs, autoreset_mode=mode)
    outside = VectorTextFeatures(
        VectorPipelineAction(SyncVectorEnv([lambda: AutoResearchEnv(**settings_())] * num_envs, autoreset_mode=mode))
    )
    histories = [play(env, seed, 8) for env in (native, scalar, outside)]
    for history in histories:  # the reward of an unknown outcome is a mean over the batch
        for step in history:
            if len(step) == 5:
                step[1][step[3]] = 0.0
    assert_same(histories[1], histories[0])
    assert_same(histories[2], histories[0])


def test_actions_become_the_rendered_solution_of_the_episodes_task(fake_task: ResearchTask) -> None:
    env = PipelineAction(AutoResearchEnv(task=["churn", fake_task], backend=HASH))
    for task_id in ("churn", fake_task.id):
        env.reset(seed=0, options={"task": task_id})
        action = env.action_space.sample()
        info = env.step(action)[-1]
        assert info["code"].strip() == pipeline.render(action, env.unwrapped.task).strip()


@pytest.mark.parametrize(
    "bad", [[0.5] * len(pipeline.NVEC), [0] * (len(pipeline.NVEC) - 1), [99] * len(pipeline.NVEC), "x = 1"]
)
def test_what_is_no_action_is_refused(bad: object) -> None:
    env = PipelineAction(AutoResearchEnv(task="all", backend=HASH))
    env.reset(seed=0)
    with pytest.raises(ValueError):
        env.step(bad)


def test_vectors_are_inside_their_space_and_named() -> None:
    env = gym.make(ID, task="all", backend=HASH)
    env.action_space.seed(0)
    vector, _ = env.reset(seed=0)
    names = env.get_wrapper_attr("feature_names")
    assert vector in env.observation_space
    assert len(names) == len(set(names)) == vector.size < 130
    for _ in range(4):
        vector, *_ = env.step(env.action_space.sample())
        assert vector in env.observation_space
    assert np.isfinite(env.observation_space.low).all() and np.isfinite(env.observation_space.high).all()


def test_last_and_best_decisions_are_remembered_until_the_reset() -> None:
    env = gym.make(ID, task="all", backend=HASH, max_turns=20)
    env.action_space.seed(1)
    names = env.get_wrapper_attr("feature_names")

    def part(vector: np.ndarray, prefix: str) -> np.ndarray:
        return vector[[i for i, name in enumerate(names) if name.startswith(prefix)]]

    def one_hot(action: np.ndarray) -> np.ndarray:
        return np.concatenate([np.eye(n)[choice] for n, choice in zip(pipeline.NVEC, action, strict=True)])

    vector, _ = env.reset(seed=0)
    assert not part(vector, "best_action").any() and not part(vector, "last_action").any()
    best_score, best_action = -1.0, None
    for turn in range(1, 20):
        action = env.action_space.sample()
        vector, _, _, _, info = env.step(action)
        if info["score"] > best_score:
            best_score, best_action = info["score"], action
        assert part(vector, "last_score") == np.float32(info["score"])
        assert part(vector, "best_score") == np.float32(best_score)
        assert part(vector, "turn") == pytest.approx([turn / 20, 1 - turn / 20])
        assert part(vector, "last_action") == pytest.approx((action + 1) / np.array(pipeline.NVEC))
        np.testing.assert_array_equal(part(vector, "best_action"), one_hot(best_action))
        assert part(vector, f"status={info['status']}") == 1.0 and part(vector, "status").sum() == 1.0
    vector, _ = env.reset()
    assert not part(vector, "best_action").any() and not part(vector, "last").any()


def test_text_actions_leave_decisions_out() -> None:
    native = TextFeatures(AutoResearchEnv(task="all", backend=HASH))
    assert not any("action" in name for name in native.feature_names)
    vector, _ = native.reset(seed=0)
    assert vector in native.observation_space
    batched = VectorTextFeatures(AutoResearchVectorEnv(2, task="all", backend=HASH))
    assert batched.feature_names == native.feature_names
    batched.reset(seed=0)
    observations, *_ = batched.step(["x = 1", "FINAL"])
    assert observations in batched.observation_space


@pytest.mark.parametrize(
    ("wrapper", "env"), [(TextFeatures, gym.make), (VectorTextFeatures, gym.make_vec)], ids=["scalar", "vector"]
)
def test_other_observations_are_refused(wrapper: Callable[[Any], Any], env: Callable[[str], Any]) -> None:
    with pytest.raises(TypeError, match="native Dict observation"):
        wrapper(env("CartPole-v1"))


@pytest.mark.parametrize("vector", [False, True])
def test_state_continues(vector: bool) -> None:
    def make() -> Any:
        if vector:
            return gym.make_vec(ID, num_envs=2, task="churn", backend=HASH, max_turns=9)
        return gym.make(ID, task="churn", backend=HASH, max_turns=9)

    env, other = make(), make()
    for one in (env, other):
        one.reset(seed=0)
    env.action_space.seed(0)
    env.step(env.action_space.sample())
    of_text = [layer for one in (env, other) for layer in layers(one) if hasattr(layer, "_featurizer")]
    state = json.loads(json.dumps(of_text[0].state_dict()))
    of_text[1].load_state_dict(state)
    assert of_text[1].state_dict() == state and max(np.ravel(state["last_action"])) > 0
    with pytest.raises(ValueError, match="reshape"):
        of_text[1].load_state_dict({**state, "last_score": [0.0] * 3})


def test_decisions_are_rendered_once() -> None:
    for make, wrapper in ((gym.make, PipelineAction), (partial(gym.make_vec, num_envs=2), VectorPipelineAction)):
        with pytest.raises(TypeError, match="takes text"):
            wrapper(make(ID, task="churn", backend=HASH))
