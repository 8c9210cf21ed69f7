"""From the keyword arguments ``task`` and ``backend`` to the objects that they name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from wmrl_env import tasks
from wmrl_env.tasks import ResearchTask
from world_models.base import is_checkpoint
from world_models.outcomes import Backend
from world_models.registry import make as make_world_model
from world_models.registry import names as world_model_names

__all__ = ["BackendSource", "TaskSource", "resolve_task", "resolve_tasks"]

TaskSource = str | Path | ResearchTask | Iterable[str | Path | ResearchTask]
_SPLITS = ("train", "heldout")


def resolve_task(source: str | Path | ResearchTask) -> ResearchTask:
    """One task from its id, its directory, or itself. Tasks of one's own are registered, so that backends find them.

    Raises:
        ValueError: neither a known id nor a directory.
        TypeError: not a task at all.
    """
    if isinstance(source, ResearchTask):
        task = source
    elif isinstance(source, (str, Path)):
        try:
            return tasks.get(str(source))
        except KeyError as error:
            if not Path(source).is_dir():
                raise ValueError(
                    f"task {str(source)!r} is neither a directory nor known by id: {error.args[0]}"
                ) from None
        task = ResearchTask.from_directory(source)
    else:
        raise TypeError(f"a task is an id, a directory or a ResearchTask, got {source!r}")
    tasks.register(task)
    return task


def resolve_tasks(source: TaskSource) -> tuple[ResearchTask, ...]:
    """Tasks that episodes draw from.

    Args:
        source: ``"train"``, ``"heldout"``, ``"all"``, a task (id, directory or ``ResearchTask``) or several.

    Raises:
        ValueError: an unknown task, or none at all.
        TypeError: not a task.
    """
    found: Iterable[ResearchTask]
    if isinstance(source, str) and source in (*_SPLITS, "all"):
        found = tasks.list() if source == "all" else tasks.list(split=source)  # type: ignore[arg-type]
    elif isinstance(source, (str, Path, ResearchTask)) or not isinstance(source, Iterable):
        found = (resolve_task(source),)
    else:
        found = (resolve_task(item) for item in source)
    resolved = tuple(found)
    if not resolved:
        raise ValueError(f"task={source!r} holds no task")
    return resolved


def _sandbox() -> Backend:
    from wmrl_env.sandbox import Sandbox

    return Sandbox()


def _named(name: str) -> Any:
    """What a name stands for: something that makes a backend, or the backend itself."""
    if name == "sandbox":
        return _sandbox
    if name == "world_model":
        return partial(make_world_model, "learned")
    if ":" in name:
        module, _, attribute = name.partition(":")
        found = getattr(import_module(module), attribute)
        return partial(make_world_model, name) if _makes(found) else found
    if name not in world_model_names() and not is_checkpoint(name):
        known = ", ".join(("world_model", "sandbox", *world_model_names()))
        raise ValueError(f'no backend {name!r}; expected one of {known}, a checkpoint\'s folder or "module:attribute"')
    return partial(make_world_model, name)


def _makes(found: Any) -> bool:
    """Whether it is a class or factory rather than a backend."""
    return callable(found) and (isinstance(found, type) or not hasattr(found, "execute"))


class BackendSource:
    """A backend that is made when it is first needed, and closed by whoever made it.

    Args:
        source: ``"world_model"`` (the one that ships with the package), ``"sandbox"``, a name or path that
            ``world_models.make`` takes, ``"module:attribute"`` (a class or factory is called, an instance taken as it
            is), or an instance.

    Raises:
        ValueError: unknown name.
        TypeError: the source neither executes submissions nor makes something that does.
        ImportError, AttributeError: ``"module:attribute"`` names nothing.
    """

    def __init__(self, source: str | Backend) -> None:
        found: Any = _named(source) if isinstance(source, str) else source
        self._source = source
        self._owned = _makes(found)
        if not self._owned and not hasattr(found, "execute"):
            raise TypeError(self._fault())
        self._backend: Backend | None = None if self._owned else found
        self._make: Callable[[], Backend] = found

    @property
    def backend(self) -> Backend:
        """The backend itself."""
        if self._backend is None:
            backend = self._make()
            if not hasattr(backend, "execute"):
                raise TypeError(self._fault())
            self._backend = backend
        return self._backend

    def close(self) -> None:
        """Close the backend if it was made here and can be closed."""
        if self._owned and self._backend is not None:
            close = getattr(self._backend, "close", None)
            self._backend = None
            if close is not None:
                close()

    def _fault(self) -> str:
        return (
            f"backend={self._source!r} has no method execute(submissions) -> list[Outcome] and makes nothing that has; "
            'pass a Sandbox, a WorldModel, a name or "module:attribute"'
        )
