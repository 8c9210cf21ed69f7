"""What a solution is made of, as words that solutions can share."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import lru_cache

from world_models.syntax import REMEMBERED_CHARS, statements_of

__all__ = ["solution_terms"]

_LONGEST = 40  # characters; longer constants are texts, no choices


@lru_cache(maxsize=8192)
def solution_terms(code: str) -> tuple[str, ...]:
    """The choices that a solution shows, sorted: what it calls, with which constants, and which constants it names.

    Empty where the code does not parse.

    >>> solution_terms("model = Ridge(alpha=2.0)")
    ('Ridge', 'Ridge(alpha=2.0)')
    >>> solution_terms("DEPTH = 3")
    ('DEPTH=3',)
    """
    terms: set[str] = set()
    for part, statements in statements_of(code) or ():
        terms |= _terms_of_short(part) if len(part) <= REMEMBERED_CHARS else _terms_of(statements)
    return tuple(sorted(terms))


def _terms_of(statements: Iterable[ast.stmt]) -> frozenset[str]:
    return frozenset(term for statement in statements for node in ast.walk(statement) for term in _terms(node))


@lru_cache(maxsize=8192)  # solutions of one kind share most parts
def _terms_of_short(part: str) -> frozenset[str]:
    return _terms_of(ast.parse(part).body)


def _terms(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call):
        if not (name := _name(node.func)):
            return
        yield name
        arguments = [(str(place), argument) for place, argument in enumerate(node.args)]
        for key, value in [*arguments, *((keyword.arg or "**", keyword.value) for keyword in node.keywords)]:
            if (constant := _constant(value)) is not None:
                yield f"{name}({key}={constant})"
    elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value and (constant := _constant(node.value)):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if name := _name(target):
                yield f"{name}={constant}"


def _name(node: ast.AST) -> str:
    """Last part of a dotted name, empty for other expressions."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _constant(node: ast.AST) -> str | None:
    """A short constant or the name of something, as text."""
    try:
        if isinstance(node, ast.Constant):
            text = repr(node.value)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
            text = ast.unparse(node)
        elif isinstance(node, (ast.Name, ast.Attribute)):
            text = _name(node)
        else:
            return None
    except ValueError:  # an integer of more digits than Python prints
        return None
    return text if len(text) <= _LONGEST else None
