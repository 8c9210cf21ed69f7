import sys
import types
from pathlib import Path

import pytest

from tests.support import make_task_dir
from wmrl_env import tasks
from wmrl_env.envs import resolve
from wmrl_env.envs.resolve import BackendSource, resolve_task, resolve_tasks
from wmrl_env.sandbox import Sandbox
from wmrl_env.tasks import ResearchTask
from wmrl_env.testing import HashBackend


def test_splits_are_those_of_the_tasks() -> None:
    assert resolve_tasks("train") == tuple(tasks.list(split="train"))
    assert resolve_tasks("all") == tuple(tasks.list())
    assert {task.split for task in resolve_tasks("heldout")} == {"heldout"}


def test_ids_objects_and_mixtures(fake_task: ResearchTask) -> None:
    first, second = tasks.list()[:2]
    assert resolve_tasks(first.id) == (first,)
    assert resolve_tasks(fake_task) == (fake_task,)
    assert resolve_tasks([second.id, fake_task, first]) == (second, fake_task, first)


def test_a_directory_becomes_a_registered_task(tmp_path: Path) -> None:
    root = make_task_dir(tmp_path / "from_a_directory")
    (task,) = resolve_tasks(str(root))
    try:
        assert tasks.get(task.id) == task
        assert resolve_task(root) == task
    finally:
        tasks._registered.pop(task.id)


def test_what_names_no_task_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'nonesuch' is neither a directory nor known"):
        resolve_tasks("nonesuch")
    with pytest.raises(ValueError, match="holds no task"):
        resolve_tasks([])
    with pytest.raises(TypeError, match="got 3"):
        resolve_tasks(3)  # type: ignore[arg-type]


@pytest.fixture
def mine(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """An importable module of a user's own."""
    module = types.ModuleType("mine")

    class Closable(HashBackend):
        open = 0

        def __init__(self) -> None:
            super().__init__()
            type(self).open += 1

        def close(self) -> None:
            type(self).open -= 1

    module.Closable = Closable
    module.instance = Closable()
    module.number = 3
    module.factory = lambda: 4
    monkeypatch.setitem(sys.modules, "mine", module)
    return module


def test_module_attribute_is_made_when_first_needed_and_closed_by_its_maker(mine: types.ModuleType) -> None:
    source = BackendSource("mine:Closable")
    source.close()  # nothing was made yet
    assert mine.Closable.open == 1  # the module's own
    assert isinstance(source.backend, mine.Closable)
    assert source.backend is source.backend
    assert mine.Closable.open == 2
    source.close()
    assert mine.Closable.open == 1


@pytest.mark.parametrize("named", [True, False])
def test_an_instance_is_taken_as_it_is_and_never_closed(mine: types.ModuleType, named: bool) -> None:
    source = BackendSource("mine:instance" if named else mine.instance)
    assert source.backend is mine.instance
    source.close()
    assert mine.Closable.open == 1


def test_world_models_are_found_by_name_or_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []

    def make(name: str) -> HashBackend:
        asked.append(name)
        return HashBackend()

    monkeypatch.setattr(resolve, "make_world_model", make)
    for nothing in ("", str(tmp_path)):
        with pytest.raises(ValueError, match="no backend"):
            BackendSource(nothing)
    (tmp_path / "model.json").touch()
    sources = [BackendSource(name) for name in ("world_model", "corrupted", str(tmp_path))]
    assert asked == []
    assert all(isinstance(source.backend, HashBackend) for source in sources)
    assert asked == ["learned", "corrupted", str(tmp_path)]


def test_the_sandbox_is_made_late_and_closed() -> None:
    source = BackendSource("sandbox")
    assert isinstance(source.backend, Sandbox)
    source.close()


def test_what_is_no_backend_is_refused(mine: types.ModuleType) -> None:
    with pytest.raises(TypeError, match="no method execute"):
        BackendSource(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no method execute"):
        BackendSource("mine:number")
    with pytest.raises(TypeError, match="no method execute"):
        _ = BackendSource("mine:factory").backend
    with pytest.raises(AttributeError, match="nothing"):
        BackendSource("mine:nothing")
    with pytest.raises(ValueError, match="no backend 'sandbx'; expected one of world_model, sandbox, learned"):
        BackendSource("sandbx")
    with pytest.raises(ImportError):
        BackendSource("no_such_module:Backend")
