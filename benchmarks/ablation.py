"""What does each correction add on real tasks, at equal wall-clock?

python benchmarks/ablation.py [--quick] [--seed S] [--out PATH]

The experiment of ``wmrl demo`` (PPO on the Pipeline env, three held-out tasks, 36 s of training an arm and seed, three
seeds, graded by real execution) with an arm for each correction: ``real``, ``raw``, ``mixed`` (anchors, uncorrected),
``denoise``, ``debias``, ``corrected`` (both) and ``guarded`` (single audits in place of anchored groups, residuals by
task and choice, both corrections). Takes about 20 minutes; interrupted runs resume.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from _results import write_result
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from wmrl_env.demo import ABLATION, DemoConfig, run

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed, 15 s an arm")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "ablation.json")
    args = parser.parse_args()
    config = DemoConfig.quick(args.seed) if args.quick else DemoConfig(seed=args.seed)
    folder = HERE.parent / "runs" / "ablation"
    with Progress() as progress:
        bar = progress.add_task("starting", total=len(ABLATION) * config.seeds * config.seconds)
        result = run(
            config,
            folder,
            lambda what, seconds: progress.update(bar, completed=seconds, description=what),
            arms=ABLATION,
        )
    table = Table("arm", "final real score", "95 % interval", "real executions", "predictions")
    rows = []
    for arm in result["arms"]:
        score = arm["real_score"]
        counts = {
            name: {"value": arm[name], "low": arm[name], "high": arm[name], "n": score["n"]}
            for name in ("real_executions", "predictions", "wall_s")
        }
        rows.append({"name": arm["name"], "group": "structured", "metrics": {"final_score": score} | counts})
        table.add_row(
            arm["name"], f"{score['value']:.3f}", f"{score['low']:.3f} to {score['high']:.3f}",
            f"{arm['real_executions']:.0f}", f"{arm['predictions']:.0f}",
        )  # fmt: skip
    Console().print(table)
    write_result(args.out, "ablation", rows, {"quick": args.quick, "seed": args.seed, "config": result["config"]})


if __name__ == "__main__":
    main()
