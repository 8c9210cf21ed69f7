"""From single runs to one line an arm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wmrl_env.demo.config import ABLATION

__all__ = ["bootstrap_mean", "summarise", "verdict"]

_RESAMPLES = 4000


def bootstrap_mean(samples: Sequence[Sequence[float]], seed: int = 0) -> dict[str, float]:
    """Mean over runs of the mean within each, with a 95 % percentile bootstrap interval.

    Runs are resampled first and then the episodes inside each, since episodes of one policy are not independent.

    Args:
        samples: one sequence of scores a run, none of them empty.

    Returns:
        ``value``, ``low``, ``high``, and ``n``, the number of runs.

    Raises:
        ValueError: no run, or one without scores.
    """
    runs = [np.asarray(scores, np.float64) for scores in samples]
    if not runs or not all(run.size for run in runs):
        raise ValueError("a mean needs at least one run, and one score in each")
    rng = np.random.default_rng(seed)
    means = np.stack([rng.choice(run, (_RESAMPLES, run.size)).mean(axis=1) for run in runs])
    chosen = rng.integers(0, len(runs), (len(runs), _RESAMPLES))
    resampled = np.take_along_axis(means, chosen, axis=0).mean(axis=0)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return {
        "value": float(np.mean([run.mean() for run in runs])),
        "low": float(low),
        "high": float(high),
        "n": len(runs),
    }


def summarise(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry an arm: ``name``, ``real_score`` (see :func:`bootstrap_mean`) and means over seeds.

    ``speedup`` says how many times faster than the sandbox's workers the arm got its outcomes: CPU seconds that
    executing all its training steps would have taken, over wall seconds times workers.
    """
    arms = []
    for name in ABLATION:
        of_arm = [run for run in runs if run["arm"] == name]
        if not of_arm:
            continue
        mean = {
            key: float(np.mean([run[key] for run in of_arm]))
            for key in ("wall_s", "real_executions", "predictions", "speedup")
        }
        graded = [[score for scores in run["scores"].values() for score in scores] for run in of_arm]
        arms.append({"name": name, "real_score": bootstrap_mean(graded), **mean})
    return arms


def verdict(result: dict[str, Any]) -> str:
    """Whether the corrected arm scores at least as high as the raw and the real one, and if not, why.

    Args:
        result: of :func:`wmrl_env.demo.run`.
    """
    value = {arm["name"]: arm["real_score"]["value"] for arm in result["arms"]}
    better = [name for name in ("raw", "real") if value[name] > value["corrected"]]
    if not better:
        return "At equal wall-clock the corrected arm scores at least as high as the raw and the real arm."
    gaps = " and ".join(f"the {name} arm by {value[name] - value['corrected']:.3f}" for name in better)
    needed = result["config"]["min_pairs"]
    pairs = min(len(run["anchors"]) for run in result["runs"] if run["arm"] == "corrected")
    cause = (
        f"debiasing needs {needed} anchor pairs and one of its runs had {pairs}"
        if pairs < needed
        else f"its corrections were at work, on {pairs} anchor pairs or more; the report shows what they did"
    )
    return f"At equal wall-clock the corrected arm scores below {gaps}: {cause}."
