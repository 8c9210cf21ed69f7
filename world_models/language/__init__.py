"""World model ``language``: a causal language model reads task and solution, and says how likely each ending is."""

from world_models.language.causal import CausalReader, smollm2
from world_models.language.model import LanguageModel

__all__ = ["CausalReader", "LanguageModel", "smollm2"]
