import pytest

import world_models
from tests.world_models.recordings import outcome_of, recording, submission
from world_models.base import CheckpointError, WorldModel
from world_models.ensemble import EnsembleModel
from world_models.outcomes import Outcome, Status, render_feedback, ungraded
from world_models.retrieval import RetrievalModel
from world_models.testing import check_world_model


class Says(WorldModel):
    """One outcome for all."""

    name = "says"

    def __init__(self, score: float | None, status: Status = Status.VALID, variance: float = 0.01) -> None:
        self.said = (score, status, variance)

    def predict_batch(self, submissions):
        score, status, variance = self.said
        if score is None:
            return [ungraded("lost", "world_model") for _ in submissions]
        feedback = render_feedback(status, score=score)
        return [Outcome(status, score, feedback, None, 1.0, "world_model", variance) for _ in submissions]


def ask(*models, weights=None) -> Outcome:
    return EnsembleModel(models, weights).execute([submission("clean")])[0]


def test_scores_are_averaged_and_disagreement_is_variance() -> None:
    outcome = ask(Says(0.6), Says(0.8))
    assert outcome.score == pytest.approx(0.7) and outcome.member_scores == (0.6, 0.8)
    assert outcome.variance == pytest.approx(0.01 + 0.01)
    assert ask(Says(0.6), Says(0.8), weights=[3, 1]).score == pytest.approx(0.65)


def test_the_status_with_most_weight_is_told() -> None:
    models = Says(0.1, Status.RUNTIME_ERROR), Says(0.8), Says(0.7)
    assert ask(*models).status is Status.VALID
    outcome = ask(*models, weights=[3, 1, 1])
    assert outcome.status is Status.RUNTIME_ERROR and outcome.feedback.startswith("Status: RUNTIME_ERROR")


def test_a_model_that_is_silent_takes_no_part() -> None:
    outcome = ask(Says(None), Says(0.8))
    assert outcome.score == pytest.approx(0.8) and outcome.member_scores == pytest.approx((0.8, 0.8))
    assert ask(Says(None), Says(None)).status is Status.UNGRADED


def test_weights_are_learned_from_executions() -> None:
    rows = recording(120)

    class Knows(WorldModel):
        name = "knows"

        def predict_batch(self, submissions):
            by_code = {row.submission: row.outcome.score for row in rows}
            return [Says(by_code[one]).predict_batch([one])[0] for one in submissions]

    model = EnsembleModel([Says(0.5), Knows()])
    model.weigh(rows)
    assert model.weights == pytest.approx([0.0, 1.0], abs=1e-3)
    with pytest.raises(ValueError, match="graded by every model"):
        EnsembleModel([Says(None)]).weigh(rows)


def test_the_contract_is_kept_and_folders_hold_the_members(tmp_path) -> None:
    rows = recording(60)
    model = EnsembleModel([RetrievalModel(rows[:30]), RetrievalModel(rows[30:])], [1, 2])
    check_world_model(model, [submission("clean", depth=depth) for depth in range(1, 5)])
    model.save(tmp_path)
    loaded = world_models.make(tmp_path)
    batch = [row.submission for row in rows[:9]]
    assert loaded.execute(batch) == model.execute(batch)
    (tmp_path / "1" / "model.json").unlink()
    with pytest.raises((CheckpointError, ValueError)):
        world_models.make(tmp_path)


@pytest.mark.parametrize(
    ("models", "weights"),
    [([], None), ("learned", None), ([Says(0.5)], [0]), ([Says(0.5)], [-1]), ([Says(0.5)], [1, 1])],
)
def test_bad_arguments_are_refused(models, weights) -> None:
    with pytest.raises(ValueError, match=r"ensemble|weights"):
        EnsembleModel(models, weights)


def test_what_is_no_world_model_is_not_saved(tmp_path) -> None:
    class Plain:
        def execute(self, submissions):
            return [outcome_of("clean", 100, 4, True) for _ in submissions]

    with pytest.raises(TypeError, match="Plain"):
        EnsembleModel([Plain()]).save(tmp_path)
