"""Causal language models as world models."""

from world_models.language.model import LanguageModel
from world_models.language.smollm import smollm2
from world_models.language.training import train_heads

__all__ = ["LanguageModel", "smollm2", "train_heads"]
