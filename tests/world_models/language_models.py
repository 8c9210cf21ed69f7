"""A causal language model with random weights, small enough for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.world_models.recordings import CODE, IMPUTED, TASKS


def tiny_model(context: int = 16_384, hidden: int = 32, seed: int = 0) -> tuple[Any, Any]:
    """A Llama of 2 layers and a tokenizer of bytes and of the words of the recordings."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(False)])
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=["<s>"], initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator([CODE, IMPUTED, *TASKS.values()], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>")
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=0.2,
        bos_token_id=0,
        eos_token_id=None,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config), tokenizer


def saved_model(folder: Path, **kwargs: Any) -> Path:
    """The tiny model in a folder."""
    model, tokenizer = tiny_model(**kwargs)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
