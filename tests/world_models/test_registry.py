import pytest

import world_models
from tests.world_models.test_base import Constant
from world_models import registry
from world_models.base import CheckpointError

MODULE = Constant.__module__
INSTANCE = Constant(0.75)


def build(percentile: float) -> Constant:
    return Constant(percentile)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    world_models.register("constant", f"{MODULE}:Constant")


def test_by_name_folder_and_path(registered, tmp_path) -> None:
    assert world_models.make("constant", percentile=0.1).percentile == 0.1
    Constant(0.3).save(tmp_path)
    assert world_models.make(tmp_path).percentile == 0.3
    assert world_models.make(f"{MODULE}:Constant").percentile == 0.5
    assert world_models.make(f"{__name__}:build", percentile=0.2).percentile == 0.2
    assert world_models.make(f"{__name__}:INSTANCE") is INSTANCE
    assert "constant" in registry.names()


def test_functions_are_registered_as_well(registered) -> None:
    world_models.register("built", f"{__name__}:build")
    assert world_models.make("built", percentile=0.9).percentile == 0.9


def test_names_are_not_taken_twice(registered) -> None:
    world_models.register("constant", f"{MODULE}:Constant")
    with pytest.raises(ValueError, match="already registered"):
        world_models.register("constant", "elsewhere:Constant")
    with pytest.raises(ValueError, match="module:attribute"):
        world_models.register("other", "nowhere")
    with pytest.raises(TypeError, match="module:attribute"):
        world_models.register("other", Constant)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no-such-model", "expected one of learned, retrieval, ensemble"),
        ("no_such_module:x", "cannot find 'no_such_module:x'"),
        ("world_models:nothing", "cannot find 'world_models:nothing'"),
    ],
)
def test_unknown_names(name, message) -> None:
    with pytest.raises(ValueError, match=message):
        world_models.make(name)


@pytest.mark.parametrize("name", ["os:path", "os:getcwd", "builtins:object"])
def test_what_is_no_world_model_is_named(name) -> None:
    with pytest.raises(TypeError, match=f"'{name}' gives no world model"):
        world_models.make(name)


def test_folders_of_nothing_or_of_strangers(tmp_path) -> None:
    with pytest.raises(CheckpointError, match="holds no world model"):
        world_models.make(tmp_path)
    Constant().save(tmp_path)
    with pytest.raises(ValueError, match="'constant', which is not registered"):
        world_models.make(tmp_path)


def test_the_package_names_all_it_promises() -> None:
    assert all(getattr(world_models, name) is not None for name in world_models.__all__)
    assert callable(world_models.fidelity)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = world_models.nothing
