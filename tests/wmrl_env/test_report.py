import copy
import re
from pathlib import Path

import numpy as np
import pytest

from wmrl_env.demo.summary import summarise
from wmrl_env.report import render_report, write_report


def run_of(arm: str, seed: int) -> dict:
    """A run as the demo records it; the numbers are noise."""
    rng = np.random.default_rng([seed, *arm.encode()])
    seconds = np.sort(rng.uniform(0, 10, 30)).tolist()
    anchors = [
        {"seconds": s, "raw": r, "debiased": 0.8 * r, "denoised": 0.7 * r, "real": 0.6 * r, "weight": 1 + r}
        for s, r in zip(seconds, rng.random(30).tolist(), strict=True)
    ]
    run = {
        "arm": arm,
        "seed": seed,
        "scores": {"churn": rng.random(3).tolist(), "ames": rng.random(3).tolist()},
        "ungraded": 0,
        "wall_s": 10.0,
        "real_executions": 12,
        "predictions": 3456,
        "speedup": 2.5,
        "curve": [[s, float(rng.random())] for s in seconds[::3]],
        "anchors": anchors if arm in ("mixed", "corrected") else [],
        "map": [[0.0, 0.1], [0.5, 0.3], [1.0, 0.7]] if arm == "corrected" else [],
    }
    return run


@pytest.fixture(scope="module")
def result() -> dict:
    runs = [run_of(arm, seed) for seed in range(2) for arm in ("real", "raw", "mixed", "corrected")]
    return {
        "created": "2030-01-02T03:04:05+00:00",
        "machine": "a machine",
        "versions": {"wmrl": "0.1.0"},
        "config": {"seconds": 10.0, "seeds": 2, "workers": 2, "min_pairs": 20},
        "arms": summarise(runs),
        "runs": runs,
    }


def test_report_holds_everything_in_one_file(result: dict) -> None:
    html = render_report(result)
    assert html.count("<svg") == 5
    assert "3,456" in html
    assert not re.search(r"<(script|link|img)\b|src=|url\(https?:|@import", html)
    for arm in result["arms"]:
        assert f"{arm['real_score']['value']:.3f}" in html


def test_same_result_same_report(result: dict) -> None:
    assert render_report(result) == render_report(copy.deepcopy(result))


def test_without_anchors_the_plots_about_them_are_left_out(result: dict) -> None:
    bare = copy.deepcopy(result)
    for run in bare["runs"]:
        run["anchors"] = []
        run["scores"] = {"churn": [0.1 if run["arm"] == "corrected" else 0.6]}
    html = render_report({**bare, "arms": summarise(bare["runs"])})
    assert html.count("<svg") == 2
    assert "needs 20 anchor pairs and one of its runs had 0" in html


def test_unknown_outcomes_are_mentioned_only_when_there_are_any(result: dict) -> None:
    assert "unknown outcome" not in render_report(result)
    lost = copy.deepcopy(result)
    lost["runs"][0]["ungraded"] = 3
    assert "3 graded steps had an unknown outcome" in render_report(lost)


def test_text_is_escaped(result: dict) -> None:
    assert "<b>evil</b>" not in render_report({**result, "machine": "<b>evil</b>"})


def test_write_makes_the_folder(result: dict, tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    write_report(result, path)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
