"""Fixtures for the whole suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support import make_task_dir
from wmrl_env import tasks
from wmrl_env.tasks import ResearchTask
from wmrl_env.testing import HashBackend


@pytest.fixture
def hash_backend() -> HashBackend:
    """A fast backend whose outcomes are read off a hash of the submission, with variance and four members."""
    return HashBackend()


@pytest.fixture(scope="session")
def fake_task(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResearchTask]:
    """A tiny regression task on disk, known to backends by its id ``"fake"``."""
    root = make_task_dir(tmp_path_factory.mktemp("tasks") / "fake")
    task = ResearchTask.from_directory(root, id="fake")
    tasks.register(task)
    yield task
    tasks._registered.pop("fake", None)
