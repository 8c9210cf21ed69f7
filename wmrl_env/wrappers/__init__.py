"""Wrappers that correct a world model's rewards with real executions, and codecs for policies that do not read.

Vector twins under the same names in :mod:`wmrl_env.wrappers.vector`.
"""

from wmrl_env.wrappers.anchor_sampling import AnchorSampling
from wmrl_env.wrappers.codec import PipelineAction, TextFeatures
from wmrl_env.wrappers.compare_rewards import CompareRewards
from wmrl_env.wrappers.exploit_guard import ExploitGuard
from wmrl_env.wrappers.inverse_variance_denoising import InverseVarianceDenoising
from wmrl_env.wrappers.online_debiasing import OnlineDebiasing
from wmrl_env.wrappers.record_transitions import RecordTransitions
from wmrl_env.wrappers.stack import corrected

__all__ = [
    "AnchorSampling",
    "CompareRewards",
    "ExploitGuard",
    "InverseVarianceDenoising",
    "OnlineDebiasing",
    "PipelineAction",
    "RecordTransitions",
    "TextFeatures",
    "corrected",
]
