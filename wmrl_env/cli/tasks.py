"""``wmrl tasks``: which research tasks there are."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from wmrl_env.cli.console import AsJson, emit

__all__ = ["app"]

app = typer.Typer(help="List and show research tasks.", invoke_without_command=True)


def _card(task: Any) -> dict[str, Any]:
    return {
        "id": task.id,
        "title": task.title,
        "split": task.split,
        "kind": task.kind,
        "metric": task.metric,
        "higher_is_better": task.higher_is_better,
        "time_limit_s": task.time_limit_s,
        "memory_limit_mb": task.memory_limit_mb,
        "leaderboard": sorted(task.leaderboard, reverse=task.higher_is_better),
    }


@app.callback()
def list_tasks(
    context: typer.Context,
    split: Annotated[str | None, typer.Option(help='"train" or "heldout"; both by default.')] = None,
    as_json: AsJson = False,
) -> None:
    """List the research tasks that come with the package."""
    if context.invoked_subcommand is not None:
        return
    from wmrl_env import tasks

    cards = [_card(task) for task in tasks.list(split)]  # type: ignore[arg-type]  # it names the wrong split itself
    table = Table("id", "split", "kind", "metric", "best", "median", "title")
    for card in cards:
        board = card["leaderboard"]
        numbers = (f"{board[0]:.4g}", f"{board[len(board) // 2]:.4g}")
        table.add_row(card["id"], card["split"], card["kind"], card["metric"], *numbers, card["title"])
    emit({"tasks": cards}, table, as_json)


@app.command("show")
def show(task_id: Annotated[str, typer.Argument(metavar="ID")], as_json: AsJson = False) -> None:
    """Show one task as an agent sees it."""
    from wmrl_env import tasks

    task = tasks.get(task_id)
    emit({**_card(task), "text": task.text}, Text(task.text), as_json)
