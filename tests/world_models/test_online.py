import pickle

import pytest

import world_models
from tests.world_models.recordings import recording, submission
from world_models.learned import adapt, train
from world_models.online import OnlineUpdate
from world_models.outcomes import Outcome, Status, render_feedback
from world_models.store import Transition
from world_models.testing import check_world_model


@pytest.fixture(scope="module")
def first():
    return train(recording(200), epochs=25, members=2, hidden=16)


def turned(rows: list[Transition]) -> list[Transition]:
    """The same solutions in a world where what was good is bad."""
    changed = []
    for one, real in rows:
        if real.status is Status.VALID:
            score = 1.5 - (real.score or 0.0)
            real = Outcome(
                Status.VALID, score, render_feedback(Status.VALID, score=score), None, real.seconds, "sandbox"
            )
        changed.append(Transition(one, real))
    return changed


def test_adapting_learns_the_new_and_leaves_the_old_model_alone(first) -> None:
    rows = turned(recording(160, seed=5))
    before = first.execute([row.submission for row in rows])
    new = adapt(first, rows[:120])
    old_report, report = (world_models.fidelity(model, rows[120:], bootstrap=2) for model in (first, new))
    assert report.metrics["score_rmse"].value < 0.7 * old_report.metrics["score_rmse"].value
    assert first.execute([row.submission for row in rows]) == before
    assert new.version != first.version and new.facts["adapted_to"] == 120
    assert adapt(first, rows[:120]).version == new.version  # same seed, same model


def test_few_rows_change_little_under_a_strong_pull(first) -> None:
    rows = turned(recording(30, seed=5))
    loose, tight = (adapt(first, rows, pull=pull, epochs=20) for pull in (0.0, 10.0))
    batch = [row.submission for row in recording(60, seed=9)]

    def moved(model) -> float:
        pairs = zip(model.execute(batch), first.execute(batch), strict=True)
        return sum(abs(one.score - other.score) for one, other in pairs)

    assert moved(tight) < 0.5 * moved(loose)


def test_it_learns_while_it_runs_and_keeps_what_is_better(first, tmp_path) -> None:
    model = OnlineUpdate(first, refit_every=60, minimum=60, folder=tmp_path)
    rows = turned(recording(200, seed=7))
    for start in range(0, 180, 20):
        chunk = rows[start : start + 20]
        model.learn([row.submission for row in chunk], [row.outcome for row in chunk])
    assert len(model.revisions) == 3 and all(revision.kept for revision in model.revisions)
    assert model.version == model.revisions[-1].version != first.version
    saved = world_models.make(tmp_path / "3")
    batch = [row.submission for row in rows[180:]]
    assert saved.execute(batch) == model.execute(batch)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.execute(batch) == model.execute(batch)


def test_a_version_that_is_worse_is_rolled_back(first, monkeypatch) -> None:
    from world_models import online

    spoilt = train(turned(recording(200)), epochs=25, members=2, hidden=16)
    monkeypatch.setattr(online, "adapt", lambda *args, **kwargs: spoilt)
    model = OnlineUpdate(first, refit_every=50, minimum=50)
    rows = recording(60, seed=3)
    model.learn([row.submission for row in rows], [row.outcome for row in rows])
    (revision,) = model.revisions
    assert not revision.kept and revision.loss_after > revision.loss_before
    assert model.current is first and model.version == first.version


def test_only_executions_teach(first) -> None:
    class Sandbox:
        workers = 3

        def execute(self, submissions):
            return [world_models.ungraded("lost", "sandbox") for _ in submissions]

    model = OnlineUpdate(first, refit_every=1, minimum=8)
    watched = model.watching(Sandbox())
    assert watched.workers == 3
    batch = [submission("clean", seed=i) for i in range(20)]
    assert [outcome.status for outcome in watched.execute(batch)] == [Status.UNGRADED] * 20
    model.learn(batch, model.execute(batch))  # predictions
    assert not model.revisions
    with pytest.raises(ValueError):
        model.learn(batch, [])


def test_the_contract_is_kept(first) -> None:
    check_world_model(OnlineUpdate(first), [submission("clean", depth=depth) for depth in range(1, 5)])


def test_bad_arguments_are_named(first) -> None:
    for bad in ({"refit_every": 0}, {"minimum": 1}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            OnlineUpdate(first, **bad)
    for bad in ({"epochs": 0}, {"learning_rate": 0.0}, {"pull": -1.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            adapt(first, recording(9), **bad)
    with pytest.raises(ValueError, match=r"no executed"):
        adapt(first, [])
