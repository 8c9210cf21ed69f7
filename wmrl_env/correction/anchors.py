"""Pairs of predicted and real score, and the stream through which corrections share them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

__all__ = ["AnchorPair", "AnchorStream"]


@dataclass(frozen=True, slots=True)
class AnchorPair:
    """One submission graded by both the world model and the sandbox.

    Attributes:
        task_id: id of the research task.
        group: key of the group that was anchored.
        code_hash: hex digest of the solution.
        predicted: the world model's score.
        real: the sandbox's score.
        member_scores: the ensemble members' scores, empty where there are none.
        action_class: see :func:`wmrl_env.correction.action_class`.
        terms: see :func:`wmrl_env.correction.solution_terms`; empty where no correction asks for them.
        weight: how many rows this one stands for, above 0: 1 / the probability with which it was chosen to be executed,
            up to a common factor.

    Raises:
        ValueError: a score is NaN or infinite, or the weight is not a positive number.
    """

    task_id: str
    group: str
    code_hash: str
    predicted: float
    real: float
    member_scores: tuple[float, ...] = ()
    action_class: str = ""
    terms: tuple[str, ...] = ()
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.predicted, self.real, *self.member_scores))):
            raise ValueError(f"the scores of an anchor pair must be finite, got {self}")
        if not 0.0 < self.weight < math.inf:
            raise ValueError(f"the weight of an anchor pair must be positive and finite, got {self.weight}")


class AnchorStream:
    """Append-only stream of anchor pairs. Any number of writers and readers; each reader keeps its own cursor.

    >>> stream = AnchorStream()
    >>> stream.append([AnchorPair("churn", "churn/0", "ab12", predicted=0.8, real=0.6)])
    >>> pairs, cursor = stream.read(0)
    >>> stream.read(cursor)
    ([], 1)
    """

    _named: ClassVar[dict[str, AnchorStream]] = {}

    def __init__(self) -> None:
        self._pairs: list[AnchorPair] = []

    @classmethod
    def open(cls, url: str | None = None) -> AnchorStream:
        """A new stream, or the one of that name.

        Args:
            url: ``"memory://NAME"``: one stream a name in this process; ``None``: a new one of its own.

        Raises:
            ValueError: another kind of url.
        """
        if url is None:
            return cls()
        scheme, separator, name = url.partition("://")
        if scheme != "memory" or not separator or not name:
            raise ValueError(
                f'stream {url!r} cannot be opened: streams live in one process so far; use "memory://NAME" or None'
            )
        return cls._named.setdefault(name, cls())

    def append(self, pairs: Iterable[AnchorPair]) -> None:
        """Add pairs at the end."""
        self._pairs.extend(tuple(pairs))

    def read(self, cursor: int) -> tuple[list[AnchorPair], int]:
        """Pairs from position ``cursor`` on, and the cursor to read on with.

        Raises:
            ValueError: a negative cursor.
        """
        pairs = self._pairs[self.position(cursor) :]
        return pairs, cursor + len(pairs)

    def position(self, cursor: int) -> int:
        """The cursor of a saved reader in this stream, which may be shorter than that of its time.

        Raises:
            ValueError: a negative cursor.
        """
        if cursor < 0:
            raise ValueError(f"cursor must be at least 0, got {cursor}")
        return min(cursor, len(self))

    def __len__(self) -> int:
        return len(self._pairs)
