"""What a monotone map cannot repair: errors that depend on the task and on what a solution does."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

import numpy as np

from wmrl_env.correction.anchors import AnchorPair

__all__ = ["ResidualModel"]

_FITTED = 300  # pairs that variances are estimated on, the latest
_GROWTH = 1.5  # of the pairs seen, before they are estimated again
_PRIOR = (np.log(0.003), 3.0)  # mean and deviation of a component's log variance: any size of a score's error
_JITTER = 1e-5  # of noise: scores have no more digits
_TERMS = 1024  # that pairs share, the most frequent
_INNER = 7  # components that describe solutions; the others are noise of a pair


class ResidualModel:
    """Gaussian process over the residuals ``real - calibrated`` of anchor pairs.

    Its covariance is a sum of components, each with a variance of its own that the pairs decide on (maximum of the
    marginal likelihood, Rasmussen and Williams 2006, chapter 5, with a wide log-normal prior): a component that nothing
    speaks for goes to zero, so that a model that errs in no systematic way is hardly corrected. With ``s`` the share of
    terms that two solutions have in common (cosine), ``q = 2 * prediction - 1``, ``d`` the number of choices in which
    they differ, and ``e = prediction - smoothed`` what a :class:`wmrl_env.correction.PredictionSmoother` takes for
    noise or combinations, the components are

    ====================  =============================================================
    ``same task``         an offset of the task
    ``s``                 what a choice is worth everywhere
    ``s * same task``     what a choice is worth in this task
    ``s * q * q'``        a choice with which the prediction is worth less, or is inverted
    ``q * q'``            a slope that the map has not
    ``e * e'``            how much of the prediction's own part is noise
    ``exp(-d) * same``    combinations of choices
    noise                 of every pair, and one in proportion to the members' variance
    ====================  =============================================================

    Terms that all pairs have are left out. The posterior is that of the last ``capacity`` pairs.

    Args:
        min_pairs: pairs before the first estimate, at least 2; until then all residuals are taken for 0.
        capacity: pairs kept, first in first out; at least ``min_pairs``. Learning costs time of order capacity cubed:
            about 20 ms at 512.

    Raises:
        ValueError: an argument out of its range.
    """

    def __init__(self, min_pairs: int = 16, capacity: int = 512) -> None:
        if min_pairs < 2:
            raise ValueError(f"min_pairs must be at least 2, got {min_pairs}")
        if capacity < min_pairs:
            raise ValueError(f"capacity must be at least min_pairs={min_pairs}, got {capacity}")
        self.min_pairs = min_pairs
        self.pairs: deque[AnchorPair] = deque(maxlen=capacity)
        self._seen = 0
        self._fitted_at = 0  # pairs seen when the variances were estimated last
        self._log_variances: np.ndarray | None = None
        self._known: _Features | None = None
        self._given: tuple[np.ndarray, np.ndarray] | None = None  # residuals and own parts, of the last condition()
        self._root = np.zeros((0, 0))  # Cholesky factor of the pairs' covariance
        self._solved = np.zeros(0)  # covariance^-1 residuals

    @property
    def fitted(self) -> bool:
        """False as long as all residuals are taken for 0."""
        return self._known is not None

    def add(self, pairs: Iterable[AnchorPair]) -> None:
        """Remember pairs; they count from the next :meth:`condition` on."""
        self._given = None
        for pair in pairs:
            self.pairs.append(pair)
            self._seen += 1

    def forget(self, keep: int) -> None:
        """Forget all but the last ``keep`` pairs, from the next :meth:`condition` on."""
        self._given = None
        while len(self.pairs) > keep:
            self.pairs.popleft()

    def condition(self, residuals: np.ndarray, own: np.ndarray | None = None) -> None:
        """Learn the residuals of all remembered pairs.

        Args:
            residuals: shape (n,), ``real - calibrated`` of each of :attr:`pairs`.
            own: shape (n,), ``prediction - smoothed`` of each; by default 0.

        Raises:
            ValueError: another number of residuals, or one that is not finite.
        """
        residuals = np.asarray(residuals, np.float64)
        if residuals.shape != (len(self.pairs),) or not np.isfinite(residuals).all():
            raise ValueError(f"need a finite residual of each of {len(self.pairs)} pairs, got shape {residuals.shape}")
        own = np.zeros(len(residuals)) if own is None else np.asarray(own, np.float64)
        self._given = residuals, own
        if len(residuals) < self.min_pairs:
            self._known = None
            return
        features = _Features(list(self.pairs), own)
        if self._log_variances is None or self._seen >= min(
            _GROWTH * self._fitted_at, self._fitted_at + 0.5 * (self.pairs.maxlen or 0)
        ):
            self._log_variances = _estimate(features.tail(_FITTED), residuals[-_FITTED:], self._log_variances)
            self._fitted_at = self._seen
        self._solve(features, residuals)

    def _solve(self, features: _Features, residuals: np.ndarray) -> None:
        from scipy.linalg import cho_solve

        if self._log_variances is None:
            return
        variances = np.exp(self._log_variances)
        covariance = features.covariance(features, variances)
        covariance[np.diag_indices_from(covariance)] += features.noise(variances)
        self._root = np.linalg.cholesky(covariance)
        self._solved = cho_solve((self._root, True), residuals)
        self._known = features

    def __call__(
        self,
        task_ids: Sequence[str],
        terms: Sequence[tuple[str, ...]],
        predicted: np.ndarray,
        own: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the residual of k solutions, float64 of shape (k,), in score units and their square.

        Args:
            task_ids: k ids.
            terms: of each, see :func:`wmrl_env.correction.solution_terms`.
            predicted: shape (k,), the world model's score before any correction. NaN gives NaN.
            own: shape (k,), as in :meth:`condition`.
        """
        predicted = np.asarray(predicted, np.float64)
        own = np.zeros(len(predicted)) if own is None else own
        if self._known is None or self._log_variances is None:
            nothing = np.where(np.isnan(predicted), np.nan, 0.0)
            return nothing, nothing.copy()
        from scipy.linalg import solve_triangular

        variances = np.exp(self._log_variances)
        features = self._known.of(task_ids, terms, predicted, own)
        cross = self._known.covariance(features, variances)  # (n, k)
        explained = solve_triangular(self._root, cross, lower=True, check_finite=False)
        variance = features.variance(variances) - np.einsum("nk,nk->k", explained, explained)
        return cross.T @ self._solved, np.maximum(variance, 0.0)

    def state_dict(self) -> dict[str, Any]:
        """Everything that a new model of the same arguments needs to go on bit-equal, as JSON types.

        Taken after :meth:`add` or :meth:`forget`, it goes on from the next :meth:`condition`.
        """
        given = None if self._known is None or self._given is None else [part.tolist() for part in self._given]
        return {
            "given": given,
            "pairs": [asdict(pair) for pair in self.pairs],
            "seen": self._seen,
            "fitted_at": self._fitted_at,
            "log_variances": None if self._log_variances is None else self._log_variances.tolist(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pairs = (
            pair | {"member_scores": tuple(pair["member_scores"]), "terms": tuple(pair["terms"])}
            for pair in state["pairs"]
        )
        self.pairs = deque((AnchorPair(**pair) for pair in pairs), maxlen=self.pairs.maxlen)
        self._seen, self._fitted_at = state["seen"], state["fitted_at"]
        logs = state["log_variances"]
        self._log_variances = None if logs is None else np.array(logs, np.float64)
        self._known = self._given = None
        if state["given"] is not None:
            residuals, own = (np.array(part, np.float64) for part in state["given"])
            self._given = residuals, own
            self._solve(_Features(list(self.pairs), own), residuals)


class _Features:
    """n solutions as the components of the covariance see them."""

    def __init__(self, pairs: Sequence[AnchorPair], own: np.ndarray) -> None:
        counts = Counter(term for pair in pairs for term in pair.terms)
        self._common = {term for term, count in counts.items() if count == len(pairs)}
        shared = (term for term, count in counts.most_common() if 1 < count < len(pairs))
        self._columns = {term: column for column, term in enumerate(islice(shared, _TERMS))}
        self._tasks: dict[str, int] = {}
        self._fill(
            [pair.task_id for pair in pairs],
            [pair.terms for pair in pairs],
            np.array([pair.predicted for pair in pairs]),
            own,
        )
        self.spread = np.array([_variance(pair.member_scores) for pair in pairs])

    def _fill(
        self, task_ids: Sequence[str], terms: Sequence[tuple[str, ...]], predicted: np.ndarray, own: np.ndarray
    ) -> None:
        self.task = np.array([self._tasks.setdefault(task, len(self._tasks)) for task in task_ids], np.int64)
        self.terms = np.zeros((len(task_ids), len(self._columns)))
        self.count = np.zeros(len(task_ids))
        for row, (of_row, given) in enumerate(zip(self.terms, terms, strict=True)):
            columns = [column for term in given if (column := self._columns.get(term)) is not None]
            of_row[columns] = 1.0
            self.count[row] = sum(term not in self._common for term in given)  # those of no other pair, too
        self.q = 2.0 * predicted - 1.0
        self.own = np.asarray(own, np.float64)

    def of(
        self, task_ids: Sequence[str], terms: Sequence[tuple[str, ...]], predicted: np.ndarray, own: np.ndarray
    ) -> _Features:
        """Other solutions, in the same terms."""
        other = object.__new__(_Features)
        other._columns, other._tasks, other._common = self._columns, self._tasks, self._common
        other._fill(task_ids, terms, predicted, own)
        return other

    def tail(self, size: int) -> _Features:
        """The last ``size`` of them."""
        other = object.__new__(_Features)
        other.__dict__.update(self.__dict__)
        for name in ("task", "terms", "count", "q", "own", "spread"):
            setattr(other, name, getattr(self, name)[-size:])
        return other

    def components(self, other: _Features) -> tuple[np.ndarray, ...]:
        """The (n, k) parts of the covariance with ``other``, without their variances."""
        same = (self.task[:, None] == other.task).astype(np.float64)
        common = self.terms @ other.terms.T
        if other is self:
            np.fill_diagonal(common, self.count)
        shared = common / np.sqrt(np.maximum(self.count[:, None] * other.count, 1.0))
        slope = self.q[:, None] * other.q
        apart = 0.5 * (self.count[:, None] + other.count) - common
        noise = self.own[:, None] * other.own
        return same, shared, shared * same, shared * slope, slope, noise, np.exp(-apart) * same

    def covariance(self, other: _Features, variances: np.ndarray) -> np.ndarray:
        """Covariance of the residuals with those of ``other``, without noise: (n, k)."""
        same, shared, _, _, slope, noise, alike = self.components(other)
        v_task, v_shared, v_own, v_inverted, v_slope, v_noise, v_alike = variances[:_INNER]
        in_task = same * (v_task + v_own * shared + v_alike * alike)
        return np.asarray(in_task + shared * (v_shared + v_inverted * slope) + v_slope * slope + v_noise * noise)

    def variance(self, variances: np.ndarray) -> np.ndarray:
        """Variance of each residual before any pair, without noise: (n,)."""
        has_terms = (self.count > 0).astype(np.float64)
        v_task, v_shared, v_own, v_inverted, v_slope, v_noise, v_alike = variances[:_INNER]
        slopes = v_slope * self.q**2 + v_noise * self.own**2
        return np.asarray(v_task + has_terms * (v_shared + v_own + v_inverted * self.q**2) + slopes + v_alike)

    def noise(self, variances: np.ndarray) -> np.ndarray:
        """Variance of each pair's noise: (n,)."""
        return np.asarray(variances[_INNER] + variances[_INNER + 1] * self.spread + _JITTER)


def _variance(scores: Sequence[float]) -> float:
    mean = sum(scores) / max(len(scores), 1)
    return sum((score - mean) ** 2 for score in scores) / max(len(scores), 1)


def _estimate(features: _Features, residuals: np.ndarray, start: np.ndarray | None) -> np.ndarray:
    """Log variances of the components that maximise the residuals' marginal likelihood times the prior."""
    from scipy.linalg import LinAlgError, cho_solve
    from scipy.optimize import minimize

    parts = np.stack([*features.components(features), np.eye(len(residuals)), np.diag(features.spread)])
    centre, deviation = _PRIOR

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        variances = np.exp(logs)
        covariance = np.tensordot(variances, parts, 1)
        covariance[np.diag_indices_from(covariance)] += _JITTER
        try:
            root = np.linalg.cholesky(covariance)
        except LinAlgError:
            return np.inf, np.zeros_like(logs)
        solved = cho_solve((root, True), residuals)
        inverse = cho_solve((root, True), np.eye(len(residuals)))
        fit = 0.5 * residuals @ solved + np.log(np.diag(root)).sum()
        slopes = 0.5 * variances * np.einsum("cij,ij->c", parts, inverse - np.outer(solved, solved))
        away = (logs - centre) / deviation
        return float(fit + 0.5 * away @ away), slopes + away / deviation

    if start is None:
        start = np.full(len(parts), np.log(0.01))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(-18.0, 3.0)] * len(parts))
    return np.asarray(found.x, np.float64)
