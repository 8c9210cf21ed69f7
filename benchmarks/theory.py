"""Does the corrections' bound have the shape that it claims?

python benchmarks/theory.py [--quick] [--seed S] [--out PATH] [--plot PATH]

The bound says that what training on a world model costs grows as B² with its bias and as σ² with its noise, that T
anchors divide the bias term by 1 + T/T₀, and that fusing predictions of variance V_WM with executions of variance V_E
divides the noise term by 1 + V_WM/V_E. Intervals are 95 %, bootstrap over seeds; each seed has a world of its own.

Rows ``bias_slope`` and ``noise_slope``, metric ``slope`` on log-log axes, no correction at work:
    ``gradient``: squared error of the policy gradient, which the bound is made of, over a training on the truth.
    ``final_gap``: expected true score after training on the truth less that after training on the world model, both by
        that gradient; sizes whose gap is within two standard errors of 0 are left out.
    ``update`` and ``agent_gap``: the same two for the agent's own rule, which divides by the group's deviation.
Row ``bias_decay``, metric ``fit``: p in B² / (1 + T/T₀)^p, for the squared distance between what OnlineDebiasing says
    after T noisy executions and what such predictions really score; ``t0`` is T₀ where p = 1.
Row ``noise_fusion``, metric ``fit``: slope of what Denoiser leaves of V_WM over 1 / (1 + V_WM/V_E), on log-log axes;
    ``excess`` is the geometric mean of their ratio. Groups: number of anchor pairs that it learned the weights from.

Where the full run departs from what is expected, and what explains it best:
    ``update`` (1.4) and ``agent_gap`` under noise (1.3): advantages divided by their group's deviation saturate where a
        group differs by less than the errors. The same training by the plain gradient has 2.2 (2.0 to 2.6).
    Gaps under bias (0.7 and 0.9): the misjudged decision can be lost only once. ``agent_gap`` rises by 2.1 (1.5 to 2.8)
        between the two smallest sizes, by 1.4 to the third, and then flattens.
    p = 0.5 with exact predictions: 1 is the rate of a fixed number of parameters; an isotonic map of something that
        rises everywhere can reach 2/3 (over the last three doublings of T: 0.58, 0.49 to 0.68). With noisy predictions
        (0.8) a map of 16 pairs is worse than none, so that the fall begins higher.
    ``excess`` of 2 % with 256 pairs, 10 % with 32: weights are estimated, and shrunk towards equal ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _planted import _CODES, GROUP, OPTIONS, TASKS, Agent, Truth, make_model, train
from _results import write_result
from gymnasium.vector import VectorWrapper
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.optimize import curve_fit

from wmrl_env.correction import AnchorPair, Denoiser, fit_monotone
from wmrl_env.wrappers.vector import AnchorSampling, CompareRewards, OnlineDebiasing
from world_models import Backend, Submission
from world_models.corrupted import CorruptedModel

HERE = Path(__file__).parent
PICTURE = HERE.parent / "docs" / "images" / "theory.png"
SIZES = 0.005 * 2.0 ** np.arange(6)  # of biases and noise, up to 0.16
PAIRS = 2 * GROUP * 2 ** np.arange(8)  # T, up to 2048
RATIOS = 2.0 ** np.arange(-3, 6)  # V_WM / V_E
EXECUTION_NOISE = 0.1  # standard deviation of anchors, for the decay of bias
PLAIN_RATE = 30.0  # learning rate where advantages are not normalised
BOOTSTRAP = 1000

Key = tuple[str, str]  # row and group


class Curve(NamedTuple):
    """Measured ``y`` at ``x``, both (K,) of one seed or (seeds, K)."""

    x: np.ndarray
    y: np.ndarray


class Plain(VectorWrapper):
    """Weights that undo the agent's division by the group's deviation: it follows the plain policy gradient."""

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        deviations = rewards.reshape(TASKS, GROUP).std(1) + 0.02
        return observations, rewards, terminated, truncated, infos | {"reward_weight": np.repeat(deviations, GROUP)}


def distorted(score: float) -> float:
    """A monotone error: kind to what scores low, strict with what scores high."""
    return score + 0.1 * float(np.sin(2.0 * np.pi * score))


def misjudged(size: float, seed: int) -> dict[str, Any]:
    """A world model that errs by class of solution, by ``size`` in the root mean square: it changes the order."""
    errors = np.random.default_rng([seed, 2]).normal(size=OPTIONS)
    errors -= errors.mean()
    errors *= size / errors.std()
    return {"noise": 0.0, "class_bias": {f"Kind{i}": error for i, error in enumerate(errors.tolist())}}


def noisy(size: float, seed: int) -> dict[str, Any]:
    """A world model whose predictions, means of members, have noise of standard deviation ``size``."""
    return {"noise": size / make_model({"noise": 1.0}, Truth(seed), seed).variance(0.5) ** 0.5}


def gradient(agent: Agent, actions: np.ndarray, rewards: np.ndarray) -> np.ndarray:
    """Policy gradient of the agent's logits on rewards less their group's mean."""
    centred = rewards - rewards.mean(1, keepdims=True)
    return np.einsum("tg,tgdo->tdo", centred, np.eye(OPTIONS)[actions] - agent.policy[:, None]) / GROUP


def update(agent: Agent, actions: np.ndarray, rewards: np.ndarray) -> np.ndarray:
    """What the agent itself makes of the rewards."""
    learner = deepcopy(agent)
    learner.learn(actions, rewards, np.ones_like(rewards))
    return (learner.logits - agent.logits) / agent.learning_rate


def gradient_errors(truth: Truth, world: dict[str, Any], seed: int) -> list[float]:
    """Squared errors of :func:`gradient` and :func:`update`, mean over the steps of a training on anchors alone."""
    kept: list[Any] = []

    def wrap(env: Any, sandbox: Backend) -> Any:
        kept.append(CompareRewards(AnchorSampling(env, sandbox, 1.0, GROUP)))
        return kept[0]

    train(truth, world, wrap, seed)
    columns = kept[0].columns()
    shown, real = (columns[name].reshape(-1, TASKS, GROUP) for name in ("raw_score", "real_score"))
    agent, errors = Agent(seed), []  # goes through the same training again
    for predicted, true in zip(shown, real, strict=True):
        actions = agent.act()
        apart = [rule(agent, actions, predicted) - rule(agent, actions, true) for rule in (gradient, update)]
        errors.append([float(np.sum(one**2)) for one in apart])
        agent.learn(actions, true, np.ones_like(true))
    return np.mean(errors, axis=0).tolist()


def final_scores(truth: Truth, world: dict[str, Any] | None, seed: int) -> np.ndarray:
    """Expected true score after training by the plain gradient, and by the agent's own rule."""
    plain = train(truth, world, lambda env, sandbox: Plain(env), seed, learning_rate=PLAIN_RATE)
    own = train(truth, world, lambda env, sandbox: env, seed)
    return np.array([plain[0][-1], own[0][-1]])


def growth(sizes: np.ndarray, seed: int) -> dict[Key, Curve]:
    """What errors of these sizes do where nothing corrects them."""
    truth, curves = Truth(seed), {}
    truth.scores = 0.35 + 0.3 * truth.scores  # in the middle, where hardly any error is clipped
    unbiased = final_scores(truth, None, seed)
    for row, make in (("bias_slope", misjudged), ("noise_slope", noisy)):
        worlds = [make(size, seed) for size in sizes.tolist()]
        errors = np.array([gradient_errors(truth, world, seed) for world in worlds])
        gaps = np.array([unbiased - final_scores(truth, world, seed) for world in worlds])
        for group, y in zip(("gradient", "update", "final_gap", "agent_gap"), (*errors.T, *gaps.T), strict=True):
            curves[row, group] = Curve(sizes, y)
    return curves


def some_solutions(truth: Truth, count: int, seed: int) -> tuple[list[Submission], np.ndarray]:
    """Random solutions and their true scores."""
    rng = np.random.default_rng([seed, 3])
    tasks, codes = rng.integers(TASKS, size=count), rng.integers(len(_CODES), size=count)
    submissions = [Submission(str(task), "", _CODES[code]) for task, code in zip(tasks, codes, strict=True)]
    return submissions, truth.scores[tasks, codes]


def stream(truth: Backend, noise: float, seed: int) -> CorruptedModel:
    """The truth with fresh noise: a world model without bias, or a sandbox whose executions differ."""
    return CorruptedModel(truth, noise=noise, members=1, seed=seed, fresh=True)


def scores_of(backend: Backend, submissions: list[Submission]) -> np.ndarray:
    return np.array([outcome.score for outcome in backend.execute(submissions)], np.float64)


def decay(pairs: np.ndarray, noise: float, seed: int) -> Curve:
    """Squared bias after each of ``pairs`` noisy anchors of random solutions, relative to that without anchors."""
    truth, world, biases = Truth(seed), {"bias": distorted, "noise": noise}, []
    submissions, real = some_solutions(truth, 16_384, seed)
    shown = scores_of(make_model(world, truth, seed + 1), submissions)
    best = fit_monotone(shown, real)(shown)  # what such predictions really score, by many exact pairs

    def wrap(env: Any, sandbox: Backend) -> Any:
        anchored = AnchorSampling(env, stream(sandbox, EXECUTION_NOISE, seed), 1 / TASKS, GROUP, seed=seed)
        return OnlineDebiasing(anchored, min_pairs=int(pairs[0]), refit_every=GROUP)

    def after_step(env: Any) -> None:
        if len(env.core.calibrator.pairs) in pairs:
            biases.append(float(np.mean((env.core.calibrator(shown) - best) ** 2)))

    train(truth, world, wrap, seed, steps=int(pairs[-1]) // GROUP, learning_rate=0.0, after_step=after_step)
    return Curve(pairs, np.array(biases) / np.mean((shown - best) ** 2))


def fusion(pairs: int, seed: int) -> Curve:
    """What fusing leaves of V_WM, over 1 / (1 + V_WM/V_E), both as measured on solutions that it was not fitted on."""
    truth = Truth(seed)
    submissions, real = some_solutions(truth, pairs + 2048, seed)
    sandbox = stream(truth, 0.03, seed)
    law, left = [], []
    for ratio in RATIOS.tolist():
        model = stream(truth, 0.03 * ratio**0.5, seed + 1)
        streams = np.stack([scores_of(one, submissions) for one in (model, sandbox)], 1)
        judged = scores_of(sandbox, submissions[:pairs])  # by another execution: nobody sees the truth
        denoiser = Denoiser()
        denoiser.update(
            AnchorPair(one.task_id, str(i // GROUP), str(i), members[0], score, tuple(members))
            for i, (one, members, score) in enumerate(zip(submissions, streams.tolist(), judged.tolist(), strict=False))
        )
        fused, _ = denoiser.fuse(streams[pairs:, 0], streams[pairs:])
        predicted, executed = np.mean((streams[pairs:] - real[pairs:, None]) ** 2, axis=0)
        law.append(1.0 / (1.0 + predicted / executed))
        left.append(np.mean((fused - real[pairs:]) ** 2) / predicted)
    return Curve(np.array(law), np.array(left))


def power(x: np.ndarray, y: np.ndarray) -> float:
    """Slope of the least-squares line on log-log axes, over points above 0; NaN for fewer than two."""
    above = y > 0.0
    return float(np.polyfit(np.log(x[above]), np.log(y[above]), 1)[0]) if above.sum() > 1 else np.nan


def decayed(x: np.ndarray, y: np.ndarray, free: int = 2) -> tuple[float, float]:
    """T₀ and p of 1 / (1 + x/T₀)^p by least squares of logarithms; p stays 1 where 1 parameter is ``free``."""

    def law(pairs: np.ndarray, log_scale: float, exponent: float = 1.0) -> np.ndarray:
        return -exponent * np.log1p(pairs / np.exp(log_scale))

    bounds = [np.log(0.01), 0.05][:free], [np.log(1e6), 4.0][:free]
    found, _ = curve_fit(law, x, np.log(y), [np.log(32.0), 1.0][:free], bounds=bounds)
    return float(np.exp(found[0])), float(np.append(found, 1.0)[1])


Fit = Callable[[np.ndarray, np.ndarray], float]
SLOPE: dict[str, Fit] = {"slope": power}
DECAY: dict[str, Fit] = {"fit": lambda x, y: decayed(x, y)[1], "t0": lambda x, y: decayed(x, y, free=1)[0]}
FUSION: dict[str, Fit] = {"fit": power, "excess": lambda x, y: float(np.exp(np.mean(np.log(y / x))))}
PANELS: dict[str, tuple[dict[str, Fit], float, str, str]] = {  # what is fitted and expected, and the axes
    "bias_slope": (SLOPE, 2.0, "bias B", "squared error, or gap of scores"),
    "noise_slope": (SLOPE, 2.0, r"noise $\sigma$", "squared error, or gap of scores"),
    "bias_decay": (DECAY, 1.0, "anchors T", "share of the squared bias that is left"),
    "noise_fusion": (FUSION, 1.0, "1 / (1 + V_WM/V_E)", "share of V_WM that is left"),
}


def estimate(fit: Fit, curve: Curve, seed: int) -> dict[str, float | int]:
    """``fit`` of the mean over seeds, with its 95 % bootstrap interval."""
    count, rng = len(curve.y), np.random.default_rng([seed, 4])
    draws = [rng.integers(count, size=count) for _ in range(BOOTSTRAP)]
    low, high = np.nanquantile([fit(curve.x[rows].mean(0), curve.y[rows].mean(0)) for rows in draws], [0.025, 0.975])
    return {"value": fit(curve.x.mean(0), curve.y.mean(0)), "low": float(low), "high": float(high), "n": count}


def resolved(curve: Curve) -> Curve:
    """The sizes whose mean is more than two standard errors above 0, and the two largest in any case."""
    kept = curve.y.mean(0) > 2.0 * curve.y.std(0) / len(curve.y) ** 0.5
    kept[-2:] = True
    return Curve(curve.x[:, kept], curve.y[:, kept])


def plot(curves: dict[Key, Curve], rows: list[dict[str, Any]], path: Path) -> None:
    """A panel for each kind of row: means with standard errors, what was fitted, and dashed what is expected."""
    figure = Figure(figsize=(12, 9), layout="constrained")
    panels = dict(zip(PANELS, figure.subplots(2, 2).flat, strict=True))
    for place, (row, ((name, group), curve)) in enumerate(zip(rows, curves.items(), strict=True)):
        x, y, error = curve.x.mean(0), curve.y.mean(0), curve.y.std(0) / len(curve.y) ** 0.5
        if name == "bias_decay":
            (scale, exponent), (expected_scale, _) = decayed(x, y), decayed(x, y, free=1)
            fitted, expected = (1.0 + x / scale) ** -exponent, 1.0 / (1.0 + x / expected_scale)
        else:
            centre, height = np.exp(np.log(x).mean()), np.exp(np.log(y).mean())
            fitted = height * (x / centre) ** power(x, y)
            expected = x if name == "noise_fusion" else height * (x / centre) ** 2
        axes, colour, fit = panels[name], f"C{place % 4}", next(iter(row["metrics"].values()))
        label = f"{group}: {fit['value']:.2f} ({fit['low']:.2f} to {fit['high']:.2f})"
        axes.errorbar(x, y, np.minimum(error, 0.9 * y), fmt="o", color=colour, markersize=4, label=label)
        axes.plot(x, fitted, color=colour, linewidth=1)
        axes.plot(x, expected, "--", color=colour, linewidth=0.8)
    for name, axes in panels.items():
        axes.set(xscale="log", yscale="log", xlabel=PANELS[name][2], ylabel=PANELS[name][3])
        axes.set_title(name.replace("_", " "), loc="left", fontweight="bold")
        axes.legend(frameon=False, fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="2 seeds, fewer sizes and anchors, no picture")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "theory.json")
    parser.add_argument("--plot", type=Path, help=f"the picture; a full run's is {PICTURE.relative_to(HERE.parent)}")
    args = parser.parse_args()
    sizes, pairs = (SIZES[1::2], PAIRS[:5]) if args.quick else (SIZES, PAIRS)
    experiments: dict[Key, Callable[[int], Curve]] = {
        ("bias_decay", "exact_predictions"): partial(decay, pairs, 0.0),
        ("bias_decay", "noisy_predictions"): partial(decay, pairs, 0.15),
        ("noise_fusion", "256"): partial(fusion, 256),
        ("noise_fusion", "32"): partial(fusion, 32),
    }
    seeds = range(args.seed, args.seed + (2 if args.quick else 24))
    of_seeds = [
        growth(sizes, seed) | {key: run(seed) for key, run in experiments.items()}
        for seed in track(seeds, description="seeds")
    ]
    curves: dict[Key, Curve] = {}
    rows: list[dict[str, Any]] = []
    for name, group in of_seeds[0]:
        curve = Curve(*(np.stack(part) for part in zip(*(one[name, group] for one in of_seeds), strict=True)))
        curves[name, group] = curve = resolved(curve) if name.endswith("slope") else curve
        fits, expected, _, _ = PANELS[name]
        metrics = {metric: estimate(fit, curve, args.seed) for metric, fit in fits.items()}
        metrics["expected"] = {"value": expected, "low": expected, "high": expected, "n": len(seeds)}
        rows.append({"name": name, "group": group, "metrics": metrics})

    table = Table("row", "group", "metric", "value", "95 % interval", "n")
    for row in rows:
        for metric, one in row["metrics"].items():
            interval = f"{one['low']:.3f} to {one['high']:.3f}"
            table.add_row(row["name"], row["group"], metric, f"{one['value']:.3f}", interval, str(one["n"]))
    Console().print(table)
    write_result(args.out, "theory", rows, {"quick": args.quick, "seed": args.seed})
    if picture := args.plot or (None if args.quick else PICTURE):
        plot(curves, rows, picture)


if __name__ == "__main__":
    main()
