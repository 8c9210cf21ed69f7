"""A sandbox that answers at once, so that the experiment itself can be tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from wmrl_env.testing import HashBackend
from world_models.outcomes import Outcome, Submission


class QuickSandbox(HashBackend):
    """Outcomes of :class:`HashBackend` for code that differs by a comment, given out as executions and counted.

    So the same :class:`HashBackend` serves as a world model that is wrong about them.
    """

    def __init__(self, cache: Path | None = None, ungraded: float = 0.0) -> None:
        super().__init__(ungraded, num_members=0)
        self.cache = cache
        self.executions = 0
        self.closed = False

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        self.executions += len(submissions)
        marked = [replace(submission, code=f"{submission.code}# real") for submission in submissions]
        return [replace(outcome, source="sandbox", variance=None) for outcome in super().execute(marked)]

    def close(self) -> None:
        self.closed = True

    def __enter__(self) -> QuickSandbox:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
