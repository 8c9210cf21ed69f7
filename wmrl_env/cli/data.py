"""``wmrl collect``, ``wmrl train-world-model`` and ``wmrl fidelity``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.table import Table

from wmrl_env.cli.console import AsJson, Seed, emit, progress

if TYPE_CHECKING:
    from world_models.base import WorldModel
    from world_models.store import Transition

__all__ = ["collect", "fidelity", "train_world_model", "unseen"]

_DATA, _SCRIPTS = Path("data/outcomes.parquet"), Path("data/scripts.parquet")
Data = Annotated[Path, typer.Option(help="Recorded outcomes: what wmrl collect wrote, SQLite or Parquet.")]


def collect(
    out: Annotated[Path, typer.Option(help="SQLite file of recorded outcomes; an existing one is added to.")] = Path(
        "runs/outcomes.sqlite"
    ),
    parquet: Annotated[Path | None, typer.Option(help="Parquet file to export everything to, too.")] = None,
    per_task: Annotated[
        int, typer.Option(min=0, help="Pipeline solutions drawn for a task, beside its references.")
    ] = 350,
    references: Annotated[bool, typer.Option(help="Run the tasks' reference solutions, too.")] = True,
    scripts: Annotated[int, typer.Option(min=0, help="Free-form scripts drawn for each task.")] = 0,
    task: Annotated[list[str] | None, typer.Option(help="Task id; may be given several times. Default: all.")] = None,
    workers: Annotated[int, typer.Option(min=1, help="Solutions that run at once.")] = 2,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Execute solutions for real and record what happens. Interrupted, it goes on where it stopped."""
    from wmrl_env.collect import collect

    with (
        progress("executing", "solutions") as advance,
        collect(
            out,
            per_task=per_task,
            scripts_per_task=scripts,
            references=references,
            task_ids=task,
            workers=workers,
            seed=seed,
            progress=advance,
        ) as store,
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
    data: Annotated[
        list[Path], typer.Option(help="Recorded outcomes, SQLite or Parquet; may be given several times.")
    ] = [_DATA, _SCRIPTS],  # noqa: B006  read only
    out: Annotated[Path, typer.Option(help="Folder of the checkpoint.")] = Path("runs/world-model"),
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the data.")] = 60,
    kind: Annotated[
        str, typer.Option(help='"learned", or "language": heads on the hidden states of a language model.')
    ] = "learned",
    model: Annotated[
        str | None, typer.Option(help="Language model: folder, GGUF file or hub name. Default: SmolLM2-135M.")
    ] = None,
    gguf_file: Annotated[str | None, typer.Option(help="GGUF file in that folder or repository.")] = None,
    most: Annotated[
        int | None, typer.Option(min=1, help="Solutions that the language model reads, drawn where there are more.")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Train a world model on recorded outcomes of tasks that are not held out."""
    if kind not in ("learned", "language"):
        raise ValueError(f'kind must be "learned" or "language", got {kind!r}')
    given = {"model": model, "gguf-file": gguf_file, "most": most}
    if kind == "learned" and any(value is not None for value in given.values()):
        names = ", ".join(f"--{name}" for name, value in given.items() if value is not None)
        raise ValueError(f"{names} is of --kind language only")
    import world_models
    from wmrl_env import tasks

    heldout = [task.id for task in tasks.list("heldout")]
    recorded = [row for path in data for row in world_models.load_transitions(path)]
    trained: WorldModel
    if kind == "learned":
        with progress("training", "epochs") as advance:
            learned = world_models.train(
                recorded, out, seed=seed, exclude_tasks=heldout, epochs=epochs, progress=advance
            )
        trained, facts = learned, learned.facts
    else:
        from world_models.language import LanguageModel, train_heads

        base = LanguageModel.default(model, gguf_file=gguf_file)
        with progress("reading", "solutions") as advance:
            language = train_heads(
                base, recorded, out, seed=seed, exclude_tasks=heldout, most=most, epochs=epochs, progress=advance
            )
        trained, facts = language, language.facts
    result = {"out": str(out), "name": trained.name, "version": trained.version, **facts}
    emit(result, f"{trained.name} {trained.version} in {out}, trained on {facts['rows']} outcomes", as_json)


def unseen(recorded: Iterable[Transition], split: str) -> list[Transition]:
    """What :func:`train_world_model` does not train on.

    Args:
        split: ``"test"``: solutions set aside, of tasks that are trained on; ``"heldout"``: tasks held out whole.

    Raises:
        ValueError: another split.
    """
    import world_models
    from wmrl_env import tasks

    if split not in ("test", "heldout"):
        raise ValueError(f'split must be "test" or "heldout", got {split!r}')
    heldout = {task.id for task in tasks.list("heldout")}

    def chosen(task_id: str, code: str) -> bool:
        if split == "heldout":
            return task_id in heldout
        return task_id not in heldout and world_models.split_of(task_id, code) == "test"

    return [row for row in recorded if chosen(row.submission.task_id, row.submission.code)]


def fidelity(
    model: Annotated[str, typer.Option(help='World model: name, folder or "module:attribute".')] = "learned",
    data: Data = _DATA,
    split: Annotated[
        str, typer.Option(help='"test": unseen solutions of known tasks; "heldout": tasks that are held out whole.')
    ] = "test",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Hold a world model's predictions against recorded executions that it was not trained on."""
    import world_models
    from wmrl_env.correction import action_class
    from world_models.fidelity import fidelity

    rows = unseen(world_models.load_transitions(data), split)
    report = fidelity(world_models.make(model), rows, seed=seed, action_class=action_class)
    table = Table("metric", "value", "95 % interval", "n")
    for name, estimate in report.metrics.items():
        table.add_row(name, f"{estimate.value:.4g}", f"{estimate.low:.4g} to {estimate.high:.4g}", str(estimate.n))
    table.caption = f"{report.model} on {len(report.by_task)} tasks, split {split}; {report.ungraded} ungraded"
    by_task = Table("task", "status accuracy", "pairwise accuracy", "score MAE", "n")
    for task, metrics in report.by_task.items():
        shown = (metrics[name] for name in ("status_accuracy", "pairwise_accuracy", "score_mae"))
        by_task.add_row(task, *(f"{estimate.value:.3f}" for estimate in shown), str(metrics["score_mae"].n))
    emit({"split": split, **report.to_dict()}, Group(table, by_task), as_json)
