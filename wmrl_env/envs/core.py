"""The episodes of n parallel environments as arrays: the one place where a step is defined."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium.error import ClosedEnvironmentError, ResetNeeded

from wmrl_env.correction.reward_rule import RewardKind, RewardRule
from wmrl_env.envs.resolve import BackendSource, TaskSource, resolve_task, resolve_tasks
from wmrl_env.envs.spaces import FEEDBACK_LENGTH, NO_STATUS, STATUS_CODES, TASK_LENGTH, printable
from wmrl_env.tasks import ResearchTask
from world_models.gates import FINAL, extract_code, has_block, is_final
from world_models.outcomes import Backend, Outcome, Status, Submission, ladder_score, render_feedback

__all__ = ["FINAL", "INFO", "EpisodeCore", "Transition"]

INFO = "INFO"

_task_text = lru_cache(maxsize=1024)(printable)


@dataclass(frozen=True)
class Transition:
    """One step of k episodes.

    Attributes:
        rewards: float64 of shape (k,).
        terminated, truncated: bool of shape (k,).
        info: by key, an array whose first axis is k; strings and code as objects.
    """

    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    info: dict[str, np.ndarray]


class EpisodeCore:
    """n parallel episodes; the scalar environment is n = 1.

    Args:
        num_envs: n.
        task: tasks that episodes draw from; see :func:`wmrl_env.envs.resolve.resolve_tasks`.
        backend: who executes submissions; see :class:`wmrl_env.envs.resolve.BackendSource`.
        max_turns: turns of an episode, at least 1.
        reward: ``"score"`` or ``"improvement"``; see :class:`wmrl_env.correction.RewardRule`.
        ungraded_retries: times that a submission with unknown outcome is tried again, at least 0.

    Raises:
        ValueError, TypeError: an argument out of its range, or that names nothing.
    """

    def __init__(
        self,
        num_envs: int,
        *,
        task: TaskSource,
        backend: str | Backend,
        max_turns: int,
        reward: RewardKind,
        ungraded_retries: int,
    ) -> None:
        self.rule = RewardRule(reward, num_envs)
        self.num_envs = num_envs
        self.max_turns = _count("max_turns", max_turns, 1)
        self.ungraded_retries = _count("ungraded_retries", ungraded_retries, 0)
        self.choices: list[tuple[ResearchTask, ...]] = [resolve_tasks(task)] * num_envs
        self.tasks: list[ResearchTask | None] = [None] * num_envs  # None before the first reset
        self.group = np.zeros(num_envs, np.int64)
        self.episodes = np.zeros(num_envs, np.int64)  # begun since the row was last seeded
        self.turn = np.zeros(num_envs, np.int64)
        self.last_status = np.full(num_envs, NO_STATUS, np.int64)
        self.running = np.zeros(num_envs, np.bool_)
        self.ungraded_count = np.zeros(num_envs, np.int64)
        self.outcomes: list[tuple[Outcome, ...]] = [()] * num_envs  # of the episode, oldest first
        self._task_text = [""] * num_envs
        self._feedback = [""] * num_envs
        self._backend = BackendSource(backend)
        self._members: int | None = None  # M, while none was seen
        self._closed = False

    @property
    def backend(self) -> Backend:
        """Who executes submissions, made when first asked for."""
        self._require_open()
        return self._backend.backend

    def reset(
        self, rows: np.ndarray, rngs: Sequence[np.random.Generator], options: Sequence[Mapping[str, Any]]
    ) -> dict[str, np.ndarray]:
        """Begin new episodes.

        Args:
            rows: k indices into n.
            rngs: k generators; a task is drawn from the row's.
            options: k mappings; ``"task"`` (id, directory or ``ResearchTask``) instead of a drawn one, ``"group"``
                (int) instead of the row's number of episodes begun before (since it was last seeded).

        Returns:
            Info arrays ``task_id`` and ``group`` of shape (k,).

        Raises:
            ValueError, TypeError: an unknown option, or one that names nothing.
        """
        self._require_open()
        chosen = [self._choose(row, rng, option) for row, rng, option in zip(rows.tolist(), rngs, options, strict=True)]
        for row, (task, group) in zip(rows.tolist(), chosen, strict=True):
            self.tasks[row] = task
            self._task_text[row] = _task_text(task.text, TASK_LENGTH)
            self._feedback[row] = ""
            self.outcomes[row] = ()
            self.group[row] = group
        self.episodes[rows] += 1
        self.turn[rows] = 0
        self.last_status[rows] = NO_STATUS
        self.running[rows] = True
        self.rule.reset(rows)
        return self._identity(rows)

    def _choose(self, row: int, rng: np.random.Generator, options: Mapping[str, Any]) -> tuple[ResearchTask, int]:
        unknown = options.keys() - {"task", "group"}
        if unknown:
            raise ValueError(f'reset options are "task" and "group", got {sorted(unknown)}')
        wanted, group = options.get("task"), options.get("group")
        choices = self.choices[row]
        task = choices[rng.integers(len(choices))] if wanted is None else resolve_task(wanted)
        return task, int(self.episodes[row]) if group is None else operator.index(group)

    def step(self, rows: np.ndarray, replies: Sequence[str]) -> Transition:
        """Execute one reply of each of k running episodes, all with one call of the backend.

        Args:
            rows: k distinct indices into n.
            replies: k replies. A line that is just ``FINAL`` ends the episode after this turn and is not part of the
                solution. A reply without code, one that says only ``FINAL`` included, is MALFORMED: it scores 0,
                which under ``"improvement"`` costs nothing. A reply with a line that is just ``INFO``, and without a
                Markdown block, asks for the task's details: it costs the turn, no backend sees it, and its feedback is
                :attr:`ResearchTask.details`.

        Raises:
            ResetNeeded: an episode is over or never began.
            TypeError: a reply is no string.
        """
        self._require_open()
        if not self.running[rows].all():
            raise ResetNeeded("the episode is over, or never began: call reset() before step()")
        indices = rows.tolist()
        parsed = [parse_reply(reply) for reply in replies]
        running = [self._task(row) for row in indices]
        submissions = [
            Submission(task.id, task.text, code, self.outcomes[row])
            for row, task, (code, _) in zip(indices, running, parsed, strict=True)
            if code is not None
        ]
        executed = iter(self._execute(submissions) if submissions else ())
        outcomes = [
            _information(task) if code is None else next(executed)
            for task, (code, _) in zip(running, parsed, strict=True)
        ]

        scores = np.array([math.nan if outcome.score is None else outcome.score for outcome in outcomes])
        graded = ~np.isnan(scores)
        rewards = self.rule.rewards(scores, [task.id for task in running], rows)
        for row, outcome in zip(indices, outcomes, strict=True):
            self.outcomes[row] += (outcome,)
            self._feedback[row] = printable(outcome.feedback, FEEDBACK_LENGTH)
        self.turn[rows] += 1
        self.last_status[rows] = [STATUS_CODES[outcome.status] for outcome in outcomes]
        self.ungraded_count[rows] += ~graded
        terminated = (self.turn[rows] >= self.max_turns) | np.array([final for _, final in parsed], np.bool_)
        self.running[rows] = graded & ~terminated
        info = {
            "code": _objects([code or "" for code, _ in parsed]),
            "status": _objects([outcome.status.value for outcome in outcomes]),
            "score": scores,
            "raw_score": scores.copy(),
            "feedback": _objects([outcome.feedback for outcome in outcomes]),
            "source": _objects([outcome.source for outcome in outcomes]),
            "graded": graded,
            "seconds": np.array([outcome.seconds for outcome in outcomes], np.float64),
            "metric_value": _floats([outcome.metric_value for outcome in outcomes]),
            "score_variance": _floats([outcome.variance for outcome in outcomes]),
            "member_scores": self._member_scores(outcomes),
            "anchor_score": np.full(len(outcomes), math.nan),
            **self._identity(rows),
        }
        return Transition(rewards, terminated, ~graded, info)

    def _execute(self, submissions: list[Submission]) -> list[Outcome]:
        """Outcomes in order; those that stay UNGRADED were tried ``1 + ungraded_retries`` times."""
        outcomes = self._ask(submissions)
        for _ in range(self.ungraded_retries):
            lost = [i for i, outcome in enumerate(outcomes) if outcome.status is Status.UNGRADED]
            if not lost:
                break
            for i, outcome in zip(lost, self._ask([submissions[i] for i in lost]), strict=True):
                outcomes[i] = outcome
        return outcomes

    def _ask(self, submissions: list[Submission]) -> list[Outcome]:
        outcomes = list(self.backend.execute(submissions))
        if len(outcomes) != len(submissions):
            raise RuntimeError(
                f"{type(self.backend).__name__}.execute returned {len(outcomes)} outcomes for {len(submissions)} "
                "submissions; a backend must return one each, in order"
            )
        return outcomes

    def _member_scores(self, outcomes: list[Outcome]) -> np.ndarray:
        """float64 of shape (k, M), M = ``num_members`` of the backend, else as many as its outcomes showed first.

        An outcome without members' opinions is certain (an exact check decided it), so that all would agree; NaN where
        the score is unknown.
        """
        given = {len(outcome.member_scores) for outcome in outcomes if outcome.member_scores}
        if self._members is None:
            self._members = getattr(self.backend, "num_members", None) or max(given, default=None)
        members = self._members or 0
        if not given <= {members}:
            raise ValueError(
                f"{type(self.backend).__name__}.execute returned outcomes with {sorted(given)} member scores; all that "
                f"have any must have {members}, in the same order"
            )
        scores = np.empty((len(outcomes), members))
        for row, outcome in zip(scores, outcomes, strict=True):
            if members and outcome.member_scores:
                row[:] = outcome.member_scores
            else:
                row[:] = math.nan if outcome.score is None else outcome.score
        return scores

    def _identity(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        return {"task_id": _objects([self._task(row).id for row in rows.tolist()]), "group": self.group[rows]}

    def _task(self, row: int) -> ResearchTask:
        task = self.tasks[row]
        if task is None:
            raise ResetNeeded("no episode has begun: call reset() first")
        return task

    def observation(self, row: int) -> dict[str, Any]:
        """Observation of one episode, as :func:`wmrl_env.envs.spaces.observation_space` describes it."""
        return {
            "task": self._task_text[row],
            "feedback": self._feedback[row],
            "turn": self.turn[row],
            "turns_left": self.max_turns - self.turn[row],
            "best_score": self.rule.best[row : row + 1].astype(np.float32),
            "last_status": self.last_status[row],
        }

    def observations(self) -> dict[str, Any]:
        """Observations of all n episodes, batched as Gymnasium batches their space: tuples of text, arrays (n, ...)."""
        return {
            "task": tuple(self._task_text),
            "feedback": tuple(self._feedback),
            "turn": self.turn.copy(),
            "turns_left": self.max_turns - self.turn,
            "best_score": self.rule.best.astype(np.float32)[:, None],
            "last_status": self.last_status.copy(),
        }

    def close(self) -> None:
        """Close the backend where it was made here. A closed core cannot be used again."""
        if not self._closed:
            self._closed = True
            self._backend.close()

    def _require_open(self) -> None:
        if self._closed:
            raise ClosedEnvironmentError("the environment is closed; make a new one")


def parse_reply(reply: str) -> tuple[str | None, bool]:
    """Solution of a reply, ``None`` where it asks for information, and whether the reply ends the episode.

    Raises:
        TypeError: the reply is no string.
    """
    if not isinstance(reply, str):
        raise TypeError(f"an action is a string, got {type(reply).__name__}")
    final = is_final(reply)
    if INFO in reply and any(line.strip() == INFO for line in reply.split("\n")) and not has_block(reply):
        return None, final
    return extract_code(reply), final


def _count(name: str, value: int, least: int) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an int, got {value!r}") from None
    if count < least:
        raise ValueError(f"{name} must be at least {least}, got {count}")
    return count


def _information(task: ResearchTask) -> Outcome:
    score = ladder_score(Status.INFO)
    feedback = render_feedback(Status.INFO, detail=task.details)
    return Outcome(Status.INFO, score, feedback, None, 0.0, "cache", 0.0)


def _objects(values: Sequence[object]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _floats(values: Sequence[float | None]) -> np.ndarray:
    return np.array([math.nan if value is None else value for value in values], np.float64)
