"""Discrete actions and numeric observations for policies that do not read: ``PipelineAction`` and ``TextFeatures``.

Each scalar wrapper is its vector twin for one environment; what they share stands in the functions and the class above
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorEnv, VectorWrapper
from gymnasium.vector.utils import batch_space

from wmrl_env import pipeline
from wmrl_env.envs.spaces import STATUS_CODES
from wmrl_env.tasks import ResearchTask
from world_models.features import TASK_FEATURE_NAMES, task_features

__all__ = ["PipelineAction", "TextFeatures", "VectorPipelineAction", "VectorTextFeatures"]

FEATURE_LIMIT = 10.0  # task_features lie in [-10, 10]

_FIRST = np.array([0])
_OBSERVED = ("task", "turn", "turns_left", "last_status")


@lru_cache(maxsize=4096)  # a source has about 3 kB
def _render(action: tuple[int, ...], task: ResearchTask) -> str:
    return pipeline.render(action, task)


def _sources(actions: Any, tasks: Sequence[ResearchTask]) -> list[str]:
    """Solutions of integer decision vectors (k, decisions), one for each task."""
    decisions = np.asarray(actions)
    if decisions.dtype.kind not in "iu" or decisions.shape != (len(tasks), len(pipeline.NVEC)):
        raise ValueError(
            f"pipeline actions must be integers of shape {(len(tasks), len(pipeline.NVEC))}, "
            f"got {decisions.dtype} of shape {decisions.shape}"
        )
    return [_render(tuple(action), task) for action, task in zip(decisions.tolist(), tasks, strict=True)]


def _require_text(space: gym.Space) -> None:
    if not isinstance(space, spaces.Text):
        raise TypeError(f"PipelineAction renders actions to text for an env that takes text, got {space}")


class PipelineAction(gym.ActionWrapper[dict[str, Any], np.ndarray, str], RecordConstructorArgs):
    """Actions are pipeline decisions, ``MultiDiscrete(wmrl_env.pipeline.NVEC)``, rendered to a Python solution.

    Example:
        >>> import gymnasium as gym, wmrl_env
        >>> from wmrl_env.wrappers import PipelineAction
        >>> env = PipelineAction(gym.make("wmrl/AutoResearch-v0", backend="wmrl_env.testing:HashBackend"))
        >>> _ = env.reset(seed=0)
        >>> *_, info = env.step(env.action_space.sample())
        >>> "import" in info["code"]
        True
    """

    def __init__(self, env: gym.Env) -> None:
        _require_text(env.action_space)
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        self.action_space = spaces.MultiDiscrete(list(pipeline.NVEC))

    def action(self, action: np.ndarray) -> str:
        return _sources([action], [self.get_wrapper_attr("task")])[0]


class VectorPipelineAction(VectorWrapper):
    """:class:`PipelineAction` for vector environments: actions are int64 of shape (n, decisions)."""

    def __init__(self, env: VectorEnv) -> None:
        _require_text(env.single_action_space)
        super().__init__(env)
        self.single_action_space = spaces.MultiDiscrete(list(pipeline.NVEC))
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        tasks = self.unwrapped.get_attr("task")
        return self.env.step(tuple(_sources(actions, tasks)))


_task_features = lru_cache(maxsize=1024)(task_features)


class _Featurizer:
    """Feature vectors of n episodes, and what of their past belongs into them.

    Args:
        num_envs: n.
        action_space: of one environment. Where it is ``MultiDiscrete``, the episode's last and best action are features
            as well, so that a policy can vary its best solution.
    """

    def __init__(self, num_envs: int, action_space: gym.Space) -> None:
        self.nvec = np.zeros(0, np.int64)
        if isinstance(action_space, spaces.MultiDiscrete):
            self.nvec = action_space.nvec.ravel()
        self._offsets = np.cumsum(self.nvec) - self.nvec
        self._last_score = np.zeros(num_envs)
        self._best_score = np.full(num_envs, -np.inf)
        self._last_action = np.zeros((num_envs, self.nvec.size), np.float32)  # scaled to (0, 1], 0 before the first
        self._best_action = np.zeros((num_envs, int(self.nvec.sum())), np.float32)  # one-hot, 0 before the first
        self.names = (
            *TASK_FEATURE_NAMES,
            "no_status",
            *(f"status={status}" for status in STATUS_CODES),
            *("last_score", "best_score", "turn", "turns_left"),
            *(f"last_action[{i}]" for i in range(self.nvec.size)),
            *(f"best_action[{i}]={option}" for i, options in enumerate(self.nvec) for option in range(options)),
        )
        bounds = np.ones(len(self.names), np.float32)
        bounds[: len(TASK_FEATURE_NAMES)] = FEATURE_LIMIT
        low = np.zeros_like(bounds)
        low[: len(TASK_FEATURE_NAMES)] = -FEATURE_LIMIT
        self.space = spaces.Box(low, bounds)

    def forget(self, rows: np.ndarray) -> None:
        """Begin new episodes on ``rows`` (indices or mask)."""
        self._last_score[rows] = 0.0
        self._best_score[rows] = -np.inf
        self._last_action[rows] = 0.0
        self._best_action[rows] = 0.0

    def record(self, rows: np.ndarray, scores: np.ndarray, actions: Any) -> None:
        """Take note of a step of k ``rows`` (indices): scores (k,), NaN where unknown; actions (k, decisions)."""
        better = scores > self._best_score[rows]
        self._last_score[rows] = np.where(np.isnan(scores), 0.0, scores)
        self._best_score[rows] = np.fmax(self._best_score[rows], scores)
        if self.nvec.size:
            decisions = np.asarray(actions)
            self._last_action[rows] = (decisions + 1) / self.nvec
            improved = rows[better]
            self._best_action[improved] = 0.0
            self._best_action[improved[:, None], self._offsets + decisions[better]] = 1.0

    def state_dict(self) -> dict[str, Any]:
        """What is remembered of the running episodes, as JSON types."""
        return {
            "last_score": self._last_score.tolist(),
            "best_score": [score if np.isfinite(score) else None for score in self._best_score.tolist()],
            "last_action": self._last_action.tolist(),
            "best_action": self._best_action.tolist(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state.

        Raises:
            ValueError: it is of other environments.
        """
        best = [-np.inf if score is None else score for score in state["best_score"]]
        values = (state["last_score"], best, state["last_action"], state["best_action"])
        arrays: list[np.ndarray] = [self._last_score, self._best_score, self._last_action, self._best_action]
        loaded = [np.array(value).reshape(array.shape) for value, array in zip(values, arrays, strict=True)]
        for array, value in zip(arrays, loaded, strict=True):
            array[:] = value

    def vectors(self, rows: np.ndarray, observation: Mapping[str, Any]) -> np.ndarray:
        """float32 of shape (k, features) from the batched observation of ``rows``."""
        turn, left = np.asarray(observation["turn"]), np.asarray(observation["turns_left"])
        state = np.stack([self._last_score[rows], self._best_score[rows], turn, left], axis=1)
        state[:, 2:] /= (turn + left)[:, None]
        return np.concatenate(
            [
                np.stack([_task_features(text) for text in observation["task"]]),
                _ONE_HOT_STATUS[np.asarray(observation["last_status"])],
                np.clip(state, 0.0, 1.0),  # corrected scores may leave [0, 1]
                self._last_action[rows],
                self._best_action[rows],
            ],
            axis=1,
            dtype=np.float32,
        )


_ONE_HOT_STATUS = np.eye(1 + len(STATUS_CODES), dtype=np.float32)


def _require_native(space: gym.Space) -> None:
    if not isinstance(space, spaces.Dict) or not set(_OBSERVED) <= set(space.spaces):
        raise TypeError(f"TextFeatures reads the native Dict observation of the environments, got {space}")


class TextFeatures(gym.Wrapper[np.ndarray, Any, dict[str, Any], Any], RecordConstructorArgs):
    """Observations are float32 vectors: the task's features, the last status, scores and turns, in a bounded ``Box``.

    Above :class:`PipelineAction` also the last decisions and, one-hot, those of the best score so far. Scores are those
    of ``info["score"]``, corrected ones where corrections stand below. ``feature_names`` names the entries.
    """

    def __init__(self, env: gym.Env) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(env)
        _require_native(env.observation_space)
        self._featurizer = _Featurizer(1, env.action_space)
        self.observation_space = self._featurizer.space

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the observation's entries."""
        return self._featurizer.names

    def state_dict(self) -> dict[str, Any]:
        """What observations remember of the running episodes, as JSON types."""
        return self._featurizer.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._featurizer.load_state_dict(state)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._featurizer.forget(_FIRST)
        return self._vector(observation), info

    def step(self, action: Any) -> tuple[np.ndarray, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._featurizer.record(_FIRST, np.array([info["score"]], np.float64), [action])
        return self._vector(observation), reward, terminated, truncated, info

    def _vector(self, observation: dict[str, Any]) -> np.ndarray:
        return self._featurizer.vectors(_FIRST, _batch([observation]))[0]


class VectorTextFeatures(VectorWrapper):
    """:class:`TextFeatures` for vector environments: observations are float32 of shape (n, features)."""

    def __init__(self, env: VectorEnv) -> None:
        super().__init__(env)
        _require_native(env.single_observation_space)
        self._featurizer = _Featurizer(self.num_envs, env.single_action_space)
        self._all = np.arange(self.num_envs)
        self.single_observation_space = self._featurizer.space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of an observation's entries."""
        return self._featurizer.names

    def state_dict(self) -> dict[str, Any]:
        """What observations remember of the running episodes, as JSON types."""
        return self._featurizer.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._featurizer.load_state_dict(state)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        mask = (options or {}).get("reset_mask")
        observations, infos = self.env.reset(seed=seed, options=options)
        self._featurizer.forget(self._all if mask is None else mask)
        return self._featurizer.vectors(self._all, observations), infos

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        observations, rewards, terminated, truncated, infos = self.env.step(actions)
        scores, stepped = np.full(self.num_envs, np.nan), np.zeros(self.num_envs, np.bool_)
        for source in (infos, infos.get("final_info", {})):
            mask = source.get("_score", np.zeros(self.num_envs, np.bool_))
            scores[mask] = source["score"][mask] if mask.any() else 0.0
            stepped |= mask
        rows = np.flatnonzero(stepped)
        self._featurizer.record(rows, scores[rows], np.asarray(actions)[rows])
        if "final_obs" in infos:
            ended = np.flatnonzero(infos["_final_obs"])
            final_obs = infos["final_obs"].copy()
            vectors = self._featurizer.vectors(ended, _batch(infos["final_obs"][ended].tolist()))
            for row, vector in zip(ended.tolist(), vectors, strict=True):
                final_obs[row] = vector
            infos = {**infos, "final_obs": final_obs}
            self._featurizer.forget(ended)
        self._featurizer.forget(~stepped)
        return self._featurizer.vectors(self._all, observations), rewards, terminated, truncated, infos


def _batch(observations: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    return {key: [observation[key] for observation in observations] for key in _OBSERVED}
