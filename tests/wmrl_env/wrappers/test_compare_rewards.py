from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.wmrl_env.wrappers.planted import Truth, reply, scalar_env, vector_env
from wmrl_env.wrappers import CompareRewards, corrected, vector
from wmrl_env.wrappers.compare_rewards import _within_group
from world_models.corrupted import CorruptedModel

pytestmark = pytest.mark.usefixtures("fake_task")


def play(env: vector.VectorShell, steps: int, rows: int = 8) -> vector.VectorShell:
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(steps):
        env.step(tuple(map(reply, rng.integers(5000, size=rows))))
    return env


def stack(**kwargs: object) -> vector.VectorShell:
    return corrected(vector_env(8), Truth(), fraction=0.5, min_pairs=100, warmup=4, **kwargs)  # type: ignore[arg-type]


def test_summary_holds_every_stage_against_the_real_scores() -> None:
    env = play(stack(), 120)
    summary = env.summary()
    assert summary["steps"] == summary["kept"] == 90 * 8  # every fourth step only begins episodes
    assert 0.4 < summary["anchored"] / summary["steps"] < 0.6
    assert summary["ungraded"] == 0
    assert 1.0 < summary["mean_weight"] < 4.0
    assert summary["real"]["mae"] == 0.0
    assert summary["raw"]["bias"] > 0.1
    assert abs(summary["debiased"]["bias"]) < 0.5 * summary["raw"]["bias"]
    assert summary["denoised"]["mae"] < summary["debiased"]["mae"] < summary["raw"]["mae"]
    assert summary["denoised"]["spearman"] > 0.8
    assert summary["denoised"]["within_group"] < summary["raw"]["within_group"]
    np.testing.assert_equal(json.loads(json.dumps(summary)), summary)


def test_a_constant_error_is_none_within_groups() -> None:
    errors, groups = np.array([0.3, 0.3, -0.1, 0.1, 0.7]), np.array(["a", "a", "b", "b", "c"], object)
    assert _within_group(errors, groups) == pytest.approx(0.1)
    assert np.isnan(_within_group(errors[2:3], groups[2:3]))


def test_columns_are_what_the_infos_said() -> None:
    env = stack()
    env.reset(seed=0)
    _, rewards, *_, infos = env.step(tuple(map(reply, range(8))))
    frame = env.to_frame()
    assert len(frame) == 8
    assert frame["task_id"].tolist() == ["fake"] * 8
    assert frame["reward"].tolist() == rewards.tolist()
    for column, key in {
        "raw_score": "raw_score",
        "real_score": "anchor_score",
        "reward_weight": "reward_weight",
    }.items():
        assert frame[column].tolist() == pytest.approx(infos[key].tolist(), nan_ok=True)


def test_memory_is_bounded() -> None:
    env = play(vector.CompareRewards(vector_env(8), capacity=20), 10)
    assert env.summary()["kept"] == 20
    assert env.summary()["steps"] == 64
    assert env.to_frame()["step"].tolist() == list(range(44, 64))


def test_stages_that_are_missing_say_so() -> None:
    env = CompareRewards(scalar_env())
    empty = env.summary()
    assert empty["steps"] == 0
    assert np.isnan(empty["raw"]["mean_score"])
    env.reset(seed=0)
    env.step(reply(1))
    summary = env.summary()
    assert summary["raw"]["mean_score"] > 0.0
    assert summary["debiased"]["n"] == summary["real"]["n"] == 0
    assert np.isnan([summary["debiased"]["mean_score"], summary["raw"]["mae"], summary["mean_weight"]]).all()


def test_plot(tmp_path: Path) -> None:
    figure = play(stack(), 40).plot(tmp_path / "rewards.png")
    assert (tmp_path / "rewards.png").read_bytes().startswith(b"\x89PNG")
    labels = [line.get_label() for line in figure.axes[0].get_lines()]
    assert labels == ["raw", "debiased", "denoised", "real"]
    assert len(CompareRewards(scalar_env()).plot().axes) == 3


def test_state_continues() -> None:
    env, copy = play(stack(), 20), stack()
    copy.load_state_dict(json.loads(json.dumps(env.state_dict())))
    assert copy.to_frame().equals(env.to_frame())


def test_bad_capacity() -> None:
    with pytest.raises(ValueError, match="capacity"):
        CompareRewards(scalar_env(), capacity=0)


def test_audits_of_what_looks_good_do_not_make_the_model_look_kind() -> None:
    model = CorruptedModel(Truth(), noise=0.15, members=1, fresh=True)
    env = vector_env(16, reward="score", backend=model)
    env = play(corrected(env, Truth(), fraction=0.0, audits=0.1, min_pairs=5000, capacity=5000), 400, rows=16)
    columns = env.columns()
    known = np.isfinite(columns["real_score"])
    unweighted = float(np.mean((columns["raw_score"] - columns["real_score"])[known]))
    assert unweighted > 0.03
    assert abs(env.summary()["raw"]["bias"]) < 0.5 * unweighted
