"""One research episode as a Gymnasium environment."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from wmrl_env.correction.reward_rule import RewardKind
from wmrl_env.envs.core import EpisodeCore
from wmrl_env.envs.episode import RENDER_MODES, Episode
from wmrl_env.envs.resolve import TaskSource
from wmrl_env.envs.spaces import ReplyText, observation_space
from world_models.outcomes import Backend

__all__ = ["AutoResearchEnv"]

_FIRST = np.array([0])


class _Absent(np.float64):
    """NaN for what an outcome does not have, equal to itself so that equal infos compare equal.

    Gymnasium's environment checker compares the infos of two equal steps with ``==``, which a plain NaN fails.
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float) and bool(np.isnan(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = np.float64.__hash__


_ABSENT = _Absent("nan")


class AutoResearchEnv(Episode, gym.Env[dict[str, Any], str]):
    """An agent improves a Python solution of a research task over a few turns.

    An action is the agent's reply, any string: its last Python Markdown block, or all of it where it has no fences, is
    executed by the backend. The episode terminates after ``max_turns``, or with the turn whose reply carries a line
    that is just ``FINAL``. A step whose outcome stays unknown truncates the episode and pays the running mean of its
    task's rewards. ``AsyncVectorEnv`` needs ``shared_memory=False``, which text does not survive; for many episodes at
    once ``gymnasium.make_vec(id, num_envs=n)`` is the faster way.

    Args:
        task: ``"train"``, ``"heldout"``, ``"all"``, an id, a directory, a ``ResearchTask``, or several of the latter
            three. Each episode draws one.
        backend: ``"world_model"``, ``"sandbox"``, a name or path for ``world_models.make``, ``"module:attribute"``, or
            an instance. One made here is closed with the env.
        max_turns: turns of an episode.
        reward: ``"score"``: this turn's score; ``"improvement"``: what it adds to the best so far, so that the return
            is the best score.
        render_mode: ``"ansi"``, ``"rgb_array"`` or ``None``.
        ungraded_retries: times that a submission with unknown outcome is tried again.

    Raises:
        ValueError, TypeError: an argument out of its range, or that names nothing.

    Observations are those of :func:`wmrl_env.envs.spaces.observation_space`.
    ``reset(options={"task": ..., "group": int})`` chooses the task and the group, by default a drawn one and the number
    of episodes begun since the env was last seeded.

    ``info`` of a step:

    ==================  ======================  ==============================================================
    ``code``            str                     the solution as executed
    ``status``          str                     a ``Status`` by name
    ``score``           float in [0, 1]         NaN when ungraded; ``raw_score`` is the same before corrections
    ``source``          str                     ``"sandbox"``, ``"world_model"`` or ``"cache"``
    ``graded``          bool                    False when the outcome stayed unknown
    ``seconds``         float                   CPU seconds of the execution, real or predicted
    ``metric_value``    float                   the task's metric, NaN where there is none
    ``score_variance``  float                   of a prediction, NaN where there is none
    ``member_scores``   float64 of shape (M,)   of the model's M members, M = 0 where there are none
    ``anchor_score``    float                   NaN; ``AnchorSampling`` fills it
    ``task_id``         str                     also in the info of ``reset``, as is
    ``group``           int
    ==================  ======================  ==============================================================

    Example:
        >>> import gymnasium as gym, wmrl_env
        >>> env = gym.make("wmrl/AutoResearch-v0", backend="wmrl_env.testing:HashBackend")
        >>> observation, info = env.reset(seed=0)
        >>> observation, reward, terminated, truncated, info = env.step("print('hello')\\nFINAL")
        >>> terminated
        True
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 2}  # noqa: RUF012 - as in gym.Env

    def __init__(
        self,
        task: TaskSource = "train",
        backend: str | Backend = "world_model",
        max_turns: int = 4,
        reward: RewardKind = "improvement",
        render_mode: str | None = None,
        ungraded_retries: int = 2,
    ) -> None:
        core = EpisodeCore(
            1, task=task, backend=backend, max_turns=max_turns, reward=reward, ungraded_retries=ungraded_retries
        )
        super().__init__(core, 0, render_mode)
        self.metadata = dict(self.metadata)  # SyncVectorEnv writes into it
        self.observation_space = observation_space(max_turns)
        self.action_space = ReplyText()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        gym.Env.reset(self, seed=seed)
        if seed is not None:
            self._core.episodes[0] = 0
        info = self._core.reset(_FIRST, [self.np_random], [options or {}])
        return self._core.observation(0), _scalars(info)

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        transition = self._core.step(_FIRST, [action])
        return (
            self._core.observation(0),
            float(transition.rewards[0]),
            bool(transition.terminated[0]),
            bool(transition.truncated[0]),
            _scalars(transition.info),
        )

    def close(self) -> None:
        self._core.close()


def _scalars(columns: dict[str, np.ndarray]) -> dict[str, Any]:
    """The only row of every column, as Python scalars; arrays stay arrays."""
    return {key: _scalar(column) for key, column in columns.items()}


def _scalar(column: np.ndarray) -> Any:
    if column.ndim > 1:
        return column[0]
    value = column.item()
    return _ABSENT if value != value else value
