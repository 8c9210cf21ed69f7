"""One arm with one seed: train with Stable-Baselines3 until the clock says stop, then grade for real."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv

from wmrl_env.demo.config import DemoConfig
from wmrl_env.envs.resolve import resolve_tasks
from wmrl_env.integrations import sb3
from wmrl_env.sandbox import Sandbox
from wmrl_env.wrappers import corrected, vector
from wmrl_env.wrappers.shell import layers
from world_models.outcomes import Backend

__all__ = ["grade", "train"]

ENV_ID = "wmrl/AutoResearchPipeline-v0"
_CURVE_POINTS = 40
_FOREVER = 2**62


class Anchors:
    """What the stack makes of each anchor pair, at the time when it comes; of any arm, those without anchors too."""

    def __init__(self, envs: VecEnv) -> None:
        cores = _cores(envs)
        self._sampling, self._debiasing = cores.get("AnchorSampling"), cores.get("OnlineDebiasing")
        self._denoising = cores.get("InverseVarianceDenoising")
        self._cursor = 0

    def new(self) -> list[dict[str, float]]:
        """Scores ``raw`` and ``real``, in a corrected arm also ``debiased``, ``denoised`` and the anchor ``weight``."""
        if self._sampling is None:
            return []
        start = self._cursor
        pairs, self._cursor = self._sampling.stream.read(start)
        levels = [{"raw": pair.predicted, "real": pair.real} for pair in pairs]
        if self._denoising is None or self._debiasing is None:
            return levels
        # By a map that had not seen the pair.
        for level, pair in zip(levels, self._debiasing.debiased.read(start)[0], strict=True):
            fused, _ = self._denoising.denoiser.fuse(np.array([pair.predicted]), np.array([pair.member_scores]))
            level |= {
                "debiased": pair.predicted,
                "denoised": float(fused[0]),
                "weight": self._denoising.denoiser.weight,
            }
        return levels


class Watch(BaseCallback):
    """Stops training on time, and notes what it saw.

    Args:
        started: reading of ``time.monotonic`` when the clock began.
        seconds: wall seconds that training gets.
        anchors: of the environment that is trained on.
        progress: called with the seconds gone by after each step.
    """

    def __init__(self, started: float, seconds: float, anchors: Anchors, progress: Callable[[float], None]) -> None:
        super().__init__()
        self.predictions = 0
        self.seconds_stood_for = 0.0  # CPU seconds that executing every step would have taken
        self.anchors: list[dict[str, float]] = []
        self._new_anchors = anchors.new
        self._started, self._seconds, self._progress = started, seconds, progress
        self._sum, self._count = np.zeros(_CURVE_POINTS), np.zeros(_CURVE_POINTS)

    def _on_step(self) -> bool:
        elapsed = time.monotonic() - self._started
        point = min(int(_CURVE_POINTS * elapsed / self._seconds), _CURVE_POINTS - 1)
        for info in self.locals["infos"]:
            self.seconds_stood_for += info["seconds"]
            self.predictions += info["source"] == "world_model"
            if info["graded"]:
                self._sum[point] += info["score"]
                self._count[point] += 1
        self.anchors += [{"seconds": elapsed, **levels} for levels in self._new_anchors()]
        self._progress(min(elapsed, self._seconds))
        return elapsed < self._seconds

    def curve(self) -> list[tuple[float, float]]:
        """Mean score of the steps in each slice of time, as training saw it: (seconds, score)."""
        seen = np.flatnonzero(self._count)
        seconds = (seen + 0.5) * self._seconds / _CURVE_POINTS
        return list(zip(seconds.tolist(), (self._sum[seen] / self._count[seen]).tolist(), strict=True))


def wrappers(arm: str, seed: int, config: DemoConfig, sandbox: Backend) -> list[Callable[[Any], Any]]:
    """The vector wrappers that make an arm out of the environment, innermost first."""
    sampling: dict[str, Any] = {
        "sandbox": sandbox,
        "fraction": config.fraction,
        "group_size": config.group_size,
        "mode": config.mode,
        "reuse": config.reuse,
        "concurrency": config.concurrency,
        "seed": seed,
    }
    debiasing: dict[str, Any] = {
        "min_pairs": config.min_pairs,
        "refit_every": config.refit_every,
        "stratify": config.stratify,
    }
    denoising: dict[str, Any] = {
        "warmup": config.warmup,
        "half_life": config.half_life,
        "carrier": "reward",  # PPO takes no sample weights
    }
    guard = {"fraction": 0.0, "audits": config.fraction, "residuals": True, "detect_drift": True}
    stacks: dict[str, list[Callable[[Any], Any]]] = {
        "real": [],
        "raw": [],
        "mixed": [partial(vector.AnchorSampling, **sampling)],
        "denoise": [
            partial(vector.AnchorSampling, **sampling),
            partial(vector.InverseVarianceDenoising, **denoising),
        ],
        "debias": [partial(vector.AnchorSampling, **sampling), partial(vector.OnlineDebiasing, **debiasing)],
        "corrected": [partial(corrected, **sampling, **debiasing, **denoising)],
        "guarded": [partial(corrected, **{**sampling, **debiasing, **denoising, **guard})],
    }
    return stacks[arm]


def train(
    arm: str,
    seed: int,
    config: DemoConfig,
    make_sandbox: Callable[[], Sandbox],
    make_world_model: Callable[[], Backend],
    progress: Callable[[float], None],
    policy_path: Path | None = None,
) -> tuple[PPO, dict[str, Any]]:
    """Train one arm for ``config.seconds``, its set-up included.

    Args:
        progress: called with the seconds gone by.
        policy_path: where the policy is kept, with the corrections' state beside it, also when training is
            interrupted; training goes on from there when it exists.

    Returns:
        The policy, and JSON values: ``wall_s``; ``real_executions``; ``predictions``; ``speedup`` (see
        :func:`wmrl_env.demo.summarise`); ``curve``, pairs of seconds and mean score as training saw it; ``anchors``,
        see :class:`Anchors`; ``map``, knots of the final debiasing map, none without one.
    """
    started = time.monotonic()
    torch.set_num_threads(config.torch_threads)
    settings = config.executed if arm == "real" else config.predicted
    with ExitStack() as stack:
        sandbox = stack.enter_context(make_sandbox())
        envs = sb3.make_vec_env(
            ENV_ID,
            settings.n_envs,
            wrappers=wrappers(arm, seed, config, sandbox),
            seed=seed,
            backend=sandbox if arm == "real" else make_world_model(),
            task=config.tasks,
            max_turns=config.max_turns,
            reward=config.reward,
        )
        stack.enter_context(closing(envs))
        hyperparameters = {key: value for key, value in asdict(settings).items() if key != "n_envs"}
        policy = PPO("MlpPolicy", envs, seed=seed, device="cpu", **hyperparameters)
        if policy_path is not None:
            stack.enter_context(_kept(policy, envs, policy_path))
        watch = Watch(started, config.seconds, Anchors(envs), progress)
        policy.learn(_FOREVER, callback=watch, reset_num_timesteps=False)
        wall_s = time.monotonic() - started
        return policy, {
            "wall_s": wall_s,
            "real_executions": sandbox.executions,
            "predictions": watch.predictions,
            "speedup": watch.seconds_stood_for / (config.workers * wall_s),
            "curve": watch.curve(),
            "anchors": watch.anchors,
            "map": _map(envs) if arm in ("debias", "corrected", "guarded") else [],
        }


def _cores(envs: VecEnv) -> dict[str, Any]:
    """Cores of the wrappers below an SB3 environment, by name."""
    return {layer.core.name: layer.core for layer in layers(envs.unwrapped.env) if hasattr(layer, "core")}  # type: ignore[attr-defined]


@contextmanager
def _kept(policy: PPO, envs: VecEnv, path: Path) -> Iterator[None]:
    """Policy and corrections go on from ``path`` and are saved there whenever the block ends."""
    corrections = _cores(envs)
    state_path = path.with_suffix(".corrections.json")
    if path.exists():
        policy.set_parameters(str(path), device="cpu")
        for name, state in json.loads(state_path.read_text(encoding="utf-8")).items():
            corrections[name].load_state_dict(state)
    try:
        yield
    finally:
        path.parent.mkdir(parents=True, exist_ok=True)
        policy.save(path)
        states = {name: core.state_dict() for name, core in corrections.items()}
        state_path.write_text(json.dumps(states), encoding="utf-8")


def _map(envs: VecEnv) -> list[tuple[float, float]]:
    x, y = envs.get_attr("calibrator")[0].knots()
    return list(zip(x.tolist(), y.tolist(), strict=True))


def grade(policy: PPO, seed: int, config: DemoConfig, sandbox: Backend) -> dict[str, Any]:
    """Let a policy solve every task ``config.episodes`` times for real.

    Returns:
        JSON values: ``scores``, by task the best score of each episode, and ``ungraded``, the steps whose outcome
        stayed unknown and which count nowhere.

    Raises:
        RuntimeError: no outcome is known at all.
    """
    torch.manual_seed(seed)
    task_ids = [task.id for task in resolve_tasks(config.tasks) for _ in range(config.episodes)]
    envs = gym.make_vec(
        ENV_ID, num_envs=len(task_ids), backend=sandbox, task=config.tasks, max_turns=config.max_turns, reward="score"
    )
    best = np.full(len(task_ids), np.nan)
    running = np.ones(len(task_ids), np.bool_)
    ungraded = 0
    with closing(envs):
        observations, _ = envs.reset(seed=seed, options={"task": task_ids})
        while running.any():
            actions, _ = policy.predict(observations, deterministic=False)
            observations, _, terminated, truncated, info = envs.step(actions)
            best[running] = np.fmax(best[running], info["score"][running])
            ungraded += int(np.isnan(info["score"][running]).sum())
            running &= ~(terminated | truncated)
    if np.isnan(best).all():
        raise RuntimeError(f"the sandbox could grade none of the {len(task_ids)} episodes; see `wmrl doctor`")
    scores: dict[str, list[float]] = {}
    for task_id, score in zip(task_ids, best.tolist(), strict=True):
        if not np.isnan(score):
            scores.setdefault(task_id, []).append(score)
    return {"scores": scores, "ungraded": ungraded}
