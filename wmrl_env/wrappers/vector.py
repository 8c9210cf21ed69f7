"""Vector twins of the wrappers: the same cores over n episodes, under any autoreset mode."""

from __future__ import annotations

from wmrl_env.wrappers.anchor_sampling import AnchorCore
from wmrl_env.wrappers.codec import VectorPipelineAction as PipelineAction
from wmrl_env.wrappers.codec import VectorTextFeatures as TextFeatures
from wmrl_env.wrappers.compare_rewards import CompareCore
from wmrl_env.wrappers.exploit_guard import GuardCore
from wmrl_env.wrappers.inverse_variance_denoising import DenoisingCore
from wmrl_env.wrappers.online_debiasing import DebiasingCore
from wmrl_env.wrappers.record_transitions import RecordCore
from wmrl_env.wrappers.shell import VectorShell

__all__ = [
    "AnchorSampling",
    "CompareRewards",
    "ExploitGuard",
    "InverseVarianceDenoising",
    "OnlineDebiasing",
    "PipelineAction",
    "RecordTransitions",
    "TextFeatures",
]


class AnchorSampling(VectorShell):
    """Vector twin of :class:`wmrl_env.wrappers.AnchorSampling`; anchored rows of a step share one sandbox call."""

    core_type = AnchorCore


class OnlineDebiasing(VectorShell):
    """Vector twin of :class:`wmrl_env.wrappers.OnlineDebiasing`; one map for all rows."""

    core_type = DebiasingCore


class InverseVarianceDenoising(VectorShell):
    """Vector twin of :class:`wmrl_env.wrappers.InverseVarianceDenoising`; one set of estimates for all rows."""

    core_type = DenoisingCore


class ExploitGuard(VectorShell):
    """Vector twin of :class:`wmrl_env.wrappers.ExploitGuard`; audits of a step share one sandbox call."""

    core_type = GuardCore


class CompareRewards(VectorShell):
    """Vector twin of :class:`wmrl_env.wrappers.CompareRewards`; records all rows."""

    core_type = CompareCore


class RecordTransitions(VectorShell):
    """Vector twin of :class:`wmrl_env.wrappers.RecordTransitions`; one call of the store a step."""

    core_type = RecordCore
