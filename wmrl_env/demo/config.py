"""Every number of the demo."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Literal

from wmrl_env.correction.reward_rule import RewardKind
from wmrl_env.wrappers.online_debiasing import Stratify

__all__ = ["ABLATION", "ARMS", "DemoConfig", "PPOSettings"]

ARMS = ("real", "raw", "mixed", "corrected")
ABLATION = ("real", "raw", "mixed", "denoise", "debias", "corrected", "guarded")


@dataclass(frozen=True)
class PPOSettings:
    """Hyperparameters of Stable-Baselines3's PPO."""

    n_envs: int
    n_steps: int
    batch_size: int
    n_epochs: int = 10
    learning_rate: float = 1e-3
    ent_coef: float = 0.005
    gamma: float = 1.0


@dataclass(frozen=True)
class DemoConfig:
    """Settings of the experiment.

    Attributes:
        seconds: wall seconds of training for each arm and seed, its set-up included.
        seeds: independent repetitions; ``seed`` is the first one's.
        tasks: what to train on and grade: a split or task ids.
        max_turns, reward: of the environment.
        world_model: name or path that ``world_models.make`` takes.
        workers: solutions that the sandbox runs at once.
        torch_threads: of PyTorch; small networks on a busy machine want 1.
        episodes: graded episodes a task of each final policy.
        fraction, group_size, mode, reuse, concurrency: of :class:`wmrl_env.wrappers.vector.AnchorSampling`.
        min_pairs, refit_every, stratify: of :class:`wmrl_env.wrappers.vector.OnlineDebiasing`.
        warmup, half_life: of :class:`wmrl_env.wrappers.vector.InverseVarianceDenoising`, in groups.
        executed: PPO where every step runs for real: small rollouts, since a step takes seconds.
        predicted: PPO where most steps are predicted.

    Raises:
        ValueError: a setting outside its range.
    """

    seconds: float = 36.0
    seeds: int = 3
    seed: int = 0
    tasks: str | tuple[str, ...] = ("lending", "interest", "doctor")
    max_turns: int = 1
    reward: RewardKind = "improvement"
    world_model: str = "learned"
    workers: int = 2
    torch_threads: int = 1
    episodes: int = 6
    fraction: float = 0.05
    group_size: int = 4
    mode: Literal["sync", "async"] = "async"
    reuse: bool = True
    concurrency: int | None = None
    min_pairs: int = 8
    refit_every: int = 4
    stratify: Stratify | None = "task_action_class"
    warmup: int = 2
    half_life: float = 16.0
    executed: PPOSettings = field(default=PPOSettings(n_envs=8, n_steps=2, batch_size=16))
    predicted: PPOSettings = field(default=PPOSettings(n_envs=64, n_steps=4, batch_size=64))

    def __post_init__(self) -> None:
        for name in ("seconds", "seeds", "max_turns", "workers", "torch_threads", "episodes"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")

    @classmethod
    def quick(cls, seed: int = 0) -> DemoConfig:
        """Everything once in under 3 minutes; too short to tell the arms apart."""
        return cls(seconds=15.0, seeds=1, seed=seed, episodes=1)

    @property
    def key(self) -> str:
        """Hash of all settings and of the package's version: results are resumed only under the same ones."""
        text = json.dumps([version("wmrl"), asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]
