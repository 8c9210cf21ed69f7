"""Write the shipped tasks' cards: ``python -m wmrl_env.tasks.build cards``, then ``... leaderboards``.

Cards hold all that agents and world models read, so that neither needs the data. Leaderboards hold the metric values
of real reference solutions, each run in the sandbox.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from wmrl_env.tasks.inventory import describe, sample_rows
from wmrl_env.tasks.metrics import get_metric
from wmrl_env.tasks.sources import SOURCES, Source, fingerprint, prepare
from wmrl_env.tasks.task import ID_COLUMN, ResearchTask

if TYPE_CHECKING:
    from wmrl_env.sandbox import Sandbox

_HERE = Path(__file__).parent
_ENTRIES, _SCRIPTS = 44, 12  # by the codec, and in free form
_ROUND = 54  # solutions drawn at a time
_ROUNDS = 4
_SEED = 7


def write_card(source: Source) -> Path:
    import pandas as pd

    folder = prepare(source.id)
    # What a solution sees after reading the CSV files, not what they were written from.
    train, test = (pd.read_csv(folder / "public" / name) for name in ("train.csv", "test.csv"))
    labelled = source.kind in ("binary", "multiclass")
    classes = tuple(sorted(train[source.target].astype(str).unique())) if labelled else ()
    if source.kind == "binary" and len(classes) != 2:
        raise ValueError(f"task {source.id!r} is binary but has classes {classes}")
    card = {
        "id": source.id,
        "title": source.title,
        "description": source.description,
        "kind": source.kind,
        "metric": source.metric,
        "higher_is_better": get_metric(source.metric).higher_is_better,
        "target": source.target,
        "id_column": ID_COLUMN,
        "classes": classes,
        "split": source.split,
        "modality": source.modality,
        "text_columns": source.text_columns,
        "time_column": source.time_column,
        "time_limit_s": source.time_limit_s,
        "memory_limit_mb": source.memory_limit_mb,
        "fingerprint": fingerprint(folder),
        "origin": source.origin,
        "licence": source.licence,
        "inventory": describe(train, test, source.target, ID_COLUMN, classes),
        "sample_rows": sample_rows(train),
    }
    path = _HERE / "cards" / f"{source.id}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def reference_solutions(task: ResearchTask) -> Iterator[list[str]]:
    """Rounds of distinct sources of careful but varied authors, without end since some of them fail."""
    from wmrl_env.pipeline import competent, render

    rng = np.random.default_rng(_SEED)
    seen: set[str] = set()
    while True:
        drawn = dict.fromkeys(render(action, task) for action in competent(rng, task, _ROUND))
        yield [code for code in drawn if code not in seen]
        seen |= drawn.keys()


def plain_solutions(task: ResearchTask) -> dict[str, str]:
    """Sources by name of what anybody would try first."""
    from wmrl_env.pipeline import DECISIONS, render

    output = "probabilities" if task.metric_object.prediction == "probability" else "predictions"
    common = {"imputation": "median", "encoding": "ordinal", "capacity": "medium", "output": output}
    recipes: dict[str, dict[str, str]] = {
        "linear": {"model": "linear", "encoding": "onehot", "scaling": "standard"},
        "neighbours": {"model": "neighbors", "scaling": "standard"},
        "tree": {"model": "tree", "regularisation": "strong"},
        "three trees": {"model": "tree", "regularisation": "strong", "ensembling": "bagging"},
        "forest": {"model": "random_forest", "capacity": "small"},
        "boosted trees": {"model": "gradient_boosting", "capacity": "small", "regularisation": "strong"},
        "boosted histograms": {"model": "hist_boosting", "capacity": "small", "regularisation": "strong"},
    }

    def action(recipe: dict[str, str]) -> list[int]:
        chosen = common | recipe
        return [d.options.index(chosen.get(d.name, d.options[0])) for d in DECISIONS]

    return {name: render(action(recipe), task) for name, recipe in recipes.items()}


def write_leaderboard(task: ResearchTask, workers: int) -> Path:
    from wmrl_env.sandbox import Sandbox
    from world_models.outcomes import Submission

    entries: list[tuple[float, str]] = []
    with Sandbox(workers=workers, warm_start=True) as sandbox:
        for sources in islice(reference_solutions(task), _ROUNDS):
            outcomes = sandbox.execute([Submission(task.id, task.text, code) for code in sources])
            entries += [
                (outcome.metric_value, _name(code))
                for code, outcome in zip(sources, outcomes, strict=True)
                if outcome.metric_value is not None
            ]
            if len(entries) >= _ENTRIES:
                break
        else:
            raise RuntimeError(
                f"task {task.id!r}: only {len(entries)} valid reference solutions of {_ROUNDS * _ROUND}, "
                f"needed {_ENTRIES}: are its limits too tight?"
            )
        entries = entries[:_ENTRIES] + _free_form(task, sandbox)
    entries.sort(reverse=task.higher_is_better)
    path = _HERE / "leaderboards" / f"{task.id}.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["metric_value", "solution"])
        writer.writerows(entries)
    return path


def _free_form(task: ResearchTask, sandbox: Sandbox) -> list[tuple[float, str]]:
    """Entries that no codec would write."""
    from wmrl_env.collect import draw_scripts
    from world_models.outcomes import Submission

    submissions = [Submission(task.id, task.text, code) for code in draw_scripts(task, 4 * _SCRIPTS, seed=0)]
    entries: list[tuple[float, str]] = []
    while submissions and len(entries) < _SCRIPTS:
        some, submissions = submissions[: _SCRIPTS // 2], submissions[_SCRIPTS // 2 :]
        values = [outcome.metric_value for outcome in sandbox.execute(some)]
        entries += [(value, "free form") for value in values if value is not None]
    return entries[:_SCRIPTS]


def _name(code: str) -> str:
    return next(line for line in code.splitlines() if line.startswith("model = ")).removeprefix("model = ")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=["cards", "leaderboards"])
    parser.add_argument("--task", action="append", help="Only this task; may be given several times.")
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    if args.part == "cards":
        board = _HERE / "leaderboards"
        board.mkdir(exist_ok=True)
        for source in (SOURCES[task_id] for task_id in args.task or SOURCES):
            print(write_card(source))
            if not (board / f"{source.id}.csv").exists():  # a task cannot be loaded without one
                (board / f"{source.id}.csv").write_text("metric_value,solution\n0.5,to be built\n", encoding="utf-8")
        return
    from wmrl_env import tasks

    for task_id in args.task or SOURCES:
        print(write_leaderboard(tasks.get(task_id), args.workers), flush=True)


if __name__ == "__main__":
    main()
