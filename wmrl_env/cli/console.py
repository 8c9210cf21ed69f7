"""What all commands share: results on stdout, everything else on stderr, so that output can be piped."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Protocol

import typer
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

__all__ = ["Advance", "AsJson", "Seed", "emit", "note", "progress"]

AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of everything random.")]


class Advance(Protocol):
    """Moves a progress bar, and renames it where a label is given."""

    def __call__(self, done: int, total: int, label: str | None = None) -> None: ...


def _finite(value: Any) -> Any:
    """JSON has no NaN: what is unknown becomes null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def emit(result: Any, view: RenderableType, as_json: bool) -> None:
    """Print a result on stdout: ``result`` as JSON, or ``view`` for people."""
    if as_json:
        typer.echo(json.dumps(_finite(result), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        Console(markup=False, highlight=False).print(view)


def note(message: str) -> None:
    """Print a message on stderr."""
    typer.echo(message, err=True)


@contextmanager
def progress(label: str, unit: str = "") -> Iterator[Advance]:
    """A progress bar on stderr while the block runs."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )
    with bar:
        line = bar.add_task(label, total=None)

        def advance(done: int, total: int, label: str | None = None) -> None:
            bar.update(line, completed=done, total=total, description=label)

        yield advance
