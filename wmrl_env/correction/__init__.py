"""Statistics of the reward corrections: NumPy in, NumPy out, no environment in sight."""

from wmrl_env.correction.action_class import action_class
from wmrl_env.correction.anchors import AnchorPair, AnchorStream
from wmrl_env.correction.calibration import MonotoneMap, OnlineCalibrator, fit_monotone, stratum_trust
from wmrl_env.correction.denoising import Denoiser, carry_weight, fusion_weights
from wmrl_env.correction.drift import DriftDetector
from wmrl_env.correction.exploit import Evidence, ExploitTest
from wmrl_env.correction.residuals import ResidualModel
from wmrl_env.correction.reward_rule import RewardKind, RewardRule
from wmrl_env.correction.schedule import AdaptiveSchedule, UniformSchedule
from wmrl_env.correction.smoothing import PredictionSmoother
from wmrl_env.correction.terms import solution_terms

__all__ = [
    "AdaptiveSchedule",
    "AnchorPair",
    "AnchorStream",
    "Denoiser",
    "DriftDetector",
    "Evidence",
    "ExploitTest",
    "MonotoneMap",
    "OnlineCalibrator",
    "PredictionSmoother",
    "ResidualModel",
    "RewardKind",
    "RewardRule",
    "UniformSchedule",
    "action_class",
    "carry_weight",
    "fit_monotone",
    "fusion_weights",
    "solution_terms",
    "stratum_trust",
]
