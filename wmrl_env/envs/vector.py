"""Many research episodes as one batched Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from wmrl_env.correction.reward_rule import RewardKind
from wmrl_env.envs.core import EpisodeCore
from wmrl_env.envs.episode import Episode
from wmrl_env.envs.resolve import TaskSource
from wmrl_env.envs.scalar import AutoResearchEnv
from wmrl_env.envs.spaces import ReplyText, observation_space
from world_models.outcomes import Backend

__all__ = ["AutoResearchVectorEnv"]


class AutoResearchVectorEnv(VectorEnv[dict[str, Any], Sequence[str], np.ndarray]):
    """n :class:`wmrl_env.envs.scalar.AutoResearchEnv` whose replies go to the backend together, once a step.

    Step by step it equals n scalar environments under the same seeds, with infos laid out as Gymnasium does: one array
    a key and a boolean ``_key`` that says which sub-environments have it. Only the reward of an ungraded step may
    differ: the running mean of its task's rewards is taken over all n.

    Args:
        num_envs: n, at least 1.
        autoreset_mode: ``"NextStep"``, ``"SameStep"`` or ``"Disabled"``; the enum stands in ``metadata``.
        task, backend, max_turns, reward, render_mode, ungraded_retries: as in the scalar environment.

    ``reset(seed=s)`` seeds sub-environment i with ``s + i``; a sequence gives each its own. ``options`` are those of
    the scalar environment, each for all or as a sequence of n (``None``: the default), and ``"reset_mask"``, bool of
    shape (n,), which resets only some.
    """

    closed = True  # until there is something to close: VectorEnv closes what it deletes, half-made ones too

    def __init__(
        self,
        num_envs: int = 1,
        task: TaskSource = "train",
        backend: str | Backend = "world_model",
        max_turns: int = 4,
        reward: RewardKind = "improvement",
        render_mode: str | None = None,
        ungraded_retries: int = 2,
        autoreset_mode: str | AutoresetMode = "NextStep",
    ) -> None:
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self._core = EpisodeCore(
            num_envs, task=task, backend=backend, max_turns=max_turns, reward=reward, ungraded_retries=ungraded_retries
        )
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.metadata = {**AutoResearchEnv.metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = observation_space(max_turns)
        self.single_action_space = ReplyText()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.episodes = tuple(Episode(self._core, row, render_mode) for row in range(num_envs))
        self._rngs: list[np.random.Generator | None] = [None] * num_envs
        self._seeds: list[int | None] = [None] * num_envs
        self.closed = False

    @property
    def backend(self) -> Backend:
        """Who executes submissions, made when first asked for."""
        return self._core.backend

    @property
    def reward_kind(self) -> RewardKind:
        """Kind of the env's reward rule, for corrections that apply one of their own."""
        return self._core.rule.kind

    @property
    def max_turns(self) -> int:
        """Turns of an episode."""
        return self._core.max_turns

    @property
    def ungraded_count(self) -> int:
        """Steps since the env was made whose outcome stayed unknown, of all sub-environments."""
        return int(self._core.ungraded_count.sum())

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """Generators of the sub-environments."""
        return tuple(self._rng(row) for row in range(self.num_envs))

    @property
    def np_random_seed(self) -> tuple[int | None, ...]:  # type: ignore[override]
        """Seeds of the sub-environments."""
        return tuple(self._seeds)

    def _rng(self, row: int, seed: int | None = None) -> np.random.Generator:
        rng = self._rngs[row]
        if rng is None or seed is not None:
            self._rngs[row], self._seeds[row] = rng, _ = seeding.np_random(seed)
            self._core.episodes[row] = 0
        return rng

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        options = dict(options or {})
        mask = _reset_mask(options.pop("reset_mask", None), self.num_envs)
        seeds = self._seeds_of(seed)
        per_env = _per_env(options, self.num_envs)
        rows = np.flatnonzero(mask)
        infos: dict[str, Any] = {}
        self._reset(infos, rows, [seeds[row] for row in rows.tolist()], [per_env[row] for row in rows.tolist()])
        return self._core.observations(), infos

    def _seeds_of(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, (int, np.integer)):
            return [int(seed) + row for row in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise ValueError(f"seed must be an int or hold one for each of {self.num_envs} envs, got {len(seed)}")
        return seed

    def _reset(
        self,
        infos: dict[str, Any],
        rows: np.ndarray,
        seeds: Sequence[int | None] | None = None,
        options: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        rngs = [self._rng(row, seed) for row, seed in zip(rows.tolist(), seeds or [None] * len(rows), strict=True)]
        self._scatter(infos, rows, self._core.reset(rows, rngs, options or [{}] * len(rows)))

    def step(self, actions: Sequence[str]) -> tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        if isinstance(actions, str) or len(actions) != self.num_envs:
            raise ValueError(f"actions must be a sequence of {self.num_envs} strings, got {actions!r:.200}")
        core = self._core
        over = np.flatnonzero(~core.running)
        if over.size and (self.autoreset_mode is not AutoresetMode.NEXT_STEP or None in core.tasks):
            raise ResetNeeded(f"episodes {over.tolist()} are over, or never began: call reset() before step()")
        rewards = np.zeros(self.num_envs)
        terminated, truncated = np.zeros(self.num_envs, np.bool_), np.zeros(self.num_envs, np.bool_)
        infos: dict[str, Any] = {}

        rows = np.flatnonzero(core.running)
        if rows.size:
            transition = core.step(rows, [actions[row] for row in rows.tolist()])
            rewards[rows], terminated[rows], truncated[rows] = (
                transition.rewards,
                transition.terminated,
                transition.truncated,
            )
            ended = transition.terminated | transition.truncated
            if self.autoreset_mode is AutoresetMode.SAME_STEP and ended.any():
                self._end(infos, rows[ended], {key: column[ended] for key, column in transition.info.items()})
                self._scatter(infos, rows[~ended], {key: column[~ended] for key, column in transition.info.items()})
            else:
                self._scatter(infos, rows, transition.info)
        if over.size:
            self._reset(infos, over)
        return core.observations(), rewards, terminated, truncated, infos

    def _end(self, infos: dict[str, Any], rows: np.ndarray, info: dict[str, np.ndarray]) -> None:
        """Lay final observations and infos of ``rows`` down and begin their next episodes."""
        final_obs = np.full(self.num_envs, None, dtype=object)
        final_info: dict[str, Any] = {}
        for row in rows.tolist():
            final_obs[row] = self._core.observation(row)
        self._scatter(final_info, rows, info)
        mask = np.zeros(self.num_envs, np.bool_)
        mask[rows] = True
        infos |= {"final_obs": final_obs, "_final_obs": mask, "final_info": final_info, "_final_info": mask.copy()}
        self._reset(infos, rows)

    def _scatter(self, infos: dict[str, Any], rows: np.ndarray, columns: Mapping[str, np.ndarray]) -> None:
        """Write columns of ``rows`` into arrays over all sub-environments, with their masks."""
        if not rows.size:
            return
        for key, column in columns.items():
            if key not in infos:
                empty: Any = None if column.dtype == object else 0
                infos[key] = np.full((self.num_envs, *column.shape[1:]), empty, column.dtype)
                infos[f"_{key}"] = np.zeros(self.num_envs, np.bool_)
            infos[key][rows] = column
            infos[f"_{key}"][rows] = True

    def get_wrapper_attr(self, name: str) -> Any:
        """Attribute of the whole batch, as the scalar env has it of its one episode."""
        return getattr(self, name)

    def render(self) -> tuple[Any, ...] | None:
        """Frames of the sub-environments, ``None`` without a render mode."""
        return None if self.render_mode is None else self.call("render")

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Per sub-environment: the result of its method ``name``, or its attribute of that name."""
        found = [getattr(episode, name) for episode in self.episodes]
        return tuple(value(*args, **kwargs) if callable(value) else value for value in found)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """Attribute ``name`` of each sub-environment."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set attribute ``name`` of each sub-environment: a list or tuple of n values, or one for all.

        Raises:
            ValueError: a list or tuple of another length.
        """
        if not isinstance(values, (list, tuple)):
            values = [values] * self.num_envs
        if len(values) != self.num_envs:
            raise ValueError(f"values must hold one for each of {self.num_envs} envs, got {len(values)}")
        for episode, value in zip(self.episodes, values, strict=True):
            setattr(episode, name, value)

    def close_extras(self, **kwargs: Any) -> None:
        self._core.close()


def _reset_mask(mask: Any, num_envs: int) -> np.ndarray:
    if mask is None:
        return np.ones(num_envs, np.bool_)
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (num_envs,) or not mask.any():
        raise ValueError(f"reset_mask must be a bool array of shape ({num_envs},) with a True in it, got {mask!r}")
    return mask


def _per_env(options: Mapping[str, Any], num_envs: int) -> list[dict[str, Any]]:
    """Options of each sub-environment from options for all: sequences hold one value each, all else is for everyone."""
    per_env: list[dict[str, Any]] = [{} for _ in range(num_envs)]
    for key, value in options.items():
        shared = not isinstance(value, (list, tuple, np.ndarray))
        values = [value] * num_envs if shared else value
        if len(values) != num_envs:
            raise ValueError(f"options[{key!r}] must be one value or {num_envs} of them, got {len(values)}")
        for own, item in zip(per_env, values, strict=True):
            own[key] = item
    return per_env
