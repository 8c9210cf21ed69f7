"""What do the corrections repair, and what does that cost in real executions?

python benchmarks/correction.py [--quick] [--seed S] [--out PATH] [--seeds N] [--processes N] [--plot PATH]

Groups: worlds, in each of which the world model errs in another way (see ``_planted.py``: 8 tasks, 4096 solutions each,
a GRPO agent, 150 steps of 64 solutions). Rows: arms, all through the real environment and wrappers.

real             every solution executed
raw              world model alone
mixed            12.5 % of groups executed, their real scores mixed in
denoise, debias  the same with one of the paper's corrections
both             the paper's: both corrections (its map fitted from 40 pairs on and every 16, which is best for it here)
ours             single solutions audited in place of groups, residuals by task and choice, known scores reused
ours_adaptive    the same; the rate of audits falls as the residuals do
both_reuse       the paper's, with known scores reused
ours_no_reuse    ours without, as where executions of one solution differ

``final_score`` is the exact expected true score of the policy; ``real_executions`` those asked for, ``distinct`` what
they are with a cache that serves repetitions; ``to_real`` how many it took to reach 0.995 of what the real arm of that
seed has in the end, over the seeds that did (``reached``, a share). ``cost_s`` is the cost model: CPU seconds at
``--execution-seconds`` an execution and ``--prediction-seconds`` a prediction. Interrupted runs resume.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from _planted import GROUP, STEPS, TASKS, WORLDS, CountingSandbox, Truth, train
from _results import commit, write_result
from rich.console import Console
from rich.progress import track
from rich.table import Table

from wmrl_env.demo import bootstrap_mean
from wmrl_env.wrappers import corrected
from wmrl_env.wrappers.vector import AnchorSampling, InverseVarianceDenoising, OnlineDebiasing

HERE = Path(__file__).parent
ROWS = STEPS * TASKS * GROUP  # solutions of a run
FRACTION = 0.125
OURS: dict[str, Any] = {"fraction": 0.0, "residuals": True, "detect_drift": True}
Wrap = Callable[[Any, CountingSandbox, int], Any]


def _anchored(env: Any, sandbox: CountingSandbox, seed: int, reuse: bool = False) -> Any:
    return AnchorSampling(env, sandbox, FRACTION, GROUP, seed=seed, reuse=reuse)


def _debiased(env: Any) -> Any:
    return OnlineDebiasing(env, min_pairs=40, refit_every=16)


ARMS: dict[str, Wrap] = {
    "real": lambda env, sandbox, seed: env,
    "raw": lambda env, sandbox, seed: env,
    "mixed": _anchored,
    "denoise": lambda env, sandbox, seed: InverseVarianceDenoising(_anchored(env, sandbox, seed)),
    "debias": lambda env, sandbox, seed: _debiased(_anchored(env, sandbox, seed)),
    "both": lambda env, sandbox, seed: InverseVarianceDenoising(_debiased(_anchored(env, sandbox, seed))),
    "ours": lambda env, sandbox, seed: corrected(env, sandbox, seed=seed, audits=0.25, reuse=True, **OURS),
    "ours_adaptive": lambda env, sandbox, seed: corrected(
        env, sandbox, seed=seed, audits=0.35, reuse=True, schedule="adaptive", **OURS
    ),
    "both_reuse": lambda env, sandbox, seed: InverseVarianceDenoising(
        _debiased(_anchored(env, sandbox, seed, reuse=True))
    ),
    "ours_no_reuse": lambda env, sandbox, seed: corrected(env, sandbox, seed=seed, audits=FRACTION, **OURS),
}


def run(world: str, arm: str, seed: int) -> dict[str, Any]:
    """One training: true score and executions after each step."""
    warnings.simplefilter("ignore")  # the guard's alarms
    truth = Truth(seed, failing=0.25 if world == "missed_failures" else 0.0)
    values, executions, distinct = train(
        truth, None if arm == "real" else WORLDS[world], lambda env, sandbox: ARMS[arm](env, sandbox, seed), seed
    )
    series = {"values": values, "executions": executions, "distinct": distinct}
    return {"world": world, "arm": arm, "seed": seed} | {name: of_step.tolist() for name, of_step in series.items()}


def run_all(seeds: range, processes: int, kept: Path) -> list[dict[str, Any]]:
    """Every arm in every world; ``kept`` has the runs that an interrupted call of the same commit had done."""
    header = {"commit": commit()}
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    if not lines or json.loads(lines[0]) != header:
        lines = [json.dumps(header)]
        kept.write_text(lines[0] + "\n", encoding="utf-8")
    runs = [json.loads(line) for line in lines[1:]]
    done = {(one["world"], one["arm"], one["seed"]) for one in runs}
    todo = [(w, a, s) for s in seeds for w in WORLDS for a in ARMS if (w, a, s) not in done]
    os.environ["OMP_NUM_THREADS"] = "1"  # of the processes to come: two threads on small matrices only wait
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool, kept.open("a", encoding="utf-8") as file:
        futures = [pool.submit(run, *one) for one in todo]
        for future in track(as_completed(futures), description="training", total=len(futures)):
            runs.append(future.result())
            print(json.dumps(runs[-1]), file=file, flush=True)
    return [one for one in runs if one["seed"] in seeds]


def evaluate(runs: list[dict[str, Any]], execution_s: float, prediction_s: float) -> list[dict[str, Any]]:
    """Rows of the result file."""
    by_arm: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for one in runs:
        by_arm.setdefault((one["world"], one["arm"]), {})[one["seed"]] = one
    rows = []
    for world in WORLDS:
        for arm in ARMS:
            of_seed = by_arm[world, arm]
            executions = np.array([one["executions"][-1] for one in of_seed.values()])
            ratio = [one["values"][-1] / by_arm[world, "real"][seed]["values"][-1] for seed, one in of_seed.items()]
            needed = [
                one["executions"][int(np.argmax(reached))]
                for seed, one in of_seed.items()
                if (reached := np.array(one["values"]) >= 0.995 * by_arm[world, "real"][seed]["values"][-1]).any()
            ]
            metrics = {
                "final_score": [one["values"][-1] for one in of_seed.values()],
                "of_real": ratio,
                "real_executions": executions,
                "real_fraction": executions / ROWS,
                "distinct": [one["distinct"][-1] for one in of_seed.values()],
                "reached": [float(len(needed)) / len(of_seed)],
                "cost_s": executions * execution_s + (0.0 if arm == "real" else ROWS * prediction_s),
            } | ({"to_real": needed} if needed else {})
            summary = {name: bootstrap_mean([[float(value)] for value in values]) for name, values in metrics.items()}
            rows.append({"name": arm, "group": world, "metrics": summary})
    return rows


def show(rows: list[dict[str, Any]]) -> None:
    table = Table("world", "arm", "final true score", "95 %", "of real", "executed", "to 0.995 of real", "cost, CPU s")
    for row in rows:
        one = {name: metric["value"] for name, metric in row["metrics"].items()}
        score = row["metrics"]["final_score"]
        reached = f"{one['to_real']:.0f} ({one['reached']:.0%})" if "to_real" in one else "never"
        table.add_row(
            row["group"] if row["name"] == "real" else "", row["name"], f"{one['final_score']:.4f}",
            f"{score['low']:.3f}-{score['high']:.3f}", f"{one['of_real']:.3f}", f"{one['real_fraction']:.1%}", reached,
            f"{one['cost_s']:.0f}", end_section=row["name"] == list(ARMS)[-1],
        )  # fmt: skip
    for arm in ARMS:
        scores = [row["metrics"]["final_score"]["value"] for row in rows if row["name"] == arm]
        table.add_row("mean of worlds" if arm == "real" else "", arm, f"{np.mean(scores):.4f}")
    Console().print(table)


def plot(runs: list[dict[str, Any]], path: Path) -> None:
    """True score against real executions, mean over seeds."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6.5), layout="constrained")
    arms = [arm for arm in ARMS if arm not in ("both_reuse", "ours_no_reuse", "ours_adaptive")]
    for axes, world in zip(figure.subplots(2, 3).flat, WORLDS, strict=True):
        for arm in arms:
            of_arm = [one for one in runs if (one["world"], one["arm"]) == (world, arm)]
            axes.plot(np.mean([one["values"] for one in of_arm], 0), label=arm, linewidth=2 if arm == "ours" else 1)
        axes.set(title=world, xlabel="step", ylabel="expected true score", ylim=(0.3, 1.0))
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--seeds", type=int, help="how many, by default 20")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "correction.json")
    parser.add_argument("--plot", type=Path, help="where to draw the curves")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--execution-seconds", type=float, default=1.26, help="mean of recorded solutions, CPU")
    parser.add_argument("--prediction-seconds", type=float, default=0.0012, help="learned model, new solutions, CPU")
    args = parser.parse_args()
    count = args.seeds or (1 if args.quick else 20)
    kept = args.out.with_suffix(".runs.jsonl")
    seeds = range(args.seed, args.seed + count)
    runs = run_all(seeds, args.processes, kept)
    rows = evaluate(runs, args.execution_seconds, args.prediction_seconds)
    show(rows)
    if args.plot:
        plot(runs, args.plot)
    settings = {name: value for name, value in vars(args).items() if name not in ("out", "plot")}
    write_result(args.out, "correction", rows, settings | {"seeds": count})
    kept.unlink()


if __name__ == "__main__":
    main()
