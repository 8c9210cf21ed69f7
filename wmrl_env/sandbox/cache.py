"""Results of executions by content: the same solution on the same data under the same limits runs once."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from wmrl_env.tasks.libraries import installed
from world_models.outcomes import Status

__all__ = ["Result", "ResultCache", "result_key"]

_log = logging.getLogger(__name__)

_CHUNK = 500
_PUTS_A_LOOK = 256  # at the size


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

    What was written before a crash is there after it. A damaged file is set aside with a warning, a damaged result is
    forgotten. What cannot be read or written later on costs executions, never an outcome: it is logged.

    Args:
        path: file of the database, made with its folders when missing.
        max_mb: size beyond which the oldest results go, in MiB of results.

    Raises:
        ValueError: ``max_mb`` is not above 0.
        OSError: the file is locked or out of reach.
    """

    def __init__(self, path: str | Path, max_mb: float = 1024.0) -> None:
        if not max_mb > 0:
            raise ValueError(f"max_mb must be above 0, got {max_mb}")
        self.path = Path(path)
        self.max_mb = max_mb
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._puts = 0
        try:
            self._connection = self._connect()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):  # locked or out of reach: nothing is wrong with the file
                raise OSError(f"the result cache {self.path} cannot be opened: {error}") from error
            aside = self.path.with_name(f"{self.path.name}.damaged-{time.time_ns()}")
            self.path.rename(aside)
            _log.warning("the result cache %s is damaged (%s): set aside as %s", self.path, error, aside.name)
            self._connection = self._connect()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=60.0, check_same_thread=False, isolation_level=None)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS results "
            "(key TEXT PRIMARY KEY, status TEXT, metric_value REAL, seconds REAL, detail TEXT) WITHOUT ROWID"
        )
        # Kept apart, so that files of earlier versions stay readable.
        connection.execute("CREATE TABLE IF NOT EXISTS ages (key TEXT PRIMARY KEY, added REAL) WITHOUT ROWID")
        return connection

    def get(self, keys: Sequence[str]) -> dict[str, Result]:
        """The known results among ``keys``."""
        rows: list[tuple] = []
        with self._lock, self._forgiven("read"):
            for start in range(0, len(keys), _CHUNK):
                chunk = list(keys[start : start + _CHUNK])
                marks = ",".join("?" * len(chunk))
                query = f"SELECT key, status, metric_value, seconds, detail FROM results WHERE key IN ({marks})"
                rows += self._connection.execute(query, chunk).fetchall()
        found = {key: result for key, *row in rows if (result := _result(*row)) is not None}
        damaged = [(key,) for key, *_ in rows if key not in found]
        if damaged:
            with self._lock, self._forgiven("mended"):
                self._connection.executemany("DELETE FROM results WHERE key = ?", damaged)
        return found

    @contextlib.contextmanager
    def _forgiven(self, done: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                self._connection.rollback()
            _log.warning("the result cache %s could not be %s: %s", self.path, done, error)

    def put(self, key: str, result: Result) -> None:
        """Remember a result; the first one stays. An unknown outcome is never remembered."""
        if result.status is Status.UNGRADED:
            return
        self._puts += 1
        with self._lock, self._forgiven("written"):
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute(
                "INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?, ?)",
                (key, result.status.value, result.metric_value, result.seconds, result.detail),
            )
            self._connection.execute("INSERT OR IGNORE INTO ages VALUES (?, ?)", (key, time.time()))
            self._connection.execute("COMMIT")
        if self._puts % _PUTS_A_LOOK == 0:
            with self._forgiven("pruned"):
                self.prune(self.max_mb)

    def __len__(self) -> int:
        with self._lock:
            return self._connection.execute("SELECT count(*) FROM results").fetchone()[0]

    @property
    def size_mb(self) -> float:
        """MiB that results take."""
        with self._lock:
            (pages,), (free,), (size,) = (
                self._connection.execute(f"PRAGMA {name}").fetchone()
                for name in ("page_count", "freelist_count", "page_size")
            )
        return (pages - free) * size / 2**20

    def prune(self, max_mb: float) -> int:
        """Remove the oldest results until the rest takes ``max_mb`` MiB; returns how many went."""
        gone = 0
        while (size := self.size_mb) > max_mb and (count := len(self)):
            some = max(1, min(count, int(count * (1 - max_mb / size)) + 1))
            with self._lock:
                self._connection.execute("BEGIN IMMEDIATE")
                oldest = self._connection.execute(
                    "SELECT key FROM results LEFT JOIN ages USING (key) ORDER BY coalesce(added, 0) LIMIT ?", (some,)
                ).fetchall()
                for table in ("results", "ages"):
                    self._connection.executemany(f"DELETE FROM {table} WHERE key = ?", oldest)
                self._connection.execute("COMMIT")
            gone += len(oldest)
        return gone

    def clear(self) -> int:
        """Remove all results and give the space back; returns how many went."""
        gone = len(self)
        with self._lock:
            self._connection.execute("DELETE FROM results")
            self._connection.execute("DELETE FROM ages")
            self._connection.execute("VACUUM")
        return gone

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def _result(status: str, metric_value: float | None, seconds: float, detail: str) -> Result | None:
    """A stored row, ``None`` where it makes no sense."""
    kinds = (float, float, str) if status == Status.VALID else (type(None), float, str)
    if status not in Status.__members__.values() or not all(map(isinstance, (metric_value, seconds, detail), kinds)):
        return None
    return Result(Status(status), metric_value, seconds, detail)
