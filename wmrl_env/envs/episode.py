"""What may be read of one episode from outside: by the scalar env's attributes, or a batched env's sub-environments."""

from __future__ import annotations

from typing import Any

from wmrl_env.correction.reward_rule import RewardKind
from wmrl_env.envs.core import EpisodeCore
from wmrl_env.envs.render import ansi, rgb_array
from wmrl_env.envs.resolve import TaskSource, resolve_tasks
from wmrl_env.tasks import ResearchTask
from world_models.outcomes import Backend, Outcome

__all__ = ["RENDER_MODES", "Episode"]

RENDER_MODES = ("ansi", "rgb_array")


class Episode:
    """Row ``row`` of a core."""

    render_mode: str | None

    def __init__(self, core: EpisodeCore, row: int, render_mode: str | None) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode must be one of {RENDER_MODES} or None, got {render_mode!r}")
        self._core = core
        self._row = row
        self.render_mode = render_mode

    @property
    def tasks(self) -> tuple[ResearchTask, ...]:
        """Tasks that episodes draw from. Set it to whatever the keyword ``task`` takes; the next reset draws anew."""
        return self._core.choices[self._row]

    @tasks.setter
    def tasks(self, source: TaskSource) -> None:
        self._core.choices[self._row] = resolve_tasks(source)

    @property
    def task(self) -> ResearchTask | None:
        """Task of the episode, ``None`` before the first reset."""
        return self._core.tasks[self._row]

    @property
    def group(self) -> int:
        """Group of the episode."""
        return int(self._core.group[self._row])

    @property
    def turn(self) -> int:
        """Turns taken."""
        return int(self._core.turn[self._row])

    @property
    def best_score(self) -> float:
        """Best score of the episode in [0, 1], 0 before the first."""
        return float(self._core.rule.best[self._row])

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Outcomes of the episode, oldest first."""
        return self._core.outcomes[self._row]

    @property
    def ungraded_count(self) -> int:
        """Steps since the env was made whose outcome stayed unknown."""
        return int(self._core.ungraded_count[self._row])

    @property
    def max_turns(self) -> int:
        """Turns of an episode."""
        return self._core.max_turns

    @property
    def reward_kind(self) -> RewardKind:
        """Kind of the env's reward rule, for corrections that apply one of their own."""
        return self._core.rule.kind

    @property
    def backend(self) -> Backend:
        """Who executes submissions, made when first asked for."""
        return self._core.backend

    def render(self) -> Any:
        """Text of the last turn (``"ansi"``), scores by turn as uint8 (H, W, 3) (``"rgb_array"``), or ``None``."""
        if self.render_mode == "ansi":
            return ansi(self.task, self.outcomes, self.max_turns)
        if self.render_mode == "rgb_array":
            return rgb_array(self.outcomes, self.max_turns)
        return None
