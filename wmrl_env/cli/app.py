"""The application and its entry point. Commands import what they need when they run, so that ``--help`` is quick."""

from __future__ import annotations

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from wmrl_env.cli import cache, data, demo, doctor, tasks, training
from wmrl_env.cli.console import note

__all__ = ["app", "main"]

_INTERRUPTED = 130

app = typer.Typer(
    name="wmrl",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo.demo)
app.add_typer(tasks.app, name="tasks")
app.command("collect")(data.collect)
app.command("train-world-model")(data.train_world_model)
app.command("fidelity")(data.fidelity)
app.command("compare")(training.compare)
app.command("train")(training.train)
app.command("report")(demo.report)
app.command("cache")(cache.cache)
app.command("doctor")(doctor.doctor)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"wmrl {version('wmrl')}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train ML-research agents against a world model, corrected by a little real execution.

    Exit codes: 0 done, 1 ran but failed, 2 wrong input, 130 interrupted. An interrupted command goes on where it
    stopped when it is started again.
    """
    context.obj = debug


def main() -> None:
    """Run the command line; errors that the input caused are one line on stderr."""
    debug = "--debug" in sys.argv
    try:
        app()
    except (ImportError, OSError, KeyError, ValueError) as error:
        if debug:
            raise
        note(f"wmrl: {_message(error)}")
        sys.exit(2)
    except SystemExit as end:
        if end.code == _INTERRUPTED:
            note("interrupted; the same command goes on where it stopped")
        raise


def _message(error: Exception) -> str:
    if isinstance(error, KeyError) and error.args:
        return str(error.args[0])  # str() of a KeyError is quoted
    if isinstance(error, OSError) and error.filename:
        return f"{error.strerror}: {error.filename}"
    return str(error)
