"""Metrics of research tasks, through scikit-learn; direction and admissible predictions stated once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

__all__ = ["METRICS", "Metric", "get_metric"]

Prediction = Literal["probability", "label", "value", "non_negative", "positive"]


@dataclass(frozen=True)
class Metric:
    """A metric ``f(truth, prediction) -> float``.

    Attributes:
        name: its name in task texts, e.g. ``"roc_auc"``.
        higher_is_better: direction of improvement.
        prediction: what a prediction must be: a probability in [0, 1], a label of the task, any finite value,
            a value of at least 0, or one above 0.
        compute: truth (0/1 for probabilities, labels or floats otherwise) and predictions, both of shape (n,).
    """

    name: str
    higher_is_better: bool
    prediction: Prediction
    compute: Callable[[np.ndarray, np.ndarray], float]


def _sklearn(function: str, **kwargs: Any) -> Callable[[np.ndarray, np.ndarray], float]:
    def compute(truth: np.ndarray, prediction: np.ndarray) -> float:
        import sklearn.metrics

        return float(getattr(sklearn.metrics, function)(truth, prediction, **kwargs))

    return compute


def _quadratic_kappa(truth: np.ndarray, prediction: np.ndarray) -> float:
    import sklearn.metrics

    # As numbers, since "10" sorts before "2".
    return float(sklearn.metrics.cohen_kappa_score(truth.astype(float), prediction.astype(float), weights="quadratic"))


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("roc_auc", True, "probability", _sklearn("roc_auc_score")),
        Metric("log_loss", False, "probability", _sklearn("log_loss", labels=[0, 1])),
        Metric("accuracy", True, "label", _sklearn("accuracy_score")),
        Metric("macro_f1", True, "label", _sklearn("f1_score", average="macro", zero_division=0)),
        Metric("quadratic_kappa", True, "label", _quadratic_kappa),
        Metric("r2", True, "value", _sklearn("r2_score")),
        Metric("rmse", False, "value", _sklearn("root_mean_squared_error")),
        Metric("mae", False, "value", _sklearn("mean_absolute_error")),
        Metric("mape", False, "value", _sklearn("mean_absolute_percentage_error")),
        Metric("rmsle", False, "non_negative", _sklearn("root_mean_squared_log_error")),
        Metric("poisson_deviance", False, "positive", _sklearn("mean_poisson_deviance")),
    )
}


def get_metric(name: str) -> Metric:
    """The metric of that name.

    Raises:
        ValueError: unknown name; the message lists the known ones.
    """
    try:
        return METRICS[name]
    except KeyError:
        raise ValueError(f"unknown metric {name!r}; known: {', '.join(METRICS)}") from None
