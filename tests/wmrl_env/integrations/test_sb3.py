import builtins
import importlib
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.vector import VectorEnv, VectorWrapper
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecMonitor

from wmrl_env import wrappers
from wmrl_env.integrations.sb3 import VectorEnvAdapter, make_vec_env
from wmrl_env.testing import HashBackend
from wmrl_env.wrappers.codec import VectorPipelineAction, VectorTextFeatures

HASH = "wmrl_env.testing:HashBackend"
ID = "wmrl/AutoResearchPipeline-v0"


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """The networks are tiny: threads would only fight over busy cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Doubled(VectorWrapper):
    factor = 2.0

    def step(self, actions: Any) -> Any:
        observations, rewards, *rest = self.env.step(actions)
        return observations, rewards * self.factor, *rest


class PaysForTrees(HashBackend):
    """Solutions score by their model family alone, so that there is something simple to learn."""

    def _outcome(self, submission):
        outcome = super()._outcome(submission)
        score = 0.9 if "ExtraTrees" in submission.code else 0.1
        return type(outcome)(outcome.status, score, outcome.feedback, None, 0.1, "world_model")


def test_ppo_learns_what_pays() -> None:
    env = make_vec_env(ID, n_envs=16, task="churn", backend=PaysForTrees(num_members=0), max_turns=1, seed=0)
    model = PPO("MlpPolicy", env, n_steps=16, n_epochs=5, batch_size=64, learning_rate=5e-3, seed=0, device="cpu")

    def mean_score() -> float:
        observations = env.reset()
        actions = [model.predict(observations)[0] for _ in range(20)]
        return float(np.mean([env.step(action)[1] for action in actions]))

    before = mean_score()
    model.learn(1024)
    assert mean_score() > before + 0.2


def test_episodes_end_as_sb3_expects() -> None:
    env = make_vec_env(ID, n_envs=3, task="all", backend=HASH, max_turns=2, seed=5)
    native = gym.make_vec(ID, num_envs=3, task="all", backend=HASH, max_turns=2, autoreset_mode="SameStep")
    native.action_space.seed(0)
    expected, reset_infos = native.reset(seed=5)
    np.testing.assert_array_equal(env.reset(), expected)
    assert [info["task_id"] for info in env.unwrapped.reset_infos] == reset_infos["task_id"].tolist()
    for turn in (1, 2):
        actions = native.action_space.sample()
        expected, rewards, *_, infos = native.step(actions)
        observations, paid, dones, rows = env.step(actions)
        np.testing.assert_array_equal(observations, expected)
        np.testing.assert_allclose(paid, rewards, rtol=1e-6)
        assert dones.tolist() == [turn == 2] * 3
        source = infos["final_info"] if turn == 2 else infos
        for i, row in enumerate(rows):
            assert row["code"] == source["code"][i] and row["score"] == source["score"][i]
            assert ("terminal_observation" in row) == (turn == 2)
    for i, row in enumerate(rows):
        np.testing.assert_array_equal(row["terminal_observation"], infos["final_obs"][i])
        assert row["TimeLimit.truncated"] is False
        assert row["episode"]["l"] == 2
    env.close()
    assert env.unwrapped.env.unwrapped.closed


def test_lost_outcomes_are_truncations() -> None:
    env = make_vec_env(ID, n_envs=2, task="all", backend=HashBackend(ungraded=1.0))
    env.reset()
    _, _, dones, rows = env.step(np.zeros((2, env.action_space.shape[0]), np.int64))
    assert dones.all()
    assert all(row["TimeLimit.truncated"] and not row["graded"] for row in rows)
    assert env.get_attr("ungraded_count") == [1, 1]


def test_attributes_methods_and_wrappers_are_reached() -> None:
    env = make_vec_env(
        ID, n_envs=3, wrappers=[Doubled], task="all", backend=HASH, render_mode="rgb_array", reward="score"
    )
    env.set_options({"task": "churn", "group": 9})
    env.reset()
    assert [task.id for task in env.get_attr("task")] == ["churn"] * 3
    assert env.get_attr("group", indices=[0, 2]) == [9, 9]
    assert env.get_attr("factor") == [2.0] * 3
    assert env.has_attr("feature_names") and not env.has_attr("nonesuch")
    env.set_attr("tasks", "ames", indices=1)
    env.reset()
    assert env.get_attr("task", indices=1)[0].id == "ames"
    assert env.env_is_wrapped(Doubled) == [True] * 3 and env.env_is_wrapped(VecMonitor, indices=0) == [False]
    assert env.env_method("render", indices=[1])[0].shape == (120, 240, 3)
    assert env.render().ndim == 3
    *_, rows = env.step(np.zeros((3, env.action_space.shape[0]), np.int64))
    _, paid, *_ = env.step(np.zeros((3, env.action_space.shape[0]), np.int64))
    assert paid == pytest.approx([2 * row["score"] for row in rows])


def test_corrections_are_frozen_and_asked_from_the_outside() -> None:
    def stack(env: VectorEnv) -> VectorEnv:
        return wrappers.corrected(env, HashBackend(), fraction=1.0)

    env = make_vec_env(ID, n_envs=2, wrappers=[stack], task="churn", backend=HASH)
    env.reset()
    env.step(np.zeros((2, env.action_space.shape[0]), np.int64))
    (stream, _) = env.get_attr("stream")
    assert env.get_attr("update") == [True, True]
    env.set_attr("update", False)
    assert env.get_attr("update") == [False, False]
    learnt = len(stream)
    env.step(np.ones((2, env.action_space.shape[0]), np.int64))
    assert len(stream) == learnt
    assert [summary["steps"] for summary in env.env_method("summary")] == [4, 4]


def test_nested_infos_of_wrappers_become_dicts() -> None:
    class Nested(VectorWrapper):
        def step(self, actions: Any) -> Any:
            *rest, infos = self.env.step(actions)
            has = np.array([True, False])
            return *rest, {**infos, "extra": {"value": np.array([1.5, 0.0]), "_value": has}, "_extra": has}

    env = make_vec_env(ID, n_envs=2, wrappers=[Nested], task="all", backend=HASH)
    env.reset()
    *_, rows = env.step(np.zeros((2, env.action_space.shape[0]), np.int64))
    assert rows[0]["extra"] == {"value": 1.5} and "extra" not in rows[1]


def test_text_and_other_autoreset_modes_are_refused() -> None:
    with pytest.raises(TypeError, match="AutoResearchPipeline-v0"):
        make_vec_env("wmrl/AutoResearch-v0", backend=HASH)
    with pytest.raises(ValueError, match="SameStep"):
        VectorEnvAdapter(gym.make_vec(ID, num_envs=2, backend=HASH))
    wrapped = make_vec_env("wmrl/AutoResearch-v0", wrappers=[VectorPipelineAction, VectorTextFeatures], backend=HASH)
    assert wrapped.observation_space.shape is not None


def test_the_extra_is_named_where_the_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    real_import = builtins.__import__

    def without_sb3(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("stable_baselines3"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_sb3)
    monkeypatch.delitem(sys.modules, "wmrl_env.integrations.sb3")
    with pytest.raises(ImportError, match=r"pip install 'wmrl\[sb3\]'"):
        importlib.import_module("wmrl_env.integrations.sb3")
