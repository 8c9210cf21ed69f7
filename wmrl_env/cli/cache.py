"""``wmrl cache``: what is kept on this machine, and its removal."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from wmrl_env.cli.console import AsJson, emit

__all__ = ["cache"]


def _megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 2**20


def cache(
    clear: Annotated[bool, typer.Option("--clear", help="Remove all results of executions.")] = False,
    max_mb: Annotated[float | None, typer.Option(min=0, help="Remove the oldest results beyond this size.")] = None,
    tasks: Annotated[
        bool, typer.Option("--tasks", help="Remove prepared data; they are made anew when needed.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show or shrink what is kept: results of executions, and the shipped tasks' data."""
    from wmrl_env.sandbox.cache import ResultCache
    from wmrl_env.tasks.sources import cache_root

    root = cache_root()
    results = ResultCache(root / "results.sqlite")
    removed = results.clear() if clear else 0 if max_mb is None else results.prune(max_mb)
    if tasks:
        shutil.rmtree(root / "tasks", ignore_errors=True)
    facts = {
        "folder": str(root),
        "results": len(results),
        "results_mb": round(results.size_mb, 2),
        "removed": removed,
        "tasks_mb": round(_megabytes(root / "tasks"), 2),
    }
    results.close()
    table = Table("what", "value", show_header=False)
    for name, value in facts.items():
        table.add_row(name, str(value))
    emit(facts, table, as_json)
