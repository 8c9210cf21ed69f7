"""The environments, scalar and batched, over one core."""

from wmrl_env.envs.scalar import AutoResearchEnv
from wmrl_env.envs.vector import AutoResearchVectorEnv

__all__ = ["AutoResearchEnv", "AutoResearchVectorEnv"]
