"""Running a share of the groups for real as well."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal

import numpy as np

from wmrl_env import tasks
from wmrl_env.correction import AnchorPair, AnchorStream, UniformSchedule, action_class
from wmrl_env.envs.resolve import BackendSource
from wmrl_env.wrappers.batch import StepBatch
from wmrl_env.wrappers.shell import AnyEnv, Core, ScalarShell
from world_models.outcomes import Backend, Outcome, Status, Submission

__all__ = ["AnchorCore", "AnchorSampling", "is_predicted", "task_text"]

_CERTAIN = (Status.MALFORMED, Status.SYNTAX_ERROR)  # decided by exact checks, never predicted


class AnchorCore(Core):
    """Core of :class:`AnchorSampling`, where the arguments are described."""

    name = "AnchorSampling"

    def __init__(
        self,
        env: AnyEnv,
        sandbox: str | Backend = "sandbox",
        fraction: float = 0.10,
        group_size: int = 8,
        schedule: Literal["uniform", "adaptive"] = "uniform",
        mode: Literal["sync", "async"] = "sync",
        seed: int = 0,
        reuse: bool = False,
        stream: AnchorStream | str | None = None,
        update: bool = True,
    ) -> None:
        super().__init__(env)
        if group_size < 1:
            raise ValueError(f"group_size must be at least 1, got {group_size}")
        _only("schedule", schedule, "uniform")
        _only("mode", mode, "sync")
        if isinstance(sandbox, str) and sandbox.startswith("<"):
            raise ValueError(
                f"the sandbox was {sandbox}, and a spec cannot hold an object: name it, as 'sandbox' or "
                "'module:attribute'"
            )
        self.schedule = UniformSchedule(fraction, seed)
        self.group_size = group_size
        self.reuse = reuse
        self.stream = stream if isinstance(stream, AnchorStream) else AnchorStream.open(stream)
        self.update = update
        self._source = BackendSource(sandbox)
        self._groups: dict[str, bool] = {}  # by key in order of first appearance: whether anchored
        self._episodes: dict[str, int] = {}  # begun so far without a given group, by task
        self._group = [""] * self.num_envs
        self._anchored = np.zeros(self.num_envs, np.bool_)
        self._paired: set[str] = set()  # digests of the (task, code) pairs in the stream
        self.counts = dict.fromkeys(("steps", "anchored_steps", "executions", "ungraded_anchors", "reused", "pairs"), 0)

    @property
    def sandbox(self) -> Backend:
        """Where anchors are graded, made when first needed."""
        return self._source.backend

    @property
    def realised_fraction(self) -> float:
        """Share of the groups seen that were anchored, 0 before the first."""
        return sum(self._groups.values()) / len(self._groups) if self._groups else 0.0

    @property
    def ungraded_anchors(self) -> int:
        """Anchored steps that the sandbox could not grade."""
        return self.counts["ungraded_anchors"]

    def anchor_summary(self) -> dict[str, float]:
        """Counts of groups, steps, executions, pairs; ``realised_fraction`` of groups."""
        return {
            "groups": len(self._groups),
            "anchored_groups": sum(self._groups.values()),
            "realised_fraction": self.realised_fraction,
            **self.counts,
        }

    def reset(self, batch: StepBatch, given_group: np.ndarray) -> None:
        super().reset(batch, given_group)
        for row, task, group, given in zip(
            batch.rows.tolist(), batch.task_ids, batch.get("group"), given_group.tolist(), strict=True
        ):
            if given:
                key = f"{task}#{int(group)}"
            else:
                episode = self._episodes.get(task, 0)
                self._episodes[task] = episode + 1
                key = f"{task}@{self.schedule.seed}.{episode // self.group_size}"
            if key not in self._groups:
                self._groups[key] = self.schedule(len(self._groups))
            self._group[row] = key
            self._anchored[row] = self._groups[key]

    def correct(self, batch: StepBatch, rewards: np.ndarray) -> np.ndarray:
        codes, task_ids = batch.require("code"), batch.task_ids
        predicted = np.array(batch.require("score"), np.float64)
        anchored = self._anchored[batch.rows]
        submissions = [Submission(task, task_text(task), code) for task, code in zip(task_ids, codes, strict=True)]
        outcomes = self._grade(submissions, anchored)

        real = np.array([_score(outcome) for outcome in outcomes])
        known = np.isfinite(real)
        scores = np.where(known, real, predicted)
        at_this_height = self.reward(batch, scores)
        self._count(anchored, known)
        if self.update:
            self._publish(batch, submissions, predicted, real, anchored)
        batch.set("score", scores)
        batch.set("graded", np.isfinite(scores))
        batch.set("anchor_score", real)
        batch.set("anchor_reward", np.where(known, at_this_height, np.nan))
        batch.set("anchor_outcome", outcomes)
        return at_this_height

    def _grade(self, submissions: list[Submission], anchored: np.ndarray) -> list[Outcome | None]:
        """Real outcomes where there are any: one call of the sandbox for all anchored rows."""
        outcomes: list[Outcome | None] = [None] * len(submissions)
        rows = np.flatnonzero(anchored).tolist()
        if rows:
            executed = list(self.sandbox.execute([submissions[row] for row in rows]))
            if len(executed) != len(rows):
                raise RuntimeError(
                    f"{type(self.sandbox).__name__}.execute returned {len(executed)} outcomes for {len(rows)} "
                    "submissions; a backend must return one each, in order"
                )
            for row, outcome in zip(rows, executed, strict=True):
                outcomes[row] = outcome
            self.counts["executions"] += sum(outcome.source != "cache" for outcome in executed)
        rest = np.flatnonzero(~anchored).tolist()
        if self.reuse and rest:
            lookup = getattr(self.sandbox, "lookup", None)
            if lookup is None:
                raise TypeError(f"reuse=True needs a sandbox with lookup(submissions); {self.sandbox!r} has none")
            for row, outcome in zip(rest, lookup([submissions[row] for row in rest]), strict=True):
                outcomes[row] = outcome
        return outcomes

    def _count(self, anchored: np.ndarray, known: np.ndarray) -> None:
        self.counts["steps"] += len(anchored)
        self.counts["anchored_steps"] += int(anchored.sum())
        self.counts["ungraded_anchors"] += int((anchored & ~known).sum())
        self.counts["reused"] += int((known & ~anchored).sum())

    def _publish(
        self,
        batch: StepBatch,
        submissions: list[Submission],
        predicted: np.ndarray,
        real: np.ndarray,
        anchored: np.ndarray,
    ) -> None:
        """Pairs of the rows that both have graded, into the stream; those of reused rows once a solution."""
        pairs = []
        members = batch.matrix("member_scores")
        usable = is_predicted(batch) & np.isfinite(predicted) & np.isfinite(real)
        for i in np.flatnonzero(usable).tolist():
            submission = submissions[i]
            digest = _digest(submission.task_id, submission.code)
            if not anchored[i] and digest in self._paired:
                continue
            self._paired.add(digest)
            pairs.append(
                AnchorPair(
                    task_id=submission.task_id,
                    group=self._group[batch.rows[i]],
                    code_hash=digest,
                    predicted=float(predicted[i]),
                    real=float(real[i]),
                    member_scores=tuple(members[i].tolist()) if np.isfinite(members[i]).all() else (),
                    action_class=action_class(submission.code),
                )
            )
        self.counts["pairs"] += len(pairs)
        self.stream.append(pairs)

    def close(self) -> None:
        self._source.close()

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {
            "groups": dict(self._groups),
            "episodes": dict(self._episodes),
            "group": list(self._group),
            "anchored": self._anchored.tolist(),
            "paired": sorted(self._paired),
            "counts": dict(self.counts),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._groups = dict(state["groups"])
        self._episodes = dict(state["episodes"])
        self._group = list(state["group"])
        self._anchored = np.array(state["anchored"], np.bool_)
        self._paired = set(state["paired"])
        self.counts = dict(state["counts"])


class AnchorSampling(ScalarShell):
    """Grades a share of the groups with the sandbox as well; there the real score becomes the step's score.

    A group is the episodes of one task with the number given by ``reset(options={"group": number})`` (a fresh number
    for every group), else ``group_size`` successive episodes of one task. A group is anchored as a whole or not at
    all; ``fraction`` of the groups are, at random places of even density. All anchored rows of a step go to the sandbox
    in one call. What both have graded becomes an :class:`wmrl_env.correction.AnchorPair` in ``stream``, unless an exact
    check decided it and nothing was predicted. Where the sandbox answers UNGRADED, the prediction stays.

    Args:
        env: environment over a world model.
        sandbox: who grades anchors: ``"sandbox"``, ``"module:attribute"``, or a ``Backend``. One made here is made when
            first needed and closed with the env.
        fraction: share of groups, in [0, 1].
        group_size: episodes of a group where no number is given.
        schedule: only ``"uniform"`` so far.
        mode: only ``"sync"`` so far: the step waits for the sandbox.
        seed: of the choice of groups.
        reuse: grade other rows for real too where ``sandbox.lookup`` already knows the outcome, at no cost.
        stream: where pairs go: an ``AnchorStream``, its url, or ``None`` for one of its own.
        update: False keeps pairs out of the stream, for evaluation.

    Raises:
        ValueError: an argument out of its range, a mode that does not exist yet, or a wrong order of wrappers.

    ``info`` of a step: ``score`` and ``graded`` as corrected; ``anchor_score`` the real score, ``anchor_reward`` the
    reward of it, NaN where there is none; ``anchor_outcome`` the sandbox's ``Outcome`` or ``None``; ``raw_reward`` the
    env's reward.

    Example:
        >>> import gymnasium as gym, wmrl_env
        >>> env = gym.make("wmrl/AutoResearch-v0", backend="wmrl_env.testing:HashBackend")
        >>> env = AnchorSampling(env, "wmrl_env.testing:HashBackend", fraction=0.5)
    """

    core_type = AnchorCore


def is_predicted(batch: StepBatch) -> np.ndarray:
    """bool (k,): rows whose score below the corrections is a world model's guess, not an execution or exact check."""
    return np.array(
        [
            source not in ("sandbox", "cache") and status not in _CERTAIN
            for source, status in zip(batch.get("source"), batch.get("status"), strict=True)
        ],
        np.bool_,
    )


def _only(argument: str, value: str, available: str) -> None:
    if value != available:
        raise ValueError(f"{argument} must be {available!r}, the only one so far; got {value!r}")


def _score(outcome: Outcome | None) -> float:
    return np.nan if outcome is None or outcome.score is None else outcome.score


def _digest(task_id: str, code: str) -> str:
    return blake2b(f"{task_id}\0{code}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@lru_cache(maxsize=1024)
def task_text(task_id: str) -> str:
    """Text of a known task, else empty."""
    try:
        return tasks.get(task_id).text
    except KeyError:
        return ""
