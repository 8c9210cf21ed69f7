"""Recorded outcomes: written live by any number of processes, exported as one file."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from world_models.outcomes import Backend, Outcome, Source, Status, Submission

__all__ = ["Recorder", "Transition", "TransitionStore", "load_transitions", "split_of"]

_TEST_SHARE = 0.2
_BUSY_S = 60.0
_MEMORY = ":memory:"
_COLUMNS = ("task_id", "code", "status", "score", "metric_value", "seconds", "feedback", "source")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS tasks (task_id TEXT PRIMARY KEY, task_text TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS transitions (
    task_id TEXT NOT NULL, code_hash BLOB NOT NULL, source TEXT NOT NULL, code TEXT NOT NULL, status TEXT NOT NULL,
    score REAL, metric_value REAL, seconds REAL NOT NULL, feedback TEXT NOT NULL,
    PRIMARY KEY (task_id, code_hash, source)
);
"""
# The first outcome of a submission stays; only an unknown one gives way to a known one.
_INSERT = """
INSERT INTO transitions (task_id, code_hash, source, code, status, score, metric_value, seconds, feedback)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET status = excluded.status, score = excluded.score, metric_value = excluded.metric_value,
    seconds = excluded.seconds, feedback = excluded.feedback
WHERE transitions.status = 'UNGRADED'
"""
_SELECT = f"""
SELECT {", ".join(_COLUMNS)}, task_text FROM transitions JOIN tasks USING (task_id)
ORDER BY task_id, code_hash, source
"""


class Transition(NamedTuple):
    """A submission and what it led to."""

    submission: Submission
    outcome: Outcome

    @property
    def executed(self) -> bool:
        """Whether the outcome is known from a real execution, rather than predicted or unknown."""
        return self.outcome.source != "world_model" and self.outcome.status is not Status.UNGRADED

    @property
    def split(self) -> Literal["train", "test"]:
        """Part that the solution belongs to, see :func:`split_of`."""
        return split_of(self.submission.task_id, self.submission.code)


def _code_hash(task_id: str, code: str) -> bytes:
    return hashlib.sha256(f"{task_id}\0{code}".encode(errors="surrogatepass")).digest()


def split_of(task_id: str, code: str) -> Literal["train", "test"]:
    """Part that a solution belongs to, by its hash: one in five is ``"test"``, in every process and for ever."""
    return "test" if int.from_bytes(_code_hash(task_id, code)[-4:], "big") < _TEST_SHARE * 2**32 else "train"


class TransitionStore:
    """Outcomes of submissions in an SQLite file, one for each (task, code, source); safe for threads and processes.

    An execution served from a cache is stored as the execution that it was. Predictions keep their score, but not
    their variance and members.

    Args:
        path: file, made with its folder where missing; ``":memory:"`` for a store that lives in this process only.

    Raises:
        ValueError: the file is not an SQLite database.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._lock = threading.RLock()
        self._open()

    def _open(self) -> None:
        if self.path != _MEMORY:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        self._pid = os.getpid()
        try:
            self._database = sqlite3.connect(self.path, timeout=_BUSY_S, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{self.path} cannot be used as a transition store: {error}") from error

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        if os.getpid() != self._pid:  # an SQLite connection must not be carried over a fork
            if self.path == _MEMORY:
                raise RuntimeError("a store in memory cannot be shared with a forked process; give it a file")
            self._lock = threading.RLock()
            self._open()
        with self._lock, self._database:
            yield self._database

    def add(self, submissions: Sequence[Submission], outcomes: Sequence[Outcome]) -> None:
        """Record outcomes; a submission already known from the same source keeps its first one.

        Raises:
            ValueError: the two sequences differ in length.
        """
        rows = [
            (
                submission.task_id,
                _code_hash(submission.task_id, submission.code),
                "world_model" if outcome.source == "world_model" else "sandbox",
                _storable(submission.code),
                str(outcome.status),
                outcome.score,
                outcome.metric_value,
                outcome.seconds,
                _storable(outcome.feedback),
            )
            for submission, outcome in zip(submissions, outcomes, strict=True)
        ]
        texts = {submission.task_id: submission.task_text for submission in submissions}
        with self._connected() as database:
            database.executemany("INSERT OR REPLACE INTO tasks VALUES (?, ?)", texts.items())
            database.executemany(_INSERT, rows)

    def __len__(self) -> int:
        with self._connected() as database:
            return database.execute("SELECT COUNT(*) FROM transitions").fetchone()[0]

    def __iter__(self) -> Iterator[Transition]:
        """All transitions as they are now, ordered by task and hash."""
        with self._connected() as database:
            rows = database.execute(_SELECT).fetchall()
        return (_transition(*row) for row in rows)

    def to_parquet(self, path: str | Path) -> None:
        """Export everything to one Parquet file: the columns of the store, ``task_text`` and ``split``."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        with self._connected() as database:
            rows = database.execute(_SELECT).fetchall()
        names = (*_COLUMNS, "task_text")
        columns: dict[str, list] = {name: [row[i] for row in rows] for i, name in enumerate(names)}
        columns["split"] = [split_of(*pair) for pair in zip(columns["task_id"], columns["code"], strict=True)]
        floats = ("score", "metric_value", "seconds")
        schema = pa.schema([(name, pa.float64() if name in floats else pa.string()) for name in columns])
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns, schema=schema), path, compression="zstd", compression_level=19)

    @classmethod
    def from_parquet(cls, path: str | Path, store: str | Path = _MEMORY) -> TransitionStore:
        """A store holding the transitions of a Parquet file that :meth:`to_parquet` wrote.

        Args:
            path: Parquet file.
            store: where the new store lives.

        Raises:
            FileNotFoundError: no such file.
            ValueError: not such a Parquet file.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = [*_COLUMNS, "task_text"]
        try:
            table = pq.read_table(path)
        except FileNotFoundError:
            raise
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"{path} is not a readable Parquet file: {error}") from error
        missing = [name for name in names if name not in table.column_names]
        if missing:
            raise ValueError(f"{path} lacks the columns {missing}; expected {names}")
        rows = zip(*(table.column(name).to_pylist() for name in names), strict=True)
        transitions = [_transition(*row) for row in rows]
        loaded = cls(store)
        loaded.add([t.submission for t in transitions], [t.outcome for t in transitions])
        return loaded

    def close(self) -> None:
        """Close the file; the store must not be used afterwards."""
        self._database.close()

    def __enter__(self) -> TransitionStore:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[TransitionStore], tuple[str]]:
        if self.path == _MEMORY:
            raise TypeError("a store in memory cannot be pickled; give it a file")
        return type(self), (self.path,)


def _storable(text: str) -> str:
    """Text as SQLite takes it: lone surrogates, which UTF-8 does not know, become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _transition(
    task_id: str,
    code: str,
    status: str,
    score: float | None,
    metric_value: float | None,
    seconds: float,
    feedback: str,
    source: Source,
    task_text: str,
) -> Transition:
    outcome = Outcome(Status(status), score, feedback, metric_value, seconds, source)
    return Transition(Submission(task_id, task_text, code), outcome)


def load_transitions(path: str | Path) -> list[Transition]:
    """All transitions of a Parquet export (``.parquet``) or of a live store (any other suffix).

    Raises:
        FileNotFoundError: no such file.
        ValueError: neither.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(
            f"no transitions at {path}; record some first, with `wmrl collect` or a world_models.Recorder"
        )
    with TransitionStore.from_parquet(path) if Path(path).suffix == ".parquet" else TransitionStore(path) as store:
        return list(store)


class Recorder:
    """Backend that records what passes through another one, and is like it in all else.

    Args:
        backend: what executes.
        store: where submissions and outcomes go.
    """

    def __init__(self, backend: Backend, store: TransitionStore) -> None:
        self.backend = backend
        self.store = store

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        outcomes = self.backend.execute(submissions)
        self.store.add(submissions, outcomes)
        return outcomes

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "backend":
            raise AttributeError(name)
        return getattr(self.backend, name)
