"""A learned world model that goes on learning from real executions while an agent trains against it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from world_models.base import WorldModel
from world_models.learned import LearnedModel, adapt
from world_models.learned.model import ENDINGS
from world_models.outcomes import Backend, Outcome, Submission
from world_models.store import Transition

__all__ = ["OnlineUpdate", "Revision"]


class Revision(NamedTuple):
    """One attempt to do better.

    Attributes:
        version: of the model that was tried.
        rows: executions that it learned from.
        loss_before, loss_after: mean squared error of the score on executions set aside, of the model in use and of
            the new one.
        kept: whether the new one is in use since.
    """

    version: str
    rows: int
    loss_before: float
    loss_after: float
    kept: bool


class OnlineUpdate(WorldModel):
    """A model ``learned`` that is adapted anew after every ``refit_every`` real executions that it is told of.

    One in four executions is set aside. A new version that predicts these worse than the one in use is dropped, so that
    the one in use stays. Each version is adapted from the first, with all executions so far.

    Args:
        model: the first version; by default the one that ships with the package.
        refit_every: executions between attempts, at least 1.
        minimum: executions before the first attempt, at least 8.
        epochs: passes over the executions, see :func:`world_models.learned.adapt`.
        seed: of the training.
        folder: where versions that are kept are saved, in folders named by number; ``None`` saves none.

    Raises:
        ValueError: an argument out of its range.

    Attributes:
        current: the version in use; ``revisions``: all attempts, oldest first.

    Example:
        >>> import world_models
        >>> model = OnlineUpdate(world_models.make("learned"), refit_every=64)
        >>> sandbox = model.watching(world_models.make("learned"))  # a Sandbox, in earnest
    """

    name = "online"

    def __init__(
        self,
        model: LearnedModel | None = None,
        *,
        refit_every: int = 64,
        minimum: int = 64,
        epochs: int = 60,
        seed: int = 0,
        folder: str | Path | None = None,
    ) -> None:
        if refit_every < 1 or minimum < 8:
            raise ValueError(f"refit_every must be at least 1 and minimum at least 8, got {refit_every}, {minimum}")
        self.current = model or LearnedModel.default()
        self.revisions: list[Revision] = []
        self._first = self.current
        self._refit_every, self._minimum = refit_every, minimum
        self._epochs, self._seed = epochs, seed
        self._folder = None if folder is None else Path(folder)
        self._rows: dict[tuple[str, str], Transition] = {}
        self._due = minimum
        self._lock = threading.Lock()

    @property
    def version(self) -> str:  # type: ignore[override]
        """Of the model in use."""
        return self.current.version

    @property
    def num_members(self) -> int:  # type: ignore[override]
        return self.current.num_members

    def predict_batch(self, submissions: Sequence[Submission]) -> list[Outcome]:
        return self.current.predict_batch(submissions)

    def learn(self, submissions: Sequence[Submission], outcomes: Sequence[Outcome]) -> None:
        """Take note of real executions, and try a new version where one is due.

        Predictions, unknown outcomes and what exact checks decide teach nothing and are left out.

        Raises:
            ValueError: the two sequences differ in length.
        """
        with self._lock:
            for submission, outcome in zip(submissions, outcomes, strict=True):
                row = Transition(submission, outcome)
                if row.executed and outcome.status in ENDINGS:
                    self._rows[submission.task_id, submission.code] = row
            if len(self._rows) >= self._due:
                self._due = len(self._rows) + self._refit_every
                self._refit(list(self._rows.values()))

    def _refit(self, rows: list[Transition]) -> None:
        learning, aside = [row for i, row in enumerate(rows) if i % 4], rows[::4]
        new = adapt(self._first, learning, epochs=self._epochs, seed=self._seed)
        before, after = _loss(self.current, aside), _loss(new, aside)
        kept = after < before
        self.revisions.append(Revision(new.version, len(learning), before, after, kept))
        if kept:
            self.current = new
            if self._folder is not None:
                new.save(self._folder / str(len(self.revisions)))

    def watching(self, sandbox: Backend) -> Watched:
        """The sandbox as it is, but what it executes is learned from: give it to ``AnchorSampling``."""
        return Watched(sandbox, self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock())


class Watched:
    """A backend whose outcomes a model learns from; like the backend in all else."""

    def __init__(self, backend: Backend, model: OnlineUpdate) -> None:
        self.backend = backend
        self.model = model

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        outcomes = self.backend.execute(submissions)
        self.model.learn(submissions, outcomes)
        return outcomes

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("backend", "model"):
            raise AttributeError(name)
        return getattr(self.backend, name)


def _loss(model: LearnedModel, rows: Sequence[Transition]) -> float:
    predicted = model.predict_batch([submission for submission, _ in rows])
    errors = [(told.score or 0.0) - (real.score or 0.0) for told, (_, real) in zip(predicted, rows, strict=True)]
    return float(np.mean(np.square(errors)))
