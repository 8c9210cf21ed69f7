"""A research task: what is asked, on which data, graded how."""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from wmrl_env.tasks.libraries import installed
from wmrl_env.tasks.metrics import Metric, get_metric

__all__ = ["ID_COLUMN", "Kind", "Modality", "ResearchTask", "Split"]

Kind = Literal["binary", "multiclass", "regression", "counts"]
Split = Literal["train", "heldout"]
Modality = Literal["tabular", "series", "text", "image"]

ID_COLUMN = "row_id"


@dataclass(frozen=True)
class ResearchTask:
    """A research task.

    Attributes:
        id: unique name, e.g. ``"churn"``.
        title: one line.
        description: what is asked, in prose.
        kind: ``"binary"``, ``"multiclass"``, ``"regression"`` or ``"counts"``.
        metric: name of a metric in :data:`wmrl_env.tasks.metrics.METRICS`.
        higher_is_better: the metric's direction.
        target: column to predict; ``id_column``: column that names a row.
        classes: labels in sorted order (binary, multiclass), the last one is a binary task's positive class.
        inventory: files and columns of the public half, in the format of ``docs/architecture.md``.
        sample_rows: the first rows of ``train.csv``, long cells cut.
        public_dir: ``train.csv``, ``test.csv``, ``sample_submission.csv``, ``description.md``: what a solution sees.
        private_dir: ``labels.csv``: what only grading sees.
        leaderboard: metric values of real reference solutions.
        time_limit_s: CPU seconds that a solution may take beyond its imports.
        memory_limit_mb: MiB of address space that it may take beyond its imports.
        split: ``"train"`` or ``"heldout"`` (never used to train anything, world models included).
        modality: ``"tabular"``, ``"series"`` (test rows come after all train rows), ``"text"`` or ``"image"``
            (a pixel a column).
        text_columns: columns of prose; ``time_column``: column of times, ``""`` where rows have none.
        origin: who made the data; ``licence``: under which terms they come.
        fingerprint: hash of the data, so that results of other data are never served for this task.
    """

    id: str
    title: str
    description: str
    metric: str
    higher_is_better: bool
    public_dir: Path
    private_dir: Path
    leaderboard: tuple[float, ...]
    time_limit_s: float = 10.0
    memory_limit_mb: int = 1024
    split: Split = "train"
    modality: Modality = "tabular"
    kind: Kind = "regression"
    target: str = "target"
    id_column: str = ID_COLUMN
    classes: tuple[str, ...] = ()
    inventory: str = ""
    sample_rows: str = ""
    fingerprint: str = ""
    text_columns: tuple[str, ...] = ()
    time_column: str = ""
    origin: str = ""
    licence: str = ""
    _ranked: tuple[float, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        metric = get_metric(self.metric)
        if metric.higher_is_better != self.higher_is_better:
            raise ValueError(
                f"task {self.id!r}: higher_is_better={self.higher_is_better} contradicts metric {self.metric!r}"
            )
        if not isinstance(self.id, str) or not self.id:
            raise ValueError(f"the id of a task must be a string that is not empty, got {self.id!r}")
        if not self.leaderboard or not all(map(math.isfinite, self.leaderboard)):
            raise ValueError(f"task {self.id!r}: a leaderboard must hold finite metric values, and at least one")
        if not (0 < self.time_limit_s < math.inf and 0 < self.memory_limit_mb < math.inf):
            raise ValueError(f"task {self.id!r}: limits must be positive and finite")
        for name, known in (("kind", Kind), ("split", Split), ("modality", Modality)):
            if (value := getattr(self, name)) not in get_args(known):
                raise ValueError(f"task {self.id!r}: {name} must be one of {get_args(known)}, got {value!r}")
        object.__setattr__(self, "_ranked", tuple(sorted(self.leaderboard)))

    @property
    def positive(self) -> str:
        """The class whose probability a binary task asks for."""
        return self.classes[-1]

    @property
    def metric_object(self) -> Metric:
        return get_metric(self.metric)

    @cached_property
    def text(self) -> str:
        """What agents and world models read: title, description, facts and inventory."""
        direction = "higher" if self.higher_is_better else "lower"
        return "\n".join(
            [
                f"# {self.title}",
                "",
                self.description,
                "",
                f"Kind: {self.kind}",
                f"Metric: {self.metric} ({direction} is better)",
                f"Limits: {self.time_limit_s:g} CPU seconds, {self.memory_limit_mb} MB",
                f"Target: {self.target}",
                f"Id: {self.id_column}",
                *self._layout(),
                self.inventory,
            ]
        )

    @cached_property
    def details(self) -> str:
        """All that the author of a solution can know: the text, sample rows, how a solution runs, what it may import.

        It is the public half's ``description.md``, and the answer to a reply that asks for information.
        """
        libraries = ", ".join(f"{name} {version}" for name, version in installed().items())
        parts = [self.text]
        if self.sample_rows:
            parts += ["", "## First rows of train.csv", self.sample_rows]
        parts += [
            "",
            "## How a solution runs",
            "A solution is one Python program. It reads the files from the folder that the environment variable "
            "DATA_DIR names, and writes its predictions as CSV, in the format of sample_submission.csv, to the path in "
            "SUBMISSION_PATH. There is no network and one thread.",
            f"Libraries: {libraries}",
        ]
        return "\n".join(parts)

    def _layout(self) -> list[str]:
        lines = [] if self.modality == "tabular" else [f"Modality: {self.modality}"]
        if self.time_column:
            lines.append(f"Time: {self.time_column} (all test rows are later than the train rows)")
        if self.text_columns:
            lines.append(f"Text: {', '.join(self.text_columns)}")
        return lines

    def percentile(self, metric_value: float) -> float:
        """Share of leaderboard entries that ``metric_value`` beats, ties counted half; in [0, 1]."""
        below = bisect_left(self._ranked, metric_value)
        not_above = bisect_right(self._ranked, metric_value)
        beaten = below if self.higher_is_better else len(self._ranked) - not_above
        return (beaten + 0.5 * (not_above - below)) / len(self._ranked)

    @property
    def cache_key(self) -> str:
        """Hash of all that decides a solution's status and metric: data, metric and limits (not the leaderboard)."""
        parts = (self.id, self.fingerprint, self.metric, f"{self.time_limit_s:g}", str(self.memory_limit_mb))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    @classmethod
    def from_directory(cls, path: str | Path, **overrides: object) -> ResearchTask:
        """Load a task from a directory; see :func:`wmrl_env.tasks.directory.load` for the layouts."""
        from wmrl_env.tasks.directory import load

        return load(Path(path), **overrides)
