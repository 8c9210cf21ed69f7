"""Finding and loading a causal language model with its tokenizer."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import torch

__all__ = ["Loaded", "load"]

_ARCHITECTURE = (
    "model_type",
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "intermediate_size",
)
_SAMPLE = 16  # values of each weight that make the fingerprint


class Loaded(NamedTuple):
    """A language model, its tokenizer, and where they came from.

    Attributes:
        model: a causal language model of ``transformers``.
        tokenizer: its tokenizer.
        path: folder or name on the hub; empty for a model given as an object that came from neither.
        gguf_file: file in that folder; ``None`` where weights lie there in another format.
    """

    model: Any
    tokenizer: Any
    path: str
    gguf_file: str | None

    @property
    def config_hash(self) -> str:
        """Hash of the architecture's sizes: equal for any dtype, device and version of ``transformers``."""
        config = self.model.config.get_text_config()
        sizes = {name: getattr(config, name, None) for name in _ARCHITECTURE}
        return hashlib.sha256(json.dumps(sizes, sort_keys=True).encode()).hexdigest()

    @property
    def fingerprint(self) -> str:
        """Hash of the architecture and of some values of every weight."""
        digest = hashlib.sha256(self.config_hash.encode())
        for name, weight in self.model.named_parameters():
            digest.update(name.encode())
            if weight.device.type != "meta":  # offloaded
                digest.update(weight.detach().flatten()[:_SAMPLE].float().cpu().numpy().tobytes())
        return digest.hexdigest()


def load(model: Any, tokenizer: Any, gguf_file: str | None, device: str | torch.device | None, dtype: Any) -> Loaded:
    """A language model from a folder, GGUF file, hub name or object; arguments as ``LanguageModel`` takes them.

    Raises:
        ValueError: no causal language model there, or a model given as an object without a tokenizer.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    if not isinstance(model, (str, Path)):
        if tokenizer is None:
            raise ValueError(f"a model given as an object ({type(model).__name__}) needs its tokenizer, too")
        _check_causal(model)
        if device is not None:
            model.to(device)
        return Loaded(model, tokenizer, str(getattr(model, "name_or_path", "") or ""), gguf_file)

    path = Path(model).expanduser()
    if path.suffix == ".gguf":
        if gguf_file is not None:
            raise ValueError(f"{path} is a GGUF file already; gguf_file={gguf_file!r} must not be given, too")
        path, gguf_file = path.parent, path.name
    where = str(path.resolve()) if path.is_dir() else str(model)
    if gguf_file is not None and not (Path(where) / gguf_file).is_file() and Path(where).is_absolute():
        raise ValueError(f"no GGUF file {gguf_file} in {where}")
    source: dict[str, Any] = {} if gguf_file is None else {"gguf_file": gguf_file}
    placement: dict[str, Any] = {}
    if device is None and torch.cuda.is_available():
        placement["device_map"] = "auto"
    loaded: Any
    try:
        if tokenizer is None:
            tokenizer = AutoTokenizer.from_pretrained(where, **source)
        loaded = AutoModelForCausalLM.from_pretrained(
            where, dtype=torch.float32 if dtype is None else dtype, **source, **placement
        )
    except (OSError, ValueError, ImportError, KeyError) as error:
        file = "" if gguf_file is None else f", file {gguf_file}"
        raise ValueError(f"no causal language model can be loaded from {where}{file}: {error}") from error
    _check_causal(loaded)
    return Loaded(loaded if device is None else loaded.to(device), tokenizer, where, gguf_file)


def _check_causal(model: Any) -> None:
    if not hasattr(model, "get_output_embeddings") or model.get_output_embeddings() is None:
        raise ValueError(f"a {type(model).__name__} is no causal language model: it has no output for tokens")
