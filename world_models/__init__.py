"""World models: what predicts the outcome of a solution without running it.

>>> import world_models
>>> model = world_models.make("learned")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from world_models.fidelity import FidelityReport, fidelity  # at once: the function shadows its module
from world_models.outcomes import (
    Backend,
    Outcome,
    Status,
    Submission,
    exception_class,
    ladder_score,
    render_feedback,
    ungraded,
)
from world_models.store import Recorder, Transition, TransitionStore, load_transitions, split_of

if TYPE_CHECKING:
    from world_models.base import CheckpointError, WorldModel
    from world_models.learned import train
    from world_models.registry import make, register

__all__ = [
    "Backend",
    "CheckpointError",
    "FidelityReport",
    "Outcome",
    "Recorder",
    "Status",
    "Submission",
    "Transition",
    "TransitionStore",
    "WorldModel",
    "exception_class",
    "fidelity",
    "ladder_score",
    "load_transitions",
    "make",
    "register",
    "render_feedback",
    "split_of",
    "train",
    "ungraded",
]

# Where names live that are imported on first use, so that `import world_models` stays light.
_LATE = {
    "CheckpointError": "base",
    "WorldModel": "base",
    "train": "learned",
    "make": "registry",
    "register": "registry",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
