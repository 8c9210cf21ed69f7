from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Sequence
from concurrent.futures import wait

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

import wmrl_env  # noqa: F401  (registers the ids)
from tests.wmrl_env.wrappers.planted import SANDBOX, Distorted, Truth, reply, scalar_env, true_score, vector_env
from wmrl_env.correction import AnchorStream
from wmrl_env.wrappers import AnchorSampling, vector
from world_models.gates import exact_outcome
from world_models.outcomes import Outcome, Submission

pytestmark = pytest.mark.usefixtures("fake_task")


def real(number: int) -> float:
    return true_score(Submission("fake", "", reply(number)))


def episodes(env: gym.Env, count: int, **options: int) -> list[dict]:  # type: ignore[type-arg]
    infos = []
    for number in range(count):
        env.reset(options=options or None)
        infos.append(env.step(reply(number))[4])
    return infos


def test_anchored_steps_score_what_they_really_are_and_make_pairs() -> None:
    env = AnchorSampling(scalar_env(), Truth(), fraction=1.0)
    env.reset(seed=0)
    _, reward, _, _, info = env.step(reply(1))
    assert reward == info["score"] == info["anchor_score"] == info["anchor_reward"] == real(1)
    assert info["anchor_outcome"].source == "sandbox"
    prediction = Distorted().execute([Submission("fake", "", reply(1))])[0]
    assert info["raw_score"] == info["raw_reward"] == prediction.score
    (pair,), _ = env.stream.read(0)
    assert (pair.predicted, pair.real, pair.member_scores) == (prediction.score, real(1), prediction.member_scores)
    assert (pair.task_id, pair.action_class) == ("fake", "Ridge")
    _, reward, *_, info = env.step(reply(2))
    assert reward == max(0.0, real(2) - real(1))  # improvement on the real best
    assert info["raw_reward"] == max(0.0, info["raw_score"] - prediction.score)


def test_other_steps_stay_as_they_are() -> None:
    sandbox = Truth()
    env = AnchorSampling(scalar_env(), sandbox, fraction=0.0)
    for info in episodes(env, 5):
        assert info["score"] == info["raw_score"]
        assert np.isnan([info["anchor_score"], info["anchor_reward"]]).all()
        assert info["anchor_outcome"] is None
    assert not sandbox.calls
    assert len(env.stream) == 0


def test_groups_are_anchored_as_a_whole() -> None:
    env = AnchorSampling(scalar_env(), Truth(), fraction=0.3, group_size=4, seed=1)
    anchored = [not np.isnan(info["anchor_score"]) for info in episodes(env, 80)]
    groups = np.array(anchored).reshape(20, 4)
    assert (groups.all(axis=1) | ~groups.any(axis=1)).all()
    assert groups.all(axis=1).sum() == 6
    assert env.realised_fraction == pytest.approx(0.3)
    assert env.anchor_summary() | {"steps": 80, "anchored_steps": 24, "groups": 20} == env.anchor_summary()


def test_a_given_group_goes_over_counting() -> None:
    env = AnchorSampling(scalar_env(), Truth(), fraction=0.5, group_size=1, seed=0)
    first = [not np.isnan(episodes(env, 3, group=group)[0]["anchor_score"]) for group in range(10)]
    again = [not np.isnan(episodes(env, 1, group=group)[0]["anchor_score"]) for group in range(10)]
    assert first == again
    assert sum(first) == 5
    assert env.anchor_summary()["groups"] == 10


def test_a_vector_env_takes_groups_row_by_row_and_asks_the_sandbox_once() -> None:
    sandbox = Truth()
    env = vector.AnchorSampling(vector_env(4), sandbox, fraction=1.0, group_size=4)
    env.reset(options={"group": [7, 7, None, None]})
    env.step(tuple(map(reply, range(4))))
    assert sandbox.calls == [4]
    pairs, _ = env.stream.read(0)
    assert [pair.group for pair in pairs] == ["fake#7", "fake#7", "fake@0.0", "fake@0.0"]


def test_ungraded_anchors_keep_the_prediction_and_are_counted() -> None:
    env = AnchorSampling(scalar_env(), Truth(), fraction=1.0)
    env.reset(seed=0)
    *_, info = env.step(reply(1) + " lost")
    assert info["score"] == info["raw_score"]
    assert np.isnan(info["anchor_score"])
    assert env.ungraded_anchors == 1
    assert len(env.stream) == 0


def test_an_anchor_grades_what_the_model_could_not() -> None:
    env = AnchorSampling(scalar_env(), Truth(), fraction=1.0)
    env.reset(seed=0)
    _, reward, _, truncated, info = env.step(reply(1) + " vague")
    assert truncated
    assert info["graded"]
    assert reward == info["score"] == info["anchor_score"]
    assert np.isnan(info["raw_score"])
    assert len(env.stream) == 0  # nothing was predicted


def test_exact_checks_make_no_pair() -> None:
    env = AnchorSampling(scalar_env(), Truth(), fraction=1.0)
    env.reset(seed=0)
    *_, info = env.step("")
    assert info["status"] == "MALFORMED"
    assert len(env.stream) == 0


def test_reuse_serves_what_is_known_at_no_cost_and_pairs_it_once() -> None:
    sandbox = Truth()
    env = AnchorSampling(scalar_env(), sandbox, fraction=0.0, reuse=True)
    assert np.isnan(episodes(env, 1)[0]["anchor_score"])
    sandbox.known.add(reply(0))
    for _ in range(3):
        (info,) = episodes(env, 1)
        assert info["score"] == info["anchor_score"] == real(0)
    assert not sandbox.calls
    assert env.anchor_summary()["reused"] == 3
    assert len(env.stream) == 1


def test_reuse_needs_a_sandbox_that_looks_up() -> None:
    env = AnchorSampling(scalar_env(), Distorted(), fraction=0.0, reuse=True)
    env.reset()
    with pytest.raises(TypeError, match="lookup"):
        env.step(reply(0))


def test_a_sandbox_must_answer_each_submission() -> None:
    class Short(Truth):
        def execute(self, submissions):  # type: ignore[no-untyped-def]
            return super().execute(submissions)[1:]

    env = AnchorSampling(scalar_env(), Short(), fraction=1.0)
    env.reset()
    with pytest.raises(RuntimeError, match="0 outcomes for 1"):
        env.step(reply(0))


def test_evaluation_publishes_nothing() -> None:
    env = AnchorSampling(scalar_env(), Truth(), fraction=1.0, update=False)
    assert episodes(env, 1)[0]["score"] == real(0)
    assert len(env.stream) == 0
    env.update = True
    episodes(env, 1)
    assert len(env.stream) == 1


def test_named_streams_are_shared() -> None:
    one, other = (
        AnchorSampling(scalar_env(), Truth(), 1.0, stream="memory://test-sharing", seed=seed) for seed in (0, 1)
    )
    episodes(one, 2)
    episodes(other, 3)
    assert one.stream is other.stream is AnchorStream.open("memory://test-sharing")
    assert len(one.stream) == 5


def test_a_sandbox_made_here_is_made_late_and_closed() -> None:
    env = AnchorSampling(scalar_env(), SANDBOX, fraction=1.0)
    episodes(env, 1)
    sandbox = env.sandbox
    env.close()
    assert sandbox.closed
    mine = Truth()
    env = AnchorSampling(scalar_env(), mine, fraction=1.0)
    env.close()
    assert not mine.closed


def test_state_continues() -> None:
    def make() -> AnchorSampling:
        return AnchorSampling(scalar_env(), Truth(), fraction=0.4, group_size=2, seed=5)

    env, copy = make(), make()
    episodes(env, 9)
    copy.load_state_dict(json.loads(json.dumps(env.state_dict())))
    scores = [[info["anchor_score"] for info in episodes(one, 15)] for one in (env, copy)]
    assert scores[0] == pytest.approx(scores[1], nan_ok=True)
    assert copy.state_dict() == env.state_dict()


def test_survives_a_spec_in_json() -> None:
    backend = "tests.wmrl_env.wrappers.planted:Distorted"
    env = AnchorSampling(gym.make("wmrl/AutoResearch-v0", task="fake", backend=backend), SANDBOX, fraction=1.0)
    assert env.spec is not None
    copy = gym.make(EnvSpec.from_json(env.spec.to_json()))
    assert copy.get_wrapper_attr("schedule").fraction == 1.0
    copy.reset(seed=0)
    assert copy.step(reply(1))[4]["anchor_score"] == real(1)


def test_a_spec_says_that_it_held_an_object() -> None:
    backend = "tests.wmrl_env.wrappers.planted:Distorted"
    env = AnchorSampling(gym.make("wmrl/AutoResearch-v0", task="fake", backend=backend), Truth())
    assert env.spec is not None
    with pytest.raises(ValueError, match="cannot hold an object"):
        gym.make(EnvSpec.from_json(env.spec.to_json()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fraction": 1.5}, "fraction"),
        ({"group_size": 0}, "group_size"),
        ({"schedule": "often"}, "schedule must be one of"),
        ({"max_executions": -1}, "max_executions must be at least 0"),
        ({"max_seconds": float("nan")}, "max_seconds must be at least 0"),
        ({"concurrency": 0}, "concurrency"),
        ({"mode": "later"}, "mode must be 'sync' or 'async'"),
        ({"stream": "pairs.db"}, "sqlite:///PATH"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AnchorSampling(scalar_env(), Truth(), **arguments)


class Slow(Truth):
    """Two workers that answer only once they may."""

    workers = 2

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = threading.Event()

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        if not self.may_answer.wait(60):
            raise TimeoutError("the test never let the sandbox answer")
        return super().execute(submissions)


def settle(env: AnchorSampling) -> None:
    wait(list(env.core._pending))


def test_in_the_background_steps_never_wait_and_pairs_come_late() -> None:
    sandbox = Slow()
    env = AnchorSampling(scalar_env(), sandbox, fraction=1.0, mode="async")
    infos = episodes(env, 6)
    assert all(info["score"] == info["raw_score"] and np.isnan(info["anchor_score"]) for info in infos)
    assert len(env.stream) == 0
    sandbox.may_answer.set()
    settle(env)
    episodes(env, 1)
    pairs, _ = env.stream.read(0)
    assert {pair.real for pair in pairs} == {real(number) for number in range(4)}  # two for each worker, no more
    assert env.anchor_summary()["skipped"] == 2
    assert env.anchor_summary()["executions"] == 4
    assert env.anchor_summary()["anchored_steps"] == 7
    env.close()


def test_in_the_background_a_solution_runs_once_and_is_then_known() -> None:
    sandbox = Slow()
    env = AnchorSampling(scalar_env(), sandbox, fraction=1.0, mode="async", reuse=True)
    for _ in range(3):
        env.reset()
        env.step(reply(1))
    sandbox.may_answer.set()
    settle(env)
    env.reset()
    info = env.step(reply(1))[4]
    assert info["score"] == info["anchor_score"] == real(1)
    assert len(env.stream) == env.anchor_summary()["executions"] == 1
    assert env.anchor_summary()["reused"] == 1
    env.close()


def test_in_the_background_an_unknown_outcome_makes_no_pair() -> None:
    env = AnchorSampling(scalar_env(), Truth(), fraction=1.0, mode="async")
    env.reset()
    env.step(reply(1) + "  # lost")
    settle(env)
    episodes(env, 1)
    assert len(env.stream) == 0 and env.ungraded_anchors == 1
    env.close()


def test_closing_gives_up_what_waits() -> None:
    sandbox = Slow()
    env = AnchorSampling(scalar_env(), sandbox, fraction=1.0, mode="async")
    episodes(env, 4)
    sandbox.may_answer.set()
    env.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("wmrl-anchors")]


def test_a_fault_in_the_background_costs_an_anchor_and_not_the_step_that_meets_it() -> None:
    class Broken(Truth):
        def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
            raise RuntimeError("no disk")

    env = AnchorSampling(scalar_env(), Broken(), fraction=1.0, mode="async")
    episodes(env, 1)
    wait(list(env.core._pending))
    with pytest.warns(UserWarning, match="no disk"):
        episodes(env, 1)
    assert env.ungraded_anchors == 1 and not len(env.stream)
    wait(list(env.core._pending))
    with pytest.warns(UserWarning, match="no disk"):
        env.close()


def test_a_request_for_information_is_never_executed() -> None:
    sandbox = Truth()
    env = vector.AnchorSampling(vector_env(2), sandbox, fraction=1.0, reuse=True)
    env.reset(seed=0)
    *_, infos = env.step(["INFO", reply(1)])
    assert sandbox.calls == [1]
    assert infos["anchor_score"].tolist() == [0.0, real(1)] and infos["anchor_outcome"][0] is None
    assert env.anchor_summary()["executions"] == env.anchor_summary()["anchored_steps"] == 1
    assert env.anchor_summary()["reused"] == 0


def test_exact_checks_are_no_executions() -> None:
    class Strict(Truth):
        def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
            outcomes = super().execute(submissions)
            return [exact_outcome(one, "sandbox") or known for one, known in zip(submissions, outcomes, strict=True)]

    env = vector.AnchorSampling(vector_env(2), Strict(), fraction=1.0)
    env.reset(seed=0)
    env.step(["", reply(1)])
    assert env.anchor_summary()["executions"] == 1


def test_closing_keeps_what_has_ended_and_copies_leave_the_background_behind() -> None:
    env = AnchorSampling(scalar_env(), Truth(), fraction=1.0, mode="async")
    episodes(env, 1)
    wait(list(env.core._pending))
    copy = pickle.loads(pickle.dumps(env))
    assert len(copy.stream) == len(env.stream) == 1
    episodes(env, 2)
    wait(list(env.core._pending))
    env.close()
    assert len(env.stream) == 2
    episodes(copy, 1)
    copy.close()


@pytest.mark.parametrize("limit", [{"max_executions": 20}, {"max_seconds": 20.0}])
def test_a_budget_ends_anchors(limit: dict[str, float]) -> None:
    """An execution takes one second here."""
    env = vector.AnchorSampling(vector_env(4, reward="score"), Truth(), 1.0, group_size=4, **limit)
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(60):
        env.step(tuple(map(reply, rng.integers(5000, size=4))))
    assert env.spent
    assert 20 <= env.counts["executions"] < 20 + 12  # groups begun are finished, of 3 turns each
    assert env.seconds == env.counts["executions"] == env.anchor_summary()["seconds"]
    again = vector.AnchorSampling(vector_env(4, reward="score"), Truth(), 1.0, group_size=4, **limit)
    again.load_state_dict(json.loads(json.dumps(env.state_dict())))
    assert again.spent
