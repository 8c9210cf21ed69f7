"""Syntax trees of solutions, statement by statement: solutions of one kind share most of theirs."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

__all__ = ["REMEMBERED_CHARS", "parts_of", "statements_of"]

_CONTINUED = ("else", "elif", "except", "finally")  # they begin a line and no statement
REMEMBERED_CHARS = 4000
"""Longer parts are parsed anew each time."""


@lru_cache(maxsize=1024)  # each of a batch is looked at several times
def parts_of(code: str) -> tuple[str, ...]:
    """The code cut where a statement of the module begins; joined, the parts are the code again.

    A part that does not parse by itself shows that the cut was wrong; :func:`statements_of` then takes all as one.
    """
    parts: list[str] = []
    begun = 0
    place = 0
    decorated = False
    for line in re.findall(
        r"[^\n]*\n|[^\n]+", code
    ):  # of the characters that splitlines() takes, others end no statement
        first = line[:1]
        begins = (first.isalpha() or first in "_@") and not line.startswith(_CONTINUED)
        if begins and not decorated and place > begun:
            parts.append(code[begun:place])
            begun = place
        if begins:
            decorated = first == "@"
        place += len(line)
    return (*parts, code[begun:])


def _parse(code: str) -> tuple[ast.stmt, ...] | None:
    try:
        return tuple(ast.parse(code).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_parse_short = lru_cache(maxsize=8192)(_parse)


@lru_cache(maxsize=1024)
def statements_of(code: str) -> list[tuple[str, tuple[ast.stmt, ...]]] | None:
    """(source, statements) of each part of a solution, ``None`` where it does not parse.

    Trees are shared and must not be changed; line numbers count from the beginning of a part.
    """
    found: list[tuple[str, tuple[ast.stmt, ...]]] = []
    for part in parts_of(code):
        statements = (_parse_short if len(part) <= REMEMBERED_CHARS else _parse)(part)
        if statements is None:
            whole = _parse(code)
            return None if whole is None else [(code, whole)]
        if statements:
            found.append((part, statements))
    return found
