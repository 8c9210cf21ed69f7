from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wmrl_env.correction import AnchorPair, ResidualModel

FAMILIES = ("Ridge", "SVC", "KNN", "Forest", "MLP")
CHOICES = [("fit", family, f"{family}(x={x})", f"scale={scale}") for family, x, scale in product(FAMILIES, "abc", "01")]
Error = Callable[[str, tuple[str, ...], float], float]
Solutions = tuple[list[str], list[tuple[str, ...]], np.ndarray]


def draw(rng: np.random.Generator, n: int, tasks: int = 2) -> Solutions:
    terms = [CHOICES[choice] for choice in rng.integers(len(CHOICES), size=n)]
    return [f"t{task}" for task in rng.integers(tasks, size=n)], terms, rng.uniform(size=n)


def errors(error: Error, solutions: Solutions) -> np.ndarray:
    return np.array([error(*one) for one in zip(*solutions, strict=True)])


def pairs_of(solutions: Solutions, residuals: np.ndarray) -> list[AnchorPair]:
    return [
        AnchorPair(task, "group", "hash", float(predicted), float(predicted + residual), terms=terms)
        for task, terms, predicted, residual in zip(*solutions, residuals, strict=True)
    ]


def taught(
    rng: np.random.Generator, n: int, error: Error, noise: float = 0.05, **kwargs: int
) -> tuple[ResidualModel, np.ndarray]:
    solutions = draw(rng, n)
    residuals = errors(error, solutions) + noise * rng.normal(size=n)
    model = ResidualModel(**kwargs)
    model.add(pairs_of(solutions, residuals))
    model.condition(residuals)
    return model, residuals


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def overrated_class(task: str, terms: tuple[str, ...], predicted: float) -> float:
    return -0.4 * ("SVC" in terms)


def inverted_class(task: str, terms: tuple[str, ...], predicted: float) -> float:
    return (1.0 - 2.0 * predicted) * ("SVC" in terms)


def task_offset(task: str, terms: tuple[str, ...], predicted: float) -> float:
    return 0.2 * (task == "t0")


def no_error(task: str, terms: tuple[str, ...], predicted: float) -> float:
    return 0.0


@pytest.mark.parametrize(("min_pairs", "capacity"), [(1, 512), (16, 15)])
def test_bad_arguments(min_pairs: int, capacity: int) -> None:
    with pytest.raises(ValueError, match="at least"):
        ResidualModel(min_pairs, capacity)


@pytest.mark.parametrize("residuals", [np.zeros(19), np.zeros(21), np.zeros((20, 1)), np.full(20, np.nan)])
def test_a_finite_residual_of_each_pair_is_needed(residuals: np.ndarray) -> None:
    model = ResidualModel()
    model.add(pairs_of(draw(np.random.default_rng(0), 20), np.zeros(20)))
    with pytest.raises(ValueError, match="finite residual of each of 20 pairs"):
        model.condition(residuals)


@pytest.mark.parametrize("n", [0, 15, 16])
def test_all_residuals_are_taken_for_zero_before_min_pairs(n: int) -> None:
    rng = np.random.default_rng(0)
    model, _ = taught(rng, n, lambda *_: -0.3)
    mean, variance = model(*draw(rng, 20))
    assert model.fitted == (n == 16)
    assert (mean == 0.0).all() == (variance == 0.0).all() == (n < 16)


def test_pairs_count_from_the_next_condition_on() -> None:
    rng = np.random.default_rng(0)
    model, _ = taught(rng, 40, overrated_class)
    probe = draw(rng, 20)
    before = model(*probe)
    model.add(pairs_of(draw(rng, 20), np.full(20, 0.5)))
    assert np.array_equal(model(*probe), before)
    model.condition(np.full(60, 0.5))
    assert not np.array_equal(model(*probe), before)


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1))
def test_an_overrated_class_is_found_on_unseen_solutions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    model, _ = taught(rng, 150, overrated_class)
    mean, variance = model(["t0", "t1", "t0"], [("SVC", "SVC(x=new)"), CHOICES[6], CHOICES[0]], np.full(3, 0.9))
    assert mean == pytest.approx([-0.4, -0.4, 0.0], abs=0.15)
    assert variance[0] > variance[1]  # another constant than all before is less certain


@pytest.mark.parametrize("error", [overrated_class, inverted_class, task_offset])
@pytest.mark.parametrize("n", [60, 150])
def test_a_systematic_error_is_taken_out_of_unseen_solutions(error: Error, n: int) -> None:
    left, there = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        model, _ = taught(rng, n, error)
        unseen = draw(rng, 300)
        true = errors(error, unseen)
        left.append(rms(true - model(*unseen)[0]))
        there.append(rms(true))
    assert np.mean(left) < (0.4 if n == 60 else 0.2) * np.mean(there)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 0.05, 0.2]))
def test_a_model_without_systematic_error_is_hardly_corrected(seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    model, residuals = taught(rng, 150, no_error, noise)
    mean, _ = model(*draw(rng, 300))
    assert rms(mean) < 0.7 * noise


def test_an_inverted_class_is_turned_round_where_it_is_thought_best() -> None:
    model, _ = taught(np.random.default_rng(1), 200, inverted_class)
    predicted = np.array([0.1, 0.5, 0.9])
    mean, _ = model(["t0"] * 3, [CHOICES[6]] * 3, predicted)
    assert predicted + mean == pytest.approx(1.0 - predicted, abs=0.1)


def test_a_task_without_pairs_has_no_offset_but_knows_the_classes() -> None:
    both: Error = lambda *one: task_offset(*one) + overrated_class(*one)  # noqa: E731
    model, _ = taught(np.random.default_rng(2), 200, both)
    mean, variance = model(["t0", "t1", "new"] * 2, [CHOICES[0]] * 3 + [CHOICES[6]] * 3, np.full(6, 0.5))
    assert mean[:2] == pytest.approx([0.2, 0.0], abs=0.05)
    assert mean[2] - mean[5] == pytest.approx(0.4, abs=0.15)
    assert variance[2] > variance[:2].max()


@pytest.mark.parametrize("believable", [True, False])
def test_anchors_say_how_much_of_a_predictions_own_part_to_believe(believable: bool) -> None:
    rng = np.random.default_rng(3)
    solutions, own = draw(rng, 150), 0.2 * rng.normal(size=150)
    residuals = 0.02 * rng.normal(size=150) - (0.0 if believable else own)
    model = ResidualModel()
    model.add(pairs_of(solutions, residuals))
    model.condition(residuals, own)
    mean, _ = model(["t0"] * 2, [CHOICES[0]] * 2, np.full(2, 0.5), np.array([0.0, 0.3]))
    assert mean[1] - mean[0] == pytest.approx(0.0 if believable else -0.3, abs=0.05)


def test_an_unknown_prediction_stays_unknown_and_disturbs_nobody() -> None:
    rng = np.random.default_rng(0)
    for model in (ResidualModel(), taught(rng, 50, overrated_class)[0]):
        task_ids, terms, predicted = draw(rng, 20)
        whole = np.array(model(task_ids, terms, predicted))
        predicted[[3, 7]] = np.nan
        mean, variance = model(task_ids, terms, predicted)
        known = np.isfinite(predicted)
        assert np.isnan(mean[~known]).all() and np.isnan(variance[~known]).all()
        assert np.stack([mean, variance])[:, known] == pytest.approx(whole[:, known], abs=1e-12)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(16, 80))
def test_the_order_of_the_pairs_does_not_matter(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    solutions, own, order = draw(rng, n), 0.1 * rng.normal(size=n), rng.permutation(n)
    residuals = errors(overrated_class, solutions) + 0.1 * rng.normal(size=n)
    pairs = pairs_of(solutions, residuals)
    one, other = ResidualModel(), ResidualModel()
    one.add(pairs)
    one.condition(residuals, own)
    other.add([pairs[place] for place in order])
    other.condition(residuals[order], own[order])
    probe = draw(rng, 30)
    assert np.array(one(*probe)) == pytest.approx(np.array(other(*probe)), abs=1e-6)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1))
def test_variance_is_never_negative_and_shrinks_with_pairs(seed: int) -> None:
    """Between two estimates of the components' variances, and over terms that were all known before."""
    rng = np.random.default_rng(seed)
    first: Solutions = (["t0", "t1"] * len(CHOICES), [choice for choice in CHOICES for _ in "01"], rng.uniform(size=60))
    residuals = 0.1 * rng.normal(size=60)
    model = ResidualModel()
    model.add(pairs := pairs_of(first, residuals))
    model.condition(residuals)
    probe = draw(rng, 50, tasks=3)
    _, before = model(*probe)
    model.add(pairs[place] for place in rng.integers(60, size=20))
    model.condition(np.append(residuals, 0.1 * rng.normal(size=20)))
    _, after = model(*probe)
    assert (after >= 0.0).all()
    assert (after <= before + 1e-9).all()
    assert (after < before).any()


def test_many_equal_pairs_leave_no_negative_variance() -> None:
    model = ResidualModel()
    model.add(pairs_of((["t0"] * 300, [CHOICES[0]] * 300, np.full(300, 0.7)), np.zeros(300)))
    model.condition(np.zeros(300))
    mean, variance = model(["t0"], [CHOICES[0]], np.array([0.7]))
    assert mean == pytest.approx([0.0], abs=1e-9)
    assert 0.0 <= variance[0] < 1e-4


def test_capacity_keeps_the_last_pairs_and_what_changed_is_learnt_anew() -> None:
    rng = np.random.default_rng(0)
    model, _ = taught(rng, 80, overrated_class, capacity=80)
    assert len(model.pairs) == 80
    later = draw(rng, 80)
    model.add(pairs_of(later, errors(no_error, later)))
    model.condition(np.zeros(80))
    assert [pair.task_id for pair in model.pairs] == later[0]
    assert rms(model(*draw(rng, 50))[0]) < 0.02


def test_forgetting_keeps_the_last_pairs() -> None:
    rng = np.random.default_rng(0)
    model, residuals = taught(rng, 60, overrated_class)
    kept = list(model.pairs)[-20:]
    model.forget(100)
    assert len(model.pairs) == 60
    model.forget(20)
    assert list(model.pairs) == kept
    model.condition(residuals[-20:])
    assert model.fitted
    model.forget(0)
    model.condition(np.zeros(0))
    assert not model.fitted


@pytest.mark.parametrize("n", [5, 40, 200])
def test_state_continues_bit_equal(n: int) -> None:
    rng = np.random.default_rng(n)
    solutions = draw(rng, 2 * n)
    residuals = errors(inverted_class, solutions) + 0.1 * rng.normal(size=2 * n)
    pairs = pairs_of(solutions, residuals)
    model, copy = ResidualModel(capacity=250), ResidualModel(capacity=250)
    model.add(pairs[:n])
    model.condition(residuals[:n])
    copy.load_state_dict(json.loads(json.dumps(model.state_dict())))
    probe = draw(rng, 30, tasks=3)
    assert np.array_equal(copy(*probe), model(*probe))
    for one in (model, copy):
        for place in range(n, 2 * n, 20):
            one.add(pairs[place : place + 20])
            one.condition(residuals[: place + 20][-len(one.pairs) :])
    assert copy.pairs == model.pairs
    assert np.array_equal(copy(*probe), model(*probe))
    assert copy.state_dict() == model.state_dict()


def test_terms_of_no_other_solution_cost_and_change_little() -> None:
    """A solution may name a new constant each time."""
    rng = np.random.default_rng(0)
    tasks, terms, predicted = draw(rng, 300)
    named = [(*of_row, *(f"v{row}_{place}=0" for place in range(3))) for row, of_row in enumerate(terms)]
    model = ResidualModel()
    residuals = errors(overrated_class, (tasks, terms, predicted))
    model.add(pairs_of((tasks, named, predicted), residuals))
    model.condition(residuals)
    assert model._known is not None
    assert model._known.terms.shape[1] < 30
    mean, _ = model(["t0", "t0"], [CHOICES[6], CHOICES[0]], np.array([0.5, 0.5]))
    assert "SVC" in CHOICES[6]
    assert mean == pytest.approx([-0.4, 0.0], abs=0.15)
