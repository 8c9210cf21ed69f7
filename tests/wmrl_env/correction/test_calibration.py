from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wmrl_env.correction import OnlineCalibrator, fit_monotone, stratum_trust

unit = st.floats(0.0, 1.0)
pairs = st.lists(st.tuples(unit, unit), min_size=1, max_size=60)
GRID = np.linspace(-0.2, 1.2, 57)


def columns(values: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    predicted, real = np.array(values).T
    return predicted, real


@given(pairs)
def test_map_never_decreases_and_stays_in_bounds(values: list[tuple[float, float]]) -> None:
    mapped = fit_monotone(*columns(values))(GRID)
    assert (np.diff(mapped) >= 0.0).all()
    assert mapped.min() >= 0.0
    assert mapped.max() <= 1.0


@given(pairs, st.randoms())
def test_order_of_the_pairs_does_not_matter(values: list[tuple[float, float]], random) -> None:  # type: ignore[no-untyped-def]
    shuffled = values.copy()
    random.shuffle(shuffled)
    fit, again = fit_monotone(*columns(values)), fit_monotone(*columns(shuffled))
    assert fit.x.tolist() == again.x.tolist()
    assert fit.y.tolist() == again.y.tolist()


def test_recovers_a_distortion_and_keeps_rank_inside_flat_steps() -> None:
    rng = np.random.default_rng(0)
    true = rng.uniform(size=4000)
    fit = fit_monotone(np.sqrt(true), np.clip(true + rng.normal(0, 0.05, size=4000), 0, 1))
    inside = np.linspace(0.1, 0.95, 50)
    assert np.abs(fit(inside) - inside**2).max() < 0.04
    assert (np.diff(fit(inside)) > 0.0).all()


def test_mean_of_the_fitted_pairs_is_unbiased_block_by_block() -> None:
    predicted = np.repeat([0.2, 0.4, 0.8], 10)
    real = np.repeat([0.3, 0.1, 0.9], 10)  # the first two violate the order and pool to 0.2 at 0.3
    fit = fit_monotone(predicted, real)
    assert fit(np.array([0.3, 0.8])) == pytest.approx([0.2, 0.9])


def test_beyond_the_pairs_goes_on_with_the_pairs_slope() -> None:
    predicted = np.repeat([0.4, 0.6], 10)
    real = np.repeat([0.3, 0.4], 10)  # slope 0.5
    assert fit_monotone(predicted, real)(np.array([0.2, 0.4, 0.6, 0.8, 1.0, 9.0])) == pytest.approx(
        [0.2, 0.3, 0.4, 0.5, 0.6, 0.6]
    )


def test_predictions_without_information_map_to_one_value() -> None:
    predicted = np.linspace(0.1, 0.9, 40)
    assert fit_monotone(predicted, 1.0 - predicted)(GRID) == pytest.approx(np.full(len(GRID), 0.5))
    assert fit_monotone(predicted, np.full(40, 0.3))(GRID) == pytest.approx(np.full(len(GRID), 0.3))


def test_equal_predictions_shift_as_far_as_the_bounds_allow() -> None:
    fit = fit_monotone(np.full(10, 0.5), np.linspace(0.2, 0.4, 10))
    assert fit(np.array([0.5, 0.6, 0.4])) == pytest.approx([0.3, 0.4, 0.24])  # downwards on to (0, 0)


def test_one_lucky_solution_makes_no_step_of_its_own() -> None:
    predicted, real = np.linspace(0.3, 0.7, 50), np.full(50, 0.5)
    predicted, real = np.append(predicted, 0.95), np.append(real, 1.0)
    assert fit_monotone(predicted, real)(np.array([0.95])).item() < 0.75


def test_shift_of_the_predictions_is_undone_and_scale_too() -> None:
    rng = np.random.default_rng(1)
    predicted = rng.uniform(0.2, 0.5, 500)
    real = np.clip(predicted + rng.normal(0, 0.1, 500), 0, 1)
    inside = np.linspace(0.25, 0.45, 9)
    plain = fit_monotone(predicted, real)(inside)
    assert fit_monotone(predicted + 0.25, real)(inside + 0.25) == pytest.approx(plain)
    assert fit_monotone(predicted * 2.0, real)(inside * 2.0) == pytest.approx(plain)


@pytest.mark.parametrize(
    ("predicted", "real"),
    [([0.1, np.nan], [0.1, 0.2]), ([0.1, 0.2], [0.1, np.inf]), ([0.1], [0.1, 0.2]), ([], []), ([[0.1]], [[0.1]])],
)
def test_bad_pairs(predicted: list[float], real: list[float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        fit_monotone(np.array(predicted), np.array(real))


@given(st.integers(0, 2**32 - 1))
def test_an_integer_weight_is_as_many_pairs(seed: int) -> None:
    """Where every step has pairs enough: how small a step is, pairs say and not their weights."""
    rng = np.random.default_rng(seed)
    predicted = np.repeat(np.sort(rng.uniform(size=6)), 5)
    real, weights = rng.uniform(size=30), rng.integers(1, 5, size=30)
    weighted = fit_monotone(predicted, real, weights.astype(float))
    repeated = fit_monotone(np.repeat(predicted, weights), np.repeat(real, weights))
    assert weighted(GRID) == pytest.approx(repeated(GRID))


@given(st.integers(2, 60), st.floats(0.01, 100.0), st.integers(0, 2**32 - 1))
def test_only_relative_weights_matter(n: int, scale: float, seed: int) -> None:
    predicted, real, weights = np.random.default_rng(seed).uniform(0.05, 1.0, size=(3, n))
    one, other = (fit_monotone(predicted, real, weights * factor) for factor in (1.0, scale))
    assert other(GRID) == pytest.approx(one(GRID))


def test_equal_predictions_shift_at_any_weights() -> None:
    for weight in (0.3, 0.7, 1.1, 3.0):
        fit = fit_monotone(np.full(5, 0.1), np.full(5, 0.2), np.full(5, weight))
        assert fit(np.array([0.05, 0.1])) == pytest.approx([0.15, 0.2])


def test_equal_weights_are_no_weights() -> None:
    predicted, real, _ = drawn(100)
    fit, plain = fit_monotone(predicted, real, np.ones(100)), fit_monotone(predicted, real)
    assert (fit.x.tolist(), fit.y.tolist()) == (plain.x.tolist(), plain.y.tolist())


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 100.0))
def test_scale_of_the_weights_does_not_matter(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    predicted, real = rng.random(30), rng.integers(0, 4, 30) / 4  # ties decide which steps are one
    weights = 0.1 + rng.random(30)
    grid = np.linspace(0.0, 1.0, 21)
    assert fit_monotone(predicted, real, scale * weights)(grid) == pytest.approx(
        fit_monotone(predicted, real, weights)(grid), abs=1e-9
    )


@given(pairs, st.randoms())
def test_order_of_weighted_pairs_does_not_matter(values: list[tuple[float, float]], random) -> None:  # type: ignore[no-untyped-def]
    weighted = [(*pair, 0.1 + random.random()) for pair in values]
    shuffled = weighted.copy()
    random.shuffle(shuffled)
    fit, again = (fit_monotone(*np.array(rows).T) for rows in (weighted, shuffled))
    assert (fit.x.tolist(), fit.y.tolist()) == (again.x.tolist(), again.y.tolist())


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan], [1.0, np.inf], [[1.0, 1.0]]])
def test_bad_weights(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights must be 2 positive, finite numbers"):
        fit_monotone(np.array([0.1, 0.2]), np.array([0.1, 0.2]), np.array(weights))


@given(st.floats(0.3, 2.0), st.floats(0.0, 0.3), st.integers(0, 2**32 - 1))
def test_scale_and_shift_of_a_noiseless_model_are_undone(scale: float, shift: float, seed: int) -> None:
    real = np.sort(np.random.default_rng(seed).uniform(0.2, 0.8, 200))
    fit = fit_monotone(scale * real + shift, real)
    assert fit(scale * real[10:-10] + shift) == pytest.approx(real[10:-10], abs=0.05)


def drawn(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[str]]:
    rng = np.random.default_rng(seed)
    predicted = rng.uniform(size=n)
    strata = [f"s{i}" for i in rng.integers(3, size=n)]
    real = np.clip(predicted**2 + 0.1 * np.array([int(s[1]) for s in strata]) + rng.normal(0, 0.05, n), 0, 1)
    return predicted, real, strata


@given(st.integers(0, 29))
def test_identity_before_min_pairs(n: int) -> None:
    calibrator = OnlineCalibrator(min_pairs=30, refit_every=5)
    predicted, real, _ = drawn(30)
    calibrator.update(predicted[:n], real[:n])
    assert not calibrator.fitted
    assert calibrator(GRID).tolist() == GRID.tolist()
    assert [knot.tolist() for knot in calibrator.knots()] == [[0.0, 1.0], [0.0, 1.0]]
    calibrator.update(predicted[n:], real[n:])
    assert calibrator.fitted
    assert calibrator(GRID).tolist() != GRID.tolist()


@settings(max_examples=20)
@given(st.lists(st.integers(1, 40), max_size=8))
def test_map_depends_on_the_pairs_and_not_on_how_they_arrive(cuts: list[int]) -> None:
    predicted, real, strata = drawn(150)
    whole, parts = (OnlineCalibrator(min_pairs=40, refit_every=16, capacity=100) for _ in range(2))
    whole.update(predicted, real, strata)
    start = 0
    for size in [*cuts, 150]:
        parts.update(predicted[start : start + size], real[start : start + size], strata[start : start + size])
        start += size
    assert parts.state_dict() == whole.state_dict()


def test_refits_when_due_over_the_last_pairs() -> None:
    calibrator = OnlineCalibrator(min_pairs=20, refit_every=10, capacity=20)
    probe = np.array([0.5])
    calibrator.update(np.full(20, 0.5), np.full(20, 0.2))
    assert calibrator(probe) == pytest.approx([0.2])
    calibrator.update(np.full(9, 0.5), np.full(9, 0.8))
    assert calibrator(probe) == pytest.approx([0.2])
    calibrator.update(np.full(10, 0.5), np.full(10, 0.8))
    assert calibrator(probe) == pytest.approx([0.5])  # refitted at the 10th, when half of the window was new
    assert len(calibrator.pairs) == 20


def test_strata_that_differ_are_trusted_and_shrunk_to_the_common_map() -> None:
    calibrator = OnlineCalibrator(min_pairs=100)
    calibrator.update(np.full(100, 0.5), np.append(np.full(50, 0.2), np.full(50, 0.8)), ["low"] * 50 + ["high"] * 50)
    mapped = calibrator(np.full(3, 0.5), ["low", "high", "unseen"])
    trust = 50 / 51
    assert mapped == pytest.approx([0.5 - 0.3 * trust, 0.5 + 0.3 * trust, 0.5])
    x, y = calibrator.knots("low")
    assert np.interp(0.5, x, y) == pytest.approx(0.5 - 0.3 * trust)
    assert np.interp(0.5, *calibrator.knots("unseen")) == pytest.approx(0.5)


def test_trust_in_strata_has_known_values() -> None:
    names = np.array(["a", "a", "b", "b"], dtype=object)
    # Within: 4 * 0.1^2 / 2 = 0.02; means -0.5 and 0.5: between = (1 - 0.02) / (4 - 8 / 4) = 0.49.
    assert stratum_trust(np.array([-0.6, -0.4, 0.4, 0.6]), names) == pytest.approx({"a": 2 / 3, "b": 2 / 3})
    # Within: 4 * 0.5^2 / 2 = 0.5; means -0.6 and 0.6: between = (1.44 - 0.5) / 2 = 0.47.
    assert stratum_trust(np.array([-1.1, -0.1, 0.1, 1.1]), names) == pytest.approx(
        dict.fromkeys("ab", 2 / (2 + 0.5 / 0.47))
    )
    assert stratum_trust(np.array([-0.5, 0.5, -0.5, 0.5]), names) == {"a": 0.0, "b": 0.0}
    assert stratum_trust(np.array([1.0, 2.0]), names[:2]) == {}
    assert stratum_trust(np.array([1.0, 2.0]), names[1:3]) == {"a": 0.0, "b": 0.0}  # one pair each: no telling


def test_strata_without_a_difference_earn_little_trust() -> None:
    rng = np.random.default_rng(0)
    names = np.repeat(np.arange(4), 100).astype(object)
    alike = [stratum_trust(rng.normal(size=400), names) for _ in range(100)]
    assert np.mean([list(trust.values()) for trust in alike]) < 0.4
    shifted = stratum_trust(rng.normal(size=400) + names.astype(float), names)
    assert all(0.95 < trust <= 1.0 for trust in shifted.values())


def test_matrices_map_row_by_row_and_unknown_stays_unknown() -> None:
    calibrator = OnlineCalibrator(min_pairs=50)
    calibrator.update(*drawn(60))
    scores = np.array([[0.1, 0.5], [np.nan, 0.9]])
    mapped = calibrator(scores, ["s0", "s2"])
    assert mapped[0] == pytest.approx(calibrator(scores[0], ["s0", "s0"]))
    assert np.isnan(mapped[1, 0])
    assert mapped[1, 1] == pytest.approx(calibrator(scores[1, 1:], ["s2"])[0])


def test_state_continues_bit_equal() -> None:
    predicted, real, strata = drawn(400)
    calibrator, copy = (OnlineCalibrator(min_pairs=100, refit_every=30, capacity=150) for _ in range(2))
    calibrator.update(predicted[:217], real[:217], strata[:217])
    copy.load_state_dict(json.loads(json.dumps(calibrator.state_dict())))
    assert copy(GRID, ["s1"] * len(GRID)).tolist() == calibrator(GRID, ["s1"] * len(GRID)).tolist()
    for one in (calibrator, copy):
        one.update(predicted[217:], real[217:], strata[217:])
    assert copy.state_dict() == calibrator.state_dict()


@settings(max_examples=20)
@given(st.permutations(range(40)))
def test_order_of_the_pairs_between_two_fits_does_not_matter(order: list[int]) -> None:
    predicted, real, strata = drawn(80)
    weights = np.linspace(0.5, 2.0, 80)
    rows = [*range(40), *(40 + place for place in order)]
    straight, shuffled = (OnlineCalibrator(min_pairs=40, refit_every=40) for _ in range(2))
    straight.update(predicted, real, strata, weights)
    shuffled.update(predicted[rows], real[rows], [strata[row] for row in rows], weights[rows])
    names = ["s0", "s1", "s2"] * 19
    assert shuffled(GRID, names).tolist() == straight(GRID, names).tolist()


def test_weights_undo_a_choice_of_what_was_executed() -> None:
    """Of solutions predicted alike, the good ones were executed three times as often."""
    calibrator = OnlineCalibrator(min_pairs=40)
    real = np.append(np.full(30, 0.9), np.full(10, 0.1))
    calibrator.update(np.full(40, 0.5), real, None, np.append(np.full(30, 1.0), np.full(10, 3.0)))
    assert calibrator(np.array([0.5])) == pytest.approx([0.5])


def test_weights_survive_in_the_state() -> None:
    predicted, real, strata = drawn(100)
    calibrator, copy = (OnlineCalibrator(min_pairs=60, refit_every=30, capacity=80) for _ in range(2))
    calibrator.update(predicted[:70], real[:70], strata[:70], np.linspace(0.1, 3.0, 70))
    copy.load_state_dict(json.loads(json.dumps(calibrator.state_dict())))
    for one in (calibrator, copy):
        one.update(predicted[70:], real[70:], strata[70:], np.linspace(3.0, 0.1, 30))
    assert copy.state_dict() == calibrator.state_dict()


@pytest.mark.parametrize("weights", [[1.0, 0.0], [1.0, -1.0], [np.nan, 1.0], [1.0, np.inf], [1.0], [1.0] * 3])
def test_bad_weights_are_refused_and_nothing_is_kept(weights: list[float]) -> None:
    calibrator = OnlineCalibrator()
    with pytest.raises(ValueError):
        calibrator.update(np.array([0.1, 0.2]), np.array([0.1, 0.2]), None, np.array(weights))
    assert not calibrator.pairs


def test_unknown_outcomes_are_refused_and_nothing_is_kept() -> None:
    calibrator = OnlineCalibrator()
    with pytest.raises(ValueError, match="finite"):
        calibrator.update(np.array([0.1, 0.2]), np.array([0.1, np.nan]))
    assert not calibrator.pairs


@pytest.mark.parametrize("arguments", [(1, 64, 5000), (200, 0, 5000), (200, 64, 199)])
def test_bad_arguments(arguments: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="at least"):
        OnlineCalibrator(*arguments)


def test_after_forgetting_the_map_is_soon_that_of_the_new_pairs() -> None:
    rng = np.random.default_rng(0)
    predicted = rng.random(2000)
    forgetful, stubborn = OnlineCalibrator(), OnlineCalibrator()
    for calibrator in (forgetful, stubborn):
        calibrator.update(predicted, predicted)
    forgetful.forget(0)
    assert forgetful(predicted).tolist() == stubborn(predicted).tolist()  # until there is something new to learn from
    new = rng.random(64)
    for calibrator in (forgetful, stubborn):
        calibrator.update(new, 0.5 * new)
    errors = [float(np.abs(one(predicted) - 0.5 * predicted).mean()) for one in (forgetful, stubborn)]
    assert errors[0] < 0.02 < 0.1 < errors[1]
