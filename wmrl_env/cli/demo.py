"""``wmrl demo`` and ``wmrl report``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.table import Table

from wmrl_env.cli.console import AsJson, Seed, emit, note, progress

__all__ = ["demo", "report"]

ReportPath = Annotated[Path, typer.Option("--report", help="HTML file to write.")]
_REPORT = Path("wmrl-report.html")


def _table(arms: list[dict[str, Any]]) -> Table:
    table = Table("arm", "final real score", "95 % interval", "wall s", "real runs", "predictions", "speed-up")
    for arm in arms:
        score = arm["real_score"]
        table.add_row(
            arm["name"],
            f"{score['value']:.3f}",
            f"{score['low']:.3f} to {score['high']:.3f}",
            f"{arm['wall_s']:.0f}",
            f"{arm['real_executions']:.0f}",
            f"{arm['predictions']:.0f}",
            f"{arm['speedup']:.1f}",
        )
    table.caption = "means over seeds; speed-up: outcomes a second against the sandbox's workers"
    return table


def demo(
    quick: Annotated[bool, typer.Option("--quick", help="Everything once, in under 3 minutes.")] = False,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option(help="Folder of results; an interrupted demo goes on from there.")] = Path(
        "runs/demo"
    ),
    report: ReportPath = _REPORT,
    as_json: AsJson = False,
) -> None:
    """Train an agent four ways at equal wall-clock and grade each by real execution."""
    from wmrl_env import demo as experiment
    from wmrl_env.report import write_report

    config = experiment.DemoConfig.quick(seed) if quick else experiment.DemoConfig(seed=seed)
    total = int(config.seconds * config.seeds * len(experiment.ARMS))
    seeds = "1 seed" if config.seeds == 1 else f"{config.seeds} seeds"
    note(
        f"{len(experiment.ARMS)} arms, {seeds}, {config.seconds:g} s of training each, then grading by real execution. "
        "Ctrl-C stops; the same command goes on."
    )
    with progress("starting", "s") as advance:
        result = experiment.run(config, out, lambda what, seconds: advance(int(seconds), total, what))
    write_report(result, report)
    verdict = experiment.verdict(result)
    view = Group(_table(result["arms"]), verdict, f"Report: {report}")
    emit({"arms": result["arms"], "verdict": verdict, "report": str(report)}, view, as_json)


def report(
    result: Annotated[Path, typer.Argument(help="JSON result of a demo.")] = Path("runs/demo/result.json"),
    report: ReportPath = _REPORT,
    picture: Annotated[Path | None, typer.Option(help="Picture of the main plots to write, too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write the HTML report of a demo's result."""
    from wmrl_env.report import write_picture, write_report

    if not result.exists():
        raise FileNotFoundError(f"no result at {result}: `wmrl demo` writes one")
    loaded = json.loads(result.read_text(encoding="utf-8"))
    write_report(loaded, report)
    if picture is not None:
        write_picture(loaded, picture)
    emit({"report": str(report)}, f"Report: {report}", as_json)
