import dataclasses

import pytest

from tests.world_models.recordings import submission
from tests.world_models.test_base import Constant, Unsaved
from world_models import registry
from world_models.outcomes import Status, ladder_score, render_feedback
from world_models.testing import ConformanceError, check_world_model

ROWS = [submission("clean"), submission("holes"), submission("clean", depth=9)]


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = registry._entries | {"constant": f"{Constant.__module__}:Constant"}
    monkeypatch.setattr(registry, "_entries", entries)


def changed(**changes):
    class Changed(Unsaved):
        def predict_batch(self, submissions):
            return [dataclasses.replace(outcome, **changes) for outcome in super().predict_batch(submissions)]

    return Changed()


class DependsOnBatch(Unsaved):
    def predict_batch(self, submissions):
        self.percentile = 1.0 / len(submissions)
        return super().predict_batch(submissions)


class DependsOnOrder(Unsaved):
    def predict_batch(self, submissions):
        score = [ladder_score(Status.VALID, i / len(submissions)) for i in range(len(submissions))]
        outcomes = super().predict_batch(submissions)
        return [dataclasses.replace(outcome, score=s) for outcome, s in zip(outcomes, score, strict=True)]


class Ungated(Unsaved):
    def execute(self, submissions):
        return self.predict_batch(submissions)


class Forgetful(Constant):
    def _state(self):
        config, _ = super()._state()
        return config, {"percentile": __import__("numpy").array([0.123])}


class ReturnsTuple(Unsaved):
    def execute(self, submissions):
        return tuple(super().execute(submissions)) if submissions else []


class Loses(Unsaved):
    def execute(self, submissions):
        return super().execute(submissions)[1:]


def with_attribute(name, value):
    model = Constant()
    setattr(model, name, value)
    return model


def test_good_models_pass() -> None:
    check_world_model(Constant(), ROWS)
    check_world_model(Unsaved(), ROWS)


@pytest.mark.parametrize(
    ("model", "rule"),
    [
        (with_attribute("version", ""), "version must be"),
        (with_attribute("num_members", -1), "num_members"),
        (with_attribute("num_members", 2), "member_scores must hold"),
        (changed(source="sandbox"), "source"),
        (changed(feedback="fine"), "feedback must begin"),
        (changed(seconds=-1.0), "seconds"),
        (changed(feedback=render_feedback(Status.TIMEOUT)), "feedback must begin"),
        (DependsOnBatch(), "what else is in the batch"),
        (DependsOnOrder(), "order of the batch"),
        (Ungated(), "must be MALFORMED"),
        (ReturnsTuple(), "must return a list"),
        (Loses(), "must give as many"),
        (Forgetful(), "saving and loading"),
    ],
)
def test_each_broken_rule_is_named(model, rule) -> None:
    with pytest.raises(ConformanceError, match=rule):
        check_world_model(model, ROWS)


def test_an_ensemble_states_its_variance() -> None:
    model = changed(variance=None, member_scores=(0.5, 0.7))
    model.num_members = 2
    with pytest.raises(ConformanceError, match="state its variance"):
        check_world_model(model, ROWS)


def test_one_submission_is_too_few() -> None:
    with pytest.raises(ValueError, match="at least 2"):
        check_world_model(Constant(), ROWS[:1])
