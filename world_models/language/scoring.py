"""Reading with a causal language model: likelihoods of labels, and hidden states, after a prefix and a code."""

from __future__ import annotations

import copy
import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from world_models.language.branches import Branches, normalised
from world_models.language.prompts import Question, suffix

__all__ = ["Answers", "Scorer"]

_CONTENT_FREE = "..."
_LEAST_CODE = 32  # tokens of code for which a prefix must leave room
_BRANCHES = 16  # rows of labels in one pass, each with a copy of the cache


_Found = TypeVar("_Found")
Answers = tuple[np.ndarray, ...]
"""For each question the log-probabilities of its labels, float64 (labels,)."""


class _Prefix:
    """A prefix as read: the model's cache, its length in tokens, and the answers after a content-free code."""

    def __init__(self, cache: Any, length: int) -> None:
        self.cache = cache
        self.length = length
        self.blank: Answers | None = None


class Scorer:
    """A causal language model that reads codes after prefixes.

    The cache of a prefix is computed once and used for all codes that follow it; the least recently used are forgotten.
    Code that does not fit is read in parts of equal length, each after the same prefix, so that all of it counts:
    log-probabilities and features of a code are the means over its parts.

    Args:
        model: a causal language model of ``transformers``; it is put into evaluation mode.
        tokenizer: its tokenizer.
        asked: the questions.
        max_code_tokens: most tokens of code in one part; fewer where the model's context is shorter.
        batch_size: most parts in one pass.
        prefixes: most prefixes whose caches are kept.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        asked: Sequence[Question],
        max_code_tokens: int,
        batch_size: int,
        prefixes: int,
    ) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.branches = Branches(asked, self.encode)
        self._max_code_tokens, self.batch_size, self._most_prefixes = max_code_tokens, batch_size, prefixes
        self._prefixes: OrderedDict[str, _Prefix] = OrderedDict()
        accepted = inspect.signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in accepted else "past_key_values"
        self._accepted = {name for name in ("position_ids", "logits_to_keep") if name in accepted}
        self._pads = _bears_padding(model.config.get_text_config())
        self._context = getattr(model.config.get_text_config(), "max_position_embeddings", None)

    def encode(self, text: str) -> list[int]:
        """Tokens of a text, without special ones; lone surrogates become question marks."""
        clean = text.encode("utf-8", "replace").decode("utf-8")
        return self.tokenizer(clean, add_special_tokens=False, verbose=False).input_ids

    def count(self, text: str) -> int:
        """Number of tokens of a text."""
        return len(self.encode(text))

    def answers(self, prefix: str, codes: Sequence[str]) -> list[Answers]:
        """What each code is answered to the questions.

        Raises:
            ValueError: the prefix leaves no room for code in the model's context.
        """
        parts = self._read(prefix, codes, self._answer)
        return [tuple(normalised(np.mean(logs, axis=0)) for logs in zip(*of_code, strict=True)) for of_code in parts]

    def features(self, prefix: str, codes: Sequence[str]) -> list[np.ndarray]:
        """Mean and last of the last layer's hidden states over each code, float64 (2 H,).

        Raises:
            ValueError: the prefix leaves no room for code in the model's context.
        """
        return [np.mean(of_code, axis=0) for of_code in self._read(prefix, codes, self._featurise)]

    def blank(self, prefix: str) -> Answers:
        """The answers after a code without content: what the prefix alone suggests."""
        with torch.inference_mode():
            known = self._prefix(prefix)
        if known.blank is None:
            known.blank = self.answers(prefix, [_CONTENT_FREE])[0]
        return known.blank

    def _read(
        self, prefix: str, codes: Sequence[str], read: Callable[[_Prefix, Tensor, Tensor], list[_Found]]
    ) -> list[list[_Found]]:
        """What ``read`` makes of each part of each code."""
        with torch.inference_mode():
            known = self._prefix(prefix)
            parts = [(i, part) for i, code in enumerate(codes) for part in self._parts(code, known.length)]
            found: dict[int, _Found] = {}
            for chosen in self._batches([len(part) for _, part in parts]):
                found |= zip(chosen, read(known, *_padded([parts[j][1] for j in chosen])), strict=True)
        by_code: list[list[_Found]] = [[] for _ in codes]
        for j, (i, _) in enumerate(parts):
            by_code[i].append(found[j])
        return by_code

    def _batches(self, lengths: Sequence[int]) -> Iterator[list[int]]:
        """Indices of what is read in one pass: of like length, so that little is padded, or of the same."""
        batch: list[int] = []
        for i in sorted(range(len(lengths)), key=lengths.__getitem__):
            if batch and (len(batch) == self.batch_size or not (self._pads or lengths[batch[0]] == lengths[i])):
                yield batch
                batch = []
            batch.append(i)
        if batch:
            yield batch

    def _prefix(self, text: str) -> _Prefix:
        known = self._prefixes.get(text)
        if known is None:
            tokens = self.encode(text)
            if self.tokenizer.bos_token_id is not None:
                tokens = [self.tokenizer.bos_token_id, *tokens]
            self._part_size(len(tokens))
            output = self._forward(self.model, torch.tensor([tokens]), None, None, logits_to_keep=1)
            cache = getattr(output, self._cache_name, None)
            if cache is None:
                raise ValueError(f"a {type(self.model).__name__} keeps no cache of what it read and cannot be used")
            known = self._prefixes[text] = _Prefix(cache, len(tokens))
            while len(self._prefixes) > self._most_prefixes:
                self._prefixes.popitem(last=False)
        self._prefixes.move_to_end(text)
        return known

    def _part_size(self, prefix_length: int) -> int:
        """Most tokens of code in one part after a prefix."""
        if self._context is None:
            return self._max_code_tokens
        reserved = self.count(suffix(10**6, 10**6)) + max(map(len, self.branches.rows), default=0)
        room = self._context - prefix_length - reserved
        if room < _LEAST_CODE:
            raise ValueError(
                f"the task and its examples take {prefix_length} tokens, of which a context of {self._context} leaves "
                f"{max(room, 0)} for code; give fewer shots, or a model with a longer context"
            )
        return min(self._max_code_tokens, room)

    def _parts(self, code: str, prefix_length: int) -> list[list[int]]:
        tokens = self.encode(code.strip("\n"))
        parts = max(1, -(-len(tokens) // self._part_size(prefix_length)))
        bounds = [len(tokens) * i // parts for i in range(parts + 1)]
        return [tokens[bounds[i] : bounds[i + 1]] + self.encode(suffix(i + 1, parts)) for i in range(parts)]

    def _answer(self, known: _Prefix, tokens: Tensor, real: Tensor) -> list[Answers]:
        """Read parts (B, T), of which ``real`` marks what is no padding, then the rows of labels after each."""
        mask = _after(known, real)
        output = self._forward(self.model, tokens, self._copy(known.cache, len(tokens)), mask, logits_to_keep=1)
        ends = output.logits[:, -1].double().log_softmax(-1).cpu()
        branches = self._branch(getattr(output, self._cache_name), mask)
        return [self.branches.answers(ends[i], branches[i]) for i in range(len(tokens))]

    def _featurise(self, known: _Prefix, tokens: Tensor, real: Tensor) -> list[np.ndarray]:
        """The same without labels."""
        cache = self._copy(known.cache, len(tokens))
        output = self._forward(self.model.base_model, tokens, cache, _after(known, real))
        hidden = output.last_hidden_state.double().cpu()
        states = [row[marks.bool()] for row, marks in zip(hidden, real, strict=True)]
        return [torch.cat([of_part.mean(0), of_part[-1]]).numpy() for of_part in states]

    @staticmethod
    def _copy(cache: Any, times: int) -> Any:
        """A copy for so many rows: reading adds to a cache."""
        repeated = copy.deepcopy(cache)
        if times > 1:
            repeated.batch_repeat_interleave(times)
        return repeated

    def _branch(self, cache: Any, mask: Tensor) -> Tensor:
        """Log-probabilities (B, R, T, V) after each token of the rows of labels, which are padded on the right."""
        rows = self.branches.rows
        if not rows:
            return torch.empty(len(mask), 0, 0, 0)
        tokens = torch.zeros(len(rows), max(map(len, rows)), dtype=torch.long)
        for i, row in enumerate(rows):
            tokens[i, : len(row)] = torch.tensor(row)
        found = []
        for some in tokens.split(max(1, _BRANCHES // len(mask))):
            repeated = self._copy(cache, len(some))
            before = mask.repeat_interleave(len(some), dim=0)
            some = some.repeat(len(mask), 1)
            output = self._forward(self.model, some, repeated, torch.cat([before, torch.ones_like(some)], dim=1))
            found.append(output.logits.double().log_softmax(-1).cpu().unflatten(0, (len(mask), -1)))
        return torch.cat(found, dim=1)

    def _forward(self, network: Any, tokens: Tensor, cache: Any, mask: Tensor | None, **options: Any) -> Any:
        """One pass over the tokens (B, T) that follow what the cache holds; ``mask`` (B, cached + T) covers both."""
        if mask is None:
            mask = torch.ones_like(tokens)
        options["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
        options = {name: x for name, x in options.items() if name in self._accepted}
        device = self.model.device
        placed = {name: x.to(device) if isinstance(x, Tensor) else x for name, x in options.items()}
        past = {} if cache is None else {self._cache_name: cache}
        return network(input_ids=tokens.to(device), attention_mask=mask.to(device), use_cache=True, **past, **placed)


def _bears_padding(config: Any) -> bool:
    """Whether padding between a prefix and a code changes nothing: windows and states would take it for text."""
    layers = set(getattr(config, "layer_types", None) or ["full_attention"])
    window = getattr(config, "sliding_window", None) if getattr(config, "use_sliding_window", True) else None
    return layers == {"full_attention"} and window is None


def _after(known: _Prefix, real: Tensor) -> Tensor:
    """Mask of a prefix and of what follows it, which ``real`` marks."""
    return torch.cat([real.new_ones(len(real), known.length), real], dim=1)


def _padded(parts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Tokens (B, T), padded on the left, and which of them are real."""
    width = max(map(len, parts))
    tokens, real = torch.zeros(2, len(parts), width, dtype=torch.long)
    for i, part in enumerate(parts):
        tokens[i, width - len(part) :] = torch.tensor(part)
        real[i, width - len(part) :] = 1
    return tokens, real
