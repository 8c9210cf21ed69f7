"""The standard stack of corrections in one call."""

from __future__ import annotations

from typing import Any, Literal

from gymnasium.vector import VectorEnv

from wmrl_env.correction import AnchorStream
from wmrl_env.wrappers.anchor_sampling import AnchorSampling
from wmrl_env.wrappers.compare_rewards import CompareRewards
from wmrl_env.wrappers.exploit_guard import ExploitGuard
from wmrl_env.wrappers.inverse_variance_denoising import InverseVarianceDenoising
from wmrl_env.wrappers.online_debiasing import OnlineDebiasing, Stratify
from wmrl_env.wrappers.shell import AnyEnv
from world_models.outcomes import Backend

__all__ = ["corrected"]


def corrected(
    env: AnyEnv,
    sandbox: str | Backend = "sandbox",
    *,
    fraction: float = 0.10,
    group_size: int = 8,
    seed: int = 0,
    schedule: Literal["uniform", "adaptive"] = "uniform",
    mode: Literal["sync", "async"] = "sync",
    reuse: bool = False,
    concurrency: int | None = None,
    min_pairs: int = 200,
    refit_every: int = 64,
    capacity: int = 5000,
    stratify: Stratify | None = None,
    residuals: bool = False,
    detect_drift: bool = False,
    weight_max: float = 4.0,
    warmup: int = 32,
    half_life: float = 64.0,
    carrier: Literal["info", "reward"] = "info",
    audits: float = 0.0,
    explore: float = 0.3,
    optimism: float = 2.0,
    pessimism: float = 1.0,
    stream: AnchorStream | str | None = None,
    update: bool = True,
    max_executions: int | None = None,
    max_seconds: float | None = None,
) -> Any:
    """``env`` in AnchorSampling, OnlineDebiasing, InverseVarianceDenoising, ExploitGuard (with ``audits`` above 0) and
    CompareRewards, from the inside out.

    Args:
        env: environment over a world model, scalar or vector; the wrappers are of the same kind.
        sandbox: who grades anchors and audits.
        audits: share of rows that ``ExploitGuard`` audits (its ``fraction``); 0 leaves it out.

    The others are those of :class:`AnchorSampling`, :class:`OnlineDebiasing`, :class:`InverseVarianceDenoising` and
    :class:`ExploitGuard`.

    Raises:
        ValueError, TypeError: as these do.

    Example:
        >>> import gymnasium as gym, wmrl_env
        >>> env = gym.make_vec("wmrl/AutoResearch-v0", 4, backend="wmrl_env.testing:HashBackend")
        >>> env = corrected(env, "wmrl_env.testing:HashBackend", fraction=0.25)
        >>> env.get_wrapper_attr("realised_fraction")
        0.0
    """
    if not audits >= 0.0:
        raise ValueError(f"audits must be 0, for no guard, or a share of the rows up to 1; got {audits}")
    kinds: tuple[Any, ...] = (AnchorSampling, OnlineDebiasing, InverseVarianceDenoising, ExploitGuard, CompareRewards)
    if isinstance(env, VectorEnv):
        from wmrl_env.wrappers import vector

        kinds = tuple(getattr(vector, kind.__name__) for kind in kinds)
    sampling, debiasing, denoising, guard, compare = kinds
    env = sampling(
        env, sandbox, fraction, group_size, schedule, mode, seed, reuse, concurrency, stream, update, max_executions,
        max_seconds,
    )  # fmt: skip
    env = debiasing(env, min_pairs, refit_every, capacity, stratify, residuals, None, update, detect_drift)
    env = denoising(env, weight_max, warmup, half_life, carrier, update=update)
    if audits:
        env = guard(env, audits, explore, optimism, pessimism, seed=seed, update=update)
    return compare(env)
