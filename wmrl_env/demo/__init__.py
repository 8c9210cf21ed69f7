"""The demo: one agent trained four ways at equal wall-clock, each final policy graded by real execution.

========== ==================================================================
``real``       the sandbox alone
``raw``        the world model alone
``mixed``      the world model, a share of groups run for real, uncorrected
``corrected``  the same share, which also debiases and denoises the predictions
========== ==================================================================
"""

from wmrl_env.demo.config import ABLATION, ARMS, DemoConfig, PPOSettings
from wmrl_env.demo.experiment import run
from wmrl_env.demo.summary import bootstrap_mean, summarise, verdict

__all__ = ["ABLATION", "ARMS", "DemoConfig", "PPOSettings", "bootstrap_mean", "run", "summarise", "verdict"]
