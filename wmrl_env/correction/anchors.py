"""The stream through which corrections share anchor pairs, in one process or many."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from wmrl_env.correction.anchor_pair import AnchorPair
from wmrl_env.correction.storages import MemoryStorage, Storage

__all__ = ["AnchorPair", "AnchorStream"]


class AnchorStream:
    """Append-only stream of anchor pairs. Any number of writers and readers; each reader keeps its own cursor.

    A cursor is a number of pairs: all readers see the same pairs in the same order, and those of one ``append``
    together. A stream in memory is copied when pickled; one of SQLite or Ray is opened again by its name.

    >>> stream = AnchorStream()
    >>> stream.append([AnchorPair("churn", "churn/0", "ab12", predicted=0.8, real=0.6)])
    >>> pairs, cursor = stream.read(0)
    >>> stream.read(cursor)
    ([], 1)
    """

    _named: ClassVar[dict[str, AnchorStream]] = {}

    def __init__(self) -> None:
        self._storage: Storage = MemoryStorage()

    @classmethod
    def open(cls, url: str | None = None) -> AnchorStream:
        """A new stream, or the one of that name.

        Args:
            url: who shares the stream:

                - ``None``: nobody, a new one.
                - ``"memory://NAME"``: this process.
                - ``"sqlite:///PATH"``: the processes of one machine, through a file that is made, with its folder,
                  where missing. ``sqlite:///pairs.db`` is relative to the working folder, ``sqlite:////tmp/pairs.db``
                  absolute.
                - ``"ray://NAME"``: the processes of a Ray cluster, through a detached actor of that name in the
                  namespace ``"wmrl"``, made where missing. Without a connection to a cluster, ``ray.init()`` looks for
                  one as usual (``RAY_ADDRESS``) and else begins one on this machine.

                What a file or actor already holds is read first, so a new experiment wants a new name.

        Raises:
            ValueError: another kind of url, or the file is something else than a stream of this schema.
            OSError: the file cannot be opened or written; ConnectionError: nor the cluster or its actor be reached.
            ImportError: Ray is wanted and not installed.

        What can fail here can fail again in :meth:`append`, :meth:`read` and ``len``, with the same errors.
        """
        if url is None:
            return cls()
        scheme, _, name = url.partition("://")
        stream = cls()
        if scheme == "memory" and name:
            return cls._named.setdefault(name, stream)
        if scheme == "sqlite" and name.startswith("/") and name not in ("/", "/:memory:"):
            from wmrl_env.correction.storages.sqlite import SqliteStorage

            stream._storage = SqliteStorage(name.removeprefix("/"))
        elif scheme == "ray" and name:
            from wmrl_env.correction.storages.ray import RayStorage

            stream._storage = RayStorage(name)
        else:
            raise ValueError(
                f'there is no stream {url!r}: use "memory://NAME" within one process, "sqlite:///PATH" within one '
                'machine, "ray://NAME" within a Ray cluster, or None for a stream of its own'
            )
        len(stream)  # a wrong name is an error here, not in the middle of a training
        return stream

    def append(self, pairs: Iterable[AnchorPair]) -> None:
        """Add pairs at the end, all or none; they are in the stream when this returns."""
        if added := list(pairs):
            self._storage.append(added)

    def read(self, cursor: int) -> tuple[list[AnchorPair], int]:
        """Pairs from position ``cursor`` on, and the cursor to read on with.

        Raises:
            ValueError: a negative cursor.
        """
        pairs = self._storage.read(_checked(cursor))
        return pairs, cursor + len(pairs)

    def position(self, cursor: int) -> int:
        """The cursor of a saved reader in this stream, which may be shorter than that of its time.

        Raises:
            ValueError: a negative cursor.
        """
        return min(_checked(cursor), len(self))

    def __len__(self) -> int:
        return self._storage.size()


def _checked(cursor: int) -> int:
    if cursor < 0:
        raise ValueError(f"cursor must be at least 0, got {cursor}")
    return cursor
