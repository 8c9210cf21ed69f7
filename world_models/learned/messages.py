"""What failures say: recorded messages grouped by kind, and told again for another solution."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from world_models.outcomes import Outcome, Status, Submission, exception_class
from world_models.store import Transition

__all__ = ["MessageBook", "message_kind"]

_VARIABLE = re.compile(r"'[^']*'|\"[^\"]*\"|\b\w+(?=\.__init__\(\))|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_FRAME = re.compile(r'^  File "solution\.py", line \d+, in .*\n    (.*)$', re.M)
_WORD = re.compile(r"\w+")
_MESSAGES_A_KIND = 16
_LINES_A_KIND = 8


class _Kind(NamedTuple):
    status: str
    exception: str
    messages: list[str]  # the most frequent first
    lines: list[str]  # beginnings of the source lines that raised, the most frequent first


def _message(outcome: Outcome) -> str | None:
    """The exception's own text: from the line that names its class to the end."""
    name = exception_class(outcome.feedback)
    if name is None:
        return None
    lines = outcome.feedback.split("\n")
    start = max(i for i, line in enumerate(lines) if line.startswith(name))
    return "\n".join(lines[start:])


def message_kind(outcome: Outcome) -> tuple[str, str] | None:
    """(status, message with names and numbers left out) of a failure, ``None`` where it names no exception."""
    message = None if outcome.status is Status.VALID else _message(outcome)
    return None if message is None else (str(outcome.status), _general(message))


def _general(message: str) -> str:
    """First line of a message, names and numbers left out."""
    return _VARIABLE.sub("_", message.split("\n")[0])


class MessageBook:
    """The kinds of message that failures of a recording end in, ``S`` of them.

    Args:
        kinds: as :meth:`state` gives them.
    """

    def __init__(self, kinds: Sequence[Sequence[Any]]) -> None:
        self._kinds = [_Kind(*kind) for kind in kinds]
        self.statuses: tuple[str, ...] = tuple(kind.status for kind in self._kinds)
        self.exceptions: tuple[str, ...] = tuple(kind.exception for kind in self._kinds)
        self._index = {
            (kind.status, _general(kind.messages[0])): i for i, kind in enumerate(self._kinds) if kind.messages
        }

    @classmethod
    def collect(cls, transitions: Iterable[Transition], most: int = 48) -> tuple[MessageBook, list[int]]:
        """A book of the ``most`` frequent kinds, and the kind of each transition (-1 for none)."""
        found = [message_kind(outcome) for _, outcome in transitions]
        by_kind: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
        for kind, (_, outcome) in zip(found, transitions, strict=True):
            if kind is not None:
                by_kind[kind].append(outcome)
        frequent = sorted(by_kind, key=lambda kind: (-len(by_kind[kind]), kind))[:most]
        kinds = []
        for kind in frequent:
            outcomes = by_kind[kind]
            messages = Counter(_message(outcome) or "" for outcome in outcomes)
            frames = (_FRAME.findall(outcome.feedback) for outcome in outcomes)
            lines = Counter(frame[-1].partition("(")[0] + "(" for frame in frames if frame)
            kinds.append(
                _Kind(
                    kind[0],
                    exception_class(outcomes[0].feedback) or "",
                    [message for message, _ in messages.most_common(_MESSAGES_A_KIND)],
                    [line for line, _ in lines.most_common(_LINES_A_KIND)],
                )
            )
        index = {kind: i for i, kind in enumerate(frequent)}
        return cls(kinds), [-1 if kind is None else index.get(kind, -1) for kind in found]

    def __len__(self) -> int:
        return len(self._kinds)

    def kind_of(self, outcome: Outcome) -> int:
        """Place of the kind of message that an outcome ends in, -1 where the book has none such."""
        kind = message_kind(outcome)
        return -1 if kind is None else self._index.get(kind, -1)

    def state(self) -> list[list[Any]]:
        return [list(kind) for kind in self._kinds]

    def tell(self, kind: int, submission: Submission) -> str:
        """The message of a kind as this solution would cause it, after the traceback of the line that raises it.

        Of the recorded messages the one that fits best: fewest of its words are strange to solution and task.
        """
        _, _, messages, beginnings = self._kinds[kind]
        known = set(_WORD.findall(submission.code)) | set(_WORD.findall(submission.task_text))
        message = min(messages, key=lambda text: len(set(_WORD.findall(text)) - known))
        lines = [line.strip() for line in submission.code.split("\n")]
        for beginning in beginnings:
            for number, line in enumerate(lines, start=1):
                if line.startswith(beginning):
                    frame = f'  File "solution.py", line {number}, in <module>\n    {line}'
                    return f"Traceback (most recent call last):\n{frame}\n{message}"
        return message
