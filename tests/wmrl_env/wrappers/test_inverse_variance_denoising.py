from __future__ import annotations

import json

import numpy as np
import pytest

from tests.wmrl_env.wrappers.planted import Distorted, Truth, reply, vector_env
from wmrl_env.wrappers import vector
from world_models.outcomes import Outcome, Status

pytestmark = pytest.mark.usefixtures("fake_task")


def make(fraction: float = 0.5, debias: bool = True, backend: object = None, **kwargs: object) -> vector.VectorShell:
    env = vector_env(8, reward="score", backend=backend or Distorted())
    env = vector.AnchorSampling(env, Truth(), fraction, group_size=8, seed=2)
    if debias:
        env = vector.OnlineDebiasing(env, min_pairs=100)
    return vector.InverseVarianceDenoising(env, **{"warmup": 8, **kwargs})


def play(env: vector.VectorShell, steps: int, seed: int = 0) -> list[tuple[np.ndarray, dict]]:  # type: ignore[type-arg]
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    seen = [env.step(tuple(map(reply, rng.integers(5000, size=8)))) for _ in range(steps)]
    return [(rewards, infos) for _, rewards, _, _, infos in seen if "score" in infos]


def test_plain_mean_before_there_are_pairs() -> None:
    for _, infos in play(make(fraction=0.0), 5):
        assert infos["denoised_score"] == pytest.approx(infos["member_scores"].mean(axis=1))
        assert infos["reward_variance"] == pytest.approx(infos["score_variance"])
        assert (infos["reward_weight"] == 1.0).all()


def test_fusing_debiased_members_beats_debiasing_alone() -> None:
    env = make(half_life=8)
    debiased, denoised, stated = [], [], []
    for _, infos in play(env, 400)[200:]:
        anchored = ~np.isnan(infos["anchor_score"])
        assert (infos["score"][anchored] == infos["anchor_score"][anchored]).all()
        assert (infos["score"][~anchored] == infos["denoised_score"][~anchored]).all()
        assert (infos["reward_variance"][anchored] == 0.0).all()
        debiased += (infos["debiased_score"] - infos["anchor_score"])[anchored].tolist()
        denoised += (infos["denoised_score"] - infos["anchor_score"])[anchored].tolist()
        stated += infos["reward_variance"][~anchored].tolist()
    assert np.var(denoised) < 0.6 * np.var(debiased)
    assert 0.5 < np.mean(stated) / np.mean(np.square(denoised)) < 2.5  # shrinkage errs on the careful side


def test_weight_goes_to_rows_with_a_real_score() -> None:
    env = make(warmup=4)
    weights = [
        (infos["reward_weight"], ~np.isnan(infos["anchor_score"])) for _, infos in play(env, 60) if infos is not None
    ]
    assert (weights[0][0] == 1.0).all()
    for weight, anchored in weights:
        assert (weight[~anchored] == 1.0).all()
    late = np.concatenate([weight[anchored] for weight, anchored in weights[-20:]])
    assert (late > 1.0).all()
    assert (late <= 4.0).all()


def test_carrier_scales_the_reward_around_the_tasks_mean() -> None:
    env, plain = make(carrier="reward"), make()
    for (rewards, infos), (unscaled, again) in zip(play(env, 60), play(plain, 60), strict=True):
        assert (infos["denoised_reward"] == again["denoised_reward"]).all()
        assert (infos["denoised_reward"] == unscaled).all()
        anchored = infos["reward_weight"] > 1.0
        assert rewards[~anchored] == pytest.approx(unscaled[~anchored])
    baseline = env.rule.task_mean("fake")
    assert rewards == pytest.approx(baseline + infos["reward_weight"] * (unscaled - baseline))


def test_works_on_raw_anchors_without_debiasing() -> None:
    env = make(debias=False)
    seen = play(env, 60)
    assert env.denoiser.residual_variance > 0.0
    _, infos = seen[-1]
    assert "debiased_score" not in infos
    distances = np.abs(infos["denoised_score"][:, None] - infos["member_scores"]).mean(axis=0)
    assert distances[0] < 0.5 * distances[1:].min()  # the sharpest member leads


def test_a_model_without_members_keeps_its_score() -> None:
    class Single:
        def execute(self, submissions):  # type: ignore[no-untyped-def]
            return [Outcome(Status.VALID, 0.7, "", None, 1.0, "world_model") for _ in submissions]

    for _, infos in play(make(backend=Single(), debias=False), 20):
        assert (infos["denoised_score"] == 0.7).all()


def test_unknown_outcomes_stay_unknown_and_executions_certain() -> None:
    env = make(fraction=0.0)
    env.reset()
    *_, infos = env.step((reply(1) + " vague", "", *map(reply, range(6))))
    assert np.isnan(infos["score"][0])
    assert np.isnan(infos["reward_variance"][0])
    assert not infos["graded"][0]
    assert infos["denoised_score"][1] == 0.0
    assert infos["reward_variance"][1] == 0.0
    _, infos = play(make(fraction=0.0, backend=Truth()), 1)[0]
    assert (infos["score"] == infos["raw_score"]).all()
    assert (infos["reward_variance"] == 0.0).all()


def test_frozen_and_continued() -> None:
    env, copy = make(), make()
    play(env, 40)
    layers = ((env, copy), (env.env, copy.env), (env.env.env, copy.env.env))
    for mine, other in layers:
        other.load_state_dict(json.loads(json.dumps(mine.state_dict())))
    for (rewards, infos), (again, infos_again) in zip(play(env, 40, 1), play(copy, 40, 1), strict=True):
        assert (rewards == again).all()
        assert (infos["reward_weight"] == infos_again["reward_weight"]).all()
    before = env.state_dict()["denoiser"]
    assert before == copy.state_dict()["denoiser"]
    env.update = False
    play(env, 40, 2)
    assert env.state_dict()["denoiser"] == before


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="carrier"):
        make(carrier="advantage")
    with pytest.raises(ValueError, match="AnchorSampling first"):
        vector.InverseVarianceDenoising(vector_env(1))
