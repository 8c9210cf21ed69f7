"""The rows of one step, seen alike from a scalar env's info and from a vector env's infos."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["StepBatch"]


class StepBatch:
    """k rows of one step (or reset) of n episodes, to be read and written by key.

    Writing copies: dictionaries and arrays that came from below stay as they were, ``infos`` is the new version.

    Attributes:
        infos: the info dict to hand upwards, with what was written.
        rows: int64 of shape (k,), which of the n episodes these rows belong to.
    """

    def __init__(self, infos: dict[str, Any], rows: np.ndarray) -> None:
        self.infos = dict(infos)
        self.rows = rows

    @classmethod
    def scalar(cls, info: dict[str, Any]) -> StepBatch:
        """The only row of a scalar env's info."""
        return cls(info, np.array([0]))

    @classmethod
    def vector(
        cls, infos: dict[str, Any], rows: np.ndarray, num_envs: int, final: np.ndarray | None = None
    ) -> StepBatch:
        """Rows of a vector env's infos: arrays by key, with masks ``_key``, as Gymnasium lays them out.

        Args:
            infos: of n environments.
            rows: the k rows that this step (or reset) is about.
            num_envs: n.
            final: bool (n,), rows whose step lies in ``infos["final_info"]`` because their next episode has begun.

        Raises:
            ValueError: ``final_info`` is missing although ``final`` names rows.
        """
        return _VectorBatch(infos, rows, num_envs, final)

    def __len__(self) -> int:
        return len(self.rows)

    def get(self, key: str) -> list[Any]:
        """k values, ``None`` where the row has none."""
        return [self.infos.get(key)]

    def set(self, key: str, values: Sequence[Any] | np.ndarray) -> None:
        """Write k values: an array of bool, int or float (k, ...), or a list of objects."""
        value = values[0]
        self.infos[key] = value.item() if isinstance(value, np.generic) else value

    def setdefault(self, key: str, values: np.ndarray) -> None:
        """Write k values unless the rows have some already."""
        if any(value is None for value in self.get(key)):
            self.set(key, values)

    def floats(self, key: str) -> np.ndarray:
        """float64 of shape (k,), NaN where the row has no value."""
        return np.array([np.nan if value is None else value for value in self.get(key)], np.float64)

    def matrix(self, key: str) -> np.ndarray:
        """float64 of shape (k, M) from rows of up to M values, NaN where a row has fewer."""
        values = [() if value is None else value for value in self.get(key)]
        matrix = np.full((len(values), max(map(len, values), default=0)), np.nan)
        for row, value in zip(matrix, values, strict=True):
            row[: len(value)] = value
        return matrix

    def require(self, key: str) -> list[Any]:
        """k values.

        Raises:
            KeyError: a row has none.
        """
        values = self.get(key)
        if any(value is None for value in values):
            raise KeyError(f"info lacks {key!r}: corrections need the infos of wmrl environments, or of one alike")
        return values

    @property
    def task_ids(self) -> list[str]:
        """k task ids."""
        return self.require("task_id")


class _VectorBatch(StepBatch):
    def __init__(self, infos: dict[str, Any], rows: np.ndarray, num_envs: int, final: np.ndarray | None) -> None:
        super().__init__(infos, rows)
        self._num_envs = num_envs
        ended = np.zeros(len(rows), np.bool_) if final is None else final[rows]
        self._parts = [(self.infos, np.flatnonzero(~ended))]  # (dict, positions among the k rows)
        if ended.any():
            if "final_info" not in infos:
                raise ValueError("the env ended episodes under SAME_STEP autoreset without infos['final_info']")
            self.infos["final_info"] = dict(infos["final_info"])
            self._parts.append((self.infos["final_info"], np.flatnonzero(ended)))

    def get(self, key: str) -> list[Any]:
        values: list[Any] = [None] * len(self.rows)
        for infos, positions in self._parts:
            column, mask = infos.get(key), infos.get(f"_{key}")
            if column is not None:
                for position in positions.tolist():
                    row = self.rows[position]
                    if mask is None or mask[row]:
                        values[position] = column[row]
        return values

    def set(self, key: str, values: Sequence[Any] | np.ndarray) -> None:
        if not isinstance(values, np.ndarray):
            objects = np.empty(len(values), dtype=object)
            objects[:] = values
            values = objects
        for infos, positions in self._parts:
            if len(positions):
                self._write(infos, key, values[positions], self.rows[positions])

    def _write(self, infos: dict[str, Any], key: str, values: np.ndarray, rows: np.ndarray) -> None:
        shape = (self._num_envs, *values.shape[1:])
        column = infos.get(key)
        if column is None:
            column = np.full(shape, None if values.dtype == object else 0, values.dtype)
            mask = np.zeros(self._num_envs, np.bool_)
        else:
            column = column.astype(np.result_type(column, values))
            mask = infos.get(f"_{key}", np.ones(self._num_envs, np.bool_)).copy()
        column[rows] = values
        mask[rows] = True
        infos[key], infos[f"_{key}"] = column, mask
