"""Gymnasium ids of the environments, as strings only so that importing stays light."""

from __future__ import annotations

import gymnasium as gym

__all__ = ["register_envs"]

_SCALAR = "wmrl_env.envs.scalar:AutoResearchEnv"
_VECTOR = "wmrl_env.envs.vector:AutoResearchVectorEnv"


def register_envs() -> None:
    """Register all ids; a second call changes nothing."""
    if "wmrl/AutoResearch-v0" in gym.registry:
        return
    gym.register(
        "wmrl/AutoResearch-v0", entry_point=_SCALAR, vector_entry_point=_VECTOR, kwargs={"backend": "world_model"}
    )
    gym.register(
        "wmrl/AutoResearchSandbox-v0",
        entry_point=_SCALAR,
        vector_entry_point=_VECTOR,
        kwargs={"backend": "sandbox"},
        nondeterministic=True,  # seconds are measured, and a second execution may come from the cache
    )
    gym.register(
        "wmrl/AutoResearchPipeline-v0",
        entry_point="wmrl_env.envs.pipeline:pipeline_env",
        vector_entry_point="wmrl_env.envs.pipeline:pipeline_vector_env",
        kwargs={"backend": "world_model"},
    )
