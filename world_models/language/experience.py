"""What a recording says of outcomes in general: frequencies, seconds and messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from world_models.language.prompts import DECILES, decile_of
from world_models.learned.messages import MessageBook
from world_models.learned.model import ENDINGS
from world_models.outcomes import Status, Submission, exception_class
from world_models.store import Transition

__all__ = ["Experience"]

_MESSAGES = {
    Status.TIMEOUT: "TimeoutError: the solution exceeded the limit of CPU seconds",
    Status.OUT_OF_MEMORY: "MemoryError: the solution exceeded the limit of memory",
    Status.NO_SUBMISSION: "NoSubmission: the solution wrote no predictions",
    Status.INVALID_SUBMISSION: "InvalidSubmission: the predictions cannot be graded",
}


class Experience(NamedTuple):
    """Frequencies of labels, question by question, mean seconds of each ending, and messages.

    Attributes:
        priors: shares of the endings, of the deciles of valid ones and of the classes of exceptions, each adding up
            to 1; equal where nothing was recorded.
        seconds: mean CPU seconds of each ending, 0 where it was not recorded; (S,).
        book: messages that failures ended in.
    """

    priors: tuple[np.ndarray, np.ndarray, np.ndarray]
    seconds: np.ndarray
    book: MessageBook

    @classmethod
    def of(cls, rows: Sequence[Transition], exceptions: Sequence[str]) -> Experience:
        """What executed ``rows`` say; one more of each label is added, so that nothing counts as impossible."""
        outcomes = [outcome for _, outcome in rows]
        deciles = [decile_of(x.score) for x in outcomes if x.status is Status.VALID and x.score is not None]
        names = [exception_class(x.feedback) for x in outcomes if x.status is Status.RUNTIME_ERROR]
        priors = (
            _shares([outcome.status for outcome in outcomes], ENDINGS),
            _shares(deciles, range(DECILES)),
            _shares(names, exceptions),
        )
        taken = [[outcome.seconds for outcome in outcomes if outcome.status is status] for status in ENDINGS]
        seconds = np.array([float(np.mean(times)) if times else 0.0 for times in taken])
        return cls(priors, seconds, MessageBook.collect(rows)[0])

    def tell(self, status: Status, exception: str, submission: Submission) -> str:
        """Message of a failure: the most frequent recorded one of its ending and class, else one of few words."""
        if status is Status.VALID:
            return ""
        for kind, (of_status, name) in enumerate(zip(self.book.statuses, self.book.exceptions, strict=True)):
            if of_status == status and (status is not Status.RUNTIME_ERROR or name == exception):
                return self.book.tell(kind, submission)
        return _MESSAGES.get(status, exception)

    def state(self) -> dict[str, Any]:
        """JSON-able."""
        priors = [prior.tolist() for prior in self.priors]
        return {"priors": priors, "seconds": self.seconds.tolist(), "messages": self.book.state()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Experience:
        endings, deciles, exceptions = (np.array(prior, np.float64) for prior in state["priors"])
        return cls((endings, deciles, exceptions), np.array(state["seconds"]), MessageBook(state["messages"]))


def _shares(found: Sequence[Any], labels: Sequence[Any]) -> np.ndarray:
    counts = Counter(found)
    shares = np.array([1.0 + counts[label] for label in labels])
    return shares / shares.sum()
