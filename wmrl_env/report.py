"""A demo's result as one HTML file that needs nothing else: the plots are inside it as SVG."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from wmrl_env.demo.summary import verdict

__all__ = ["render_report", "write_picture", "write_report"]

# Okabe and Ito's palette, told apart by colour-blind readers too.
COLOURS = {"real": "#0072b2", "raw": "#d55e00", "mixed": "#e69f00", "corrected": "#009e73"}
_STREAMS = {"raw": "#d55e00", "debiased": "#cc79a7", "denoised": "#009e73", "real": "#0072b2"}
_STYLE: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#eaeef2",
    "font.size": 11,
    "legend.frameon": False,
    "svg.hashsalt": "wmrl",  # same result, same file
    "svg.fonttype": "none",
    "font.family": "sans-serif",
}


class _Section(NamedTuple):
    title: str
    draw: Callable[[Axes], None]
    caption: str
    height: float = 3.8  # inches, at a width of 9


def _svg(section: _Section) -> str:
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(9, section.height), layout="constrained")
        section.draw(figure.add_subplot())
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    svg = text.getvalue()
    return svg[svg.index("<svg") :]  # an XML prologue has no place inside HTML


def _of(result: dict[str, Any], arm: str) -> list[dict[str, Any]]:
    return [run for run in result["runs"] if run["arm"] == arm]


def _final_scores(result: dict[str, Any], axes: Axes) -> None:
    for row, arm in enumerate(result["arms"]):
        score, colour = arm["real_score"], COLOURS[arm["name"]]
        axes.plot([score["low"], score["high"]], [row, row], color=colour, linewidth=3, solid_capstyle="round")
        axes.plot(score["value"], row, "o", color=colour, markersize=10)
        seeds = [np.concatenate(list(run["scores"].values())).mean() for run in _of(result, arm["name"])]
        axes.plot(seeds, [row + 0.22] * len(seeds), "|", color=colour, markersize=10)
    axes.set_yticks(range(len(result["arms"])), [arm["name"] for arm in result["arms"]])
    axes.set_ylim(len(result["arms"]) - 0.4, -0.6)
    axes.set_xlabel("final real score")


def _learning_curves(result: dict[str, Any], axes: Axes) -> None:
    end = result["config"]["seconds"]
    for position, arm in enumerate(result["arms"]):
        colour = COLOURS[arm["name"]]
        curves = [np.array(run["curve"]) for run in _of(result, arm["name"]) if run["curve"]]
        grid = np.linspace(0.0, end, 81)
        inside = [np.interp(grid, curve[:, 0], curve[:, 1], left=np.nan, right=np.nan) for curve in curves]
        for curve in curves:
            axes.plot(*curve.T, color=colour, alpha=0.25, linewidth=1)
        if inside and (known := ~np.isnan(inside).all(axis=0)).any():
            axes.plot(grid[known], np.nanmean(np.array(inside)[:, known], axis=0), color=colour, label=arm["name"])
        score = arm["real_score"]
        axes.errorbar(
            (1.03 + 0.02 * position) * end,
            score["value"],
            [[max(0.0, score["value"] - score["low"])], [max(0.0, score["high"] - score["value"])]],
            fmt="D",
            color=colour,
            capsize=3,
        )
    axes.axvline(end, color="#8c959f", linewidth=1, linestyle=":")
    axes.set_xlabel("wall seconds")
    axes.set_ylabel("score that training saw")
    axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _rewards(anchors: list[dict[str, float]], axes: Axes) -> None:
    seconds = np.array([anchor["seconds"] for anchor in anchors])
    edges = np.unique(np.quantile(seconds, np.linspace(0, 1, 13)))
    slot = np.clip(np.searchsorted(edges, seconds, side="right") - 1, 0, max(0, len(edges) - 2))
    for name, colour in _STREAMS.items():
        values = np.array([anchor[name] for anchor in anchors])
        seen = np.unique(slot)
        means = [values[slot == s].mean() for s in seen]
        times = [seconds[slot == s].mean() for s in seen]
        axes.plot(times, means, "o-", color=colour, label=name, markersize=4)
    axes.set_xlabel("wall seconds")
    axes.set_ylabel("mean score")
    axes.legend(ncols=4, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _map(run: dict[str, Any], axes: Axes) -> None:
    raw = [anchor["raw"] for anchor in run["anchors"]]
    real = [anchor["real"] for anchor in run["anchors"]]
    axes.plot([0, 1], [0, 1], color="#8c959f", linewidth=1, linestyle=":", label="no bias")
    axes.plot(raw, real, "o", color=COLOURS["real"], alpha=0.35, markersize=5, label="anchor pairs")
    axes.plot(*np.array(run["map"]).T, color=COLOURS["corrected"], linewidth=2.5, label="map")
    axes.set_xlabel("predicted score")
    axes.set_ylabel("real score")
    axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _weights(runs: list[dict[str, Any]], axes: Axes) -> None:
    for run in runs:
        times = [anchor["seconds"] for anchor in run["anchors"]]
        axes.step(times, [anchor["weight"] for anchor in run["anchors"]], where="post", label=f"seed {run['seed']}")
    axes.set_xlabel("wall seconds")
    axes.set_ylabel("weight of a real reward")
    axes.legend(ncols=6, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _sections(result: dict[str, Any]) -> list[_Section]:
    sections = [
        _Section(
            "Final real score",
            lambda axes: _final_scores(result, axes),
            "Dot and bar: mean over seeds with its 95 % interval; ticks: single seeds.",
            height=2.6,
        ),
        _Section(
            "Learning curves",
            lambda axes: _learning_curves(result, axes),
            "Mean score of training's steps as each arm saw it, thin lines single seeds. Diamonds: what the final "
            "policies really score in the best of an episode's turns.",
        ),
    ]
    corrected = [run for run in _of(result, "corrected") if run["anchors"]]
    if not corrected:
        return sections
    first = corrected[0]
    return [
        *sections,
        _Section(
            "Rewards: raw, debiased, denoised and real",
            lambda axes: _rewards(first["anchors"], axes),
            f"Scores of those steps of the corrected arm (seed {first['seed']}) that were also run for real.",
        ),
        _Section(
            "What debiasing learnt",
            lambda axes: _map(first, axes),
            f"The monotone map over the anchor pairs of seed {first['seed']}, at the end of training.",
            height=4.6,
        ),
        _Section(
            "How much a real reward weighs",
            lambda axes: _weights(corrected, axes),
            "The noisier the predictions look, the more a real reward counts in the policy's gradient.",
        ),
    ]


def render_report(result: dict[str, Any]) -> str:
    """The HTML of a result of :func:`wmrl_env.demo.run`.

    Raises:
        KeyError: the result lacks a part.
    """
    templates = jinja2.Environment(
        loader=jinja2.PackageLoader("wmrl_env"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    return templates.get_template("report.html").render(
        **{name: result[name] for name in ("arms", "config", "created", "machine", "versions")},
        colours=COLOURS,
        verdict=verdict(result),
        sections=[(section, _svg(section)) for section in _sections(result)],
        ungraded=sum(run["ungraded"] for run in result["runs"]),
    )


def write_report(result: dict[str, Any], path: Path) -> None:
    """Write :func:`render_report` to ``path``, folders made when missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_report(result), encoding="utf-8")


def write_picture(result: dict[str, Any], path: Path) -> None:
    """Write the report's first four plots as one picture; its suffix decides the format."""
    sections = _sections(result)[:4]
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(14, 4.2 * ((len(sections) + 1) // 2)), layout="constrained")
        for position, section in enumerate(sections, start=1):
            axes = figure.add_subplot((len(sections) + 1) // 2, 2, position)
            section.draw(axes)
            axes.set_title(section.title, loc="left", pad=28, fontweight="bold")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=90)
