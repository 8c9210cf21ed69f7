"""Inverse-variance denoising: how much to trust whom, learned from anchor pairs (WMRL, arXiv 2608.12564)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from wmrl_env.correction.anchors import AnchorPair

__all__ = ["Denoiser", "carry_weight", "fusion_weights"]

_TINY = 1e-12  # a residual variance below this is none


def fusion_weights(covariance: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights of the average with least variance, and that variance.

    Minimises ``w' C w`` over weights of at least 0 that sum to 1. For independent streams that is weighting by inverse
    variance. The variance is never above that of the best stream. Without the bound, ``w = C^-1 1 / (1' C^-1 1)`` would
    subtract one stream from its near copies, on the strength of a covariance that a few pairs hardly tell.

    Args:
        covariance: of the streams' errors, shape (S, S), symmetric positive semi-definite.

    Raises:
        ValueError: wrong shape, or a value that is not finite.
    """
    covariance = np.asarray(covariance, np.float64)
    streams = len(covariance)
    if covariance.shape != (streams, streams) or not streams or not np.isfinite(covariance).all():
        raise ValueError(f"covariance must be a finite matrix of shape (S, S), got shape {covariance.shape}")
    scale = float(np.trace(covariance)) / streams
    if scale <= _TINY:
        return np.full(streams, 1.0 / streams), 0.0
    from scipy.optimize import nnls

    # Streams that always agree make the matrix singular; the ridge then shares the weight among them. Least squares
    # with a soft sum of 1 has a minimiser proportional to the one with a hard sum.
    root = np.linalg.cholesky(covariance / scale + 1e-9 * np.eye(streams)).T
    solved, _ = nnls(np.vstack([root, np.ones(streams)]), np.append(np.zeros(streams), 1.0))
    weights = solved / solved.sum()
    variance = min(float(weights @ covariance @ weights), float(covariance.diagonal().min()))
    return weights, max(variance, 0.0)


def carry_weight(rewards: np.ndarray, weights: np.ndarray, baselines: np.ndarray) -> np.ndarray:
    """Rewards that carry sample weights for trainers that take none: ``b + w * (r - b)``.

    With the same baseline ``b``, the advantage of the result is ``w`` times that of ``r``, and so is its term of the
    policy gradient. All arguments have shape (k,).
    """
    return np.asarray(baselines + weights * (rewards - baselines))


class Denoiser:
    """Anchor weight and fusion of an ensemble's members, from residuals on anchor pairs.

    Residuals count with a weight that halves every ``half_life`` anchored groups. The anchor weight is
    ``clip(1 + c * s2, 1, weight_max)``: ``s2`` is the variance around the (debiased) prediction, ``c`` makes the weight
    2 once ``warmup`` groups were anchored and is fixed from then on; before, the weight is 1.

    Members are fused by :func:`fusion_weights` of their residuals' covariance, shrunk towards equal variances and one
    common correlation with intensity ``p / (p + n)`` (``p = M (M + 1) / 2`` parameters, ``n`` effective pairs): the
    plain mean until there are more than ``M + 1`` pairs. What a member's mean residual has of its own, beyond that of
    all, is taken out first, shrunk by how much of it is chance: else its weight would turn it into a bias.

    Args:
        weight_max: largest anchor weight, at least 1.
        warmup: anchored groups before weights start, at least 1.
        half_life: in anchored groups, above 0.

    Raises:
        ValueError: an argument out of its range.
    """

    def __init__(self, weight_max: float = 4.0, warmup: int = 32, half_life: float = 64.0) -> None:
        if not weight_max >= 1.0:
            raise ValueError(f"weight_max must be at least 1, got {weight_max}")
        if warmup < 1:
            raise ValueError(f"warmup must be at least 1, got {warmup}")
        if not half_life > 0.0:
            raise ValueError(f"half_life must be above 0, got {half_life}")
        self.weight_max = weight_max
        self.warmup = warmup
        self.half_life = half_life
        self.groups: set[str] = set()
        self._slope: float | None = None  # c
        self._moments = np.zeros(3)  # of residuals: count, sum, sum of squares
        self._member_count = 0.0
        self._member_sums = np.zeros(0)
        self._member_products = np.zeros((0, 0))  # sum of residuals' outer products
        self._member_weights = np.zeros(0)
        self._member_variance = np.nan
        self._member_offsets = np.zeros(0)

    @property
    def residual_variance(self) -> float:
        """Variance of real scores around the prediction, NaN before the second pair.

        The residuals' common mean is no part of it: a constant error changes no advantage.
        """
        count, total, squares = self._moments
        if count <= 1.0:
            return np.nan
        return max(float(squares - total**2 / count), 0.0) / (float(count) - 1.0)

    @property
    def weight(self) -> float:
        """Weight of an anchored row, in [1, weight_max]."""
        if self._slope is None:
            return 1.0
        return float(np.clip(1.0 + self._slope * self.residual_variance, 1.0, self.weight_max))

    def update(self, pairs: Iterable[AnchorPair]) -> None:
        """Take anchor pairs in, debiased where there is debiasing, best by a map fitted without these pairs.

        Raises:
            ValueError: another number of members than before.
        """
        decay = 0.5 ** (1.0 / self.half_life)
        for pair in pairs:
            if pair.group not in self.groups:
                self.groups.add(pair.group)
                self._moments *= decay
                self._member_count *= decay
                self._member_sums *= decay
                self._member_products *= decay
            residual = pair.real - pair.predicted
            self._moments += (1.0, residual, residual**2)
            if pair.member_scores:
                self._add_members(pair.real - np.array(pair.member_scores))
        if self._slope is None and len(self.groups) >= self.warmup and self.residual_variance > _TINY:
            self._slope = 1.0 / self.residual_variance
        self._refit_fusion()

    def _add_members(self, residuals: np.ndarray) -> None:
        size = len(residuals)
        if not self._member_count:
            self._member_sums, self._member_products = np.zeros(size), np.zeros((size, size))
        elif size != len(self._member_products):
            raise ValueError(
                f"the world model had {len(self._member_products)} members, now {size}; start a new Denoiser"
            )
        self._member_count += 1.0
        self._member_sums += residuals
        self._member_products += np.outer(residuals, residuals)

    def _refit_fusion(self) -> None:
        size, count = len(self._member_products), self._member_count
        if count <= size + 1.0:  # fewer pairs tell nothing of a covariance
            return
        mean = self._member_sums / count
        covariance = (self._member_products - count * np.outer(mean, mean)) / (count - 1.0)
        variance = np.trace(covariance) / size
        shared = (covariance.sum() - np.trace(covariance)) / max(size * (size - 1), 1)
        target = np.full((size, size), shared) + (variance - shared) * np.eye(size)
        parameters = size * (size + 1) / 2
        shrinkage = parameters / (parameters + count)
        self._member_weights, variance = fusion_weights(shrinkage * target + (1.0 - shrinkage) * covariance)
        fitted = (1.0 - shrinkage) * (size - 1)  # degrees of freedom that the weights took from the same pairs
        self._member_variance = variance * (count - 1.0) / (count - 1.0 - fitted)
        # A member's own offset would come in with its weight; what all have in common is the debiasing's affair.
        offsets = mean - mean.mean()
        chance = float(np.trace(covariance) / size - shared) * (size - 1.0) / count
        spread = float(offsets @ offsets)
        self._member_offsets = offsets * (max(0.0, 1.0 - chance / spread) if spread > _TINY else 0.0)

    def fuse(self, scores: np.ndarray, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Fused scores and their variances, float64 of shape (k,).

        Args:
            scores: shape (k,); what stands where a row has no members' scores.
            members: shape (k, M), NaN where unknown.

        Each member's own offset from the members' mean is taken out, shrunk by how much of it is chance.
        Variances (score units squared) are NaN before the second pair, and where the score is unknown.
        """
        fused = np.array(scores, np.float64)
        variances = np.full(len(fused), self.residual_variance)
        size = members.shape[1]
        if size:
            known = np.isfinite(members).all(axis=1)
            trained = len(self._member_weights) == size
            weights = self._member_weights if trained else np.full(size, 1.0 / size)
            offsets = self._member_offsets if trained else np.zeros(size)
            fused[known] = (members[known] + offsets) @ weights
            if trained:
                variances[known] = self._member_variance
        variances[np.isnan(fused)] = np.nan
        return fused, variances

    def state_dict(self) -> dict[str, Any]:
        """Everything that a new denoiser of the same arguments needs to go on bit-equal, as JSON types."""
        return {
            "groups": sorted(self.groups),
            "slope": self._slope,
            "moments": self._moments.tolist(),
            "member_count": self._member_count,
            "member_sums": self._member_sums.tolist(),
            "member_products": self._member_products.tolist(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.groups = set(state["groups"])
        self._slope = state["slope"]
        self._moments = np.array(state["moments"], np.float64)
        self._member_count = state["member_count"]
        self._member_sums = np.array(state["member_sums"], np.float64)
        size = len(state["member_products"])
        self._member_products = np.array(state["member_products"], np.float64).reshape(size, size)
        self._refit_fusion()
