"""The two shells, scalar and vector, around one core a correction."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, ClassVar, TypeVar

import gymnasium as gym
import numpy as np
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import AutoresetMode, VectorEnv, VectorWrapper

from wmrl_env.correction import RewardKind, RewardRule
from wmrl_env.wrappers.batch import StepBatch

__all__ = ["ORDER", "AnyEnv", "Core", "ScalarShell", "VectorShell", "core_below", "env_attribute", "layers"]

AnyEnv = gym.Env[Any, Any] | VectorEnv[Any, Any, Any]
CoreT = TypeVar("CoreT", bound="Core")

ORDER = (
    "AnchorSampling",
    "OnlineDebiasing",
    "InverseVarianceDenoising",
    "ExploitGuard",
    "CompareRewards",
)
"""Corrections, innermost first; those left out are skipped, none comes twice."""


class Core:
    """What a wrapper does, over the rows of a :class:`StepBatch`. The scalar wrapper is the case of one row.

    Args:
        env: the wrapped env, scalar or vector.

    Raises:
        ValueError: wrappers are stacked in a wrong order.
        AttributeError: the env names no ``reward_kind``.
    """

    name: ClassVar[str]

    def __init__(self, env: AnyEnv) -> None:
        self._check_order(env)
        self.num_envs: int = getattr(env, "num_envs", 1)
        kind: RewardKind = env_attribute(env, "reward_kind")
        self.rule = RewardRule(kind, self.num_envs)

    def _check_order(self, env: AnyEnv) -> None:
        if self.name not in ORDER:
            return
        for layer in layers(env):
            below = getattr(layer.__dict__.get("core"), "name", None)
            if below in ORDER and ORDER.index(below) >= ORDER.index(self.name):
                raise ValueError(
                    f"{self.name} cannot stand on {below}; the order is, inside out: env, {', '.join(ORDER)}, each at "
                    "most once"
                )

    def reset(self, batch: StepBatch, given_group: np.ndarray) -> None:
        """New episodes begin on the batch's rows.

        Args:
            batch: k rows of reset infos.
            given_group: bool (k,), where the caller named the group (``options={"group": ...}``).
        """
        self.rule.reset(batch.rows)

    def step(self, batch: StepBatch, rewards: np.ndarray) -> np.ndarray:
        """Correct one step.

        Args:
            batch: k rows of step infos; the core writes what it finds out.
            rewards: float64 (k,), from the layer below.

        Returns:
            Rewards at this height, float64 (k,).
        """
        batch.setdefault("raw_reward", rewards)
        batch.setdefault("raw_score", np.array(batch.require("score"), np.float64))
        return self.correct(batch, rewards)

    def correct(self, batch: StepBatch, rewards: np.ndarray) -> np.ndarray:
        """What :meth:`step` does in this correction."""
        raise NotImplementedError

    def reward(self, batch: StepBatch, scores: np.ndarray) -> np.ndarray:
        """Rewards of the scores at this height, by the env's own rule."""
        return self.rule.rewards(scores, batch.task_ids, batch.rows)

    def close(self) -> None:
        """Release what was opened here."""

    def state_dict(self) -> dict[str, Any]:
        """State that :meth:`load_state_dict` continues from bit-equal, as JSON types."""
        return {"rule": self.rule.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.rule.load_state_dict(state["rule"])


class _Shell(RecordConstructorArgs):
    """What both shells share: the constructor, and the core's public attributes as their own."""

    core_type: ClassVar[type[Core]]
    core: Core

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "core_type" in cls.__dict__:
            cls.__signature__ = inspect.signature(cls.core_type)  # type: ignore[attr-defined]

    def _build(self, env: AnyEnv, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        bound = inspect.signature(self.core_type).bind(env, *args, **kwargs)
        recorded = {key: _recordable(value) for key, value in bound.arguments.items() if key != "env"}
        RecordConstructorArgs.__init__(self, **recorded)
        self.core = self.core_type(*bound.args, **bound.kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "core":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.core, name)

    @property
    def update(self) -> bool:
        """Whether statistics learn from what passes. Set to False for evaluation, here and in all wrappers below."""
        return self._learning()[0].update

    @update.setter
    def update(self, value: bool) -> None:
        for core in self._learning():
            core.update = value

    def _learning(self) -> list[Any]:
        """The cores from here on down that learn, outside in.

        Raises:
            AttributeError: none does.
        """
        cores = [core for layer in layers(self) if hasattr(core := layer.__dict__.get("core"), "update")]
        if not cores:
            raise AttributeError(f"{type(self).__name__} and the wrappers below learn nothing: there is no 'update'")
        return cores


class ScalarShell(_Shell, gym.Wrapper[Any, Any, Any, Any]):
    """A correction of a scalar env. Subclasses name their ``core_type``."""

    def __init__(self, env: gym.Env[Any, Any], *args: Any, **kwargs: Any) -> None:
        if not isinstance(env, gym.Env):
            raise TypeError(f"{type(self).__name__} wraps a gym.Env; for {env!r} see wmrl_env.wrappers.vector")
        self._build(env, args, kwargs)
        gym.Wrapper.__init__(self, env)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        batch = StepBatch.scalar(info)
        self.core.reset(batch, _given_group(options, 1))
        return observation, batch.infos

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        batch = StepBatch.scalar(info)
        if "score" not in info and "group" in info:  # gymnasium.wrappers.Autoreset below took this step to reset
            self.core.reset(batch, np.zeros(1, np.bool_))
            return observation, float(reward), terminated, truncated, batch.infos
        rewards = self.core.step(batch, np.array([reward], np.float64))
        return observation, float(rewards[0]), terminated, truncated, batch.infos

    def close(self) -> None:
        self.core.close()
        super().close()


class VectorShell(_Shell, VectorWrapper):
    """A correction of a vector env, under any autoreset mode. Subclasses name their ``core_type``."""

    def __init__(self, env: VectorEnv[Any, Any, Any], *args: Any, **kwargs: Any) -> None:
        if not isinstance(env, VectorEnv):
            raise TypeError(f"{type(self).__name__} wraps a VectorEnv; for {env!r} see wmrl_env.wrappers")
        if "autoreset_mode" not in env.metadata:
            raise ValueError(f"{env!r} does not say its autoreset_mode in its metadata, which its infos depend on")
        self._build(env, args, kwargs)  # first: a wrapper that could not be built must not close the env when it goes
        VectorWrapper.__init__(self, env)
        self._autoreset = AutoresetMode(env.metadata["autoreset_mode"])
        self._ended = np.zeros(env.num_envs, np.bool_)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        options = dict(options) if options else None  # envs take "reset_mask" out of it
        mask = np.ones(self.num_envs, np.bool_)
        if options and options.get("reset_mask") is not None:
            mask = np.array(options["reset_mask"], np.bool_)
        rows = np.flatnonzero(mask)
        given = _given_group(options, self.num_envs)[rows]
        observations, infos = self.env.reset(seed=seed, options=options)
        self._ended[rows] = False
        batch = StepBatch.vector(infos, rows, self.num_envs)
        self.core.reset(batch, given)
        return observations, batch.infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        ended = np.logical_or(terminated, truncated)
        same_step = self._autoreset is AutoresetMode.SAME_STEP
        begun = ended if same_step else self._ended & (self._autoreset is AutoresetMode.NEXT_STEP)
        rows = np.arange(self.num_envs) if same_step else np.flatnonzero(~begun)

        self._ended = ended  # also where a correction fails

        rewards = np.array(rewards, np.float64)
        if len(rows):
            batch = StepBatch.vector(infos, rows, self.num_envs, final=ended if same_step else None)
            rewards[rows] = self.core.step(batch, rewards[rows])
            infos = batch.infos
        if begun.any():
            batch = StepBatch.vector(infos, np.flatnonzero(begun), self.num_envs)
            self.core.reset(batch, np.zeros(len(batch), np.bool_))
            infos = batch.infos
        return observations, rewards, terminated, truncated, infos

    def close(self, **kwargs: Any) -> None:
        self.core.close()
        super().close(**kwargs)

    def has_wrapper_attr(self, name: str) -> bool:
        """Whether this wrapper or a layer below has the attribute."""
        return any(hasattr(layer, name) for layer in layers(self))

    def get_wrapper_attr(self, name: str) -> Any:
        """Attribute of this wrapper, or of the first layer below that has it.

        Raises:
            AttributeError: no layer has it.
        """
        return env_attribute(self, name)

    def set_wrapper_attr(self, name: str, value: Any) -> None:
        """Set an attribute of this wrapper, or of the first layer below that has it.

        Raises:
            AttributeError: no layer has it.
        """
        set_env_attribute(self, name, value)


def layers(env: Any) -> Iterator[Any]:
    """The env and what it wraps, outside in."""
    while env is not None:
        yield env
        env = env.__dict__.get("env")


def core_below(env: Any, core_type: type[CoreT]) -> CoreT | None:
    """Core of the outermost wrapper of that type in ``env``, ``None`` without one."""
    for layer in layers(env):
        core = layer.__dict__.get("core")
        if isinstance(core, core_type):
            return core
    return None


def env_attribute(env: Any, name: str) -> Any:
    """Attribute of the outermost layer that has it; of the first sub-environment where no layer has.

    Raises:
        AttributeError: nowhere to be found.
    """
    for layer in layers(env):
        if hasattr(layer, name):
            return getattr(layer, name)
    get_attr = getattr(env.unwrapped, "get_attr", None)
    if get_attr is None:
        raise AttributeError(f"neither {env!r} nor an env inside has the attribute {name!r}")
    return get_attr(name)[0]


def set_env_attribute(env: Any, name: str, value: Any) -> None:
    """Set an attribute of the outermost layer that has it.

    Raises:
        AttributeError: no layer has it.
    """
    for layer in layers(env):
        if hasattr(layer, name):
            setattr(layer, name, value)
            return
    raise AttributeError(f"no layer of {env!r} has the attribute {name!r}")


def _given_group(options: dict[str, Any] | None, num_envs: int) -> np.ndarray:
    """bool (n,): where reset options name a group, one for all or a sequence of n with ``None`` for unnamed."""
    group = (options or {}).get("group")
    groups = group if isinstance(group, (list, tuple, np.ndarray)) else [group] * num_envs
    return np.array([item is not None for item in groups], np.bool_)


def _recordable(value: Any) -> Any:
    """A constructor argument as a spec can hold it: an object becomes a note that it was one."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, PurePath):
        return str(value)
    return f"<{type(value).__module__}.{type(value).__qualname__} object>"
