import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

import world_models
from tests.world_models.recordings import recording
from world_models.corrupted import CorruptedModel
from world_models.fidelity import Estimate, fidelity
from world_models.outcomes import Outcome, Status, Submission, ladder_score, render_feedback, ungraded
from world_models.store import Transition, TransitionStore


class Oracle:
    """Knows the recorded outcomes; ``told`` replaces its scores."""

    name, version = "oracle", "7"

    def __init__(self, rows, told=None, variance=0.01) -> None:
        self.outcomes = {row.submission.code: row.outcome for row in rows}
        self.told = told or {}
        self.variance = variance

    def execute(self, submissions):
        outcomes = []
        for submission in submissions:
            true = self.outcomes[submission.code]
            score = self.told.get(submission.code, true.score)
            outcomes.append(
                Outcome(true.status, score, true.feedback, None, true.seconds, "world_model", self.variance)
            )
        return outcomes


def scored(task: str, scores: list[float]) -> list[Transition]:
    """Valid executions with these scores."""
    return [
        Transition(
            Submission(task, "", f"{task} = {i}"),
            Outcome(Status.VALID, score, render_feedback(Status.VALID, score=score), 0.0, 1.0, "sandbox"),
        )
        for i, score in enumerate(scores)
    ]


def test_the_truth_is_faithful() -> None:
    rows = recording(80)
    report = fidelity(Oracle(rows), rows, bootstrap=20)
    values = {name: estimate.value for name, estimate in report.metrics.items()}
    perfect = ("status_accuracy", "status_balanced_accuracy", "exception_accuracy", "pairwise_accuracy", "spearman")
    assert {name: values[name] for name in perfect} == pytest.approx(dict.fromkeys(perfect, 1.0))
    wrong = ("score_mae", "score_rmse", "score_bias", "score_noise", "ece", "variance_ratio")
    assert {name: values[name] for name in wrong} == dict.fromkeys(wrong, 0.0)
    assert report.model == "oracle 7" and set(report.by_task) == {"clean", "holes"}
    assert report.metrics["exception_accuracy"].n == sum(row.outcome.status != "VALID" for row in rows)
    assert values["predictions_per_s"] > 0


def test_known_answers() -> None:
    rows = scored("a", [0.5, 0.6, 0.62, 0.9]) + scored("b", [0.55, 0.95])
    told = dict(zip([row.submission.code for row in rows], [0.6, 0.5, 0.6, 1.0, 0.75, 0.75], strict=True))
    report = fidelity(Oracle(rows, told, variance=0.02), rows, min_gap=0.05, bootstrap=30)
    error = np.array([0.1, -0.1, -0.02, 0.1, 0.2, -0.2])
    value = {name: estimate.value for name, estimate in report.metrics.items()}
    assert value["score_mae"] == pytest.approx(np.abs(error).mean())
    assert value["score_bias"] == pytest.approx(error.mean())
    assert value["score_bias"] ** 2 + value["score_noise"] ** 2 == pytest.approx(value["score_rmse"] ** 2)
    assert value["variance_ratio"] == pytest.approx((error**2).mean() / 0.02)
    # Task a: 5 pairs further apart than 0.05, wrong: (0.6, 0.5), tied: (0.62, 0.5). Task b: one pair, tied.
    assert value["pairwise_accuracy"] == pytest.approx((3 + 0.5 + 0.5) / 6)
    assert report.metrics["pairwise_accuracy"].n == 6
    rho = spearmanr([0.5, 0.6, 0.62, 0.9], [0.6, 0.5, 0.6, 1.0]).statistic
    assert value["spearman"] == pytest.approx(rho)  # task b has too few solutions
    # Bins of predictions: [0.5, 0.6), [0.6, 0.7), [0.7, 0.8), [0.9, 1].
    assert value["ece"] == pytest.approx((0.1 + abs(0.1 - 0.02) + 0.0 + 0.1) / 6)


def test_balanced_accuracy_is_the_mean_recall() -> None:
    rows = recording(60, seed=3)
    failures = [row for row in rows if row.outcome.status is Status.RUNTIME_ERROR][:2]
    valid = [row for row in rows if row.outcome.status is Status.VALID][:8]

    class Optimist(Oracle):
        def execute(self, submissions):
            score = ladder_score(Status.VALID, 0.5)
            feedback = render_feedback(Status.VALID, score=score)
            return [Outcome(Status.VALID, score, feedback, None, 1.0, "world_model") for _ in submissions]

    report = fidelity(Optimist(rows), failures + valid, bootstrap=10)
    assert report.metrics["status_accuracy"].value == pytest.approx(0.8)
    assert report.metrics["status_balanced_accuracy"].value == pytest.approx(0.5)
    assert report.metrics["exception_accuracy"].value == 0.0
    assert report.metrics["variance_ratio"].n == 0 and np.isnan(report.metrics["variance_ratio"].value)
    assert report.to_dict()["metrics"]["variance_ratio"] == {"value": None, "low": None, "high": None, "n": 0}


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0.5, 1.0), min_size=2, max_size=12), st.randoms())
def test_pairwise_accuracy_depends_on_order_alone(scores, random) -> None:
    rows = scored("a", scores)
    told = {row.submission.code: 0.3 + 0.5 * row.outcome.score**3 for row in rows}
    reverse = {code: 1.0 - score for code, score in told.items()}
    shuffled = list(rows)
    random.shuffle(shuffled)
    up = fidelity(Oracle(rows, told), shuffled, bootstrap=5).metrics["pairwise_accuracy"]
    down = fidelity(Oracle(rows, reverse), shuffled, bootstrap=5).metrics["pairwise_accuracy"]
    assert up.n == down.n
    if up.n:
        assert (up.value, down.value) == (1.0, 0.0)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    hits, trials = 0, 60
    for trial in range(trials):
        rows = scored("a", np.random.default_rng(trial).uniform(0.6, 0.9, 60).tolist())
        model = CorruptedModel(Oracle(rows), noise=0.02, members=1, seed=trial, bias=lambda score: score + 0.01)
        estimate = fidelity(model, rows, bootstrap=100, seed=trial).metrics["score_bias"]
        hits += estimate.low <= 0.01 <= estimate.high
        assert estimate.low <= estimate.value <= estimate.high
    assert hits / trials > 0.85


def test_same_seed_same_report_from_a_file(tmp_path) -> None:
    rows = recording(40)
    with TransitionStore(tmp_path / "a.sqlite") as store:
        store.add([row.submission for row in rows], [row.outcome for row in rows])
    told = {row.submission.code: min(1.0, row.outcome.score + 0.05 * (i % 3)) for i, row in enumerate(rows)}
    first, second = (
        fidelity(
            Oracle(rows, told), tmp_path / "a.sqlite", seed=4, bootstrap=20, action_class=lambda code: code[-40:-38]
        ).to_dict()
        for _ in range(2)
    )
    for report in (first, second):
        report["metrics"].pop("predictions_per_s")
    assert first == second
    assert json.loads(json.dumps(first, allow_nan=False)) == first
    assert first["by_action_class"]
    assert sum(group["status_accuracy"]["n"] for group in first["by_task"].values()) == 40


def test_unknown_outcomes_count_in_no_metric() -> None:
    rows = scored("a", [0.5, 0.7, 0.9])
    predicted = Transition(rows[0].submission, Oracle(rows).execute([rows[0].submission])[0])

    class Half(Oracle):
        def execute(self, submissions):
            outcomes = super().execute(submissions)
            return [ungraded("down", "world_model"), *outcomes[1:]]

    report = fidelity(Half(rows), [*rows, predicted], bootstrap=5)
    assert report.ungraded == 1 and report.metrics["status_accuracy"].n == 2

    class Down(Oracle):
        def execute(self, submissions):
            return [ungraded("down", "world_model") for _ in submissions]

    with pytest.raises(ValueError, match="graded none"):
        fidelity(Down(rows), rows)
    with pytest.raises(ValueError, match="no executed transitions"):
        fidelity(Oracle(rows), [predicted])


@pytest.mark.parametrize("kwargs", [{"min_gap": -0.1}, {"bootstrap": 0}])
def test_arguments_out_of_range(kwargs) -> None:
    with pytest.raises(ValueError, match=next(iter(kwargs))):
        fidelity(Oracle([]), scored("a", [0.5]), **kwargs)


def test_estimates_are_plain() -> None:
    assert Estimate(0.5, 0.4, 0.6, 3).to_dict() == {"value": 0.5, "low": 0.4, "high": 0.6, "n": 3}
    assert world_models.fidelity is fidelity


def test_reliability_worst_errors_and_their_picture(tmp_path) -> None:
    rows = recording(60)
    report = fidelity(Oracle(rows, dict.fromkeys((row.submission.code for row in rows), 0.6)), rows, bootstrap=5)
    (bin_,) = report.reliability
    assert bin_.told == pytest.approx(0.6) and bin_.n == 60
    assert bin_.real == pytest.approx(np.mean([row.outcome.score for row in rows]))
    errors = [abs(0.6 - row.outcome.score) for row, _ in report.worst]
    assert len(errors) == 20 and errors == sorted(errors, reverse=True)
    assert errors[0] == pytest.approx(max(abs(0.6 - row.outcome.score) for row in rows))
    report.plot(tmp_path / "reliability.png")
    assert (tmp_path / "reliability.png").stat().st_size > 1000
    plain = json.loads(json.dumps(report.to_dict()))
    assert plain["worst"][0]["real"]["score"] == report.worst[0][0].outcome.score
    assert plain["reliability"][0]["n"] == 60


def test_pairs_of_valid_solutions_are_reported_apart() -> None:
    rows = recording(120)
    coarse = {row.submission.code: 0.75 if row.outcome.status is Status.VALID else 0.1 for row in rows}
    report = fidelity(Oracle(rows, coarse), rows, bootstrap=5)
    assert report.metrics["pairwise_accuracy"].value > 0.5
    assert report.metrics["valid_pairwise_accuracy"].value == pytest.approx(0.5)
    assert report.metrics["valid_pairwise_accuracy"].n < report.metrics["pairwise_accuracy"].n
