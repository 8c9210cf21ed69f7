"""What a world model thinks of a solution's parts, pooled over all that it was asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["PredictionSmoother"]

_TERMS = 128  # of a task; what more there is goes unseen until one of them is stale
_STALE = 0.5  # decayed number of predictions with a term, below which it makes room
_RIDGE = 1.0  # rows that each coefficient's prior is worth


class PredictionSmoother:
    """Ridge regression, for each task, of predictions on the solutions' terms, with forgetting.

    A single prediction has noise of its own; thousands of predictions of solutions with common terms average it out, at
    no cost. What the regression cannot say (combinations) and the noise make up the rest ``prediction - smoothed``; how
    much of that to believe is for anchors to say, see :class:`wmrl_env.correction.ResidualModel`.

    Args:
        half_life: predictions of a task after which one counts half, above 0.

    Raises:
        ValueError: an argument out of its range.
    """

    def __init__(self, half_life: float = 1000.0) -> None:
        if not half_life > 0.0:
            raise ValueError(f"half_life must be above 0, got {half_life}")
        self.half_life = half_life
        self._columns: dict[str, dict[str, int]] = {}  # by task: column of each term, from 1 on; 0 is the intercept
        self._moments: dict[str, np.ndarray] = {}  # by task: sums of outer products of (row, prediction)
        self._coefficients: dict[str, np.ndarray] = {}

    def add(self, task_ids: Sequence[str], terms: Sequence[tuple[str, ...]], predicted: np.ndarray) -> None:
        """Take k predictions in; NaN is passed over."""
        by_task: dict[str, list[int]] = {}
        for row in np.flatnonzero(np.isfinite(predicted)).tolist():
            by_task.setdefault(task_ids[row], []).append(row)
        for task, rows in by_task.items():
            columns = self._with_room(task, {term for row in rows for term in terms[row]})
            for row in rows:
                for term in terms[row]:
                    if term not in columns and len(columns) < _TERMS:
                        columns[term] = len(columns) + 1
            size = len(columns) + 2
            moments = np.zeros((size, size))  # the prediction is the last column
            if (before := self._moments.get(task)) is not None:
                kept = [*range(len(before) - 1), size - 1]
                moments[np.ix_(kept, kept)] = before
            design = np.zeros((len(rows), size))
            design[:, :-1] = self._design(columns, [terms[row] for row in rows])
            design[:, -1] = predicted[rows]
            moments *= 0.5 ** (len(rows) / self.half_life)
            self._moments[task] = moments + design.T @ design
            self._coefficients.pop(task, None)

    def _with_room(self, task: str, terms: set[str]) -> dict[str, int]:
        """Columns of the task, without stale ones where the new terms find no room."""
        columns = self._columns.setdefault(task, {})
        if len(columns.keys() | terms) > _TERMS and task in self._moments:
            moments = self._moments[task]
            kept = [term for term, column in columns.items() if moments[column, column] >= _STALE]
            rows = [0, *(columns[term] for term in kept), len(moments) - 1]
            self._moments[task] = moments[np.ix_(rows, rows)]
            self._columns[task] = columns = {term: column for column, term in enumerate(kept, 1)}
        return columns

    def __call__(self, task_ids: Sequence[str], terms: Sequence[tuple[str, ...]]) -> np.ndarray:
        """Smoothed predictions, float64 (k,); NaN for a task without any."""
        smoothed = np.full(len(task_ids), np.nan)
        by_task: dict[str, list[int]] = {}
        for row, task in enumerate(task_ids):
            by_task.setdefault(task, []).append(row)
        for task, rows in by_task.items():
            if task in self._moments:
                design = self._design(self._columns[task], [terms[row] for row in rows])
                smoothed[rows] = design @ self._solved(task)
        return smoothed

    def _solved(self, task: str) -> np.ndarray:
        if task not in self._coefficients:
            moments = self._moments[task]
            ridge = np.full(len(moments) - 1, _RIDGE)
            ridge[0] = 1e-6
            self._coefficients[task] = np.linalg.solve(moments[:-1, :-1] + np.diag(ridge), moments[:-1, -1])
        return self._coefficients[task]

    @staticmethod
    def _design(columns: dict[str, int], terms: Sequence[tuple[str, ...]]) -> np.ndarray:
        design = np.zeros((len(terms), len(columns) + 1))
        design[:, 0] = 1.0
        for of_row, given in zip(design, terms, strict=True):
            of_row[[columns[term] for term in given if term in columns]] = 1.0
        return design

    def state_dict(self) -> dict[str, Any]:
        """Everything that a new smoother of the same arguments needs to go on bit-equal, as JSON types."""
        return {
            "columns": {task: list(columns) for task, columns in self._columns.items()},
            "moments": {task: moments.tolist() for task, moments in self._moments.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._columns = {
            task: {term: column for column, term in enumerate(columns, 1)} for task, columns in state["columns"].items()
        }
        self._moments = {task: np.array(moments, np.float64) for task, moments in state["moments"].items()}
        self._coefficients = {}
