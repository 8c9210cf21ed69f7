"""Anchor pairs in an SQLite file, shared by the processes of one machine."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from wmrl_env.correction.anchor_pair import AnchorPair

__all__ = ["SqliteStorage"]

_BUSY_S = 60.0
_KIND = int.from_bytes(b"wmrl")  # marks the file as a stream, in the field that SQLite's header has for it
_VERSION = 1
# Writers take turns and nothing is ever deleted, so positions are 1, 2, 3, ... in the order of the commits: a reader
# that has seen n pairs has seen positions 1 to n. JSON keeps every bit of a float, which a REAL does not (-0.0), and
# also text that is not UTF-8.
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS pairs (position INTEGER PRIMARY KEY, pair TEXT NOT NULL);
PRAGMA application_id = {_KIND};
PRAGMA user_version = {_VERSION};
COMMIT;
"""
_HEADER = """
SELECT application_id, user_version, (SELECT COUNT(*) FROM sqlite_schema)
FROM pragma_application_id, pragma_user_version
"""
_INSERT = "INSERT INTO pairs (pair) VALUES (?)"
_SELECT = "SELECT pair FROM pairs WHERE position > ? ORDER BY position"
_SIZE = "SELECT IFNULL(MAX(position), 0) FROM pairs"
_FIELDS = tuple(field.name for field in fields(AnchorPair))


class SqliteStorage:
    """Pairs in a file. Opened when first needed, anew in each process; threads of one process take turns.

    Args:
        path: file on a local disk (SQLite's locks do not reach over a network), made with its folder where missing.

    Raises:
        ValueError: by every method, where the file is something else than a stream of this schema.
        OSError: by every method, where the file cannot be opened or written, or stays locked for a minute.
    """

    def __init__(self, path: str | Path) -> None:
        self._database: sqlite3.Connection | None = None
        self.path = Path(path).absolute()  # still the same file after a change of the working folder

    def append(self, pairs: list[AnchorPair]) -> None:
        rows = [(_packed(pair),) for pair in pairs]
        with self._connected() as database, database:
            database.executemany(_INSERT, rows)

    def read(self, cursor: int) -> list[AnchorPair]:
        with self._connected() as database:
            rows = database.execute(_SELECT, (cursor,)).fetchall()
        return [_unpacked(packed) for (packed,) in rows]

    def size(self) -> int:
        with self._connected() as database:
            return database.execute(_SIZE).fetchone()[0]

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        with _lock:
            try:
                if self._database is None:
                    self._database = _connect(self.path)
                    _storages.add(self)
                yield self._database
            except (OSError, sqlite3.OperationalError) as error:
                raise OSError(
                    f"{self.path} cannot be used as an anchor stream: {error}; name a file on a local disk, in a "
                    "folder where this user may write"
                ) from error
            except sqlite3.DatabaseError as error:
                raise ValueError(
                    f"{self.path} cannot be used as an anchor stream: {error}; name a new file, or one that "
                    "AnchorStream.open has made"
                ) from error

    def close(self) -> None:
        """Close the file until it is needed again."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def __del__(self) -> None:
        self.close()

    def __reduce__(self) -> tuple[type[SqliteStorage], tuple[Path]]:
        return type(self), (self.path,)


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path, timeout=_BUSY_S, isolation_level="IMMEDIATE", check_same_thread=False)
    try:
        _prepare(database, path)
    except BaseException:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection, path: Path) -> None:
    kind, version, tables = database.execute(_HEADER).fetchone()
    if kind != _KIND and (kind or version or tables):
        raise ValueError(
            f"{path} is an SQLite database of something else, not an anchor stream; name a new file, or one that "
            "AnchorStream.open has made"
        )
    if kind == _KIND and version != _VERSION:
        raise ValueError(
            f"{path} is an anchor stream of schema version {version}, expected {_VERSION}; name a new file, or use "
            "the version of wmrl that made it"
        )
    if kind != _KIND:
        database.executescript(_SCHEMA)
    _write_ahead(database)
    database.execute("PRAGMA synchronous = NORMAL")


def _write_ahead(database: sqlite3.Connection) -> None:
    """Let readers and the writer not wait for each other. The file keeps the setting once it is made."""
    deadline = time.monotonic() + _BUSY_S
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError:  # where two processes do so at once, SQLite refuses one without any timeout
            if time.monotonic() > deadline:
                raise
            time.sleep(0.001)


def _packed(pair: AnchorPair) -> str:
    values = {name: getattr(pair, name) for name in _FIELDS}
    return json.dumps(values, default=lambda number: number.item())  # NumPy's are none to JSON


def _unpacked(packed: str) -> AnchorPair:
    values: dict[str, Any] = json.loads(packed)
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = tuple(value)
    return AnchorPair(**values)


# SQLite's locks do not survive a fork, not even for a connection that the child opens itself while it has inherited
# another of the same file. So every file is closed before a fork, and opened again by whoever needs it.
_lock = threading.Lock()
_storages: weakref.WeakSet[SqliteStorage] = weakref.WeakSet()  # those that are open, or were


def _before_fork() -> None:
    _lock.acquire()
    for storage in _storages:
        storage.close()


os.register_at_fork(before=_before_fork, after_in_parent=_lock.release, after_in_child=_lock.release)
