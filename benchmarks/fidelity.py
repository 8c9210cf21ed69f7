"""How true are world models' predictions of solutions that they were not trained on, and what does that cost?

python benchmarks/fidelity.py [--quick] [--seed S] [--out PATH] [--language]

Rows: models and baselines. Groups: ``in_task``, unseen solutions of known tasks, by the codec and free-form;
``heldout``, tasks held out whole; ``heldout_100``, the same with 100 executions of each as anchors. The same by kind of
solution: ``in_task_codec``, ``in_task_scripts``, ``heldout_codec``, ``heldout_scripts``. ``reuse_N``: tasks held out,
with N anchors each, judged on the same solutions for all N. ``speed``: from source text to outcome, batch 256.
``break_even``: what the world model cost, and after how many groups of real executions it has paid for itself.
``--language`` adds SmolLM2-135M, where it is installed, on a sample; it takes minutes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from _results import write_result
from rich.console import Console
from rich.table import Table

import world_models
from wmrl_env import tasks
from wmrl_env.cli.data import unseen
from wmrl_env.correction import action_class
from world_models.baselines import CodeLength, GradientBoosting, StatusPrior, TaskMean
from world_models.ensemble import EnsembleModel
from world_models.fidelity import FidelityReport, fidelity
from world_models.learned import adapt, train
from world_models.retrieval import RetrievalModel
from world_models.store import Transition

HERE = Path(__file__).parent
DATA = HERE.parent / "data"
METRICS = (
    "status_accuracy",
    "status_balanced_accuracy",
    "exception_accuracy",
    "pairwise_accuracy",
    "valid_pairwise_accuracy",
    "score_mae",
    "ece",
    "variance_ratio",
    "predictions_per_s",
)
ANCHORS = 100
REUSE = (0, 10, 30, 100, 300)
GROUP_SIZE = 8
SAMPLE = 40  # solutions that the language model reads

Rows = list[Transition]


class Recorded:
    """The recordings, and what of them each model may see."""

    def __init__(self, data: Path, seed: int) -> None:
        self.codec = world_models.load_transitions(data / "outcomes.parquet")
        self.scripts = world_models.load_transitions(data / "scripts.parquet")
        self.heldout = [task.id for task in tasks.list("heldout")]
        both = self.codec + self.scripts
        self.training = [row for row in both if row.split == "train" and row.submission.task_id not in self.heldout]
        self.in_task, self.of_heldout = unseen(both, "test"), unseen(both, "heldout")
        rng = np.random.default_rng(seed)
        self.by_task: dict[str, Rows] = {}
        for row in self.of_heldout:
            self.by_task.setdefault(row.submission.task_id, []).append(row)
        for rows in self.by_task.values():
            rng.shuffle(rows)  # type: ignore[arg-type]

    def anchors(self, count: int, least: int = 0) -> Rows:
        """``count`` executions of each held-out task that has at least ``least``."""
        return [row for rows in self.by_task.values() if len(rows) >= least for row in rows[:count]]

    def beyond(self, count: int, least: int = 0) -> Rows:
        """The executions after the first ``count`` of each."""
        return [row for rows in self.by_task.values() if len(rows) >= least for row in rows[count:]]


def result(name: str, group: str, report: FidelityReport) -> dict[str, Any]:
    metrics = {metric: report.metrics[metric].to_dict() for metric in METRICS}
    return {"name": name, "group": group, "metrics": metrics}


def compare(recorded: Recorded, measure: Callable[[Any, Rows], FidelityReport]) -> list[dict[str, Any]]:
    """All models and baselines, in task and on tasks held out."""
    learned = world_models.make("learned")
    anchors, beyond = recorded.anchors(ANCHORS), recorded.beyond(ANCHORS)

    makers: dict[str, Callable[[Rows], Any]] = {
        "retrieval": RetrievalModel,
        "nearest_neighbour": lambda rows: RetrievalModel(rows, neighbours=1),
        "gradient_boosting": GradientBoosting,
        "task_mean": TaskMean,
        "code_length": CodeLength,
        "status_prior": StatusPrior,
    }
    models = {"learned": (learned, adapt(learned, anchors))}
    for name, make in makers.items():
        models[name] = make(recorded.training), make(recorded.training + anchors)
    models["ensemble"] = tuple(
        EnsembleModel([one, trees], [2, 1])
        for one, trees in zip(models["learned"], models["gradient_boosting"], strict=True)
    )
    rows = []
    for name, (model, with_anchors) in models.items():
        rows.append(result(name, "in_task", measure(model, recorded.in_task)))
        rows.append(result(name, "heldout", measure(model, recorded.of_heldout)))
        rows.append(result(name, "heldout_100", measure(with_anchors, beyond)))
    for kind, recording in (("codec", recorded.codec), ("scripts", recorded.scripts)):
        for group, split in (("in_task", "test"), ("heldout", "heldout")):
            rows.append(result("learned", f"{group}_{kind}", measure(learned, unseen(recording, split))))
    return rows


def reuse(recorded: Recorded, measure: Callable[[Any, Rows], FidelityReport]) -> list[dict[str, Any]]:
    """Fidelity on tasks held out against the number of anchors on them."""
    learned = world_models.make("learned")
    least = REUSE[-1] + 50
    judged = recorded.beyond(REUSE[-1], least)
    rows = []
    for count in REUSE:
        model = adapt(learned, recorded.anchors(count, least)) if count else learned
        rows.append(result("learned", f"reuse_{count}", measure(model, judged)))
    return rows


def _value(value: float, n: int = 1) -> dict[str, Any]:
    return {"value": value, "low": value, "high": value, "n": n}


def speed(recorded: Recorded) -> dict[str, Any]:
    """Predictions a second of the shipped model on solutions by the codec, one process."""
    codec = set(recorded.codec)
    submissions = [row.submission for row in recorded.in_task if row in codec]
    model = world_models.make("learned")
    renamed = [_renamed(one, i) for i, one in enumerate(submissions)]
    batches = [renamed[at : at + 256] for at in range(0, len(renamed) - 255, 256)]
    model.execute(batches.pop(0))  # the libraries are warm; of these solutions nothing is asked again
    fresh = batches[0]

    def seconds(batch: Sequence[Any]) -> float:
        began = time.perf_counter()
        model.execute(batch)
        return time.perf_counter() - began

    new = [seconds(batch) for batch in batches]
    known = min(seconds(fresh) for _ in range(5))
    single = float(np.median([seconds([_renamed(one, 1000 + i)]) for i, one in enumerate(submissions[:64])]))
    lengths = [100, 1000]  # statements; an equal time for each line is linear
    each = [float(np.median([seconds([_long(fresh[0], count, i)]) for i in range(5)])) / count for count in lengths]
    metrics = {
        "new_per_s": _value(len(fresh) / float(np.median(new)), len(fresh) * len(new)),
        "cached_per_s": _value(len(fresh) / known, len(fresh)),
        "single_ms": _value(1e3 * single, 64),
        "time_per_line_ratio": _value(each[1] / each[0]),
    }
    return {"name": "learned", "group": "speed", "metrics": metrics}


def _renamed(submission: Any, number: int) -> Any:
    """The same solution with another seed: new to every cache of whole solutions."""
    code = submission.code.replace("random_state=0", f"random_state={number + 7}") + f"# {number}\n"
    return world_models.Submission(submission.task_id, submission.task_text, code)


def _long(submission: Any, count: int, number: int) -> Any:
    """``count`` statements, none of them seen before."""
    code = "".join(f"x{number} = [i * {i} for i in range({count})]\n" for i in range(count))
    return world_models.Submission(submission.task_id, submission.task_text, code)


def break_even(recorded: Recorded) -> dict[str, Any]:
    """Recording and training of the world model, in groups of real executions that it saves."""
    mean_seconds = float(np.mean([row.outcome.seconds for row in recorded.training]))
    recording = mean_seconds * len(recorded.training)
    began = time.perf_counter()
    train(recorded.training, exclude_tasks=recorded.heldout)
    training = time.perf_counter() - began
    saved = GROUP_SIZE * mean_seconds * 0.9  # one group in ten is still executed
    metrics = {
        "recording_cpu_s": _value(recording, len(recorded.training)),
        "training_s": _value(training),
        "executions": _value(float(len(recorded.training))),
        "groups": _value((recording + training) / saved),
    }
    return {"name": "learned", "group": "break_even", "metrics": metrics}


def language(recorded: Recorded, measure: Callable[[Any, Rows], FidelityReport], seed: int) -> list[dict[str, Any]]:
    """SmolLM2 as it is, on a sample of ``in_task``."""
    chosen = np.random.default_rng(seed).choice(len(recorded.in_task), SAMPLE, replace=False)
    sample = [recorded.in_task[i] for i in chosen.tolist()]
    return [
        result("language", "in_task_sample", measure(world_models.make("language"), sample)),
        result("learned", "in_task_sample", measure(world_models.make("learned"), sample)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the shipped model only, fewer bootstrap resamples")
    parser.add_argument("--language", action="store_true", help="SmolLM2-135M as well, on a sample")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "fidelity.json")
    args = parser.parse_args()
    recorded = Recorded(args.data, args.seed)
    bootstrap = 50 if args.quick else 500

    def measure(model: Any, rows: Rows) -> FidelityReport:
        return fidelity(model, rows, bootstrap=bootstrap, seed=args.seed)

    learned = world_models.make("learned")
    rows = [speed(recorded)]  # first: garbage collection walks all that a process holds
    rows += [result("learned", "in_task", measure(learned, recorded.in_task))] if args.quick else []
    rows += [] if args.quick else compare(recorded, measure) + reuse(recorded, measure)
    rows += language(recorded, measure, args.seed) if args.language else []
    rows += [] if args.quick else [break_even(recorded)]

    detailed = fidelity(learned, recorded.in_task, bootstrap=bootstrap, seed=args.seed, action_class=action_class)
    detailed.plot(args.out.with_name("fidelity_reliability.png"))
    _show(rows, detailed)
    write_result(args.out, "fidelity", rows, {"quick": args.quick, "seed": args.seed, "language": args.language})


def _show(rows: list[dict[str, Any]], detailed: FidelityReport) -> None:
    console = Console()
    for group in dict.fromkeys(row["group"] for row in rows):
        of_group = [row for row in rows if row["group"] == group]
        table = Table("", *of_group[0]["metrics"], title=group)
        for row in of_group:
            table.add_row(row["name"], *(_cell(estimate) for estimate in row["metrics"].values()))
        console.print(table)
    for title, groups in (("by task", detailed.by_task), ("by action class", detailed.by_action_class)):
        shown = ("status_accuracy", "pairwise_accuracy", "score_mae")
        table = Table("", *shown, "n", title=f"learned, in task, {title}")
        for name, metrics in groups.items():
            table.add_row(name, *(f"{metrics[one].value:.3f}" for one in shown), str(metrics["score_mae"].n))
        console.print(table)
    table = Table("task", "real", "told", "last line of the real feedback", title="learned, in task, worst errors")
    for row, told in detailed.worst:
        real = row.outcome
        table.add_row(
            row.submission.task_id,
            f"{real.status} {real.score:.2f}",
            f"{told.status} {told.score:.2f}",
            real.feedback.strip().split("\n")[-1][:70],
        )
    console.print(table)


def _cell(estimate: dict[str, Any]) -> str:
    if estimate["value"] is None:
        return "-"
    digits = 0 if estimate["value"] > 100 else 3
    low, value, high = (f"{estimate[one]:.{digits}f}" for one in ("low", "value", "high"))
    return value if low == high else f"{value} ({low}-{high})"


if __name__ == "__main__":
    main()
