import numpy as np
import pytest

import world_models
from tests.world_models.recordings import recording, submission
from world_models.baselines import CodeLength, GradientBoosting, StatusPrior, TaskMean
from world_models.outcomes import Status
from world_models.testing import check_world_model

BASELINES = (StatusPrior, TaskMean, CodeLength, GradientBoosting)


@pytest.fixture(scope="module")
def rows():
    return recording(200)


@pytest.mark.parametrize("kind", BASELINES)
def test_the_contract_is_kept(kind, rows) -> None:
    check_world_model(kind(rows), [submission("clean", depth=depth) for depth in range(1, 5)] + [submission("holes")])
    with pytest.raises(ValueError, match="no executed"):
        kind([])


def test_means_are_those_of_the_recording(rows) -> None:
    scores = {task: [o.score for s, o in rows if s.task_id == task] for task in ("clean", "holes")}
    everything = scores["clean"] + scores["holes"]
    (clean,) = TaskMean(rows).execute([submission("clean")])
    assert clean.score == pytest.approx(np.mean(scores["clean"])) and clean.status is Status.VALID
    assert clean.variance == pytest.approx(np.var(scores["clean"]))
    stranger = world_models.Submission("other", "", "x = 1")
    for model in (TaskMean(rows), StatusPrior(rows)):
        assert model.execute([stranger])[0].score == pytest.approx(np.mean(everything))


def test_code_of_equal_length_is_taken_together(rows) -> None:
    model = CodeLength(rows)
    short, long = model.execute(
        [world_models.Submission("t", "", "x = 1"), world_models.Submission("t", "", "y\n" * 2000)]
    )
    assert short.score != long.score


def test_trees_learn_the_law(rows) -> None:
    unseen = recording(80, seed=5)
    trees, prior = (world_models.fidelity(kind(rows), unseen, bootstrap=2) for kind in (GradientBoosting, TaskMean))
    assert trees.metrics["score_mae"].value < 0.7 * prior.metrics["score_mae"].value
    assert trees.metrics["pairwise_accuracy"].value > 0.8
