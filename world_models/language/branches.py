"""Labels as tokens: which few rows of tokens answer all questions at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np
from torch import Tensor

from world_models.language.prompts import Question

__all__ = ["Branches", "normalised"]

Tokens = tuple[int, ...]


class Branches:
    """Rows of tokens that continue a prompt so that every label of every question is scored in one pass over them.

    Where all labels of a question without a lead are one token each, it needs no row at all.

    Args:
        asked: the questions.
        encode: tokens of a text, without special ones.

    Attributes:
        rows: the rows, R of them; none is the beginning of another.

    Raises:
        ValueError: the tokenizer cannot tell two labels of a question apart.
    """

    def __init__(self, asked: Sequence[Question], encode: Callable[[str], Sequence[int]]) -> None:
        paths = []
        for question in asked:
            labels = [tuple(encode(label)) for label in question.labels]
            if any(one == other[: len(one)] for one, other in permutations(labels, 2)):
                raise ValueError(f"the tokenizer cannot tell all of the labels {', '.join(question.labels)} apart")
            paths.append((tuple(encode(question.lead)) if question.lead else (), labels))
        needed = {lead + label[:-1] for lead, labels in paths for label in labels} - {()}
        self.rows = sorted(row for row in needed if not any(row == one[: len(row)] for one in needed - {row}))
        self._places = [[self._place(lead, label) for label in labels] for lead, labels in paths]

    def _place(self, lead: Tokens, label: Tokens) -> list[tuple[int, int, int]]:
        """(row, position in it, token) of each of a label's tokens; position -1 is the end of the prompt."""
        path = lead + label[:-1]
        row = next((i for i, one in enumerate(self.rows) if one[: len(path)] == path), 0)
        return [(row, len(lead) + i - 1, token) for i, token in enumerate(label)]

    def answers(self, end: Tensor, rows: Tensor) -> tuple[np.ndarray, ...]:
        """Log-probabilities of each question's labels, float64.

        Args:
            end: log-probabilities of the token after the prompt, (V,).
            rows: those of the tokens after each token of each row, (R, T, V).
        """
        return tuple(
            normalised(
                np.array(
                    [
                        sum(float(end[token] if at < 0 else rows[row, at, token]) for row, at, token in place)
                        for place in labels
                    ]
                )
            )
            for labels in self._places
        )


def normalised(logits: np.ndarray) -> np.ndarray:
    """Log-probabilities of which the exponentials are in the ratios of the logits' and add up to 1."""
    shifted = logits - logits.max()
    return shifted - np.log(np.exp(shifted).sum())
