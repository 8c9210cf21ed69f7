"""Does the guard find an exploit soon, and leave an honest model alone?

python benchmarks/guard.py [--quick] [--seed S] [--out PATH] [--seeds N] [--processes N]

The planted world of ``correction.py`` (150 steps of 64 solutions, GRPO), the world model alone, and an ``ExploitGuard``
at its defaults that audits 5 % of the rows. Rows: ``honest`` worlds, where predictions are right in the mean;
``exploit`` worlds, where one class of solutions looks better than it is. Metrics: ``alarmed``, share of runs with any
alarm; ``wrong_class``, with one of another class; ``found_200``, share alarmed within the first 200 audits of any kind;
``audits``, the number until the alarm, over the runs that had one; ``executions`` of the whole run.
"""

from __future__ import annotations

import argparse
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from _planted import CLASS, STEPS, WORLDS, Truth, train
from _results import write_result
from rich.console import Console
from rich.progress import track
from rich.table import Table

from wmrl_env.demo import bootstrap_mean
from wmrl_env.wrappers.vector import AnchorSampling, ExploitGuard

HERE = Path(__file__).parent
WITHIN = 200  # audits
HONEST = {"noisy": {"noise": 0.15}, "heteroscedastic": WORLDS["heteroscedastic"]}
EXPLOITED = {name: WORLDS[name] for name in ("class_blind", "class_inverted")}


class Alarms:
    """Which classes were alarmed, and after how many audits of any kind."""

    def __init__(self) -> None:
        self.audits: dict[str, int] = {}

    def __call__(self, env: Any) -> None:
        for name in env.alarms:
            self.audits.setdefault(name.removesuffix("Regressor"), env.get_wrapper_attr("counts")["audits"])


def run(world: dict[str, Any], seed: int) -> tuple[dict[str, int], float]:
    """Alarms and real executions of one training."""
    warnings.simplefilter("ignore")  # the alarms
    alarms = Alarms()
    _, executions, _ = train(
        Truth(seed),
        world,
        lambda env, sandbox: ExploitGuard(AnchorSampling(env, sandbox, 0.0), 0.05, seed=seed),
        seed,
        STEPS,
        after_step=alarms,
    )
    return alarms.audits, float(executions[-1])


def row(group: str, name: str, runs: list[tuple[dict[str, int], float]]) -> dict[str, Any]:
    first = [min(audits.values()) for audits, _ in runs if audits]
    metrics = {
        "alarmed": [float(bool(audits)) for audits, _ in runs],
        "wrong_class": [float(bool(audits.keys() - {CLASS})) for audits, _ in runs],
        "found_200": [float(audits.get(CLASS, WITHIN + 1) <= WITHIN) for audits, _ in runs],
        "executions": [executions for _, executions in runs],
    } | ({"audits": [float(count) for count in first]} if first else {})
    return {
        "name": name,
        "group": group,
        "metrics": {metric: bootstrap_mean([[one] for one in values]) for metric, values in metrics.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="eight seeds")
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--seeds", type=int, help="how many, by default 100")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=HERE / "results" / "guard.json")
    args = parser.parse_args()
    seeds = range(args.seed, args.seed + (args.seeds or (8 if args.quick else 100)))
    worlds = {("honest", name): world for name, world in HONEST.items()}
    worlds |= {("exploit", name): world for name, world in EXPLOITED.items()}
    os.environ["OMP_NUM_THREADS"] = "1"  # of the processes to come
    rows = []
    with ProcessPoolExecutor(args.processes, get_context("spawn")) as pool:
        # Worlds go by name: functions inside them do not pickle.
        futures = {key: [pool.submit(run_named, *key, seed) for seed in seeds] for key in worlds}
        for (group, name), of_world in futures.items():
            rows.append(row(group, name, [one.result() for one in track(of_world, description=f"{group} {name}")]))
    table = Table("world", "", "alarmed", "another class", "within 200 audits", "audits to alarm", "executions")
    for one in rows:
        value = {metric: f"{number['value']:.3f}" for metric, number in one["metrics"].items()}
        audits = f"{one['metrics']['audits']['value']:.0f}" if "audits" in value else "-"
        table.add_row(
            one["name"], one["group"], value["alarmed"], value["wrong_class"],
            value["found_200"] if one["group"] == "exploit" else "-", audits, value["executions"],
        )  # fmt: skip
    Console().print(table)
    write_result(args.out, "guard", rows, {"quick": args.quick, "seed": args.seed, "seeds": len(seeds)})


def run_named(group: str, name: str, seed: int) -> tuple[dict[str, int], float]:
    return run((HONEST if group == "honest" else EXPLOITED)[name], seed)


if __name__ == "__main__":
    main()
