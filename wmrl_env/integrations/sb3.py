"""Stable-Baselines3: the batched environment as a ``VecEnv``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv

try:
    from stable_baselines3.common.vec_env import VecEnv, VecMonitor
except ImportError as error:
    raise ImportError("wmrl_env.integrations.sb3 needs Stable-Baselines3: pip install 'wmrl[sb3]'") from error

from wmrl_env.wrappers.shell import layers, set_env_attribute

__all__ = ["VectorEnvAdapter", "make_vec_env"]


def make_vec_env(
    id: str,
    n_envs: int = 1,
    wrappers: Sequence[Callable[[VectorEnv], VectorEnv]] = (),
    seed: int | None = None,
    **kwargs: Any,
) -> VecEnv:
    """``n_envs`` environments in one batch, for any Stable-Baselines3 algorithm; episodes are monitored.

    Args:
        id: ``"wmrl/AutoResearchPipeline-v0"``, or another id whose spaces SB3 takes once it is wrapped.
        n_envs: number of environments; all of them are graded with one call of the backend a step.
        wrappers: vector wrappers, each called with the env so far, the innermost first.
        seed: environment i is seeded with ``seed + i`` at the first reset.
        **kwargs: keyword arguments of the environment.

    Raises:
        TypeError: the wrapped spaces hold text, which SB3 cannot take.

    Example:
        >>> from stable_baselines3 import PPO
        >>> from wmrl_env.integrations.sb3 import make_vec_env
        >>> env = make_vec_env("wmrl/AutoResearchPipeline-v0", n_envs=8, backend="wmrl_env.testing:HashBackend")
        >>> _ = PPO("MlpPolicy", env, n_steps=16, batch_size=32, device="cpu").learn(128)
    """
    env = gym.make_vec(
        id, num_envs=n_envs, vectorization_mode="vector_entry_point", autoreset_mode="SameStep", **kwargs
    )
    for wrapper in wrappers:
        env = wrapper(env)
    adapter = VectorEnvAdapter(env)
    if seed is not None:
        adapter.seed(seed)
    return VecMonitor(adapter)


class VectorEnvAdapter(VecEnv):
    """A ``wmrl_env`` vector environment, wrapped or not, as Stable-Baselines3 expects it.

    ``env_method``, ``get_attr`` and ``set_attr`` reach the sub-environments, and what those lack in the wrappers, the
    same for every sub-environment.

    Raises:
        ValueError: the env does not autoreset in the same step, which SB3 relies on.
        TypeError: its spaces hold text.
    """

    def __init__(self, env: VectorEnv) -> None:
        if env.metadata.get("autoreset_mode") is not AutoresetMode.SAME_STEP:
            raise ValueError('Stable-Baselines3 resets in the same step: make the env with autoreset_mode="SameStep"')
        for space in (env.single_observation_space, env.single_action_space):
            if any(isinstance(part, spaces.Text) for part in _parts(space)):
                raise TypeError(
                    f"Stable-Baselines3 cannot take text, got {space}; use wmrl/AutoResearchPipeline-v0, or wrap the "
                    "env in VectorPipelineAction and VectorTextFeatures"
                )
        self.env = env
        self._episodes = env.unwrapped.episodes
        self._actions: np.ndarray | None = None
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> Any:
        keys = {key for options in self._options for key in options}
        options = {key: [own.get(key) for own in self._options] for key in keys}
        observations, infos = self.env.reset(seed=self._seeds, options=options)  # type: ignore[arg-type]
        self.reset_infos = _rows(infos, self.num_envs)
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> Any:
        observations, rewards, terminated, truncated, infos = self.env.step(self._actions)
        rows = _rows(infos, self.num_envs)
        dones = terminated | truncated
        if dones.any():
            last = _rows(infos["final_info"], self.num_envs)
            for i in np.flatnonzero(dones).tolist():
                rows[i] = {
                    **last[i],
                    "terminal_observation": infos["final_obs"][i],
                    "TimeLimit.truncated": bool(truncated[i] and not terminated[i]),
                }
        return observations, rewards.astype(np.float32), dones, rows

    def close(self) -> None:
        self.env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        episodes = [self._episodes[i] for i in self._get_indices(indices)]
        if hasattr(self._episodes[0], attr_name):
            return [getattr(episode, attr_name) for episode in episodes]
        for layer in layers(self.env):
            if hasattr(layer, attr_name):
                return [getattr(layer, attr_name)] * len(episodes)
        raise AttributeError(f"neither the sub-environments nor {self.env} have an attribute {attr_name!r}")

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        if not hasattr(self._episodes[0], attr_name) and any(hasattr(layer, attr_name) for layer in layers(self.env)):
            set_env_attribute(self.env, attr_name, value)
            return
        for i in self._get_indices(indices):
            setattr(self._episodes[i], attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        methods = self.get_attr(method_name, indices)
        if not hasattr(self._episodes[0], method_name):  # of a wrapper, which there is once
            return [methods[0](*method_args, **method_kwargs)] * len(methods)
        return [method(*method_args, **method_kwargs) for method in methods]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        wrapped = any(isinstance(layer, wrapper_class) for layer in layers(self.env))
        return [wrapped for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[np.ndarray | None]:
        return self.env_method("render")


def _parts(space: gym.Space) -> Iterator[gym.Space]:
    parts = space.spaces if isinstance(space, (spaces.Dict, spaces.Tuple)) else ()
    yield space
    for part in parts.values() if isinstance(parts, dict) else parts:
        yield from _parts(part)


def _rows(infos: dict[str, Any], num_envs: int) -> list[dict[str, Any]]:
    """Gymnasium's arrays over all sub-environments as one dict each, without what a sub-environment lacks."""
    rows: list[dict[str, Any]] = [{} for _ in range(num_envs)]
    for key, column in infos.items():
        if key.startswith("_") or key in ("final_obs", "final_info"):
            continue
        if isinstance(column, dict):
            values: Sequence[Any] = _rows(column, num_envs)
        else:
            values = column.tolist() if column.ndim == 1 else list(column)
        for row, value, has in zip(rows, values, infos[f"_{key}"].tolist(), strict=True):
            if has:
                row[key] = value
    return rows
