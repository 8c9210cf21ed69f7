"""What several test files build on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from wmrl_env.sandbox import isolation
from wmrl_env.tasks.metrics import get_metric

WALLS = ["process"] + (["bubblewrap"] if isolation.bubblewrap_fault() is None else [])
"""Isolations that work here."""


def make_task_dir(root: Path, metric: str = "rmse", rows: int = 60, **settings: object) -> Path:
    """A tiny task in the package's own layout: one feature ``x``, target ``y``, ids ``row_id``."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=rows)
    wanted = get_metric(metric).prediction
    if wanted in ("probability", "label"):
        y = np.where(x + 0.3 * rng.normal(size=rows) > 0, "b", "a")
    else:
        y = np.abs(np.round(2 * x + rng.normal(size=rows), 3)) + 0.1
    cut = rows * 2 // 3
    (root / "public").mkdir(parents=True)
    (root / "private").mkdir()

    def write(path: str, header: str, lines: list[str]) -> None:
        (root / path).write_text("\n".join([header, *lines]) + "\n")

    write("public/train.csv", "row_id,x,y", [f"{i},{x[i]:.4f},{y[i]}" for i in range(cut)])
    write("public/test.csv", "row_id,x", [f"{i},{x[i]:.4f}" for i in range(cut, rows)])
    write("private/labels.csv", "row_id,y", [f"{i},{y[i]}" for i in range(cut, rows)])
    write("public/sample_submission.csv", "row_id,y", [f"{i},0.5" for i in range(cut, rows)])
    write("leaderboard.csv", "metric_value", [f"{value:.3f}" for value in np.linspace(0.2, 1.0, 9)])
    card = {"metric": metric, "time_limit_s": 2, "memory_limit_mb": 256, **settings}
    (root / "task.json").write_text(json.dumps(card))
    return root
