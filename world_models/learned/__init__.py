"""The default world model: an ensemble of small networks, trained on recorded outcomes."""

from world_models.learned.model import LearnedModel
from world_models.learned.training import adapt, train

__all__ = ["LearnedModel", "adapt", "train"]
