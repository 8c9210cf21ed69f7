"""The base of all world models: exact checks first, then predictions; checkpoints as safetensors and JSON."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from world_models.gates import exact_outcome
from world_models.outcomes import Outcome, Submission

__all__ = ["CheckpointError", "WorldModel", "checkpoint_config", "checkpoint_name", "is_checkpoint"]

_CONFIG, _TENSORS = "model.json", "model.safetensors"
_FORMAT = 1


class CheckpointError(ValueError):
    """A folder holds no checkpoint, a damaged one, or one of another model; the message says which."""


class WorldModel(ABC):
    """Backend that predicts what an execution would lead to.

    A model of one's own defines :meth:`predict_batch`; one that can be saved also :meth:`_state` and :meth:`_restore`.
    Equal submissions have equal outcomes, whatever else is in the batch.

    Attributes:
        name: kind of model, by which :func:`world_models.make` finds it.
        version: of the weights or the rule; part of every key under which predictions are kept.
        num_members: members of an ensemble, length of ``Outcome.member_scores``; 0 for a model without members.
    """

    name: ClassVar[str]
    version: str = "1"
    num_members: int = 0

    @classmethod
    def default(cls, **kwargs: Any) -> Self:
        """The model that ``world_models.make(name, **kwargs)`` gives; unless overridden, ``cls(**kwargs)``."""
        return cls(**kwargs)

    def execute(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """One outcome a submission, in the same order: exact where there is no code or it does not compile.

        Raises:
            RuntimeError: the model broke its promise of one outcome a submission.
        """
        outcomes = [exact_outcome(submission) for submission in submissions]
        unknown = [i for i, outcome in enumerate(outcomes) if outcome is None]
        if unknown:
            predicted = self.predict_batch([submissions[i] for i in unknown])
            if len(predicted) != len(unknown):
                raise RuntimeError(
                    f"{type(self).__name__}.predict_batch gave {len(predicted)} outcomes for {len(unknown)} submissions"
                )
            for i, outcome in zip(unknown, predicted, strict=True):
                outcomes[i] = outcome
        return [outcome for outcome in outcomes if outcome is not None]

    @abstractmethod
    def predict_batch(self, submissions: Sequence[Submission]) -> list[Outcome]:
        """Predicted outcomes of submissions whose code compiles; same order, same length, source ``"world_model"``."""

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder: ``model.json`` and ``model.safetensors``.

        Raises:
            NotImplementedError: a model of this kind cannot be saved.
        """
        from safetensors.numpy import save

        config, tensors = self._state()
        weights = save({name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()})
        head = {"format": _FORMAT, "model": self.name, "version": self.version}
        head |= {"sha256": hashlib.sha256(weights).hexdigest(), "config": config}
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _TENSORS).write_bytes(weights)
        (folder / _CONFIG).write_text(json.dumps(head, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path, **kwargs: Any) -> Self:
        """Read a model that :meth:`save` wrote; ``kwargs`` as its constructor takes them.

        Raises:
            CheckpointError: no checkpoint there, a damaged one, or one of another kind of model.
        """
        from safetensors import SafetensorError
        from safetensors.numpy import load

        head = _read_head(Path(folder))
        if head["model"] != cls.name:
            raise CheckpointError(f"{folder} holds a model {head['model']!r}, not {cls.name!r}; use world_models.make")
        path = Path(folder) / _TENSORS
        try:
            weights = path.read_bytes()
            if hashlib.sha256(weights).hexdigest() != head["sha256"]:
                raise CheckpointError(f"{path} is damaged: it does not match the checksum in {_CONFIG}; fetch it anew")
            model = cls._restore(head["config"], load(weights), **kwargs)
        except OSError as error:
            raise CheckpointError(f"{path} cannot be read: {error}") from error
        except (CheckpointError, NotImplementedError):
            raise
        except (KeyError, TypeError, ValueError, RuntimeError, SafetensorError) as error:
            raise CheckpointError(f"the checkpoint in {folder} is incomplete or damaged: {error!r}") from error
        model.version = head["version"]
        return model

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """JSON-able configuration, and arrays."""
        raise NotImplementedError(f"a model of type {type(self).__name__} cannot be saved")

    @classmethod
    def _restore(cls, config: dict[str, Any], tensors: dict[str, np.ndarray], **kwargs: Any) -> Self:
        """The inverse of :meth:`_state`. Any ``KeyError``, ``TypeError``, ``ValueError`` says what is damaged."""
        raise NotImplementedError(f"a model of type {cls.__name__} cannot be loaded")


def is_checkpoint(folder: str | Path) -> bool:
    """Whether a folder looks like one that ``WorldModel.save`` wrote."""
    return (Path(folder) / _CONFIG).is_file()


def checkpoint_name(folder: str | Path) -> str:
    """Name of the kind of model that a folder holds.

    Raises:
        CheckpointError: it holds none, or a damaged one.
    """
    return _read_head(Path(folder))["model"]


def checkpoint_config(folder: str | Path, name: str) -> dict[str, Any]:
    """Configuration of a model of the kind ``name`` that a folder holds.

    Raises:
        CheckpointError: it holds none, a damaged one, or one of another kind.
    """
    head = _read_head(Path(folder))
    if head["model"] != name:
        raise CheckpointError(f"{folder} holds a model {head['model']!r}, not {name!r}; use world_models.make")
    return head["config"]


def _read_head(folder: Path) -> dict[str, Any]:
    path = folder / _CONFIG
    try:
        head = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"{folder} holds no world model: {error}") from error
    except ValueError as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error
    wanted = {"format": int, "model": str, "version": str, "sha256": str, "config": dict}
    for key, kind in wanted.items():
        if not isinstance(head, dict) or not isinstance(head.get(key), kind):
            raise CheckpointError(f"{path} lacks a valid {key!r}; it was not written by WorldModel.save")
    if head["format"] != _FORMAT:
        raise CheckpointError(f"{path} has format {head['format']}, this version reads {_FORMAT}; train the model anew")
    return head
