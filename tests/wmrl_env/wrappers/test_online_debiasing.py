from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from tests.wmrl_env.wrappers.planted import Distorted, Truth, reply, vector_env
from wmrl_env.correction import AnchorPair, AnchorStream
from wmrl_env.wrappers import vector
from world_models.outcomes import Outcome, Submission

pytestmark = pytest.mark.usefixtures("fake_task")


def make(fraction: float = 0.5, **kwargs: object) -> vector.OnlineDebiasing:
    env = vector.AnchorSampling(vector_env(8, reward="score"), Truth(), fraction, group_size=8, seed=2)
    return vector.OnlineDebiasing(env, **{"min_pairs": 100, **kwargs})


def play(env: vector.OnlineDebiasing, steps: int, seed: int = 0) -> list[tuple[np.ndarray, dict]]:  # type: ignore[type-arg]
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    seen = [env.step(tuple(map(reply, rng.integers(5000, size=8)))) for _ in range(steps)]
    return [(rewards, infos) for _, rewards, _, _, infos in seen if "score" in infos]


def test_is_the_identity_until_min_pairs() -> None:
    for _, infos in play(make(min_pairs=10_000, capacity=10_000), 30):
        assert (infos["debiased_score"] == infos["raw_score"]).all()
        assert (infos["debiased_member_scores"] == infos["member_scores"]).all()


def test_takes_the_bias_out_and_leaves_real_scores_alone() -> None:
    env = make()
    raw_errors, errors = [], []
    for _, infos in play(env, 200)[100:]:
        anchored = ~np.isnan(infos["anchor_score"])
        assert (infos["score"][anchored] == infos["anchor_score"][anchored]).all()
        assert (infos["score"][~anchored] == infos["debiased_score"][~anchored]).all()
        raw_errors += (infos["raw_score"] - infos["anchor_score"])[anchored].tolist()
        errors += (infos["debiased_score"] - infos["anchor_score"])[anchored].tolist()
    assert np.mean(raw_errors) > 0.1
    assert abs(np.mean(errors)) < 0.02
    assert np.mean(np.square(errors)) < 0.5 * np.mean(np.square(raw_errors))
    x, y = env.calibrator.knots()
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) >= 0).all()


def test_rewards_follow_the_score_at_each_height() -> None:
    for rewards, infos in play(make(), 60)[30:]:
        assert (rewards == infos["score"]).all()
        assert (rewards == infos["debiased_reward"]).all()
        assert (infos["raw_reward"] == infos["raw_score"]).all()


def test_pairs_are_debiased_before_the_map_learns_from_them() -> None:
    env = make(fraction=1.0, min_pairs=8, refit_every=1)
    play(env, 2)
    debiased, _ = env.debiased.read(0)
    raw, _ = env.get_wrapper_attr("stream").read(0)
    assert [pair.predicted for pair in debiased[:8]] == [pair.predicted for pair in raw[:8]]
    assert [pair.real for pair in debiased] == [pair.real for pair in raw]
    assert debiased[8].predicted != raw[8].predicted


def test_exact_checks_are_not_bent() -> None:
    env = make(fraction=1.0)
    play(env, 20)
    assert env.calibrator.fitted
    env.reset()
    *_, infos = env.step(("",) * 8)
    assert infos["debiased_score"].tolist() == [0.0] * 8


@pytest.mark.parametrize("stratify", ["task", "action_class", "task_action_class"])
def test_strata(stratify: str) -> None:
    env = make(stratify=stratify)
    play(env, 60)
    assert env.calibrator.fitted
    strata = {
        "task": {"fake"},
        "action_class": {"SVC", "Ridge"},
        "task_action_class": {"fake/SVC", "fake/Ridge"},
    }
    assert {pair[2] for pair in env.calibrator.pairs} == strata[stratify]


def test_frozen_map_skips_what_it_sees() -> None:
    env = make()
    play(env, 60)
    before = env.state_dict()["calibrator"]
    env.update = False
    play(env, 60, seed=1)
    assert env.state_dict()["calibrator"] == before
    env.update = True
    play(env, 60, seed=2)
    assert env.state_dict()["calibrator"] != before


def test_state_continues_bit_equal() -> None:
    env, copy = make(), make()
    play(env, 40)
    for mine, other in zip((copy, copy.env), (env, env.env), strict=True):
        mine.load_state_dict(json.loads(json.dumps(other.state_dict())))
    for (rewards, infos), (again, infos_again) in zip(play(env, 40, 1), play(copy, 40, 1), strict=True):
        assert (rewards == again).all()
        assert (infos["debiased_score"] == infos_again["debiased_score"]).all()
    assert env.calibrator.state_dict() == copy.calibrator.state_dict()


def test_learns_from_a_given_stream() -> None:
    source = make(fraction=1.0)
    env = vector.OnlineDebiasing(vector_env(8), min_pairs=100, stream=source.get_wrapper_attr("stream"))
    play(source, 30)
    play(env, 1)
    assert env.calibrator.fitted


def test_learns_from_a_named_stream() -> None:
    source = make(fraction=1.0)
    env = vector.OnlineDebiasing(vector_env(8), min_pairs=100, stream="memory://test-debiasing")
    play(source, 30)
    AnchorStream.open("memory://test-debiasing").append(source.get_wrapper_attr("stream").read(0)[0])
    play(env, 1)
    assert env.calibrator.fitted


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="stratify"):
        make(stratify="model")
    with pytest.raises(ValueError, match="AnchorSampling first"):
        vector.OnlineDebiasing(vector_env(1))


class Changing(Distorted):
    """Says half as much from a moment on."""

    changed = False

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        outcomes = super().execute(submissions)
        if not self.changed:
            return outcomes
        return [
            replace(one, score=0.5 * one.score, member_scores=tuple(0.5 * score for score in one.member_scores))
            for one in outcomes
        ]


@pytest.mark.parametrize(("detect", "low", "high"), [(True, 0.0, 0.1), (False, 0.15, 1.0)])
def test_after_a_drift_the_pairs_before_it_are_forgotten(detect: bool, low: float, high: float) -> None:
    model = Changing()
    env = vector.AnchorSampling(vector_env(8, reward="score", backend=model), Truth(), 0.5, seed=2)
    env = vector.OnlineDebiasing(env, detect_drift=detect)
    play(env, 300)
    model.changed = True
    last = play(env, 60, seed=1)[40:]
    errors = [np.nanmean(np.abs(infos["debiased_score"] - infos["anchor_score"])) for _, infos in last
              if np.isfinite(infos["anchor_score"]).any()]  # fmt: skip
    assert low < np.mean(errors) < high
    assert bool(env.drift and env.drift.changes) == detect


def test_the_schedule_hears_of_what_debiasing_leaves() -> None:
    sampling = vector.AnchorSampling(vector_env(8, reward="score"), Truth(), 0.5, schedule="adaptive", seed=2)
    env = vector.OnlineDebiasing(sampling, min_pairs=50)
    play(env, 200)
    assert 0.2 <= sampling.schedule.share < 0.8
    assert sampling.realised_fraction < 0.45


@pytest.mark.parametrize(("copies", "batch"), [(1, 128), (1, 8), (4, 32)])
def test_what_came_after_a_change_is_kept(copies: int, batch: int) -> None:
    """In whatever batches the pairs come, and also where several are of one solution."""
    stream, rng = AnchorStream(), np.random.default_rng(0)
    env = vector.OnlineDebiasing(vector_env(1), min_pairs=100, stream=stream, detect_drift=True)
    for start in range(0, 128 + 256, batch):
        real = np.repeat(rng.random(batch // copies), copies)
        error = 0.0 if start < 256 else 0.3
        noise = np.repeat(0.05 * rng.normal(size=batch // copies), copies)
        stream.append(
            AnchorPair("t", "g", str((start + row) // copies), float(one - error + off), float(one))
            for row, (one, off) in enumerate(zip(real, noise, strict=True))
        )
        env.core.learn()
    assert env.drift is not None
    assert env.drift.changes == 1
    assert len(env.calibrator.pairs) == pytest.approx(128, abs=8 * copies)
