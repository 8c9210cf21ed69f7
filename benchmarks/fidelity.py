"""How true are the world model's predictions of solutions that it was not trained on?

python benchmarks/fidelity.py [--quick] [--seed S] [--out PATH]

Rows: models. Groups: ``in_task``, unseen solutions of known tasks; ``heldout``, tasks held out whole; the same of
free-form scripts.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from _results import write_result
from rich.console import Console
from rich.table import Table

import world_models
from wmrl_env.cli.data import unseen
from world_models.fidelity import fidelity

HERE = Path(__file__).parent
DATA = HERE.parent / "data"
GROUPS = {
    "in_task": ("outcomes", "test"),
    "heldout": ("outcomes", "heldout"),
    "in_task_scripts": ("scripts", "test"),
    "heldout_scripts": ("scripts", "heldout"),
}
METRICS = (
    "status_accuracy",
    "status_balanced_accuracy",
    "exception_accuracy",
    "pairwise_accuracy",
    "score_mae",
    "ece",
    "variance_ratio",
    "predictions_per_s",
)


def measure(data: Path, bootstrap: int, seed: int) -> list[dict[str, Any]]:
    """One row a group, of the model in the package."""
    model = world_models.make("learned")
    rows = []
    for group, (recording, split) in GROUPS.items():
        recorded = world_models.load_transitions(data / f"{recording}.parquet")
        report = fidelity(model, unseen(recorded, split), bootstrap=bootstrap, seed=seed)
        metrics = {name: report.metrics[name].to_dict() for name in METRICS}
        rows.append({"name": "learned", "group": group, "metrics": metrics})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer bootstrap resamples")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "fidelity.json")
    args = parser.parse_args()
    rows = measure(args.data, 50 if args.quick else 1000, args.seed)
    table = Table("metric", *(row["group"] for row in rows))
    for name in METRICS:
        estimates = [row["metrics"][name] for row in rows]
        cells = (
            "-" if e["value"] is None else f"{e['value']:.3f} ({e['low']:.3f} to {e['high']:.3f})" for e in estimates
        )
        table.add_row(name, *cells)
    Console().print(table)
    write_result(args.out, "fidelity", rows, {"quick": args.quick, "seed": args.seed})


if __name__ == "__main__":
    main()
