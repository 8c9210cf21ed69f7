"""All that models are told of a solution, as one vector."""

from __future__ import annotations

import gc
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from world_models.features import CODE_FEATURES, TASK_FEATURE_NAMES, code_features
from world_models.outcomes import Submission
from world_models.rehearsal import REHEARSAL_NAMES, rehearse

__all__ = ["FACTS_HASH", "SOLUTION_FACTS", "solution_facts"]

SOLUTION_FACTS: int = len(REHEARSAL_NAMES) + CODE_FEATURES
"""Length S of the vectors of :func:`solution_facts`."""

FACTS_HASH: str = hashlib.sha256(json.dumps([REHEARSAL_NAMES, CODE_FEATURES, TASK_FEATURE_NAMES]).encode()).hexdigest()
"""Hash of what the entries mean; a checkpoint made for other ones is refused."""


def solution_facts(submissions: Sequence[Submission]) -> np.ndarray:
    """Rehearsal on the task, then features of the code alone: float32 (B, :data:`SOLUTION_FACTS`)."""
    with _collector_paused():
        rows = [np.concatenate([rehearse(one.code, one.task_text), code_features(one.code)]) for one in submissions]
    return np.stack(rows)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """New trees and values set the garbage collector off, which walks all remembered trees each time."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
