"""Monotone calibration of predicted scores on anchor pairs (debiasing; WMRL, arXiv 2608.12564)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["MonotoneMap", "OnlineCalibrator", "fit_monotone", "stratum_trust"]

_MIN_BLOCK = 5  # pairs; a level backed by fewer is one lucky solution, and policies climb towards the ends
_ROUNDING = 1e-12  # of a score


@dataclass(frozen=True)
class MonotoneMap:
    """Piecewise linear, never decreasing map through knots; constant beyond the outer ones.

    Attributes:
        x, y: float64 of shape (K,); ``x`` strictly increasing, ``y`` never decreasing.
    """

    x: np.ndarray
    y: np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        """Mapped scores, any shape; NaN stays NaN."""
        return np.interp(scores, self.x, self.y)


def fit_monotone(
    predicted: np.ndarray,
    real: np.ndarray,
    weights: np.ndarray | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> MonotoneMap:
    """Isotonic least-squares fit, made continuous so that it keeps the ranking inside its flat steps.

    The isotonic regression of ``real`` on ``predicted`` (equal predictions pooled) is a step function. Each step
    becomes one knot at the mean prediction and mean real score of its pairs, after steps of fewer than 5 pairs were
    merged with their neighbour; between knots the map is linear. From the outer knots it goes on to a
    knot at each of ``bounds``, by the slope of the pairs' least-squares line clipped to [0, 1] (1 where all predictions
    are equal), but not beyond ``bounds``. So predictions without information (a constant or falling relation) map to
    one value, and a score beyond all pairs keeps its rank.

    Args:
        predicted, real: shape (n,), n >= 1; the order of the pairs does not matter.
        weights: shape (n,), above 0; by default all count alike.
        bounds: range of scores.

    Raises:
        ValueError: unequal lengths, no pair at all, or a score that is NaN or infinite.
    """
    from scipy.optimize import isotonic_regression

    predicted, real = np.asarray(predicted, np.float64), np.asarray(real, np.float64)
    if predicted.ndim != 1 or predicted.shape != real.shape or not len(predicted):
        raise ValueError(f"predicted and real must be 1-d and equally long, got {predicted.shape} and {real.shape}")
    if not (np.isfinite(predicted).all() and np.isfinite(real).all()):
        raise ValueError("predicted and real scores must be finite: leave unknown outcomes out")

    weights = np.ones(len(real)) if weights is None else np.asarray(weights, np.float64)
    if weights.shape != real.shape or not ((weights > 0.0) & np.isfinite(weights)).all():
        raise ValueError(f"weights must be {len(real)} positive, finite numbers, got {weights!r:.200}")
    order = np.lexsort((weights, real, predicted))  # canonical: no sum below depends on the order of the pairs
    predicted, real, weights = predicted[order], real[order], weights[order]
    starts = np.flatnonzero(np.diff(predicted, prepend=-np.inf))
    pooled = np.add.reduceat(weights, starts)
    steps = isotonic_regression(np.add.reduceat(weights * real, starts) / pooled, weights=pooled)
    first = steps.blocks[:-1]
    first = first[np.diff(steps.x[first], prepend=-np.inf) > _ROUNDING]  # steps that are one but for rounding
    starts = _merge_small(starts[first], len(real))
    pooled = np.add.reduceat(weights, starts)
    x = np.add.reduceat(weights * predicted, starts) / pooled
    y = np.add.reduceat(weights * real, starts) / pooled

    low, high = bounds
    deviation = predicted - float(weights @ predicted) / float(weights.sum())
    spread = float(weights @ deviation**2)
    slope = min(max(float(weights * deviation @ real) / spread, 0.0), 1.0) if np.ptp(predicted) > _ROUNDING else 1.0
    if x[0] > low:
        x, y = np.append(low, x), np.append(y[0] - slope * (x[0] - low), y)
    if x[-1] < high:
        x, y = np.append(x, high), np.append(y, y[-1] + slope * (high - x[-1]))
    return MonotoneMap(x, np.maximum.accumulate(np.clip(y, low, high)))  # means of merged steps may round downwards


def _merge_small(starts: np.ndarray, total: int) -> np.ndarray:
    """Starts of the steps that are left when each of fewer than ``_MIN_BLOCK`` pairs has joined its neighbour."""
    merged = [0]
    for start in starts[1:].tolist():
        if start - merged[-1] >= _MIN_BLOCK:
            merged.append(start)
    if len(merged) > 1 and total - merged[-1] < _MIN_BLOCK:
        merged.pop()
    return np.array(merged)


def stratum_trust(residuals: np.ndarray, names: np.ndarray) -> dict[str, float]:
    """How far each stratum's own map is to be trusted against the common one, in [0, 1].

    Empirical Bayes on the common map's residuals: ``n / (n + v / t)`` for a stratum with ``n`` pairs, where ``v`` is
    the variance within strata and ``t`` that of the strata's means, by the method of moments of one-way analysis of
    variance. Strata that do not differ by more than chance are not trusted at all; ``v / t`` is at least 1, since a
    single pair says little. Empty for fewer than two strata.

    Args:
        residuals: float (n,).
        names: the stratum of each, objects (n,).
    """
    unique, members, counts = np.unique(names.astype(str), return_inverse=True, return_counts=True)
    pairs, strata = len(residuals), len(unique)
    if strata < 2:
        return {}
    means = np.bincount(members, residuals) / counts
    freedom = pairs - strata
    within = float(np.sum((residuals - means[members]) ** 2)) / freedom if freedom else np.inf
    spread = float(counts @ (means - residuals.mean()) ** 2)
    between = (spread - (strata - 1) * within) / (pairs - float(counts @ counts) / pairs)
    if not between > 0.0:
        return dict.fromkeys(unique.tolist(), 0.0)
    return dict(zip(unique.tolist(), (counts / (counts + max(within / between, 1.0))).tolist(), strict=True))


class OnlineCalibrator:
    """Monotone map refitted as anchor pairs arrive, over the last ``capacity`` of them.

    The identity until ``min_pairs`` pairs have come, then refitted after every ``refit_every`` further ones. With
    strata, a stratum with ``n`` pairs maps by ``l * own + (1 - l) * common``, where ``l`` is :func:`stratum_trust`; one
    without pairs maps by the common map.

    Args:
        min_pairs: at least 2 pairs.
        refit_every: at least 1 pair.
        capacity: pairs kept, first in first out; at least ``min_pairs``.

    Raises:
        ValueError: an argument out of its range.
    """

    def __init__(self, min_pairs: int = 200, refit_every: int = 64, capacity: int = 5000) -> None:
        if min_pairs < 2:
            raise ValueError(f"min_pairs must be at least 2, got {min_pairs}")
        if refit_every < 1:
            raise ValueError(f"refit_every must be at least 1, got {refit_every}")
        if capacity < min_pairs:
            raise ValueError(f"capacity must be at least min_pairs={min_pairs}, got {capacity}")
        self.min_pairs = min_pairs
        self.refit_every = refit_every
        self.pairs: deque[tuple[float, float, str, float]] = deque(maxlen=capacity)
        self._unfitted = 0  # pairs since the last fit
        self.fits = 0
        self._common: MonotoneMap | None = None
        self._strata: dict[str, tuple[float, MonotoneMap]] = {}

    @property
    def fitted(self) -> bool:
        """False as long as the map is the identity."""
        return self._common is not None

    def update(
        self,
        predicted: np.ndarray,
        real: np.ndarray,
        strata: Sequence[str] | None = None,
        weights: np.ndarray | None = None,
    ) -> None:
        """Take n pairs in, refitting wherever one is due.

        Args:
            predicted, real: shape (n,).
            strata: n names; ``None`` puts all into one stratum.
            weights: shape (n,), how much each pair counts, above 0; by default all count alike.

        Raises:
            ValueError: a score or weight that is NaN or infinite, or unequal lengths. Nothing is taken in then.
        """
        predicted, real = np.asarray(predicted, np.float64), np.asarray(real, np.float64)
        if not (np.isfinite(predicted).all() and np.isfinite(real).all()):
            raise ValueError("predicted and real scores must be finite: leave unknown outcomes out")
        names = [""] * len(predicted) if strata is None else strata
        weights = np.ones(len(predicted)) if weights is None else np.asarray(weights, np.float64)
        if not ((weights > 0.0) & np.isfinite(weights)).all():
            raise ValueError("weights must be positive and finite")
        for pair in list(zip(predicted.tolist(), real.tolist(), names, weights.tolist(), strict=True)):
            self.pairs.append(pair)
            self._unfitted += 1
            if self._unfitted >= (self.refit_every if self.fitted else self.min_pairs):
                self._fit()

    def forget(self, keep: int) -> None:
        """Forget all but the last ``keep`` pairs; the map in use stays until ``refit_every`` further ones have come."""
        self._unfitted = 0
        while len(self.pairs) > keep:
            self.pairs.popleft()

    def _fit(self) -> None:
        ordered = sorted(self.pairs)  # sums of floats depend on their order, the map must not
        predicted, real, weights = np.array([(p, r, w) for p, r, _, w in ordered]).T
        names = np.array([pair[2] for pair in ordered], dtype=object)
        self._common = fit_monotone(predicted, real, weights)
        self._strata = {}
        for name, trust in stratum_trust(real - self._common(predicted), names).items():
            rows = names == name
            self._strata[name] = (trust, fit_monotone(predicted[rows], real[rows], weights[rows]))
        self._unfitted = 0
        self.fits += 1

    def __call__(self, scores: np.ndarray, strata: Sequence[str] | None = None) -> np.ndarray:
        """Calibrated scores.

        Args:
            scores: shape (k,) or (k, M); NaN stays NaN.
            strata: k names, as in :meth:`update`.
        """
        scores = np.asarray(scores, np.float64)
        if self._common is None:
            return scores.copy()
        calibrated = self._common(scores)
        for row, name in enumerate(strata or ()):
            if name in self._strata:
                trust, own = self._strata[name]
                calibrated[row] += trust * (own(scores[row]) - calibrated[row])
        return calibrated

    def knots(self, stratum: str | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Knots ``(x, y)`` of the map in use, of one stratum or the common one, for plots."""
        if self._common is None:
            return np.array([0.0, 1.0]), np.array([0.0, 1.0])
        if stratum not in self._strata:
            return self._common.x, self._common.y
        x = np.union1d(self._common.x, self._strata[stratum][1].x)
        return x, self(x, [stratum] * len(x))

    def state_dict(self) -> dict[str, Any]:
        """Everything that a new calibrator of the same arguments needs to go on bit-equal, as JSON types."""
        return {
            "pairs": [list(pair) for pair in self.pairs],
            "unfitted": self._unfitted,
            "fits": self.fits,
            "common": _packed(self._common),
            "strata": {name: [trust, _packed(own)] for name, (trust, own) in self._strata.items()},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a state.

        Raises:
            ValueError: it holds a score that is NaN or infinite.
        """
        pairs = [(float(p), float(r), name, float(w)) for p, r, name, w in state["pairs"]]
        if not np.isfinite([(p, r, w) for p, r, _, w in pairs]).all():
            raise ValueError("the state holds pairs with scores that are not finite")
        self.pairs = deque(pairs, maxlen=self.pairs.maxlen)
        self._unfitted, self.fits = state["unfitted"], state["fits"]
        self._common = None if state["common"] is None else _unpacked(state["common"])
        self._strata = {name: (trust, _unpacked(own)) for name, (trust, own) in state["strata"].items()}


def _packed(fit: MonotoneMap | None) -> list[list[float]] | None:
    return None if fit is None else [fit.x.tolist(), fit.y.tolist()]


def _unpacked(knots: list[list[float]]) -> MonotoneMap:
    return MonotoneMap(np.array(knots[0], np.float64), np.array(knots[1], np.float64))
