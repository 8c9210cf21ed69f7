"""``wmrl tasks``: which research tasks there are, and making one of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.table import Table
from rich.text import Text

from wmrl_env.cli.console import AsJson, emit, note, progress

if TYPE_CHECKING:
    from wmrl_env.tasks import ResearchTask
    from wmrl_env.tasks.directory import Inspection

__all__ = ["app"]

app = typer.Typer(help="List, show, make and check research tasks.", invoke_without_command=True)

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the task.")]


def _card(task: ResearchTask) -> dict[str, Any]:
    return {
        "id": task.id,
        "title": task.title,
        "split": task.split,
        "modality": task.modality,
        "kind": task.kind,
        "metric": task.metric,
        "higher_is_better": task.higher_is_better,
        "time_limit_s": task.time_limit_s,
        "memory_limit_mb": task.memory_limit_mb,
        "origin": task.origin,
        "licence": task.licence,
        "leaderboard": sorted(task.leaderboard, reverse=task.higher_is_better),
    }


@app.callback()
def list_tasks(
    context: typer.Context,
    split: Annotated[str | None, typer.Option(help='"train" or "heldout"; both by default.')] = None,
    modality: Annotated[
        str | None, typer.Option(help='"tabular", "series", "text" or "image"; all by default.')
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the research tasks that come with the package."""
    if context.invoked_subcommand is not None:
        return
    from typing import get_args

    from wmrl_env import tasks
    from wmrl_env.tasks.task import Modality

    if modality not in (None, *get_args(Modality)):
        raise ValueError(f"modality must be one of {', '.join(get_args(Modality))}, got {modality!r}")
    found = tasks.list(split)  # type: ignore[arg-type]  # it names the wrong split itself
    cards = [_card(task) for task in found if modality in (None, task.modality)]
    table = Table("id", "split", "modality", "kind", "metric", "best", "median", "title")
    for card in cards:
        board = card["leaderboard"]
        numbers = (f"{board[0]:.4g}", f"{board[len(board) // 2]:.4g}")
        facts = (card[name] for name in ("id", "split", "modality", "kind", "metric"))
        table.add_row(*facts, *numbers, card["title"])
    table.caption = f"{len(cards)} tasks"
    emit({"tasks": cards}, table, as_json)


@app.command("show")
def show(
    task_id: Annotated[str, typer.Argument(metavar="ID", help="Id of a task, or the folder of one's own.")],
    as_json: AsJson = False,
) -> None:
    """Show one task as an agent sees it, and where its data come from."""
    from wmrl_env import tasks
    from wmrl_env.envs.resolve import resolve_task

    task = resolve_task(task_id) if Path(task_id).is_dir() else tasks.get(task_id)
    facts = Table(show_header=False)
    board = sorted(task.leaderboard, reverse=task.higher_is_better)
    for name, value in (
        ("split", task.split),
        ("modality", task.modality),
        ("limits", f"{task.time_limit_s:g} CPU seconds, {task.memory_limit_mb} MB"),
        ("leaderboard", f"{len(board)} entries, {board[0]:.4g} to {board[-1]:.4g}"),
        ("origin", task.origin or "not told"),
        ("licence", task.licence or "not told"),
    ):
        facts.add_row(name, value)
    emit({**_card(task), "text": task.text}, Group(facts, Text(task.text)), as_json)


@app.command("new")
def new(folder: Folder, as_json: AsJson = False) -> None:
    """Write a small complete task into a new folder, to be turned into one of your own."""
    from wmrl_env.tasks.scaffold import new_task

    with progress("fitting the leaderboard", "models") as advance:
        root = new_task(folder, advance)
    files = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())
    view = f"Task in {root}. Read {root / 'README.md'}, then: wmrl tasks check {root}"
    emit({"root": str(root), "files": files}, view, as_json)


@app.command("check")
def check(
    folder: Folder,
    metric: Annotated[str | None, typer.Option(help="Metric, where task.json names none.")] = None,
    leaderboard: Annotated[
        Path | None, typer.Option(help="CSV file of reference scores, where the folder holds none.")
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="Also run a plain solution for real.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say everything that is wrong with the task in a folder. Exit code 1 when it cannot be used."""
    from wmrl_env.tasks.directory import inspect

    given = {"metric": metric, "leaderboard": leaderboard}
    found = inspect(folder, **{name: value for name, value in given.items() if value is not None})
    result: dict[str, Any] = {"ok": found.task is not None, "faults": found.faults, "warnings": found.warnings}
    lines = [f"fault: {fault}" for fault in found.faults] + [f"warning: {warning}" for warning in found.warnings]
    if found.task is None:
        lines.append(f"{folder} cannot be used: {len(found.faults)} faults")
    else:
        result["task"] = _card(found.task)
        lines.append(f"{folder} is a usable task: {found.task.kind}, {found.task.metric}")
        if run:
            result["run"] = _run(found.task, found)
            result["ok"] = result["run"]["status"] == "VALID"
            lines += _report(result["run"])
    emit(result, Text("\n".join(lines)), as_json)
    if not result["ok"]:
        raise typer.Exit(1)


def _run(task: ResearchTask, found: Inspection) -> dict[str, Any]:
    """Outcome of the plain solution, executed now."""
    from wmrl_env import tasks
    from wmrl_env.sandbox import Sandbox
    from wmrl_env.tasks.baseline import baseline
    from world_models.outcomes import Submission

    tasks.register(task)
    note("running a plain solution ...")
    with Sandbox(workers=1, cache=None) as sandbox:
        (outcome,) = sandbox.execute([Submission(task.id, task.text, baseline(task, found))])
    return {
        "status": str(outcome.status),
        "metric_value": outcome.metric_value,
        "score": outcome.score,
        "seconds": outcome.seconds,
        "feedback": outcome.feedback,
    }


def _report(run: dict[str, Any]) -> list[str]:
    if run["status"] != "VALID":
        return ["a plain solution does not get through:", run["feedback"]]
    return [
        f"a plain solution is {run['status']}: metric {run['metric_value']:.6g}, score {run['score']:.3f}, "
        f"{run['seconds']:.1f} s"
    ]
