import string

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ClosedEnvironmentError
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.comparison import assert_same
from wmrl_env import tasks
from wmrl_env.envs import AutoResearchEnv
from wmrl_env.envs.spaces import STATUS_CODES
from wmrl_env.tasks import ResearchTask
from wmrl_env.testing import HashBackend
from world_models.outcomes import Status

HASH = "wmrl_env.testing:HashBackend"
IDS = ("wmrl/AutoResearch-v0", "wmrl/AutoResearchSandbox-v0", "wmrl/AutoResearchPipeline-v0")

STEP_KEYS = {
    "code": str,
    "status": str,
    "score": float,
    "raw_score": float,
    "source": str,
    "graded": bool,
    "seconds": float,
    "metric_value": float,
    "feedback": str,
    "score_variance": float,
    "member_scores": np.ndarray,
    "anchor_score": float,
    "task_id": str,
    "group": int,
}


@pytest.mark.parametrize("id", IDS)
@pytest.mark.parametrize("render_mode", [None, "ansi", "rgb_array"])
def test_gymnasium_finds_no_fault(id: str, render_mode: str | None) -> None:
    env = gym.make(id, task="all", backend=HASH, render_mode=render_mode)
    check_env(env.unwrapped)  # warnings are errors in the whole suite
    env.close()


@pytest.mark.parametrize("id", IDS)
def test_gymnasium_finds_no_fault_with_the_shipped_backends(id: str) -> None:
    env = gym.make(id)
    check_env(env.unwrapped)
    env.close()


def test_info_of_a_step_has_the_contracts_keys_and_types(hash_backend: HashBackend) -> None:
    env = AutoResearchEnv(task="all", backend=hash_backend)
    _, info = env.reset(seed=0)
    assert {key: type(value) for key, value in info.items()} == {"task_id": str, "group": int}
    for code in ("x = 1", "x = 2", "def broken(:", ""):
        info = env.step(code)[-1]
        assert info.keys() == STEP_KEYS.keys()
        for key, kind in STEP_KEYS.items():
            assert isinstance(info[key], kind), key
        assert info["code"] == code
        assert info["score"] == info["raw_score"]
        assert np.isnan(info["anchor_score"])
        assert np.isnan(info["metric_value"]) == (info["status"] != "VALID")
        assert info["member_scores"].shape == (4,) and info["member_scores"].dtype == np.float64
        assert type(info["status"]) is str


def test_backends_without_members_give_none(fake_task: ResearchTask) -> None:
    env = AutoResearchEnv(task=fake_task, backend=HashBackend(num_members=0))
    env.reset(seed=0)
    assert env.step("x = 1")[-1]["member_scores"].shape == (0,)


@given(seed=st.integers(0, 2**32), replies=st.lists(st.sampled_from(["x = 1", "x = 2", "", "é", "FINAL"]), max_size=8))
@settings(max_examples=25, deadline=None)
def test_same_seed_same_everything(seed: int, replies: list[str]) -> None:
    def play(env: AutoResearchEnv) -> list[object]:
        history: list[object] = [env.reset(seed=seed)]
        for reply in replies:
            history.append(env.step(reply))
            if history[-1][2] or history[-1][3]:
                history.append(env.reset())
        return history

    env = AutoResearchEnv(task="all", backend=HashBackend())
    first = play(env)
    assert_same(play(env), first)
    assert_same(play(AutoResearchEnv(task="all", backend=HashBackend())), first)


@given(st.text(st.characters(), max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_reply_is_executed_and_observed(reply: str) -> None:
    env = AutoResearchEnv(task="all", backend=HashBackend())
    env.reset(seed=0)
    observation, reward, *_ = env.step(reply)
    assert reply in env.action_space
    assert observation in env.observation_space
    assert 0.0 <= reward <= 1.0


def test_a_reply_is_never_cut(hash_backend: HashBackend) -> None:
    env = AutoResearchEnv(task="all", backend=hash_backend)
    env.reset(seed=0)
    code = "é = 1\n" * 100_000
    assert env.step(f"```python\n{code}```")[-1]["code"].strip() == code.strip()


def test_feedback_of_any_kind_stays_inside_its_space(fake_task: ResearchTask) -> None:
    class Loud(HashBackend):
        def execute(self, submissions):
            return [
                type(outcome)(outcome.status, outcome.score, "naïve 🙂\0" * 50_000, None, 0.0, "sandbox")
                for outcome in super().execute(submissions)
            ]

    env = AutoResearchEnv(task=fake_task, backend=Loud())
    env.reset(seed=0)
    observation, *_ = env.step("x = 1")
    assert observation in env.observation_space
    assert "na\\xefve" in observation["feedback"] and "characters cut" in observation["feedback"]
    assert set(observation["feedback"]) <= set(string.printable)


def test_observation_follows_the_episode(hash_backend: HashBackend) -> None:
    env = AutoResearchEnv(task="all", backend=hash_backend, max_turns=3)
    observation, info = env.reset(seed=1)
    assert observation["task"] == tasks.get(info["task_id"]).text
    assert (observation["turn"], observation["turns_left"], observation["last_status"]) == (0, 3, 0)
    assert observation["feedback"] == "" and observation["best_score"] == 0.0
    best = 0.0
    for turn in range(1, 4):
        observation, reward, terminated, truncated, info = env.step(f"x = {turn}")
        assert reward == max(0.0, info["score"] - best)
        best = max(best, info["score"])
        assert observation["best_score"] == np.float32(best) == np.float32(env.best_score)
        assert (observation["turn"], observation["turns_left"]) == (turn, 3 - turn) == (env.turn, 3 - env.turn)
        assert observation["last_status"] == STATUS_CODES[Status(info["status"])]
        assert observation["feedback"].startswith(f"Status: {info['status']}")
        assert (terminated, truncated) == (turn == 3, False)
    assert len(env.outcomes) == 3 == env.max_turns


def test_reset_options_choose_task_and_group(fake_task: ResearchTask, hash_backend: HashBackend) -> None:
    env = AutoResearchEnv(task="all", backend=hash_backend)
    groups = [env.reset(seed=0)[1]["group"], env.reset()[1]["group"], env.reset(options={"group": 41})[1]["group"]]
    assert groups == [0, 1, 41]
    for wanted in (fake_task.id, fake_task):
        _, info = env.reset(options={"task": wanted})
        assert info["task_id"] == fake_task.id == env.task.id
    assert env.group == env.step("x = 1")[-1]["group"] == 4


def test_every_task_is_drawn_and_the_choice_may_change(hash_backend: HashBackend) -> None:
    env = AutoResearchEnv(task="all", backend=hash_backend)
    ids = {task.id for task in tasks.list()}
    env.reset(seed=0)
    assert {env.reset()[1]["task_id"] for _ in range(50 * len(ids))} == ids
    env.tasks = "heldout"
    assert {env.reset()[1]["task_id"] for _ in range(100)} == {task.id for task in tasks.list(split="heldout")}


def test_ungraded_steps_are_counted(fake_task: ResearchTask) -> None:
    env = gym.make("wmrl/AutoResearch-v0", task=fake_task, backend=HashBackend(ungraded=1.0))
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step("x = 1")
    assert (reward, terminated, truncated, info["graded"]) == (0.0, False, True, False)
    assert np.isnan(info["score"])
    assert env.get_wrapper_attr("ungraded_count") == 1


def test_pictures(hash_backend: HashBackend) -> None:
    env = AutoResearchEnv(task="all", backend=hash_backend, render_mode="ansi")
    assert env.render() == "no episode yet"
    _, info = env.reset(seed=0)
    assert "turn 0/4" in env.render() and info["task_id"] in env.render()
    status = env.step("x = 1")[-1]["status"]
    assert "turn 1/4" in env.render() and status in env.render()

    env = AutoResearchEnv(task="all", backend=hash_backend, render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    env.step("x = 1")
    after = env.render()
    assert before.shape == after.shape == (120, 240, 3) and after.dtype == np.uint8
    assert (before != after).any()
    assert AutoResearchEnv(backend=hash_backend).render() is None
    with pytest.raises(ValueError, match="human"):
        AutoResearchEnv(backend=hash_backend, render_mode="human")


def test_closing_twice_is_fine_and_stepping_then_is_not(hash_backend: HashBackend) -> None:
    env = AutoResearchEnv(backend=hash_backend, task="all")
    env.reset()
    env.close()
    env.close()
    with pytest.raises(ClosedEnvironmentError):
        env.step("x = 1")


def test_corrections_learn_the_reward_kind(hash_backend: HashBackend) -> None:
    assert AutoResearchEnv(backend=hash_backend).reward_kind == "improvement"
    assert AutoResearchEnv(backend=hash_backend, reward="score").reward_kind == "score"
    assert AutoResearchEnv(backend=hash_backend).backend is hash_backend
