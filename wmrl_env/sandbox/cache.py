"""Results of executions by content: the same solution on the same data under the same limits runs once."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from wmrl_env.tasks.libraries import installed
from world_models.outcomes import Status

__all__ = ["Result", "ResultCache", "result_key"]

_CHUNK = 500


class Result(NamedTuple):
    """What running a solution gave, before a leaderboard turns it into a score."""

    status: Status
    metric_value: float | None
    seconds: float
    detail: str


def result_key(task_key: str, code: str) -> str:
    """Hash of all that decides a result: task data and limits, source text, interpreter and library versions."""
    python, *libraries = installed().items()
    interpreter = ", ".join([python[1], *(f"{name} {version}" for name, version in libraries)])
    return hashlib.sha256("\0".join((task_key, interpreter, code)).encode("utf-8", "surrogatepass")).hexdigest()


class ResultCache:
    """Results in SQLite (WAL), shared by threads and processes.

    Args:
        path: file of the database, made with its folders when missing.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(self.path, timeout=60.0, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=NORMAL")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS results "
            "(key TEXT PRIMARY KEY, status TEXT, metric_value REAL, seconds REAL, detail TEXT) WITHOUT ROWID"
        )

    def get(self, keys: Sequence[str]) -> dict[str, Result]:
        """The known results among ``keys``."""
        found: dict[str, Result] = {}
        with self._lock:
            for start in range(0, len(keys), _CHUNK):
                chunk = list(keys[start : start + _CHUNK])
                marks = ",".join("?" * len(chunk))
                query = f"SELECT key, status, metric_value, seconds, detail FROM results WHERE key IN ({marks})"
                for key, status, *rest in self._connection.execute(query, chunk):
                    found[key] = Result(Status(status), *rest)
        return found

    def put(self, key: str, result: Result) -> None:
        """Remember a result; the first one stays. An unknown outcome is never remembered."""
        if result.status is Status.UNGRADED:
            return
        with self._lock:
            self._connection.execute(
                "INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?, ?)",
                (key, result.status.value, result.metric_value, result.seconds, result.detail),
            )

    def close(self) -> None:
        with self._lock:
            self._connection.close()
