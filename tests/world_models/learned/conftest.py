"""One recording and one quickly trained ensemble for all tests of it."""

import pytest

from tests.world_models.recordings import recording
from world_models.learned import LearnedModel, train
from world_models.store import Transition


@pytest.fixture(scope="session")
def rows() -> list[Transition]:
    return recording(500)


@pytest.fixture(scope="session")
def model(rows: list[Transition]) -> LearnedModel:
    return train(rows, seed=0, members=4, hidden=32, epochs=40)
