"""scikit-learn's classes: which there are, what describes them, what their fits cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from world_models.rehearsal.names import parameters_of
from world_models.rehearsal.values import Column, Const, Fault, Model, Rows, Sequence

if TYPE_CHECKING:
    from world_models.rehearsal.interpreter import Interpreter

__all__ = [
    "COMMITTEES",
    "DESCRIBED",
    "EVENTS",
    "FAMILIES",
    "PASS_NAN",
    "SEARCHES",
    "SPLITTERS",
    "TAKE_TEXT",
    "TRANSFORMERS",
    "VECTORISERS",
    "WRAPPERS",
    "Fitted",
    "describe",
    "family_of",
    "is_estimator",
    "make",
    "operations",
]

FAMILIES = (
    "forest", "extra", "boosting", "histogram", "adaboost", "tree", "linear", "least_squares", "svm", "neighbours",
    "network", "bayes", "other",
)  # fmt: skip


"""Kinds of estimators whose fits cost alike."""


PASS_NAN = {"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "QuantileTransformer", "PowerTransformer",
             "FunctionTransformer", "OrdinalEncoder", "OneHotEncoder", "SimpleImputer", "KNNImputer", "TargetEncoder",
             "KBinsDiscretizer"}  # fmt: skip


TAKE_TEXT = {"OrdinalEncoder", "OneHotEncoder", "LabelEncoder", "FunctionTransformer", "TargetEncoder"}


VECTORISERS = {"TfidfVectorizer", "CountVectorizer", "HashingVectorizer"}


TRANSFORMERS = PASS_NAN | VECTORISERS | {
    "PCA", "TruncatedSVD", "SelectKBest", "SelectPercentile", "PolynomialFeatures", "LabelEncoder", "Normalizer",
    "VarianceThreshold", "LabelBinarizer", "SelectFromModel", "TfidfTransformer", "KernelPCA", "FastICA", "NMF",
    "SplineTransformer", "Binarizer", "FeatureUnion",
}  # fmt: skip


SEARCHES = {"GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"}


COMMITTEES = {"VotingClassifier", "VotingRegressor", "StackingClassifier", "StackingRegressor"}


WRAPPERS = {"CalibratedClassifierCV", "BaggingClassifier", "BaggingRegressor", "OneVsRestClassifier",
             "TransformedTargetRegressor", "MultiOutputRegressor", "RFE", "RFECV", "AdaBoostClassifier",
             "AdaBoostRegressor"}  # fmt: skip


SPLITTERS = {"KFold", "StratifiedKFold", "ShuffleSplit", "StratifiedShuffleSplit", "TimeSeriesSplit", "RepeatedKFold",
              "RepeatedStratifiedKFold", "GroupKFold"}  # fmt: skip


_FAMILY = (
    ("RandomForest", "forest"), ("ExtraTree", "extra"), ("HistGradient", "histogram"), ("GradientBoosting", "boosting"),
    ("AdaBoost", "adaboost"), ("DecisionTree", "tree"), ("KNeighbors", "neighbours"), ("MLP", "network"),
    ("LogisticRegression", "linear"), ("SGD", "linear"), ("Poisson", "linear"), ("Gamma", "linear"),
    ("Tweedie", "linear"), ("Huber", "linear"), ("LinearSV", "linear"), ("Lasso", "linear"), ("Elastic", "linear"),
    ("SV", "svm"), ("NuSV", "svm"), ("Gaussian", "bayes"), ("NB", "bayes"), ("Ridge", "least_squares"),
    ("LinearRegression", "least_squares"), ("Discriminant", "least_squares"), ("Bayesian", "least_squares"),
)  # fmt: skip


EVENTS = (
    "StandardScaler", "MinMaxScaler", "RobustScaler", "QuantileTransformer", "PolynomialFeatures", "PCA",
    "TruncatedSVD", "SelectKBest", "OneHotEncoder", "OrdinalEncoder", "LabelEncoder",
    "TfidfVectorizer", "CountVectorizer",
)  # fmt: skip


"""Transformers whose use is told by name."""


_AMOUNTS = (
    "n_estimators", "max_depth", "learning_rate", "max_iter", "min_samples_leaf", "max_features", "subsample",
    "max_leaf_nodes", "C", "alpha", "n_neighbors", "l2_regularization", "l1_ratio", "degree",
)  # fmt: skip


_WORDS = ("weights=distance", "class_weight=balanced", "kernel=linear", "kernel=poly", "early_stopping=True",
          "max_features=sqrt", "p=1", "gamma=auto", "fit_prior=False", "loss=log_loss")  # fmt: skip


DESCRIBED: tuple[str, ...] = (*_AMOUNTS, *(f"gives_{name}" for name in _AMOUNTS), *_WORDS, "layers", "neurons")


"""Names of the entries of :func:`describe`."""


class Fitted(NamedTuple):
    rows: Rows
    width: float
    names: tuple[str, ...] | None
    target: Column


def family_of(name: str) -> str:
    """Family of an estimator."""
    return next((family for part, family in _FAMILY if part in name), "other")


def is_estimator(name: str) -> bool:
    return name.endswith(("Classifier", "Regressor", "Regression", "SVC", "SVR", "NB")) or family_of(name) != "other"


def describe(model: Model) -> dict[str, float]:
    """Arguments of an estimator that were given; amounts as ``log10``."""
    facts: dict[str, float] = {}
    for name in _AMOUNTS:
        value = model.number(name, math.nan)
        if math.isfinite(value):
            facts[name] = math.log10(max(abs(value), 1e-9))
            facts[f"gives_{name}"] = 1.0
    for word in _WORDS:
        name, _, wanted = word.partition("=")
        facts[word] = float(str(model.constant(name)) == wanted)
    layers = model.parameters.get("hidden_layer_sizes")
    if isinstance(layers, Sequence):
        sizes = [float(item.value) for item in layers.items if isinstance(item, Const) and item.value]
        facts["layers"], facts["neurons"] = float(len(sizes)), math.log10(1.0 + sum(sizes))
    return facts


def make(run: Interpreter, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    """An object of the class ``name``; ``None`` where there is no such class.

    Raises:
        Fault: it takes no such argument.
    """
    known = parameters_of(name)
    if known is not None and not named.keys() <= known:
        raise Fault("TypeError")
    if name in ("make_pipeline", "Pipeline", "make_union", "FeatureUnion"):
        steps = args if name.startswith("make") else _named_steps(args[0] if args else named.get("steps"))
        return Model("Pipeline" if "ipeline" in name else "Union", {}, steps)
    if name in ("make_column_transformer", "ColumnTransformer"):
        parts = args if name.startswith("make") else (args[0].items if args and isinstance(args[0], Sequence) else [])
        if not args and isinstance(named.get("transformers"), Sequence):
            parts = named["transformers"].items
        return Model("ColumnTransformer", named, [part for part in parts if isinstance(part, Sequence)])
    if name in SEARCHES or name in WRAPPERS:
        inner = (
            args[0]
            if args
            else next((named[k] for k in ("estimator", "base_estimator", "regressor") if k in named), None)
        )
        parameters = dict(named)
        if name in SEARCHES and len(args) > 1:
            parameters.setdefault("param_grid", args[1])
        return Model(name, parameters, [] if inner is None else [inner])
    if name in COMMITTEES:
        return Model(name, named, _named_steps(args[0] if args else named.get("estimators")))
    if name in SPLITTERS or name in TRANSFORMERS or is_estimator(name):
        parameters = dict(named)
        first = {"TruncatedSVD": "n_components", "PCA": "n_components", "SelectKBest": "score_func",
                 "KFold": "n_splits", "StratifiedKFold": "n_splits",
                 "GroupKFold": "n_splits", "TimeSeriesSplit": "n_splits", "PolynomialFeatures": "degree",
                 "KNeighborsClassifier": "n_neighbors", "KNeighborsRegressor": "n_neighbors"}.get(name, "")  # fmt: skip
        if args and first:
            parameters.setdefault(first, args[0])
        made = Model(name, parameters)
        if name in SPLITTERS and "Shuffle" not in name and made.number("n_splits", 5) < 2:
            raise Fault("ValueError")
        return made
    return None


def _named_steps(value: Any) -> list[Any]:
    parts = value.items if isinstance(value, Sequence) else []
    return [part.items[1] for part in parts if isinstance(part, Sequence) and len(part.items) >= 2]


def _share(model: Model, width: float, default: float) -> float:
    """Features that a split looks at."""
    value = model.constant("max_features", None)
    if value in ("sqrt", "log2", "auto"):
        return math.sqrt(width)
    if isinstance(value, float) and 0 < value <= 1:
        return max(1.0, value * width)
    return default


def operations(model: Model, family: str, rows: float, width: float, classes: int) -> float:
    """Rough number of operations of a fit."""
    depth = min(math.log2(rows + 1) * 1.5, model.number("max_depth", 1e9), 40.0)
    leaf = model.number("min_samples_leaf", 1)
    depth = min(depth, max(1.0, math.log2(1 + rows / max(1.0, leaf)) * 1.5))
    trees = model.number("n_estimators", 100 if family != "adaboost" else 50)
    several = float(classes) if classes > 2 else 1.0
    if family == "forest":
        default = math.sqrt(width) if "Classifier" in model.name else width
        return trees * rows * depth * _share(model, width, default)
    if family == "extra":
        default = math.sqrt(width) if "Classifier" in model.name else width
        return trees * rows * depth * _share(model, width, default)
    if family == "boosting":
        sub = model.number("subsample", 1.0)
        return trees * rows * sub * min(depth, model.number("max_depth", 3)) * _share(model, width, width) * several
    if family == "histogram":
        rounds = model.number("max_iter", 100)
        return rounds * several * (rows * width * 0.3 + model.number("max_leaf_nodes", 31) * width * 30)
    if family == "adaboost":
        return trees * rows * width * (1 if "Classifier" in model.name else 3)
    if family == "tree":
        return rows * depth * _share(model, width, width)
    if family == "linear":
        return min(model.number("max_iter", 100), 1000) * rows * width * several
    if family == "svm":
        return rows**2 * width * (5.0 if model.constant("probability", False) is True else 1.0)
    if family == "neighbours":
        return rows * width
    if family == "network":
        layers = model.parameters.get("hidden_layer_sizes")
        sizes = (
            [item.value for item in layers.items if isinstance(item, Const)] if isinstance(layers, Sequence) else [100]
        )
        weights, before = 0.0, width
        for size in sizes:
            weights, before = weights + before * float(size), float(size)
        return model.number("max_iter", 200) * rows * (weights + 50)
    return rows * width**2
