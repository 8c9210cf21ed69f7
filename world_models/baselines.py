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
    """Boosted trees on the facts that the model ``learned`` reads: one for the score, one for status and message."""

    name = "gradient_boosting"

    def _fit(self, rows: list[Transition]) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        facts = _facts([submission for submission, _ in rows])
        self._columns = np.flatnonzero((facts != facts[0]).sum(0) >= 6)
        facts = facts[:, self._columns]
        scores = np.array([outcome.score for _, outcome in rows], np.float64)
        self._book, kinds = MessageBook.collect(rows)
        # One label a status and kind of message, so that one model tells both.
        self._labels = sorted({(str(outcome.status), kind) for (_, outcome), kind in zip(rows, kinds, strict=True)})
        place = {label: i for i, label in enumerate(self._labels)}
        labels = np.array([place[str(outcome.status), kind] for (_, outcome), kind in zip(rows, kinds, strict=True)])
        self._of_score = HistGradientBoostingRegressor(max_iter=150, random_state=0).fit(facts, scores)
        trees = {"max_iter": 25, "learning_rate": 0.2, "max_leaf_nodes": 15, "random_state": 0}
        self._of_label = HistGradientBoostingClassifier(**trees).fit(facts, labels)
        self._variance = float(np.mean((self._of_score.predict(facts) - scores) ** 2))

    def predict_batch(self, submissions: Sequence[Submission]) -> list[Outcome]:
        facts = _facts(submissions)[:, self._columns]
        scores = np.clip(self._of_score.predict(facts), 0.0, 1.0).tolist()
        labels = [self._labels[label] for label in self._of_label.predict(facts).tolist()]
        found = []
        for submission, score, (status, kind) in zip(submissions, scores, labels, strict=True):
            detail = self._book.tell(kind, submission) if kind >= 0 else ""
            feedback = render_feedback(Status(status), score=score, detail=detail)
            found.append(Outcome(Status(status), score, feedback, None, 0.0, "world_model", self._variance))
        return found


def _facts(submissions: Sequence[Submission]) -> np.ndarray:
    return np.hstack([solution_facts(submissions), np.stack([task_features(one.task_text) for one in submissions])])
