from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wmrl_env.correction import PredictionSmoother

WORTH = {"Ridge": 0.3, "SVC": 0.1, "Forest": 0.5, "scale": 0.2, "log": -0.1}
PROBE = [("Ridge",), ("SVC", "scale"), ("Forest", "log"), ("Forest", "log", "scale")]


def draw(rng: np.random.Generator, n: int) -> list[tuple[str, ...]]:
    families = rng.choice(["Ridge", "SVC", "Forest"], n).tolist()
    return [
        (family, *(term for term, there in (("scale", a), ("log", b)) if there))
        for family, a, b in zip(families, *rng.integers(2, size=(2, n)), strict=True)
    ]


def worth(terms: list[tuple[str, ...]]) -> np.ndarray:
    return np.array([0.1 + sum(WORTH[term] for term in of_row) for of_row in terms])


@pytest.mark.parametrize("half_life", [0.0, -1.0, np.nan])
def test_bad_half_life(half_life: float) -> None:
    with pytest.raises(ValueError, match="half_life must be above 0"):
        PredictionSmoother(half_life)


@pytest.mark.parametrize("terms", [[("Ridge",)], [()]])
def test_a_task_without_predictions_is_unknown(terms: list[tuple[str, ...]]) -> None:
    smoother = PredictionSmoother()
    assert np.isnan(smoother(["t"], terms)).all()
    smoother.add(["t"], [("Ridge",)], np.array([np.nan]))
    assert np.isnan(smoother(["t"], terms)).all()
    smoother.add(["t"], [("Ridge",)], np.array([0.5]))
    assert np.isnan(smoother(["other", "t"], terms * 2)).tolist() == [True, False]


def test_what_terms_add_up_to_is_recovered_from_many_predictions() -> None:
    smoother = PredictionSmoother(half_life=1e9)
    terms = draw(np.random.default_rng(0), 20_000)
    smoother.add(["t"] * len(terms), terms, worth(terms))
    assert smoother(["t"] * 4, PROBE) == pytest.approx(worth(PROBE), abs=1e-3)


def test_the_error_falls_with_the_root_of_the_number_of_predictions() -> None:
    def error(n: int) -> float:
        squares = []
        for seed in range(60):
            rng = np.random.default_rng(seed)
            smoother, terms = PredictionSmoother(half_life=1e9), draw(rng, n)
            smoother.add(["t"] * n, terms, worth(terms) + 0.3 * rng.normal(size=n))
            squares.append(np.mean((smoother(["t"] * 4, PROBE) - worth(PROBE)) ** 2))
        return float(np.sqrt(np.mean(squares)))

    few, many = error(100), error(1600)
    assert few < 0.3 / 3.0  # of a single prediction's noise
    assert few / many == pytest.approx(4.0, rel=0.25)


def test_tasks_are_apart() -> None:
    rng = np.random.default_rng(0)
    one, both = PredictionSmoother(), PredictionSmoother()
    terms, predicted = draw(rng, 200), rng.uniform(size=200)
    for row in range(0, 200, 50):
        part = slice(row, row + 50)
        one.add(["a"] * 50, terms[part], predicted[part])
        both.add(["b", "a"] * 50, [of_row for of_row in terms[part] for _ in "ba"], np.repeat(predicted[part], 2))
        both.add(["b"] * 50, terms[part], 1.0 - predicted[part])
    assert np.array_equal(both(["a"] * 4, PROBE), one(["a"] * 4, PROBE))
    assert both(["b"] * 4, PROBE) == pytest.approx(np.full(4, 0.5), abs=0.05)


def test_terms_never_seen_count_for_nothing() -> None:
    smoother = PredictionSmoother()
    smoother.add(["t"] * 2, [("Ridge",), ("SVC",)], np.array([0.2, 0.6]))
    assert smoother(["t"], [("Ridge", "new")]) == smoother(["t"], [("Ridge",)])


def test_an_unknown_prediction_is_passed_over() -> None:
    rng = np.random.default_rng(0)
    terms, predicted = draw(rng, 100), rng.uniform(size=100)
    whole, without = PredictionSmoother(), PredictionSmoother()
    predicted[rng.integers(100, size=30)] = np.nan
    whole.add(["t"] * 100, terms, predicted)
    known = np.flatnonzero(np.isfinite(predicted))
    without.add(["t"] * len(known), [terms[row] for row in known], predicted[known])
    assert whole.state_dict() == without.state_dict()


def test_a_change_of_the_model_is_followed() -> None:
    rng = np.random.default_rng(0)
    smoother = PredictionSmoother(half_life=100.0)
    for sign in (1.0, -1.0):
        for _ in range(20):
            terms = draw(rng, 50)
            smoother.add(["t"] * 50, terms, 0.5 + sign * worth(terms))
    assert smoother(["t"] * 4, PROBE) == pytest.approx(0.5 - worth(PROBE), abs=0.03)


def test_a_prediction_counts_half_after_half_life_others() -> None:
    smoother = PredictionSmoother(half_life=64.0)
    smoother.add(["t"] * 64, [()] * 64, np.ones(64))
    smoother.add(["t"] * 64, [()] * 64, np.zeros(64))
    assert smoother(["t"], [()]) == pytest.approx([1 / 3], abs=1e-4)


def test_terms_beyond_the_first_128_go_unseen() -> None:
    smoother = PredictionSmoother()
    rows: list[tuple[str, ...]] = [(f"term{number}",) for number in range(200)]
    predicted = np.linspace(0.0, 1.0, 200)
    for _ in range(3):
        smoother.add(["t"] * 200, rows, predicted)
    smoothed = smoother(["t"] * 200, rows)
    assert (np.diff(smoothed[:128]) > 0.0).all()
    assert smoothed[128:].tolist() == [smoother(["t"], [()]).item()] * 72


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 40), max_size=6))
def test_how_predictions_are_batched_hardly_matters(seed: int, cuts: list[int]) -> None:
    """A batch is forgotten as a whole, so that its first rows count a little more than one by one."""
    rng = np.random.default_rng(seed)
    terms, predicted = draw(rng, 120), rng.uniform(size=120)
    task_ids = [f"t{task}" for task in rng.integers(2, size=120)]
    whole, parts = PredictionSmoother(half_life=1e5), PredictionSmoother(half_life=1e5)
    whole.add(task_ids, terms, predicted)
    begin = 0
    for size in [*cuts, 120]:
        part = slice(begin, begin + size)
        parts.add(task_ids[part], terms[part], predicted[part])
        begin += size
    assert parts(["t0", "t1"] * 2, PROBE) == pytest.approx(whole(["t0", "t1"] * 2, PROBE), abs=1e-3, nan_ok=True)


def test_state_continues_bit_equal() -> None:
    rng = np.random.default_rng(0)
    smoother, copy = PredictionSmoother(50.0), PredictionSmoother(50.0)
    task_ids, terms, predicted = ["a", "b"] * 100, draw(rng, 200), rng.uniform(size=200)
    smoother.add(task_ids[:90], terms[:90], predicted[:90])
    copy.load_state_dict(json.loads(json.dumps(smoother.state_dict())))
    assert np.array_equal(copy(["a", "b"] * 2, PROBE), smoother(["a", "b"] * 2, PROBE))
    for one in (smoother, copy):
        one.add([*task_ids[90:], "new"], [*terms[90:], ("unseen",)], np.append(predicted[90:], 0.5))
    assert copy.state_dict() == smoother.state_dict()
    assert np.array_equal(copy(["a", "new"] * 2, PROBE), smoother(["a", "new"] * 2, PROBE))


def test_terms_that_recur_find_room_among_those_that_do_not() -> None:
    """A solution may name a new seed each time."""
    smoother, rng = PredictionSmoother(), np.random.default_rng(0)
    for batch in range(100):
        families = rng.choice(["Ridge", "SVC"], 64).tolist() if batch > 4 else ["Ridge"] * 64
        terms = [(family, f"seed={64 * batch + row}") for row, family in enumerate(families)]
        smoother.add(["t"] * 64, terms, np.array([0.9 if family == "SVC" else 0.1 for family in families]))
    assert smoother(["t", "t"], [("SVC", "seed=-1"), ("Ridge", "seed=-2")]) == pytest.approx([0.9, 0.1], abs=0.1)
