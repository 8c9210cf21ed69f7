"""A scaffolded task is complete and sound."""

from pathlib import Path

import pytest

from wmrl_env.tasks.directory import inspect
from wmrl_env.tasks.grading import grade
from wmrl_env.tasks.scaffold import new_task


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return new_task(tmp_path_factory.mktemp("scaffold") / "mine")


def test_it_has_neither_faults_nor_warnings(root: Path) -> None:
    found = inspect(root)
    assert (found.faults, found.warnings) == ([], [])
    task = found.task
    assert task is not None
    assert (task.id, task.metric, task.kind, task.target) == ("mine", "rmse", "regression", "progression")
    assert task.licence and task.origin and "diabetes" in task.description


def test_its_leaderboard_is_of_real_and_varied_solutions(root: Path) -> None:
    task = inspect(root).task
    assert task is not None and len(task.leaderboard) >= 40
    constant = grade(task.public_dir / "sample_submission.csv", task)
    assert task.percentile(constant) < 0.2
    assert len(set(task.leaderboard)) == len(task.leaderboard)


def test_it_is_the_same_every_time(root: Path, tmp_path: Path) -> None:
    again = new_task(tmp_path / "mine")
    names = sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file())
    assert names == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    for name in names:
        assert (root / name).read_bytes() == (again / name).read_bytes(), name


def test_nothing_is_written_over(root: Path, tmp_path: Path) -> None:
    with pytest.raises(FileExistsError, match="not empty"):
        new_task(root)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError, match="not empty"):
        new_task(tmp_path / "file")
