"""Spaces of the native environments, and the way arbitrary text is brought inside them."""

from __future__ import annotations

import re
import string
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import CustomSpaceError
from gymnasium.vector.utils import create_shared_memory

from world_models.outcomes import Status

__all__ = [
    "FEEDBACK_LENGTH",
    "NO_STATUS",
    "STATUS_CODES",
    "TASK_LENGTH",
    "PrintableText",
    "ReplyText",
    "observation_space",
    "printable",
]

TASK_LENGTH = 32_768
FEEDBACK_LENGTH = 16_384
REPLY_SAMPLE_LENGTH = 256  # of random actions only: a reply has no limit

NO_STATUS = 0  # ``last_status`` before the first step of an episode
STATUS_CODES: dict[Status, int] = {status: code for code, status in enumerate(Status, start=1)}

_FOREIGN = re.compile(r"[^\t-\r -~]")  # everything outside string.printable


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def printable(text: str, max_length: int) -> str:
    r"""``text`` brought inside ``PrintableText(max_length)``.

    Characters outside ``string.printable`` are escaped as ``\xNN``, ``\uNNNN`` or ``\UNNNNNNNN``; what is still too
    long loses its middle to a mark that says how much is missing.
    """
    dropped = 0
    if len(text) > 2 * max_length:  # bounds the work below; the middle is lost in any case
        dropped = len(text) - 2 * max_length
        head, tail = text[:max_length], text[-max_length:]
        text = _FOREIGN.sub(_escape, head) + _FOREIGN.sub(_escape, tail)
    else:
        text = _FOREIGN.sub(_escape, text)
    if len(text) <= max_length:
        return text
    mark = f"\n[... {len(text) - max_length + dropped} characters cut ...]\n"
    kept = max(0, max_length - len(mark))
    return (text[: kept - kept // 2] + mark + text[len(text) - kept // 2 :])[:max_length]


class _SharedTables(spaces.Text):
    """``Text`` over ``string.printable`` that shares its character tables between copies.

    Batched spaces deep-copy a space once a sub-environment; the tables would be most of their memory.
    """

    def __init__(self, max_length: int, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=string.printable, seed=seed)

    def __deepcopy__(self, memo: dict[int, Any]) -> _SharedTables:
        copy = type(self).__new__(type(self))
        copy.__dict__.update(self.__dict__)
        if self._np_random is not None:
            copy._np_random = np.random.Generator(type(self._np_random.bit_generator)())
            copy._np_random.bit_generator.state = self._np_random.bit_generator.state
        return copy


class PrintableText(_SharedTables):
    """Printable ASCII of at most ``max_length`` characters, checked with one pass of a compiled pattern."""

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length and _FOREIGN.search(x) is None

    def __repr__(self) -> str:
        return f"PrintableText({self.max_length})"


class ReplyText(_SharedTables):
    """Any string at all: an agent's reply is never refused for its characters or its length.

    ``max_length`` and the character set bound random samples only.
    """

    def __init__(self, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(REPLY_SAMPLE_LENGTH, seed=seed)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    def __repr__(self) -> str:
        return "ReplyText()"


@create_shared_memory.register(_SharedTables)
def _refuse_shared_memory(space: _SharedTables, n: int = 1, ctx: Any = None) -> Any:
    """Gymnasium's shared memory garbles Text without a word; refuse instead."""
    raise CustomSpaceError(
        "text observations do not survive Gymnasium's shared memory; pass shared_memory=False to AsyncVectorEnv, "
        "or use gymnasium.make_vec(id, num_envs=n), which batches natively"
    )


def observation_space(max_turns: int) -> spaces.Dict:
    """Native observation space of an episode of at most ``max_turns`` turns.

    ==============  ===========================  ==========================================================
    ``task``        ``PrintableText``            the task's text: description, facts, data inventory
    ``feedback``    ``PrintableText``            of the last turn; empty before the first
    ``turn``        ``Discrete(max_turns + 1)``  turns taken
    ``turns_left``  ``Discrete(max_turns + 1)``  turns to come
    ``best_score``  ``Box(0, 1, (1,), float32)``  best score of the episode, 0 before the first
    ``last_status`` ``Discrete``                 ``NO_STATUS`` or ``STATUS_CODES[status]``
    ==============  ===========================  ==========================================================
    """
    return spaces.Dict(
        {
            "task": PrintableText(TASK_LENGTH),
            "feedback": PrintableText(FEEDBACK_LENGTH),
            "turn": spaces.Discrete(max_turns + 1),
            "turns_left": spaces.Discrete(max_turns + 1),
            "best_score": spaces.Box(0.0, 1.0, (1,), np.float32),
            "last_status": spaces.Discrete(len(STATUS_CODES) + 1),
        }
    )
