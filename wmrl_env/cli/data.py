"""``wmrl collect``, ``wmrl train-world-model`` and ``wmrl fidelity``."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from wmrl_env.cli.console import AsJson, Seed, emit, progress

__all__ = ["collect", "fidelity", "train_world_model"]


def collect(
    out: Annotated[Path, typer.Option(help="SQLite file of recorded outcomes; an existing one is added to.")] = Path(
        "runs/outcomes.sqlite"
    ),
    parquet: Annotated[Path | None, typer.Option(help="Parquet file to export everything to, too.")] = None,
    per_task: Annotated[int, typer.Option(min=1, help="Solutions a task.")] = 400,
    task: Annotated[list[str] | None, typer.Option(help="Task id; may be given several times. Default: all.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Solutions that run at once.")] = 2,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Execute pipeline solutions for real and record what happens. Interrupted, it goes on where it stopped."""
    from wmrl_env.collect import collect

    with (
        progress("executing", "solutions") as advance,
        collect(out, per_task=per_task, task_ids=task, workers=workers, seed=seed, progress=advance) as store,
    ):
        if parquet is not None:
            store.to_parquet(parquet)
        statuses = Counter(str(transition.outcome.status) for transition in store)
    result = {"out": str(out), "recorded": statuses.total(), "statuses": dict(statuses)}
    table = Table("status", "outcomes")
    for status, count in statuses.most_common():
        table.add_row(status, str(count))
    table.caption = f"{statuses.total()} outcomes in {out}"
    emit(result, table, as_json)


def train_world_model(
    data: Annotated[Path, typer.Option(help="Recorded outcomes: SQLite or Parquet.")],
    out: Annotated[Path, typer.Option(help="Folder of the checkpoint.")] = Path("runs/world-model"),
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the data.")] = 60,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train the world model "learned" on recorded outcomes of tasks that are not held out."""
    import world_models
    from wmrl_env import tasks

    heldout = [task.id for task in tasks.list("heldout")]
    with progress("training", "epochs") as advance:
        model = world_models.train(data, out, seed=seed, exclude_tasks=heldout, epochs=epochs, progress=advance)
    result = {"out": str(out), "name": model.name, "version": model.version, **model.facts}
    emit(result, f"{model.name} {model.version} in {out}, trained on {model.facts['rows']} outcomes", as_json)


def fidelity(
    model: Annotated[str, typer.Option(help="World model: name or path.")] = "learned",
    data: Annotated[Path | None, typer.Option(help="Recorded outcomes; default those in the package.")] = None,
    split: Annotated[
        str, typer.Option(help='"test": unseen solutions of known tasks; "heldout": unseen tasks.')
    ] = "test",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Hold a world model's predictions against recorded executions that it was not trained on."""
    import world_models

    report = world_models.fidelity(world_models.make(model), data)
    emit(report, Table(), as_json)
