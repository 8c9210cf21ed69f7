from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from wmrl_env.correction import DriftDetector

Draw = Callable[[np.random.Generator, int], np.ndarray]
SHAPES: dict[str, Draw] = {
    "normal": lambda rng, size: rng.normal(size=size),
    "laplace": lambda rng, size: rng.laplace(size=size) / np.sqrt(2.0),
}


def found(detector: DriftDetector, values: np.ndarray) -> list[int]:
    """Where changes were found."""
    return [place for place, value in enumerate(values.tolist()) if detector.update(value)]


@pytest.mark.parametrize(("shape", "alarms"), [("normal", 2), ("laplace", 8)])
def test_chance_alarms_are_as_rare_as_stated(shape: str, alarms: int) -> None:
    """Of 50,000 values."""
    detectors = [DriftDetector() for _ in range(10)]
    for seed, detector in enumerate(detectors):
        found(detector, SHAPES[shape](np.random.default_rng(seed), 5000))
    assert sum(detector.changes for detector in detectors) <= alarms


@pytest.mark.parametrize(
    "change", [lambda x: x + 1.0, lambda x: x - 1.0, lambda x: 2.0 * x], ids=["up", "down", "wide"]
)
def test_a_change_is_found_soon_and_its_begin_told(change: Callable[[np.ndarray], np.ndarray]) -> None:
    delays, told = [], []
    for seed in range(100):
        rng, detector = np.random.default_rng(seed), DriftDetector()
        assert not found(detector, rng.normal(size=200))
        for delay, value in enumerate(change(rng.normal(size=500)).tolist(), 1):
            if since := detector.update(value):
                delays.append(delay)
                told.append(since)
                break
    assert len(delays) == 100
    assert np.mean(delays) < 30
    assert np.median(np.abs(np.array(told) - delays)) <= 5


@pytest.mark.parametrize(("scale", "shift"), [(0.01, 0.0), (100.0, -7.0)])
def test_scale_and_level_do_not_matter(scale: float, shift: float) -> None:
    rng = np.random.default_rng(0)
    values = np.append(rng.normal(size=200), rng.normal(1.5, 1.0, size=200))
    assert found(DriftDetector(), values) == found(DriftDetector(), scale * values + shift) != []


def test_begins_anew_after_a_change() -> None:
    rng, detector = np.random.default_rng(0), DriftDetector()
    levels = np.repeat([0.0, 2.0, -1.0], 200)
    places = found(detector, levels + rng.normal(size=600))
    assert len(places) == detector.changes == 2
    assert 200 < places[0] < 220
    assert 400 < places[1] < 420


def test_constant_values_are_no_change() -> None:
    assert not found(DriftDetector(), np.full(100, 0.3))


def test_state_continues_bit_equal() -> None:
    rng = np.random.default_rng(0)
    values = np.append(rng.normal(size=100), rng.normal(1.0, 1.0, size=100))
    whole, first, second = DriftDetector(), DriftDetector(), DriftDetector()
    expected = found(whole, values)
    before = found(first, values[:110])
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert before + [110 + place for place in found(second, values[110:])] == expected
    assert second.state_dict() == whole.state_dict()


@pytest.mark.parametrize("threshold", [0.0, -1.0, float("nan")])
def test_bad_threshold(threshold: float) -> None:
    with pytest.raises(ValueError, match="threshold must be above 0"):
        DriftDetector(threshold)
