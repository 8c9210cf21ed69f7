import numpy as np
import pytest

import world_models
from tests.world_models.recordings import recording, submission
from world_models.base import CheckpointError
from world_models.outcomes import Status
from world_models.retrieval import RetrievalModel
from world_models.testing import check_world_model


@pytest.fixture(scope="module")
def rows():
    return recording(300)


@pytest.fixture(scope="module")
def model(rows):
    return RetrievalModel([row for row in rows if row.split == "train"])


def test_similar_solutions_tell_the_outcome(model, rows) -> None:
    unseen = [row for row in rows if row.split == "test"]
    report = world_models.fidelity(model, unseen, bootstrap=5)
    most = max(np.mean([row.outcome.status is status for row in unseen]) for status in Status)
    assert report.metrics["status_accuracy"].value > most
    assert report.metrics["pairwise_accuracy"].value > 0.7


def test_a_known_solution_is_found_again(model, rows) -> None:
    row = next(row for row in rows if row.split == "train" and row.outcome.status is Status.RUNTIME_ERROR)
    nearest = RetrievalModel(rows, neighbours=1)
    outcome = nearest.execute([row.submission])[0]
    assert outcome.status is row.outcome.status and outcome.score == row.outcome.score and outcome.variance == 0.0
    assert world_models.exception_class(outcome.feedback) == world_models.exception_class(row.outcome.feedback)


def test_the_contract_is_kept(model) -> None:
    check_world_model(model, [submission("clean", depth=depth) for depth in range(1, 5)] + [submission("holes")])


def test_neighbours_of_the_same_task_come_first(rows) -> None:
    only_holes = [
        row for row in rows if row.submission.task_id == "holes" and row.outcome.status is Status.RUNTIME_ERROR
    ]
    clean = [row for row in rows if row.submission.task_id == "clean" and row.outcome.status is Status.VALID]
    model = RetrievalModel(only_holes + clean, neighbours=3)
    assert model.execute([submission("clean", imputed=False)])[0].status is Status.VALID


def test_checkpoints_of_other_facts_and_bad_arguments_are_refused(model, tmp_path, monkeypatch) -> None:
    model.save(tmp_path)
    monkeypatch.setattr("world_models.retrieval.FACTS_HASH", "other")
    with pytest.raises(CheckpointError, match="other facts"):
        world_models.make(tmp_path)
    for bad, message in (({"neighbours": 0}, "neighbours"), ({"same_task": np.nan}, "same_task")):
        with pytest.raises(ValueError, match=message):
            RetrievalModel(recording(3), **bad)
    with pytest.raises(ValueError, match="no executed"):
        RetrievalModel([])
    with pytest.raises(FileNotFoundError):
        RetrievalModel(tmp_path / "nothing.parquet")
