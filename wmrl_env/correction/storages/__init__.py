"""Where an anchor stream keeps its pairs: one file a kind, imported when its url asks for it."""

from __future__ import annotations

from typing import Protocol

from wmrl_env.correction.anchor_pair import AnchorPair

__all__ = ["MemoryStorage", "Storage"]


class Storage(Protocol):
    """An append-only list of pairs. What one ``append`` adds stays together, and no ``read`` sees a part of it."""

    def append(self, pairs: list[AnchorPair]) -> None:
        """Add at least one pair at the end."""

    def read(self, cursor: int) -> list[AnchorPair]:
        """All pairs but the first ``cursor``, which is at least 0; none where there are not so many."""
        ...

    def size(self) -> int:
        """Number of pairs."""
        ...


class MemoryStorage:
    """Pairs in this process."""

    def __init__(self) -> None:
        self._pairs: list[AnchorPair] = []

    def append(self, pairs: list[AnchorPair]) -> None:
        self._pairs.extend(pairs)

    def read(self, cursor: int) -> list[AnchorPair]:
        return self._pairs[cursor:]

    def size(self) -> int:
        return len(self._pairs)
