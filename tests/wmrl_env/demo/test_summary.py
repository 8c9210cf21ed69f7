import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_env.demo.summary import bootstrap_mean, summarise, verdict

scores = st.floats(0.0, 1.0)
runs = st.lists(st.lists(scores, min_size=1, max_size=6), min_size=1, max_size=4)


def run_of(arm: str, seed: int, *values: float, anchors: int = 0) -> dict:
    return {
        "arm": arm,
        "seed": seed,
        "scores": {"churn": list(values)},
        "wall_s": 10.0 + seed,
        "real_executions": 4,
        "predictions": 100,
        "speedup": 3.0,
        "anchors": [{}] * anchors,
    }


@given(runs)
def test_interval_holds_the_mean_and_stays_inside_the_scores(samples: list[list[float]]) -> None:
    result = bootstrap_mean(samples)
    flat = np.concatenate([np.asarray(run) for run in samples])
    assert flat.min() - 1e-9 <= result["low"] <= result["value"] + 1e-9
    assert result["value"] - 1e-9 <= result["high"] <= flat.max() + 1e-9
    assert result["n"] == len(samples)
    assert result == bootstrap_mean(samples)


def test_a_run_counts_once_however_many_episodes_it_has() -> None:
    assert bootstrap_mean([[0.0], [1.0, 1.0, 1.0]])["value"] == 0.5


def test_differences_between_runs_widen_the_interval() -> None:
    between, within = bootstrap_mean([[0.2] * 8, [0.8] * 8]), bootstrap_mean([[0.2, 0.8] * 4] * 2)
    assert between["high"] - between["low"] > within["high"] - within["low"]


@pytest.mark.parametrize("samples", [[], [[]], [[0.5], []]])
def test_no_scores_is_an_error(samples: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="at least one run"):
        bootstrap_mean(samples)


def test_summary_keeps_the_order_of_arms_and_averages_seeds() -> None:
    arms = summarise([run_of("corrected", 0, 0.9), run_of("real", 0, 0.4), run_of("real", 1, 0.6)])
    assert [arm["name"] for arm in arms] == ["real", "corrected"]
    assert arms[0]["real_score"]["value"] == 0.5
    assert arms[0]["wall_s"] == 10.5


def result_of(corrected: float, raw: float, real: float, anchors: int = 50) -> dict:
    singles = [
        run_of("real", 0, real),
        run_of("raw", 0, raw),
        run_of("mixed", 0, raw),
        run_of("corrected", 0, corrected, anchors=anchors),
    ]
    return {"arms": summarise(singles), "runs": singles, "config": {"min_pairs": 40}}


def test_verdict_says_which_arm_wins() -> None:
    assert "at least as high" in verdict(result_of(0.8, 0.8, 0.6))
    assert "below the raw arm by 0.100: its corrections were at work" in verdict(result_of(0.7, 0.8, 0.6))
    both = verdict(result_of(0.5, 0.7, 0.6, anchors=8))
    assert "the raw arm by 0.200 and the real arm by 0.100" in both
    assert "needs 40 anchor pairs and one of its runs had 8" in both
