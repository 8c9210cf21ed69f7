"""The pipeline environment: decisions in, feature vectors out, research episodes below."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from gymnasium.vector import VectorEnv

from wmrl_env.envs.scalar import AutoResearchEnv
from wmrl_env.envs.vector import AutoResearchVectorEnv
from wmrl_env.wrappers.codec import PipelineAction, TextFeatures, VectorPipelineAction, VectorTextFeatures

__all__ = ["pipeline_env", "pipeline_vector_env"]


def pipeline_env(**kwargs: Any) -> gym.Env:
    """``TextFeatures(PipelineAction(AutoResearchEnv(**kwargs)))``."""
    return TextFeatures(PipelineAction(AutoResearchEnv(**kwargs)))


def pipeline_vector_env(**kwargs: Any) -> VectorEnv:
    """The batched twin of :func:`pipeline_env`."""
    return VectorTextFeatures(VectorPipelineAction(AutoResearchVectorEnv(**kwargs)))


pipeline_env.metadata = AutoResearchEnv.metadata  # type: ignore[attr-defined]  # gymnasium.make reads render modes here
