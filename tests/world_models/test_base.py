import json

import numpy as np
import pytest

from tests.world_models.recordings import submission
from world_models.base import CheckpointError, WorldModel, checkpoint_name
from world_models.outcomes import Outcome, Status, Submission, ladder_score, render_feedback


class Constant(WorldModel):
    """Predicts one score for everything."""

    name = "constant"

    def __init__(self, percentile: float = 0.5, drop: int = 0) -> None:
        self.percentile = percentile
        self.drop = drop

    def predict_batch(self, submissions):
        score = ladder_score(Status.VALID, self.percentile)
        outcome = Outcome(
            Status.VALID, score, render_feedback(Status.VALID, score=score), None, 1.0, "world_model", 0.01
        )
        return [outcome] * (len(submissions) - self.drop)

    def _state(self):
        return {"kind": "constant"}, {"percentile": np.array([self.percentile])}

    @classmethod
    def _restore(cls, config, tensors, **kwargs):
        return cls(float(tensors["percentile"][0]), **kwargs)


class Unsaved(WorldModel):
    """The same, without a state."""

    name = "unsaved"
    percentile, drop = 0.5, 0
    predict_batch = Constant.predict_batch


def test_exact_checks_come_first_and_order_is_kept() -> None:
    codes = ["", "x = 1", "def f(:", "x = 2"]
    outcomes = Constant().execute([Submission("t", "", code) for code in codes])
    expected = [Status.MALFORMED, Status.VALID, Status.SYNTAX_ERROR, Status.VALID]
    assert [outcome.status for outcome in outcomes] == expected
    assert Constant().execute([]) == []


def test_a_model_that_loses_outcomes_is_found_out() -> None:
    with pytest.raises(RuntimeError, match="gave 1 outcomes for 2 submissions"):
        Constant(drop=1).execute([submission("clean"), submission("holes")])


def test_save_and_load(tmp_path) -> None:
    model = Constant(0.25)
    model.version = "abc"
    model.save(tmp_path / "deep" / "er")
    assert checkpoint_name(tmp_path / "deep" / "er") == "constant"
    copy = Constant.load(tmp_path / "deep" / "er", drop=0)
    assert (copy.percentile, copy.version) == (0.25, "abc")
    assert not list((tmp_path / "deep" / "er").glob("*.p*kl"))


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("model.json", None, "holds no world model"),
        ("model.json", b"{", "damaged"),
        ("model.json", b"\xff\xfe", "damaged"),
        ("model.json", b"[]", "lacks a valid 'format'"),
        ("model.json", {"format": 99}, "format 99"),
        ("model.json", {"model": "other"}, "holds a model 'other'"),
        ("model.json", {"config": 3}, "lacks a valid 'config'"),
        ("model.safetensors", None, "cannot be read"),
        ("model.safetensors", b"damaged", "checksum"),
    ],
)
def test_damaged_checkpoints_are_refused_by_name(tmp_path, file, content, message) -> None:
    Constant().save(tmp_path)
    path = tmp_path / file
    if content is None:
        path.unlink()
    elif isinstance(content, dict):
        path.write_text(json.dumps(json.loads(path.read_text()) | content))
    else:
        path.write_bytes(content)
    with pytest.raises(CheckpointError, match=message):
        Constant.load(tmp_path)


def test_weights_that_match_their_checksum_but_lack_an_entry(tmp_path) -> None:
    class Wanting(Constant):
        @classmethod
        def _restore(cls, config, tensors, **kwargs):
            return cls(float(tensors["missing"][0]))

    Constant().save(tmp_path)
    with pytest.raises(CheckpointError, match="incomplete"):
        Wanting.load(tmp_path)


def test_a_model_without_a_state_says_so(tmp_path) -> None:
    with pytest.raises(NotImplementedError, match="Unsaved cannot be saved"):
        Unsaved().save(tmp_path)
    Constant().save(tmp_path)
    Unsaved.name = "constant"
    with pytest.raises(NotImplementedError, match="Unsaved cannot be loaded"):
        Unsaved.load(tmp_path)
