from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.comparison import assert_same
from wmrl_env.envs import AutoResearchEnv, AutoResearchVectorEnv
from wmrl_env.tasks import ResearchTask
from wmrl_env.testing import HashBackend

HASH = "wmrl_env.testing:HashBackend"
REPLIES = ["x = 1", "x = 2", "", "FINAL", "x = 3\nFINAL", "def broken(:", "```python\nx = 4\n```", "naïve 🙂"]


def settings_of(**kwargs: Any) -> dict[str, Any]:
    return {"task": "all", "max_turns": 3, **kwargs}


def play(env: VectorEnv, seed: int, batches: list[list[str]]) -> list[Any]:
    """Everything that an episode returns; ended episodes are reset by mask where nobody else does it."""
    history: list[Any] = [env.reset(seed=seed)]
    for batch in batches:
        step = env.step(tuple(batch))
        history.append(step)
        over = step[2] | step[3]
        if env.metadata["autoreset_mode"] is AutoresetMode.DISABLED and over.any():
            history.append(env.reset(options={"reset_mask": over}))
    env.close()
    return history


@st.composite
def batches(draw: st.DrawFn) -> list[list[str]]:
    num_envs = draw(st.integers(1, 4))
    batch = st.lists(st.sampled_from(REPLIES), min_size=num_envs, max_size=num_envs)
    return draw(st.lists(batch, min_size=1, max_size=9))


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("reward", ["improvement", "score"])
@given(seed=st.integers(0, 2**31), replies=batches())
@settings(max_examples=15, deadline=None)
def test_batched_equals_scalar_step_by_step(mode: AutoresetMode, reward: str, seed: int, replies: Any) -> None:
    kwargs = settings_of(reward=reward)
    native = AutoResearchVectorEnv(len(replies[0]), backend=HASH, autoreset_mode=mode.value, **kwargs)
    scalar = SyncVectorEnv([lambda: AutoResearchEnv(backend=HASH, **kwargs) for _ in replies[0]], autoreset_mode=mode)
    assert native.observation_space == scalar.observation_space
    assert native.action_space == scalar.action_space
    assert_same(play(native, seed, replies), play(scalar, seed, replies))


@pytest.mark.parametrize("mode", list(AutoresetMode))
@given(seed=st.integers(0, 2**31), replies=batches())
@settings(max_examples=15, deadline=None)
def test_batched_equals_scalar_where_outcomes_stay_unknown(mode: AutoresetMode, seed: int, replies: Any) -> None:
    """All but the reward of such a step, a mean over more episodes in the batch."""

    def known(history: list[Any]) -> list[Any]:
        for step in history:
            if len(step) == 5:
                step[1][step[3]] = 0.0
        return history

    native = AutoResearchVectorEnv(
        len(replies[0]), backend=HashBackend(ungraded=0.3), autoreset_mode=mode.value, **settings_of()
    )
    scalar = SyncVectorEnv(
        [lambda: AutoResearchEnv(backend=HashBackend(ungraded=0.3), **settings_of()) for _ in replies[0]],
        autoreset_mode=mode,
    )
    assert_same(known(play(native, seed, replies)), known(play(scalar, seed, replies)))


def test_gymnasium_makes_it_from_strings() -> None:
    for name in ("NextStep", "SameStep", "Disabled"):
        env = gym.make_vec("wmrl/AutoResearch-v0", num_envs=3, backend=HASH, autoreset_mode=name)
        assert isinstance(env, AutoResearchVectorEnv)
        assert env.metadata["autoreset_mode"] is AutoresetMode(name)
        assert env.spec.to_json()
        env.close()
    assert "autoreset_mode" not in AutoResearchEnv.metadata
    with pytest.raises(ValueError, match="never"):
        AutoResearchVectorEnv(2, backend=HASH, autoreset_mode="never")


def test_one_call_of_the_backend_a_step() -> None:
    backend = HashBackend()
    env = AutoResearchVectorEnv(6, backend=backend, **settings_of(max_turns=2))
    env.reset(seed=0)
    env.step(["FINAL"] * 2 + ["x = 1"] * 4)
    env.step(["x = 1"] * 6)  # two of them reset
    env.step(["x = 1"] * 6)  # the four others reset
    assert backend.calls == [6, 4, 2]


@given(mask=st.lists(st.booleans(), min_size=3, max_size=3).filter(any), seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_masked_reset_leaves_the_others_alone(mask: list[bool], seed: int) -> None:
    env = AutoResearchVectorEnv(3, backend=HashBackend(), **settings_of())
    twin = SyncVectorEnv([lambda: AutoResearchEnv(backend=HashBackend(), **settings_of())] * 3)
    for each in (env, twin):
        each.reset(seed=seed)
        each.step(("x = 1", "FINAL", "x = 2"))
    result = env.reset(seed=7, options={"reset_mask": np.array(mask)})
    assert_same(result, twin.reset(seed=7, options={"reset_mask": np.array(mask)}))
    assert result[0]["turn"].tolist() == [0 if reset else 1 for reset in mask]
    assert_same(env.step(("x = 3",) * 3), twin.step(("x = 3",) * 3))


def test_options_for_each_environment(fake_task: ResearchTask) -> None:
    env = AutoResearchVectorEnv(3, backend=HashBackend(), **settings_of())
    _, infos = env.reset(seed=0, options={"task": [fake_task.id, None, "churn"], "group": np.array([5, 6, 7])})
    assert infos["task_id"][0] == fake_task.id and infos["task_id"][2] == "churn"
    assert infos["group"].tolist() == [5, 6, 7]
    _, infos = env.reset(options={"task": "churn"})
    assert set(infos["task_id"]) == {"churn"}
    assert infos["group"].tolist() == [1, 1, 1]
    for bad, message in (
        ({"group": [1, 2]}, "one value or 3 of them"),
        ({"nonsense": 1}, "nonsense"),
        ({"reset_mask": [True, False, True]}, "reset_mask"),
        ({"reset_mask": np.zeros(3, np.bool_)}, "reset_mask"),
    ):
        with pytest.raises(ValueError, match=message):
            env.reset(options=bad)


def test_seeds_for_each_environment() -> None:
    env = AutoResearchVectorEnv(3, backend=HashBackend(), **settings_of())
    _, infos = env.reset(seed=[3, 4, 5])
    assert_same(infos, env.reset(seed=3)[1])
    assert env.np_random_seed == (3, 4, 5)
    states = [rng.bit_generator.state for rng in env.np_random]
    env.reset(seed=[None, 4, None])
    assert env.np_random[1].bit_generator.state == states[1]
    assert env.np_random[0].bit_generator.state != states[0]
    with pytest.raises(ValueError, match="each of 3"):
        env.reset(seed=[1, 2])


def test_attributes_of_sub_environments(fake_task: ResearchTask) -> None:
    env = AutoResearchVectorEnv(2, backend=HashBackend(ungraded=1.0), render_mode="ansi", **settings_of())
    assert env.get_attr("task") == (None, None)
    env.set_attr("tasks", [fake_task, "churn"])
    _, infos = env.reset(seed=0)
    assert infos["task_id"].tolist() == [fake_task.id, "churn"]
    env.step(["x = 1", "FINAL"])
    assert env.get_attr("ungraded_count") == (1, 0)
    assert env.ungraded_count == env.get_wrapper_attr("ungraded_count") == 1
    assert [frame.split(":")[0] for frame in env.render()] == [fake_task.id, "churn"]
    assert env.call("render") == env.render()
    env.set_attr("note", "mine")
    assert env.get_attr("note") == ("mine", "mine")
    assert (env.reward_kind, env.max_turns, type(env.backend)) == ("improvement", 3, HashBackend)
    with pytest.raises(ValueError, match="each of 2"):
        env.set_attr("note", ["only one"])
    with pytest.raises(AttributeError):
        env.get_attr("nonesuch")
    assert AutoResearchVectorEnv(2, backend=HashBackend()).render() is None


def test_misuse_is_refused() -> None:
    env = AutoResearchVectorEnv(4, backend=HashBackend(), autoreset_mode="Disabled", **settings_of())
    with pytest.raises(ResetNeeded):
        env.step(["x = 1"] * 4)
    env.reset(seed=0)
    for bad in ("abcd", ["x = 1"] * 3):
        with pytest.raises(ValueError, match="sequence of 4 strings"):
            env.step(bad)
    env.step(["FINAL"] * 4)
    with pytest.raises(ResetNeeded, match=r"\[0, 1, 2, 3\] are over"):
        env.step(["x = 1"] * 4)


def test_memory_shared_between_processes_is_refused_with_the_remedy() -> None:
    with pytest.raises(ValueError, match="shared_memory=False") as caught:
        AsyncVectorEnv([lambda: AutoResearchEnv(backend=HASH, **settings_of())])
    assert "make_vec" in str(caught.value.__cause__)


def test_processes_of_their_own_work_without_shared_memory() -> None:
    kwargs = settings_of()
    replies = [["x = 1", "naïve 🙂"], ["FINAL", "x = 2"], ["x = 3", "x = 4"]]
    env = AsyncVectorEnv([lambda: AutoResearchEnv(backend=HASH, **kwargs)] * 2, shared_memory=False, context="fork")
    native = AutoResearchVectorEnv(2, backend=HASH, **kwargs)
    for one, other in zip(play(env, 3, replies), play(native, 3, replies), strict=True):
        assert_same(one, other)


def test_a_large_batch_costs_no_more_than_its_rows() -> None:
    env = AutoResearchVectorEnv(4096, backend=HashBackend(), **settings_of())
    env.reset(seed=0)
    observations, rewards, *_ = env.step(["FINAL"] * 4096)
    assert rewards.shape == (4096,) and observations["best_score"].shape == (4096, 1)
    tables = {id(space.character_set) for space in env.action_space.spaces}
    assert len(tables) == 1
