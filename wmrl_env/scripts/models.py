"""Estimators that authors reach for, with the arguments that they give them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

__all__ = ["Model", "draw_model"]


class Model(NamedTuple):
    """A constructor call.

    Attributes:
        module, name: where the estimator is imported from.
        arguments: keyword arguments by name, as source text.
        probabilistic: it has ``predict_proba``.
        scaled: authors put a scaler before it.
    """

    module: str
    name: str
    arguments: dict[str, str]
    probabilistic: bool = True
    scaled: bool = False

    @property
    def call(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value}' for key, value in self.arguments.items())})"


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> str:
    return f"{np.exp(rng.uniform(np.log(low), np.log(high))):.2g}"


def _whole(rng: np.random.Generator, *options: int) -> str:
    return str(options[rng.integers(len(options))])


def _some(rng: np.random.Generator, options: dict[str, Any]) -> dict[str, str]:
    """A random part of the optional arguments, in order."""
    return {key: str(value) for key, value in options.items() if rng.random() < 0.5}


def _trees(rng: np.random.Generator) -> dict[str, str]:
    return {"n_estimators": _whole(rng, 50, 100, 100, 200, 300, 500)} | _some(
        rng,
        {
            "max_depth": _whole(rng, 4, 6, 8, 10, 12, 20),
            "min_samples_leaf": _whole(rng, 1, 2, 3, 5, 10, 20),
            "max_features": '"sqrt"' if rng.random() < 0.6 else "0.5",
            "n_jobs": "-1",
        },
    )


def _boosted(rng: np.random.Generator) -> dict[str, str]:
    return {
        "n_estimators": _whole(rng, 50, 100, 150, 200, 300),
        "learning_rate": _log_uniform(rng, 0.02, 0.3),
    } | _some(rng, {"max_depth": _whole(rng, 2, 3, 4, 5), "subsample": _whole_share(rng)})


def _histogram(rng: np.random.Generator) -> dict[str, str]:
    return _some(
        rng,
        {
            "max_iter": _whole(rng, 60, 100, 200, 300, 500),
            "learning_rate": _log_uniform(rng, 0.02, 0.3),
            "max_leaf_nodes": _whole(rng, 7, 15, 31, 63),
            "min_samples_leaf": _whole(rng, 5, 20, 50),
            "l2_regularization": _log_uniform(rng, 0.01, 10),
        },
    )


def _whole_share(rng: np.random.Generator) -> str:
    return f"{rng.uniform(0.5, 1.0):.1f}"


def _network(rng: np.random.Generator) -> dict[str, str]:
    sizes = [int(_whole(rng, 16, 32, 64, 100, 128)) for _ in range(rng.integers(1, 3))]
    return {
        "hidden_layer_sizes": f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})",
        "max_iter": _whole(rng, 30, 50, 100, 200),
    } | _some(rng, {"alpha": _log_uniform(rng, 1e-5, 1), "early_stopping": "True"})


def draw_model(rng: np.random.Generator, classifies: bool, positive: bool = False) -> Model:
    """An estimator with arguments, at random.

    Args:
        rng: where choices come from.
        classifies: classifier or regressor.
        positive: predictions must be above 0, so that models of counts are options.
    """
    seed = {"random_state": _whole(rng, 0, 42, 42, 42, 2024)} if rng.random() < 0.85 else {}
    kind = "Classifier" if classifies else "Regressor"
    ensemble, linear = "sklearn.ensemble", "sklearn.linear_model"
    balanced = {"class_weight": '"balanced"'} if classifies and rng.random() < 0.25 else {}
    neighbours = {"n_neighbors": _whole(rng, 3, 5, 7, 11, 15, 25, 50)} | _some(rng, {"weights": '"distance"'})
    options = [
        *[Model(ensemble, f"RandomForest{kind}", _trees(rng) | balanced | seed)] * 3,
        Model(ensemble, f"ExtraTrees{kind}", _trees(rng) | balanced | seed),
        *[Model(ensemble, f"GradientBoosting{kind}", _boosted(rng) | seed)] * 2,
        *[Model(ensemble, f"HistGradientBoosting{kind}", _histogram(rng) | seed)] * 3,
        Model(ensemble, f"AdaBoost{kind}", {"n_estimators": _whole(rng, 50, 100, 200)} | seed),
        Model("sklearn.tree", f"DecisionTree{kind}", _some(rng, {"max_depth": _whole(rng, 3, 5, 8, 12)}) | seed),
        Model("sklearn.neighbors", f"KNeighbors{kind}", neighbours, scaled=True),
        Model("sklearn.neural_network", f"MLP{kind}", _network(rng) | seed, scaled=True),
    ]
    if classifies:
        logistic = {"max_iter": _whole(rng, 100, 200, 500, 1000, 2000)} | _some(rng, {"C": _log_uniform(rng, 0.01, 50)})
        options += [
            *[Model(linear, "LogisticRegression", logistic | balanced, scaled=True)] * 3,
            Model("sklearn.naive_bayes", "GaussianNB", {}),
            Model(
                "sklearn.svm", "SVC", {"probability": "True", "C": _log_uniform(rng, 0.1, 20)} | balanced, scaled=True
            ),
            Model(linear, "SGDClassifier", {"loss": '"log_loss"'} | seed, scaled=True),
            Model("sklearn.discriminant_analysis", "LinearDiscriminantAnalysis", {}, scaled=True),
            Model(linear, "RidgeClassifier", {"alpha": _log_uniform(rng, 0.1, 100)}, probabilistic=False, scaled=True),
        ]
    else:
        alpha = {"alpha": _log_uniform(rng, 0.001, 100)}
        options += [
            *[Model(linear, "Ridge", alpha, scaled=True)] * 2,
            Model(linear, "LinearRegression", {}, scaled=True),
            Model(linear, "Lasso", alpha, scaled=True),
            Model(linear, "ElasticNet", alpha | {"l1_ratio": "0.5"}, scaled=True),
            Model("sklearn.svm", "SVR", {"C": _log_uniform(rng, 0.1, 50)}, scaled=True),
            Model(linear, "HuberRegressor", {}, scaled=True),
        ]
    if positive:
        options += [
            Model(linear, "PoissonRegressor", {"alpha": _log_uniform(rng, 1e-3, 10), "max_iter": "300"}, scaled=True)
        ] * 3
    return options[rng.integers(len(options))]
