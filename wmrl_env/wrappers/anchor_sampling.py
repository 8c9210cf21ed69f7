"""Running a share of the groups for real as well."""

from __future__ import annotations

import warnings
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal, NamedTuple

import numpy as np

from wmrl_env import tasks
from wmrl_env.correction import (
    AdaptiveSchedule,
    AnchorPair,
    AnchorStream,
    UniformSchedule,
    action_class,
    solution_terms,
)
from wmrl_env.envs.resolve import BackendSource
from wmrl_env.wrappers.batch import StepBatch
from wmrl_env.wrappers.shell import AnyEnv, Core, ScalarShell
from world_models.outcomes import Backend, Outcome, Status, Submission

__all__ = ["AnchorCore", "AnchorSampling", "Prediction", "digest_of", "is_predicted", "task_text"]

_PENDING_PER_WORKER = 2  # background executions begun or waiting: more would be outdated before they start
_CERTAIN = (Status.MALFORMED, Status.SYNTAX_ERROR)  # decided by exact checks, never predicted
_SCHEDULES = {"uniform": UniformSchedule, "adaptive": AdaptiveSchedule}


class Prediction(NamedTuple):
    """A predicted row, as much of it as its anchor pair needs, and whoever asked for it."""

    submission: Submission
    digest: str
    group: str
    score: float
    member_scores: tuple[float, ...]
    weight: float
    audit: bool
    paid: float  # for an audit drawn blindly, what the row would be paid without it; else NaN


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
        concurrency: int | None = None,
        stream: AnchorStream | str | None = None,
        update: bool = True,
        max_executions: int | None = None,
        max_seconds: float | None = None,
    ) -> None:
        super().__init__(env)
        if group_size < 1:
            raise ValueError(f"group_size must be at least 1, got {group_size}")
        if schedule not in _SCHEDULES:
            raise ValueError(f"schedule must be one of {tuple(_SCHEDULES)}, got {schedule!r}")
        if mode not in ("sync", "async"):
            raise ValueError(f"mode must be 'sync' or 'async', got {mode!r}")
        if concurrency is not None and concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, or None for the sandbox's workers; got {concurrency}")
        for name, limit in (("max_executions", max_executions), ("max_seconds", max_seconds)):
            if limit is not None and not limit >= 0:
                raise ValueError(f"{name} must be at least 0, or None for no limit; got {limit}")
        if isinstance(sandbox, str) and sandbox.startswith("<"):
            raise ValueError(
                f"the sandbox was {sandbox}, and a spec cannot hold an object: name it, as 'sandbox' or "
                "'module:attribute'"
            )
        self.schedule: UniformSchedule = _SCHEDULES[schedule](fraction, seed)
        self.heard = True  # False once a layer above tells the schedule of better residuals
        self.max_executions = max_executions
        self.max_seconds = max_seconds
        self.seconds = 0.0  # of all executions
        self.group_size = group_size
        self.mode = mode
        self.reuse = reuse
        self.concurrency = concurrency
        self.stream = stream if isinstance(stream, AnchorStream) else AnchorStream.open(stream)
        self.update = update
        self._source = BackendSource(sandbox)
        self._groups: dict[str, bool] = {}  # by key in order of first appearance: whether anchored
        self._episodes: dict[str, int] = {}  # begun so far without a given group, by task
        self._group = [""] * self.num_envs
        self._anchored = np.zeros(self.num_envs, np.bool_)
        self._paired: set[str] = set()  # digests of the (task, code) pairs in the stream
        self._audited: list[tuple[Prediction, float]] = []  # with real scores, for the layer that asked
        self._pending: dict[Future[list[Outcome]], Prediction] = {}
        self._executor: ThreadPoolExecutor | None = None
        counted = ("steps", "anchored_steps", "audits", "executions", "ungraded_anchors", "reused", "skipped", "pairs")
        self.counts = dict.fromkeys(counted, 0)

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

    @property
    def spent(self) -> bool:
        """Whether the budget of executions or of seconds is used up: no more anchors, no more audits."""
        return (self.max_executions is not None and self.counts["executions"] >= self.max_executions) or (
            self.max_seconds is not None and self.seconds >= self.max_seconds
        )

    def anchor_summary(self) -> dict[str, float]:
        """Counts of groups, steps, executions, pairs; ``realised_fraction`` of groups; the schedule's ``share`` now;
        ``seconds`` of execution."""
        return {
            "groups": len(self._groups),
            "anchored_groups": sum(self._groups.values()),
            "realised_fraction": self.realised_fraction,
            "share": self.schedule.share,
            "seconds": self.seconds,
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
                self._groups[key] = self.schedule(len(self._groups)) and not self.spent
            self._group[row] = key
            self._anchored[row] = self._groups[key]

    def correct(self, batch: StepBatch, rewards: np.ndarray) -> np.ndarray:
        predicted = np.array(batch.require("score"), np.float64)
        # A request for information is no solution: nobody can execute it, and its score is known.
        informed = np.array([status == Status.INFO for status in batch.get("status")], np.bool_)
        anchored = self._anchored[batch.rows] & ~informed
        submissions = _submissions(batch)
        predictions = self._predictions(batch, submissions, predicted)
        if self.mode == "async":
            self._harvest()
            outcomes = self._known(submissions, ~informed)
            self._launch(
                [one for one, wanted, outcome in zip(predictions, anchored, outcomes, strict=True)
                 if one is not None and wanted and outcome is None]
            )  # fmt: skip
        else:
            outcomes = self._execute(submissions, anchored, ~anchored & ~informed)

        real = np.array([_score(outcome) for outcome in outcomes])
        known = np.isfinite(real)
        scores = np.where(known, real, predicted)
        at_this_height = self.reward(batch, scores)
        executed = anchored if self.mode == "sync" else np.zeros_like(anchored)
        self.counts["steps"] += len(anchored)
        self.counts["anchored_steps"] += int(anchored.sum())
        self.counts["ungraded_anchors"] += int((executed & ~known).sum())
        self.counts["reused"] += int((known & ~executed).sum())
        # What is known without running weighs as much as the rest of its group.
        real = np.where(informed & self._anchored[batch.rows], predicted, real)
        known = np.isfinite(real)
        for one, outcome, again in zip(predictions, outcomes, executed.tolist(), strict=True):
            if one is not None and (again or one.digest not in self._paired):
                self._publish(one, outcome)
        batch.set("score", scores)
        batch.set("graded", np.isfinite(scores))
        batch.set("anchor_score", real)
        batch.set("anchor_reward", np.where(known, at_this_height, np.nan))
        batch.set("anchor_outcome", outcomes)
        return at_this_height

    def audit(
        self, batch: StepBatch, wanted: np.ndarray, weights: np.ndarray, paid: np.ndarray
    ) -> list[Outcome | None]:
        """Execute single rows for a layer above, and put their pairs into the stream.

        Args:
            batch: k rows of the step, corrected or not.
            wanted: bool (k,), rows with a prediction to execute.
            weights: shape (k,), see :attr:`wmrl_env.correction.AnchorPair.weight`.
            paid: shape (k,), what rows drawn blindly would be paid without the audit, NaN for others.

        Returns:
            Real outcomes, ``None`` for other rows, and for what would go beyond the budget. In async mode executions
            only begin here and all are ``None``; :meth:`take_audited` has them later.
        """
        submissions = _submissions(batch)
        if self.max_executions is not None:
            wanted = wanted & (np.cumsum(wanted) <= self.max_executions - self.counts["executions"])
        predictions = self._predictions(batch, submissions, batch.floats("raw_score"), weights, wanted, paid)
        self.counts["audits"] += int(wanted.sum())
        if self.mode == "async":
            self._harvest()
            self._launch([one for one, asked in zip(predictions, wanted, strict=True) if asked and one is not None])
            return [None] * len(submissions)
        outcomes = self._execute(submissions, wanted, np.zeros_like(wanted))
        for one, outcome in zip(predictions, outcomes, strict=True):
            if one is not None:
                self._publish(one, outcome)
        self.counts["ungraded_anchors"] += sum(outcome is not None and outcome.score is None for outcome in outcomes)
        return outcomes

    def take_audited(self) -> list[tuple[Prediction, float]]:
        """Audits that were graded since the last call, and their real scores."""
        taken, self._audited = self._audited, []
        return taken

    def group_keys(self, rows: np.ndarray) -> list[str]:
        """Key of the group that each row's episode belongs to."""
        return [self._group[row] for row in rows.tolist()]

    def _predictions(
        self,
        batch: StepBatch,
        submissions: list[Submission],
        predicted: np.ndarray,
        weights: np.ndarray | None = None,
        audits: np.ndarray | None = None,
        paid: np.ndarray | None = None,
    ) -> list[Prediction | None]:
        """What the world model said, ``None`` for rows where it said nothing."""
        size = len(batch)
        weights = np.ones(size) if weights is None else weights
        audits = np.zeros(size, np.bool_) if audits is None else audits
        paid = np.full(size, np.nan) if paid is None else paid
        asked = zip(weights.tolist(), audits.tolist(), paid.tolist(), strict=True)
        usable = is_predicted(batch) & np.isfinite(predicted)
        members = batch.matrix("member_scores")
        return [
            Prediction(
                submission,
                digest_of(submission.task_id, submission.code),
                self._group[row],
                float(score),
                tuple(of_members.tolist()) if np.isfinite(of_members).all() else (),
                *of_asker,
            )
            if fit
            else None
            for submission, row, score, of_members, of_asker, fit in zip(
                submissions, batch.rows.tolist(), predicted, members, asked, usable.tolist(), strict=True
            )
        ]

    def _execute(self, submissions: list[Submission], anchored: np.ndarray, others: np.ndarray) -> list[Outcome | None]:
        """Real outcomes where there are any: one call of the sandbox for all anchored rows, what it knows of others."""
        outcomes = self._known(submissions, others)
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
            self._count(executed)
        return outcomes

    def _known(self, submissions: list[Submission], wanted: np.ndarray) -> list[Outcome | None]:
        """Outcomes that the sandbox knows already, for the wanted rows; none of them without ``reuse``."""
        outcomes: list[Outcome | None] = [None] * len(submissions)
        rows = np.flatnonzero(wanted).tolist()
        if self.reuse and rows:
            lookup = getattr(self.sandbox, "lookup", None)
            if lookup is None:
                raise TypeError(f"reuse=True needs a sandbox with lookup(submissions); {self.sandbox!r} has none")
            for row, outcome in zip(rows, lookup([submissions[row] for row in rows]), strict=True):
                outcomes[row] = outcome
        return outcomes

    def _launch(self, predictions: list[Prediction]) -> None:
        """Begin executions in the background; what finds no place, or is known or under way, is left out."""
        offered: int = getattr(self.sandbox, "workers", 1)
        workers = self.concurrency or offered
        if self._executor is None:
            self._executor = ThreadPoolExecutor(workers, thread_name_prefix="wmrl-anchors")
        under_way = {one.digest for one in self._pending.values()} | self._paired
        for one in predictions:
            if one.digest in under_way:
                continue
            if len(self._pending) >= _PENDING_PER_WORKER * workers:
                self.counts["skipped"] += 1
                continue
            under_way.add(one.digest)
            self._pending[self._executor.submit(self.sandbox.execute, [one.submission])] = one

    def _harvest(self) -> None:
        """Pairs of the background executions that have ended."""
        for future in [future for future in self._pending if future.done()]:
            one = self._pending.pop(future)
            try:
                (outcome,) = future.result()
            except Exception as error:  # of another step than the one that would meet it here
                self.counts["ungraded_anchors"] += 1
                warnings.warn(f"an anchor failed in the background, and is left out: {error!r}", stacklevel=2)
                continue
            self._count([outcome])
            self.counts["ungraded_anchors"] += outcome.score is None
            if one.digest not in self._paired:
                self._publish(one, outcome)

    def _count(self, executed: list[Outcome]) -> None:
        ran = [outcome for outcome in executed if _ran(outcome)]
        self.counts["executions"] += len(ran)
        self.seconds += sum(outcome.seconds for outcome in ran)

    def _publish(self, one: Prediction, outcome: Outcome | None) -> None:
        """A pair into the stream, where both sides are known."""
        if one.audit and outcome is not None and outcome.score is not None:
            self._audited.append((one, outcome.score))
        if not self.update or outcome is None or outcome.score is None:
            return
        self._paired.add(one.digest)
        self.counts["pairs"] += 1
        pair = AnchorPair(
            task_id=one.submission.task_id,
            group=one.group,
            code_hash=one.digest,
            predicted=one.score,
            real=outcome.score,
            member_scores=one.member_scores,
            action_class=action_class(one.submission.code),
            terms=solution_terms(one.submission.code),
            weight=one.weight,
        )
        self.stream.append([pair])
        if self.heard:
            self.schedule.observe([pair.task_id], np.array([pair.real - pair.predicted]), np.array([pair.real]))

    def close(self) -> None:
        self._harvest()
        for future in self._pending:
            future.cancel()
        self._pending.clear()
        self._source.close()
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None

    def __getstate__(self) -> dict[str, Any]:
        """What runs in the background stays where it is, and its pairs with it."""
        self._harvest()
        return {**self.__dict__, "_executor": None, "_pending": {}}

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {
            "groups": dict(self._groups),
            "episodes": dict(self._episodes),
            "group": list(self._group),
            "anchored": self._anchored.tolist(),
            "paired": sorted(self._paired),
            "counts": dict(self.counts),
            "seconds": self.seconds,
            "schedule": self.schedule.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        if len(state["group"]) != self.num_envs:
            raise ValueError(f"the state is of {len(state['group'])} environments, and here are {self.num_envs}")
        self._groups = dict(state["groups"])
        self._episodes = dict(state["episodes"])
        self._group = list(state["group"])
        self._anchored = np.array(state["anchored"], np.bool_)
        self._paired = set(state["paired"])
        self.counts = dict(state["counts"])
        self.seconds = state["seconds"]
        self.schedule.load_state_dict(state["schedule"])


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
        schedule: ``"uniform"``, or ``"adaptive"``: ``fraction`` at first, and fewer the better corrected predictions
            are, see :class:`wmrl_env.correction.AdaptiveSchedule`. An ``ExploitGuard`` above follows it.
        mode: ``"sync"``: the step waits for the sandbox, and the real score becomes its score. ``"async"``: executions
            run in the background, ``concurrency`` at once; the step keeps the prediction, and the pair comes late. Each
            solution runs once, and anchors that find no free place are skipped. What comes when depends on the machine,
            so that a run cannot be repeated exactly.
        seed: of the choice of groups, which goes on over all episodes: ``reset(seed=...)`` does not begin it anew. To
            repeat a run, make the wrapper anew, or load its state.
        reuse: grade other rows for real too where ``sandbox.lookup`` already knows the outcome, at no cost.
        concurrency: background executions at once, by default the sandbox's ``workers``; fewer leave the training a
            core of its own.
        stream: where pairs go: an ``AnchorStream``, its url, or ``None`` for one of its own.
        update: False keeps pairs out of the stream, for evaluation.
        max_executions, max_seconds: budget of executions, or of their seconds, after which no group is anchored and
            nothing audited. Groups begun are finished. ``None`` for no limit.

    Raises:
        ValueError: an argument out of its range, or a wrong order of wrappers.

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


def _submissions(batch: StepBatch) -> list[Submission]:
    return [
        Submission(task, task_text(task), code)
        for task, code in zip(batch.task_ids, batch.require("code"), strict=True)
    ]


def _ran(outcome: Outcome) -> bool:
    """Whether the outcome took an execution."""
    return outcome.source != "cache" and outcome.status not in _CERTAIN


def _score(outcome: Outcome | None) -> float:
    return np.nan if outcome is None or outcome.score is None else outcome.score


def digest_of(task_id: str, code: str) -> str:
    """Name of a solution."""
    return blake2b(f"{task_id}\0{code}".encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@lru_cache(maxsize=1024)
def task_text(task_id: str) -> str:
    """Text of a known task, else empty."""
    try:
        return tasks.get(task_id).text
    except KeyError:
        return ""
