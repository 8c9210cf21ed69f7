"""What a world model has to beat: predictors that are told little, or that learn by other means from the same facts."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from world_models.base import WorldModel
from world_models.facts import solution_facts
from world_models.features import task_features
from world_models.learned.messages import MessageBook
from world_models.outcomes import Outcome, Status, Submission, render_feedback
from world_models.store import Transition

__all__ = ["CodeLength", "GradientBoosting", "StatusPrior", "TaskMean"]

_LENGTHS = 12  # bins of code length
_SUPPORT = 6  # rows that a fact must tell apart


class _Baseline(WorldModel):
    """Learns from executed transitions.

    Args:
        transitions: what is known; predictions and unknown outcomes in it are left out.

    Raises:
        ValueError: nothing executed is among them.
    """

    def __init__(self, transitions: Iterable[Transition]) -> None:
        rows = [row for row in transitions if row.executed]
        if not rows:
            raise ValueError("no executed transitions to learn from")
        self._fit(rows)

    @abstractmethod
    def _fit(self, rows: list[Transition]) -> None: ...


class _Pool:
    """Outcomes taken together: mean and variance of the score, the most frequent status and what it says."""

    def __init__(self, outcomes: Iterable[Outcome]) -> None:
        known = list(outcomes)
        scores = np.array([outcome.score for outcome in known], np.float64)
        (status, _), *_ = Counter(outcome.status for outcome in known).most_common()
        score, seconds = float(scores.mean()), float(np.mean([outcome.seconds for outcome in known]))
        feedback = render_feedback(status, score=score, seconds=seconds)
        self.outcome = Outcome(status, score, feedback, None, seconds, "world_model", float(scores.var()))


class StatusPrior(_Baseline):
    """The same for all: the most frequent status, the mean score."""

    name = "status_prior"

    def _fit(self, rows: list[Transition]) -> None:
        self._pool = _Pool(outcome for _, outcome in rows)

    def predict_batch(self, submissions: Sequence[Submission]) -> list[Outcome]:
        return [self._pool.outcome] * len(submissions)


class TaskMean(StatusPrior):
    """The same for all solutions of a task; for tasks never seen, that of all."""

    name = "task_mean"

    def _fit(self, rows: list[Transition]) -> None:
        super()._fit(rows)
        by_task: dict[str, list[Outcome]] = {}
        for submission, outcome in rows:
            by_task.setdefault(submission.task_id, []).append(outcome)
        self._pools = {task: _Pool(outcomes) for task, outcomes in by_task.items()}

    def predict_batch(self, submissions: Sequence[Submission]) -> list[Outcome]:
        return [self._pools.get(one.task_id, self._pool).outcome for one in submissions]


class CodeLength(_Baseline):
    """What solutions of about the same number of characters led to."""

    name = "code_length"

    def _fit(self, rows: list[Transition]) -> None:
        lengths = np.array([len(submission.code) for submission, _ in rows])
        self._edges = np.unique(np.quantile(lengths, np.linspace(0, 1, _LENGTHS + 1)[1:-1]))
        places = np.searchsorted(self._edges, lengths)
        outcomes = np.array([outcome for _, outcome in rows], dtype=object)
        everything = _Pool(outcomes.tolist())
        self._pools = [
            _Pool(outcomes[places == place].tolist()) if (places == place).any() else everything
            for place in range(len(self._edges) + 1)
        ]

    def predict_batch(self, submissions: Sequence[Submission]) -> list[Outcome]:
        places = np.searchsorted(self._edges, [len(one.code) for one in submissions])
        return [self._pools[place].outcome for place in places.tolist()]


class GradientBoosting(_Baseline):
    """Trees on the facts that ``learned`` reads: boosted for score and status, at random for the kind of message."""

    name = "gradient_boosting"

    def _fit(self, rows: list[Transition]) -> None:
        from sklearn.ensemble import (
            ExtraTreesClassifier,
            HistGradientBoostingClassifier,
            HistGradientBoostingRegressor,
        )

        facts = _facts([submission for submission, _ in rows])
        self._columns = np.flatnonzero((facts != facts[0]).sum(0) >= _SUPPORT)
        facts = facts[:, self._columns]
        scores = np.array([outcome.score for _, outcome in rows], np.float64)
        statuses = np.array([str(outcome.status) for _, outcome in rows])
        self._book, found = MessageBook.collect(rows)
        kinds = np.array(found)
        told = kinds >= 0
        few = {"max_iter": 60, "learning_rate": 0.15, "max_leaf_nodes": 15, "random_state": 0}
        self._of_score = HistGradientBoostingRegressor(max_iter=150, random_state=0).fit(facts, scores)
        self._of_status = HistGradientBoostingClassifier(**few).fit(facts, statuses)
        # Dozens of kinds with a few rows each are more than boosting can tell apart: plain trees vote.
        self._of_kind = ExtraTreesClassifier(200, random_state=0).fit(facts[told], kinds[told]) if told.any() else None
        self._variance = float(np.mean((self._of_score.predict(facts) - scores) ** 2))

    def predict_batch(self, submissions: Sequence[Submission]) -> list[Outcome]:
        facts = _facts(submissions)[:, self._columns]
        scores = np.clip(self._of_score.predict(facts), 0.0, 1.0).tolist()
        statuses = [Status(status) for status in self._of_status.predict(facts).tolist()]
        kinds, votes = [], np.zeros((len(facts), 0))
        if self._of_kind is not None:
            kinds, votes = self._of_kind.classes_.tolist(), self._of_kind.predict_proba(facts)
        outcomes = []
        for submission, score, status, shares in zip(submissions, scores, statuses, votes, strict=True):
            among = [place for place, kind in enumerate(kinds) if self._book.statuses[kind] == status]
            told = max(among, key=shares.__getitem__, default=None)
            detail = "" if told is None else self._book.tell(kinds[told], submission)
            feedback = render_feedback(status, score=score, detail=detail)
            outcomes.append(Outcome(status, score, feedback, None, 0.0, "world_model", self._variance))
        return outcomes


def _facts(submissions: Sequence[Submission]) -> np.ndarray:
    return np.hstack([solution_facts(submissions), np.stack([task_features(one.task_text) for one in submissions])])
