"""From the keyword arguments ``task`` and ``backend`` to the objects that they name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from wmrl_env import tasks
from wmrl_env.tasks import ResearchTask
from world_models.outcomes import Backend

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
                raise ValueError(f"task {str(source)!r} is neither a directory nor known by id ({error})") from None
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


def _world_model(name: str = "learned") -> Backend:
    import world_models

    return world_models.make(name)


def _sandbox() -> Backend:
    from wmrl_env.sandbox import Sandbox

    return Sandbox()


class BackendSource:
    """A backend that is made when it is first needed, and closed by whoever made it.

    Args:
        source: ``"world_model"`` (the one that ships with the package), ``"sandbox"``, a name or path that
            ``world_models.make`` takes, ``"module:attribute"`` (a class or factory is called, an instance taken as it
            is), or an instance.

    Raises:
        TypeError: neither a string nor something with an ``execute`` method.
        ImportError, AttributeError: ``"module:attribute"`` names nothing.
    """

    def __init__(self, source: str | Backend) -> None:
        self._source = source
        self._given = True
        self._backend: Backend | None = None
        self._make: Callable[[], Any] = lambda: source
        if not isinstance(source, str):
            _checked(source, source)
        elif source == "world_model":
            self._promise(_world_model)
        elif source == "sandbox":
            self._promise(_sandbox)
        elif ":" not in source:
            self._promise(partial(_world_model, source))
        else:
            module, _, attribute = source.partition(":")
            named = getattr(import_module(module), attribute)
            if not isinstance(named, type) and hasattr(named, "execute"):
                self._make = lambda: named
            elif callable(named):
                self._promise(named)
            else:
                raise TypeError(f"backend={source!r} can neither execute submissions nor be called to make one")

    def _promise(self, make: Callable[[], Any]) -> None:
        self._given, self._make = False, make

    @property
    def backend(self) -> Backend:
        """The backend itself."""
        if self._backend is None:
            self._backend = _checked(self._make(), self._source)
        return self._backend

    def close(self) -> None:
        """Close the backend if it was made here and can be closed."""
        backend, self._backend = self._backend, None
        if not self._given and hasattr(backend, "close"):
            backend.close()


def _checked(backend: Any, source: object) -> Backend:
    if not callable(getattr(backend, "execute", None)):
        raise TypeError(
            f"backend={source!r} has no method execute(submissions) -> list[Outcome]; pass a Sandbox, a WorldModel, "
            'a name or "module:attribute"'
        )
    return backend
