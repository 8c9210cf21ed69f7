"""How true a model's predictions are, held against recorded executions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from world_models.outcomes import Backend, Outcome, Status, exception_class
from world_models.store import Transition, load_transitions

__all__ = ["Estimate", "FidelityReport", "Reliability", "fidelity"]

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BINS = 10
_WORST = 20
_BATCH = 64
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measured value with its 95 % bootstrap interval; NaN where there was nothing to measure (``n`` = 0)."""

    value: float
    low: float
    high: float
    n: int

    def to_dict(self) -> dict[str, float | int | None]:
        """JSON-able; NaN becomes ``None``."""
        numbers = {"value": self.value, "low": self.low, "high": self.high}
        return {**{name: None if math.isnan(x) else x for name, x in numbers.items()}, "n": self.n}


Metrics = dict[str, Estimate]


class Reliability(NamedTuple):
    """One bin of predicted scores: their mean, that of the real ones, and how many."""

    told: float
    real: float
    n: int


@dataclass(frozen=True)
class FidelityReport:
    """What :func:`fidelity` found.

    Metrics:

    - ``status_accuracy``, and ``status_balanced_accuracy``, the mean recall of the endings that occur;
    - ``exception_accuracy``: class of the exception, among real failures that name one;
    - ``score_mae``, ``score_rmse``; ``score_bias``, the mean of predicted minus real score, and ``score_noise``, the
      standard deviation of that difference: the squares of these two add up to the square of the RMSE;
    - ``spearman``: rank correlation of scores within a task, mean over tasks;
    - ``pairwise_accuracy``: of two solutions of a task whose real scores differ by more than ``min_gap``, how often the
      better one is predicted to be better; a tie counts half; ``valid_pairwise_accuracy``: of two valid ones;
    - ``ece``: expected calibration error of the score, the mean distance between predicted and real mean score over ten
      bins of predictions;
    - ``variance_ratio``: mean squared error over mean predicted variance; 1 is calibrated, above 1 overconfident;
    - ``predictions_per_s``.

    Attributes:
        model: name and version.
        metrics: over all transitions.
        by_task: the same task by task.
        by_action_class: the same for each action class, empty where none was asked for.
        reliability: for each of ten equal bins of predicted scores that is not empty.
        worst: the predictions that are farthest from the truth, the worst first.
        min_gap: difference of real scores from which on a pair counts.
        ungraded: predictions that gave no score; they count in no metric.
    """

    model: str
    metrics: Metrics
    by_task: dict[str, Metrics]
    by_action_class: dict[str, Metrics]
    reliability: tuple[Reliability, ...]
    worst: tuple[tuple[Transition, Outcome], ...]
    min_gap: float
    ungraded: int

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; each metric as ``{"value", "low", "high", "n"}``, bounds of a 95 % interval."""

        def plain(metrics: Metrics) -> dict[str, Any]:
            return {name: estimate.to_dict() for name, estimate in metrics.items()}

        return {
            "model": self.model,
            "min_gap": self.min_gap,
            "ungraded": self.ungraded,
            "metrics": plain(self.metrics),
            "by_task": {name: plain(metrics) for name, metrics in self.by_task.items()},
            "by_action_class": {name: plain(metrics) for name, metrics in self.by_action_class.items()},
            "reliability": [one._asdict() for one in self.reliability],
            "worst": [
                {
                    "task_id": row.submission.task_id,
                    "code": row.submission.code,
                    "real": {"status": str(row.outcome.status), "score": row.outcome.score},
                    "told": {"status": str(told.status), "score": told.score},
                    "feedback": row.outcome.feedback,
                }
                for row, told in self.worst
            ],
        }

    def plot(self, path: str | Path | None = None) -> Figure:
        """Reliability diagram: mean real score against mean predicted one; saved where ``path`` is given."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(4.2, 4.0), layout="constrained")
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
        total = sum(one.n for one in self.reliability)
        sizes = [20 + 600 * one.n / total for one in self.reliability]
        told, real = ([getattr(one, name) for one in self.reliability] for name in ("told", "real"))
        axes.scatter(told, real, s=sizes, alpha=0.6)
        axes.set(
            xlabel="predicted score, mean", ylabel="real score, mean", title=f"{self.model}", xlim=(0, 1), ylim=(0, 1)
        )
        if path is not None:
            figure.savefig(path, dpi=120)
        return figure


def fidelity(
    model: Backend,
    transitions: str | Path | Iterable[Transition],
    *,
    min_gap: float = 0.05,
    bootstrap: int = 200,
    seed: int = 0,
    action_class: Callable[[str], str] | None = None,
) -> FidelityReport:
    """Hold a model's predictions against recorded executions.

    Intervals come from resampling solutions within their task. Pairs that were not executed, or whose outcome is
    unknown, are left out.

    Args:
        model: what predicts.
        transitions: a recording, or the path of one (see :func:`world_models.load_transitions`).
        min_gap: real scores that differ by no more count as equal, at least 0.
        bootstrap: number of resamples, at least 1.
        seed: of the resampling.
        action_class: kind of solution of a source text; gives ``by_action_class``.

    Raises:
        ValueError: an argument outside its range, or nothing to compare.
    """
    if min_gap < 0 or bootstrap < 1:
        raise ValueError(f"min_gap must be at least 0 and bootstrap at least 1, got {min_gap} and {bootstrap}")
    recorded = load_transitions(transitions) if isinstance(transitions, (str, Path)) else transitions
    rows = [row for row in recorded if row.executed]
    if not rows:
        raise ValueError("no executed transitions to compare with; record some, or loosen the filter")
    predictions, rates = _predict(model, rows)
    graded = [(row, outcome) for row, outcome in zip(rows, predictions, strict=True) if outcome.score is not None]
    if not graded:
        raise ValueError("the model graded none of the transitions; see the feedback of its UNGRADED outcomes")

    def measure(chosen: list[tuple[Transition, Outcome]]) -> Metrics:
        return _measure(chosen, min_gap, bootstrap, np.random.default_rng(seed))

    def grouped(key: Callable[[Transition], str]) -> dict[str, Metrics]:
        groups: dict[str, list[tuple[Transition, Outcome]]] = {}
        for row, outcome in graded:
            groups.setdefault(key(row), []).append((row, outcome))
        return {name: measure(groups[name]) for name in sorted(groups)}

    rng = np.random.default_rng(seed)
    speed = _interval(float(rates.mean()), rng.choice(rates, (bootstrap, len(rates))).mean(1), len(rows))
    return FidelityReport(
        model=" ".join(str(getattr(model, name, "")) for name in ("name", "version")).strip() or type(model).__name__,
        metrics={**measure(graded), "predictions_per_s": speed},
        by_task=grouped(lambda row: row.submission.task_id),
        by_action_class={} if action_class is None else grouped(lambda row: action_class(row.submission.code)),
        reliability=_reliability(graded),
        worst=tuple(sorted(graded, key=_distance, reverse=True)[:_WORST]),
        min_gap=min_gap,
        ungraded=len(rows) - len(graded),
    )


def _distance(pair: tuple[Transition, Outcome]) -> float:
    row, told = pair
    return abs((told.score or 0.0) - (row.outcome.score or 0.0))


def _reliability(pairs: list[tuple[Transition, Outcome]]) -> tuple[Reliability, ...]:
    told = np.array([outcome.score for _, outcome in pairs], np.float64)
    real = np.array([row.outcome.score for row, _ in pairs], np.float64)
    bins = np.minimum((told * _BINS).astype(int), _BINS - 1)
    inside = [bins == label for label in np.unique(bins)]
    return tuple(Reliability(float(told[one].mean()), float(real[one].mean()), int(one.sum())) for one in inside)


def _predict(model: Backend, rows: list[Transition]) -> tuple[list[Outcome], np.ndarray]:
    """Predictions, and predictions a second of each batch."""
    outcomes: list[Outcome] = []
    rates: list[float] = []
    for start in range(0, len(rows), _BATCH):
        submissions = [row.submission for row in rows[start : start + _BATCH]]
        began = time.perf_counter()
        outcomes += model.execute(submissions)
        rates.append(len(submissions) / max(time.perf_counter() - began, 1e-9))
    return outcomes, np.array(rates)


def _interval(value: float, resampled: np.ndarray, n: int) -> Estimate:
    known = resampled[~np.isnan(resampled)]
    if n == 0 or math.isnan(value) or not known.size:
        return Estimate(math.nan, math.nan, math.nan, 0)
    low, high = np.quantile(known, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Estimate(value, float(low), float(high), n)


def _resamples(groups: Sequence[Hashable], count: int, rng: np.random.Generator) -> np.ndarray:
    """Index rows (1 + count, n): the rows as they are, then ``count`` draws with replacement within each group."""
    labels = {group: i for i, group in enumerate(dict.fromkeys(groups))}
    of_row = np.array([labels[group] for group in groups])
    drawn = np.tile(np.arange(len(of_row)), (1 + count, 1))
    for label in range(len(labels)):
        members = np.flatnonzero(of_row == label)
        drawn[1:, members] = rng.choice(members, (count, len(members)))
    return drawn


def _measure(
    pairs: list[tuple[Transition, Outcome]], min_gap: float, bootstrap: int, rng: np.random.Generator
) -> Metrics:
    tasks = [row.submission.task_id for row, _ in pairs]
    drawn = _resamples(tasks, bootstrap, rng)
    real = np.array([row.outcome.score for row, _ in pairs], np.float64)
    told = np.array([outcome.score for _, outcome in pairs], np.float64)
    variance = np.array([np.nan if outcome.variance is None else outcome.variance for _, outcome in pairs], np.float64)
    right = np.array([row.outcome.status is outcome.status for row, outcome in pairs], np.float64)
    error = told - real
    of_task = [np.flatnonzero(np.array([name == task for name in tasks])) for task in dict.fromkeys(tasks)]

    squared = (error**2)[drawn].mean(1)
    stated = np.isfinite(variance)
    named = np.array([_names_exception(row.outcome) for row, _ in pairs])
    same_exception = np.array(
        [exception_class(row.outcome.feedback) == exception_class(outcome.feedback) for row, outcome in pairs],
        np.float64,
    )
    pairwise, compared = _pairwise(real, told, of_task, drawn, min_gap)
    valid = np.array([row.outcome.status is Status.VALID for row, _ in pairs])
    valid_pairwise, valid_compared = _pairwise(real, told, [rows[valid[rows]] for rows in of_task], drawn, min_gap)
    correlation, ranked = _spearman(real, told, of_task, drawn)
    n = len(pairs)
    found = {
        "status_accuracy": (right[drawn].mean(1), n),
        "status_balanced_accuracy": (_balanced([str(row.outcome.status) for row, _ in pairs], right, drawn), n),
        "exception_accuracy": (_masked_mean(same_exception, named, drawn), int(named.sum())),
        "score_mae": (np.abs(error)[drawn].mean(1), n),
        "score_rmse": (np.sqrt(squared), n),
        "score_bias": (error[drawn].mean(1), n),
        "score_noise": (error[drawn].std(1), n),
        "spearman": (correlation, ranked),
        "pairwise_accuracy": (pairwise, compared),
        "valid_pairwise_accuracy": (valid_pairwise, valid_compared),
        "ece": (_calibration_error(real, told, drawn), n),
        "variance_ratio": (
            _ratio(_masked_mean(error**2, stated, drawn), _masked_mean(variance, stated, drawn)),
            int(stated.sum()),
        ),
    }
    return {name: _interval(float(values[0]), values[1:], count) for name, (values, count) in found.items()}


def _names_exception(outcome: Outcome) -> bool:
    return outcome.status is not Status.VALID and exception_class(outcome.feedback) is not None


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.full_like(above, np.nan), where=below > 0)


def _masked_mean(values: np.ndarray, mask: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    kept = mask[drawn]
    return _ratio(np.where(kept, values[drawn], 0.0).sum(1), kept.sum(1).astype(np.float64))


def _balanced(statuses: list[str], right: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    labels = np.array(statuses)
    recalls = np.stack([_masked_mean(right, labels == label, drawn) for label in np.unique(labels)])
    present = ~np.isnan(recalls)
    return np.where(present, recalls, 0.0).sum(0) / present.sum(0)


def _pairwise(
    real: np.ndarray, told: np.ndarray, of_task: list[np.ndarray], drawn: np.ndarray, min_gap: float
) -> tuple[np.ndarray, int]:
    """Share of comparable pairs in the right order, for each resample, and the number of pairs."""
    right, all_pairs = np.zeros(len(drawn)), np.zeros(len(drawn))
    weights = np.stack([np.bincount(row, minlength=len(real)) for row in drawn]).astype(np.float64)
    for rows in of_task:
        gap = real[rows, None] - real[rows]
        comparable = gap > min_gap  # each pair once, the better one first
        credit = comparable * (0.5 + 0.5 * np.sign(told[rows, None] - told[rows]))
        weight = weights[:, rows]
        right += np.einsum("ri,ri->r", weight @ credit, weight)
        all_pairs += np.einsum("ri,ri->r", weight @ comparable, weight)
    return _ratio(right, all_pairs), int(all_pairs[0])


def _spearman(
    real: np.ndarray, told: np.ndarray, of_task: list[np.ndarray], drawn: np.ndarray
) -> tuple[np.ndarray, int]:
    """Mean over tasks of the rank correlation, for each resample, and the number of solutions in it."""
    from scipy.stats import rankdata

    total, tasks, count = np.zeros(len(drawn)), np.zeros(len(drawn)), 0
    for rows in of_task:
        if len(rows) < 3:
            continue
        ranks = [rankdata(scores[drawn[:, rows]], axis=1) for scores in (real, told)]
        first, second = (rank - rank.mean(1, keepdims=True) for rank in ranks)
        rho = _ratio((first * second).sum(1), np.sqrt((first**2).sum(1) * (second**2).sum(1)))
        known = ~np.isnan(rho)
        total += np.where(known, rho, 0.0)
        tasks += known
        count += len(rows) if known[0] else 0
    return _ratio(total, tasks), count


def _calibration_error(real: np.ndarray, told: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Weighted mean over ten equal bins of [0, 1] of |mean predicted - mean real score|, for each resample."""
    bins = np.minimum((told * _BINS).astype(int), _BINS - 1)
    total = np.zeros(len(drawn))
    for label in range(_BINS):
        inside = (bins == label)[drawn]
        total += np.abs(np.where(inside, (told - real)[drawn], 0.0).sum(1))
    return total / len(real)
