"""World models by name, folder or import path."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from world_models.base import WorldModel, checkpoint_name
from world_models.outcomes import Backend

__all__ = ["make", "names", "register"]

_entries = {
    "learned": "world_models.learned:LearnedModel",
    "retrieval": "world_models.retrieval:RetrievalModel",
    "ensemble": "world_models.ensemble:EnsembleModel",
    "language": "world_models.language:LanguageModel",
    "endpoint": "world_models.endpoint:EndpointModel",
    "corrupted": "world_models.corrupted:CorruptedModel",
}


def names() -> tuple[str, ...]:
    """Names that :func:`make` knows."""
    return tuple(_entries)


def register(name: str, entry: str) -> None:
    """Make a model of one's own known by a name.

    Args:
        name: name for :func:`make`; for a subclass of ``WorldModel`` its ``name``, so that folders are found too.
        entry: ``"module:attribute"`` of a class, or of a function that returns a model; imported on first use.

    Raises:
        ValueError: the name is taken, or ``entry`` is not of that form.
        TypeError: ``entry`` is no string.
    """
    if not isinstance(entry, str):
        raise TypeError(f'entry must be a string "module:attribute", got {entry!r}; models themselves need no name')
    if _entries.get(name, entry) != entry:
        raise ValueError(f"a world model {name!r} is already registered, as {_entries[name]}")
    if not all(entry.partition(":")):
        raise ValueError(f'entry must read "module:attribute", got {entry!r}')
    _entries[name] = entry


def make(name_or_path: str | Path, **kwargs: Any) -> Backend:
    """A world model.

    Args:
        name_or_path: a registered name, a folder that ``WorldModel.save`` wrote, or ``"module:attribute"``.
        **kwargs: passed on to the model.

    Raises:
        ValueError: nothing of that name, or its module or attribute is missing.
        TypeError: what is found there gives no world model.
        CheckpointError: the folder holds no readable checkpoint.

    >>> make("learned").name
    'learned'
    """
    name = str(name_or_path)
    if name in _entries:
        return _made(_entries[name], kwargs)
    if Path(name).is_dir():
        kind = checkpoint_name(name)
        if kind not in _entries:
            raise ValueError(f"{name} holds a model {kind!r}, which is not registered; known: {', '.join(_entries)}")
        return _resolve(_entries[kind]).load(name, **kwargs)
    if ":" in name:
        return _made(name, kwargs)
    raise ValueError(
        f"no world model {name!r}; expected one of {', '.join(_entries)}, a folder with a checkpoint, "
        'or "module:attribute"'
    )


def _made(entry: str, kwargs: dict[str, Any]) -> Backend:
    """The model that is found there, or that the class or function found there makes."""
    found = _resolve(entry)
    if isinstance(found, type) and issubclass(found, WorldModel):
        found = found.default
    if callable(found) and (isinstance(found, type) or not isinstance(found, Backend)):
        found = found(**kwargs)
    if not isinstance(found, Backend):
        raise TypeError(f"{entry!r} gives no world model: {type(found).__name__} has no method execute")
    return found


def _resolve(entry: str) -> Any:
    module, _, attribute = entry.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"cannot find {entry!r}: {error}") from error
