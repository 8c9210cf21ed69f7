"""scikit-learn, as far as kinds and sizes of values go: what estimators refuse, and what their fits cost."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from world_models.inspection.names import options_of, parameters_of
from world_models.rehearsal.frames import as_array, column_of, is_textual, rows_of, width_of
from world_models.rehearsal.values import (
    UNKNOWN,
    Column,
    Const,
    Fault,
    Index,
    Library,
    Mapping,
    Matrix,
    Model,
    Rows,
    Sequence,
    Table,
    Unknown,
    Vector,
    count_of,
    differ,
)  # fmt: skip

if TYPE_CHECKING:
    from world_models.rehearsal.interpreter import Interpreter

__all__ = ["DESCRIBED", "EVENTS", "FAMILIES", "describe", "family_of", "make", "method", "sklearn"]

FAMILIES = (
    "forest", "extra", "boosting", "histogram", "adaboost", "tree", "linear", "least_squares", "svm", "neighbours",
    "network", "bayes", "other",
)  # fmt: skip
"""Kinds of estimators whose fits cost alike."""

_TOLERANT = ("HistGradientBoosting", "DecisionTree", "RandomForest", "ExtraTrees", "Bagging", "Dummy")
_PASS_NAN = {"StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "QuantileTransformer", "PowerTransformer",
             "FunctionTransformer", "OrdinalEncoder", "OneHotEncoder", "SimpleImputer", "KNNImputer", "TargetEncoder",
             "KBinsDiscretizer"}  # fmt: skip
_TAKE_TEXT = {"OrdinalEncoder", "OneHotEncoder", "LabelEncoder", "FunctionTransformer", "TargetEncoder"}
_TAKE_DENSE = ("HistGradientBoosting", "GaussianNB", "LinearDiscriminant", "QuadraticDiscriminant")
_VECTORISERS = {"TfidfVectorizer", "CountVectorizer", "HashingVectorizer"}
_TRANSFORMERS = _PASS_NAN | _VECTORISERS | {
    "PCA", "TruncatedSVD", "SelectKBest", "SelectPercentile", "PolynomialFeatures", "LabelEncoder", "Normalizer",
    "VarianceThreshold", "LabelBinarizer", "SelectFromModel", "TfidfTransformer", "KernelPCA", "FastICA", "NMF",
    "SplineTransformer", "Binarizer", "FeatureUnion",
}  # fmt: skip
_SEARCHES = {"GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"}
_COMMITTEES = {"VotingClassifier", "VotingRegressor", "StackingClassifier", "StackingRegressor"}
_WRAPPERS = {"CalibratedClassifierCV", "BaggingClassifier", "BaggingRegressor", "OneVsRestClassifier",
             "TransformedTargetRegressor", "MultiOutputRegressor", "RFE", "RFECV", "AdaBoostClassifier",
             "AdaBoostRegressor"}  # fmt: skip
_SPLITTERS = {"KFold", "StratifiedKFold", "ShuffleSplit", "StratifiedShuffleSplit", "TimeSeriesSplit", "RepeatedKFold",
              "RepeatedStratifiedKFold", "GroupKFold"}  # fmt: skip
_NO_PROBABILITY = {"RidgeClassifier", "LinearSVC", "Perceptron", "PassiveAggressiveClassifier", "NearestCentroid"}
_FAMILY = (
    ("RandomForest", "forest"), ("ExtraTree", "extra"), ("HistGradient", "histogram"), ("GradientBoosting", "boosting"),
    ("AdaBoost", "adaboost"), ("DecisionTree", "tree"), ("KNeighbors", "neighbours"), ("MLP", "network"),
    ("LogisticRegression", "linear"), ("SGD", "linear"), ("Poisson", "linear"), ("Gamma", "linear"),
    ("Tweedie", "linear"), ("Huber", "linear"), ("LinearSV", "linear"), ("Lasso", "linear"), ("Elastic", "linear"),
    ("SV", "svm"), ("NuSV", "svm"), ("Gaussian", "bayes"), ("NB", "bayes"), ("Ridge", "least_squares"),
    ("LinearRegression", "least_squares"), ("Discriminant", "least_squares"), ("Bayesian", "least_squares"),
)  # fmt: skip


class _Fitted(NamedTuple):
    rows: Rows
    width: float
    names: tuple[str, ...] | None
    target: Column


EVENTS = (
    "StandardScaler", "MinMaxScaler", "RobustScaler", "QuantileTransformer", "PolynomialFeatures", "PCA", "TruncatedSVD",
    "SelectKBest", "OneHotEncoder", "OrdinalEncoder", "LabelEncoder", "TfidfVectorizer", "CountVectorizer",
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


def family_of(name: str) -> str:
    """Family of an estimator."""
    return next((family for part, family in _FAMILY if part in name), "other")


def _is_estimator(name: str) -> bool:
    return name.endswith(("Classifier", "Regressor", "Regression", "SVC", "SVR", "NB")) or family_of(name) != "other"


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
    if name in _SEARCHES or name in _WRAPPERS:
        inner = (
            args[0]
            if args
            else next((named[k] for k in ("estimator", "base_estimator", "regressor") if k in named), None)
        )
        parameters = dict(named)
        if name in _SEARCHES and len(args) > 1:
            parameters.setdefault("param_grid", args[1])
        return Model(name, parameters, [] if inner is None else [inner])
    if name in _COMMITTEES:
        return Model(name, named, _named_steps(args[0] if args else named.get("estimators")))
    if name in _SPLITTERS or name in _TRANSFORMERS or _is_estimator(name):
        parameters = dict(named)
        first = {"SimpleImputer": "", "TruncatedSVD": "n_components", "PCA": "n_components", "SelectKBest": "score_func",
                 "KFold": "n_splits", "StratifiedKFold": "n_splits", "PolynomialFeatures": "degree",
                 "KNeighborsClassifier": "n_neighbors", "KNeighborsRegressor": "n_neighbors"}.get(name, "")  # fmt: skip
        if args and first:
            parameters.setdefault(first, args[0])
        return Model(name, parameters)
    return None


def _named_steps(value: Any) -> list[Any]:
    parts = value.items if isinstance(value, Sequence) else []
    return [part.items[1] for part in parts if isinstance(part, Sequence) and len(part.items) >= 2]


# --- methods ---


def method(run: Interpreter, model: Model, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    """Result of a method of a scikit-learn object."""
    if model.name in _SPLITTERS:
        return _split(run, model, args) if name == "split" else UNKNOWN
    if name in ("fit", "partial_fit"):
        extra = named.keys() - {"X", "y", "sample_weight", "raw_documents", "classes"}
        if extra and not any("__" in one for one in extra):
            raise Fault("TypeError")
        given = args or [named[key] for key in ("X", "y") if key in named]
        _fit(run, model, *(given + [None, None])[:2])
        return model
    if name == "fit_transform":
        _fit(run, model, *(args + [None, None])[:2])
        return _transform(run, model, args[0] if args else UNKNOWN)
    if name in ("transform", "fit_predict", "inverse_transform"):
        if model.fitted is None:
            raise Fault("sklearn.exceptions.NotFittedError")
        if name == "inverse_transform":
            return Vector(model.target or Column("any"), rows_of(args[0]) or run.take(1), False) if args else UNKNOWN
        if _ending(model) is not None and model.name != "Pipeline" and _is_estimator(model.name):
            raise Fault("AttributeError")
        return _transform(run, model, args[0] if args else UNKNOWN)
    if name in ("predict", "predict_proba", "predict_log_proba", "decision_function", "score"):
        return _predict(run, model, name, args)
    if name in ("get_feature_names_out", "get_params"):
        return UNKNOWN
    if name == "set_params":
        model.parameters |= named
        return model
    if name in ("fit_resample", "evaluate", "compile", "train"):
        raise Fault("AttributeError")
    run.unknown += 1
    return UNKNOWN


def _split(run: Interpreter, model: Model, args: list[Any]) -> Any:
    rows = rows_of(args[0]) if args else None
    if rows is None:
        return UNKNOWN
    folds = model.number("n_splits", 5 if "Shuffle" not in model.name else 10)
    kept, left = run.fresh(rows, (folds - 1) / folds), run.fresh(rows, 1 / folds)
    if model.name.startswith("Stratified") and len(args) > 1:
        target = column_of(args[1])
        if target.kind == "number" and not target.whole:
            raise Fault("ValueError")
    elif model.name.startswith("Stratified"):
        raise Fault("TypeError")
    return Sequence([Sequence([Index(kept), Index(left)], 2)], folds)


def _ending(model: Any) -> Model | None:
    """The estimator at the end of a chain, ``None`` where it ends in a transformer."""
    if not isinstance(model, Model):
        return None
    if model.name in ("Pipeline", *_SEARCHES, *_WRAPPERS):
        if not model.steps:
            return model if model.name.startswith("AdaBoost") else None
        return model if model.name.startswith("AdaBoost") else _ending(model.steps[-1])
    if model.name in _TRANSFORMERS or model.name in ("ColumnTransformer", "Union"):
        return None
    return model


def _fit(run: Interpreter, model: Model, data: Any, target: Any) -> None:
    if model.name == "Pipeline":
        value = data
        for step in model.steps[:-1]:
            if isinstance(step, Model):
                _fit(run, step, value, target)
                value = _transform(run, step, value)
        if model.steps and isinstance(model.steps[-1], Model):
            _fit(run, model.steps[-1], value, target)
        model.fitted = _seen(data, target)
        model.target = column_of(target)
        return
    if model.name in ("ColumnTransformer", "Union"):
        for step, part in _parts(run, model, data):
            if isinstance(step, Model) and not (isinstance(part, Table) and not part.columns and part.exact):
                _fit(run, step, part, target)
        model.fitted = _seen(data, target)
        return
    if model.name in _SEARCHES:
        _search(run, model, data, target)
    elif model.name in _COMMITTEES:
        folds = 6.0 if model.name.startswith("Stacking") else 1.0
        for step in model.steps:
            if isinstance(step, Model):
                _times(run, folds, step, data, target)
    elif model.name in _WRAPPERS and model.steps:
        inner = model.steps[0]
        times = model.number("n_estimators", 10) if model.name.startswith("Bagging") else 1.0
        if isinstance(inner, Model):
            _times(run, times, inner, data, target)
    elif model.name in _TRANSFORMERS:
        _fit_transformer(run, model, data)
    else:
        _fit_estimator(run, model, data, target)
    model.fitted = _seen(data, target)
    model.target = column_of(target)


def _times(run: Interpreter, times: float, model: Model, data: Any, target: Any) -> None:
    before, run.repeat = run.repeat, run.repeat * times
    try:
        _fit(run, model, data, target)
    finally:
        run.repeat = before


def _seen(data: Any, target: Any) -> _Fitted:
    names = tuple(data.columns) if isinstance(data, Table) and data.exact else None
    return _Fitted(rows_of(data) or (), width_of(data), names, column_of(target))


def _search(run: Interpreter, model: Model, data: Any, target: Any) -> None:
    if isinstance(target, Vector) and target.extension:
        raise Fault("TypeError")
    grid = next(
        (model.parameters[key] for key in ("param_grid", "param_distributions") if key in model.parameters), None
    )
    candidates = 1.0
    if isinstance(grid, Mapping):
        for value in grid.items.values():
            candidates *= max(1.0, value.length if isinstance(value, Sequence) else 1.0)
    if model.name == "RandomizedSearchCV":
        candidates = min(candidates, model.number("n_iter", 10)) if candidates > 1 else model.number("n_iter", 10)
    folds = model.number("cv", 5)
    run.flag("candidates", math.log10(1 + candidates * folds))
    if model.steps and isinstance(model.steps[0], Model):
        _times(run, candidates * folds + 1, model.steps[0], data, target)


def _check_data(run: Interpreter, model: Model, data: Any) -> None:
    """What all of scikit-learn refuses as X."""
    if isinstance(data, (Vector,)) or (isinstance(data, Sequence) and data.items and isinstance(data.items[0], Const)):
        raise Fault("ValueError")
    if isinstance(data, (Const, Mapping)):
        raise Fault("ValueError" if isinstance(data, Const) else "TypeError")
    if isinstance(data, (Table, Matrix)):
        column = column_of(data)
        if isinstance(data, Table) and any(one.kind == "time" for one in data.columns.values()):
            raise Fault("TypeError" if len({one.kind for one in data.columns.values()}) > 1 else "ValueError")
        if column.textual:
            raise Fault("ValueError")
        if column.kind == "any":
            run.flag("open_kind")
        if column.missing and not model.name.startswith(_TOLERANT) and model.name not in _PASS_NAN:
            raise Fault("ValueError")
        if column.missing:
            run.flag("fits_missing")
        if isinstance(data, Matrix) and data.sparse and any(part in model.name for part in _TAKE_DENSE):
            raise Fault("TypeError")
        if count_of(data.rows) == 0 or width_of(data) == 0:
            raise Fault("ValueError")
        if isinstance(data, Table) and any(not isinstance(name, str) for name in data.columns):
            raise Fault("TypeError")


def _fit_transformer(run: Interpreter, model: Model, data: Any) -> None:
    name = model.name
    if name in _VECTORISERS:
        if isinstance(data, Vector) and data.column.missing:
            raise Fault("ValueError")
        if isinstance(data, Vector) and data.column.kind in ("number", "bool", "time"):
            raise Fault("AttributeError")
        if isinstance(data, Matrix):
            raise Fault("AttributeError")
        rows = count_of(rows_of(data) or ())
        characters = "char" in str(model.constant("analyzer", "word"))
        grams = model.parameters.get("ngram_range")
        longest = grams.items[-1].value if isinstance(grams, Sequence) and isinstance(grams.items[-1], Const) else 1
        run.cost("words", rows * (8.0 if characters else 1.0) * float(longest))
        return
    if name in ("LabelEncoder", "LabelBinarizer"):
        if isinstance(data, (Table, Matrix)) and width_of(data) != 1:
            raise Fault("ValueError")
        model.parameters["of"] = data.rows if isinstance(data, Vector) else ()
        return
    if name in ("SimpleImputer",) and isinstance(data, (Table, Matrix)):
        if is_textual(data) and model.constant("strategy", "mean") in ("mean", "median"):
            raise Fault("ValueError")
        return
    if name in _TAKE_TEXT:
        if isinstance(data, Vector):
            raise Fault("ValueError")
        return
    _check_data(run, model, data)
    if isinstance(data, (Table, Matrix)):
        rows, width = count_of(data.rows), width_of(data)
        if name == "PCA":
            if isinstance(model.parameters.get("n_components"), Const) and model.number("n_components", 0) > min(
                rows, width
            ):
                raise Fault("ValueError")
            run.cost("least_squares", rows * width**2)
        elif name in ("SelectKBest",) and model.number("k", 10) > width:
            run.flag("selects_more")
        elif name == "TruncatedSVD":
            if model.number("n_components", 2) > width:
                raise Fault("ValueError")
            run.cost("words", rows * model.number("n_components", 2) * 0.2)
        elif name == "PolynomialFeatures":
            wide = _polynomials(model, width)
            run.allocate(rows, wide)


def _polynomials(model: Model, width: float) -> float:
    degree = int(min(12, max(1, model.number("degree", 2))))
    return float(math.comb(int(min(width, 2000)) + degree, degree))


def _transform(run: Interpreter, model: Model, data: Any) -> Any:
    name = model.name
    if isinstance(data, Unknown):
        return UNKNOWN
    if name == "Pipeline":
        for step in model.steps:
            if isinstance(step, Model):
                data = _transform(run, step, data)
        return data
    if name in ("ColumnTransformer", "Union"):
        return _joined(run, model, data)
    rows = rows_of(data)
    if rows is None:
        return UNKNOWN
    if name in EVENTS:
        run.flag(name)
    if name == "SimpleImputer":
        run.flag(f"imputes_{model.constant('strategy', 'mean')}")
    column = column_of(data)
    width = width_of(data)
    if name in _VECTORISERS:
        run.flag("log_words", math.log10(max(1.0, model.number("max_features", 20_000))))
        run.flag("characters", float("char" in str(model.constant("analyzer", "word"))))
        size = model.number("max_features", 0) or min(20_000.0, 4.0 * count_of(rows))
        if isinstance(data, Table):
            return Matrix(Column(), (("", float(len(data.columns))),), size, True)
        if isinstance(data, Vector) and data.column.missing:
            raise Fault("ValueError")
        return Matrix(Column(), rows, size, True)
    if name in ("LabelEncoder", "LabelBinarizer"):
        trained = model.parameters.get("of", ())
        if trained and count_of(trained) < count_of(rows):
            run.flag("unseen_labels")
        if trained and trained != rows and len(trained) == 1:
            run.flag("unseen_labels")
        return Vector(Column(whole=True, unique=column.unique), rows, False)
    if isinstance(data, (Table, Matrix)):
        _check_features(run, model, data)
        if name not in _TAKE_TEXT | {"SimpleImputer", "KNNImputer"}:
            _check_data(run, model, data)
    if name in ("SimpleImputer", "KNNImputer"):
        return Matrix(Column(column.kind, False), rows, width)
    if name == "OrdinalEncoder":
        if "handle_unknown" not in model.parameters:
            run.flag("unseen_labels", 0.5)
        return Matrix(Column(missing=column.missing, whole=True, low=-1.0), rows, width)
    if name == "OneHotEncoder":
        if "handle_unknown" not in model.parameters:
            run.flag("unseen_labels", 0.5)
        wide = sum(min(c.unique, 2000.0) for c in data.columns.values()) if isinstance(data, Table) else width * 5
        sparse = model.constant("sparse_output", True) is not False
        if not sparse:
            run.allocate(count_of(rows), wide)
        return Matrix(Column("bool"), rows, wide, sparse)
    if name == "PolynomialFeatures":
        wide = _polynomials(model, width)
        run.allocate(count_of(rows), wide)
        return Matrix(Column(), rows, wide)
    if name in ("PCA", "TruncatedSVD", "SelectKBest", "KernelPCA", "FastICA", "NMF"):
        wanted = model.number("n_components", model.number("k", 10 if name == "SelectKBest" else width))
        low = column.low if name == "SelectKBest" else -1.0
        return Matrix(Column(low=low), rows, min(width, wanted if wanted >= 1 else max(1.0, 0.5 * width)))
    low = 0.0 if name == "MinMaxScaler" else -1.0
    if model.name == "FunctionTransformer":
        return data
    return Matrix(Column(column.kind, column.missing, low=low), rows, width, getattr(data, "sparse", False))


def _parts(run: Interpreter, model: Model, data: Any) -> list[tuple[Any, Any]]:
    """(step, what it sees) of a column transformer or a union."""
    if model.name == "Union":
        return [(step, data) for step in model.steps]
    found: list[tuple[Any, Any]] = []
    for part in model.steps:
        items = [item for item in part.items if not (len(part.items) == 3 and item is part.items[0])]
        if len(items) != 2:
            continue
        step, chosen = items
        if isinstance(step, Sequence) or (isinstance(step, Const) and not isinstance(step.value, str)):
            step, chosen = chosen, step
        found.append((step, _chosen(run, data, chosen)))
    return found


def _chosen(run: Interpreter, data: Any, chosen: Any) -> Any:
    if not isinstance(data, Table):
        if (
            isinstance(data, Matrix)
            and isinstance(chosen, Sequence)
            and any(isinstance(item, Const) and isinstance(item.value, str) for item in chosen.items)
        ):
            raise Fault("ValueError")
        return UNKNOWN
    if isinstance(chosen, Const) and isinstance(chosen.value, str):
        if chosen.value not in data.columns and data.exact:
            raise Fault("ValueError")
        return Vector(data.columns.get(chosen.value, Column("any")), data.rows)
    if isinstance(chosen, Sequence) and all(isinstance(item, Const) for item in chosen.items):
        names = [item.value for item in chosen.items]
        if data.exact and any(name not in data.columns for name in names):
            raise Fault("ValueError")
        return Table({name: data.columns.get(name, Column("any")) for name in names}, data.rows)
    return UNKNOWN


def _joined(run: Interpreter, model: Model, data: Any) -> Any:
    rows = rows_of(data)
    if rows is None:
        return UNKNOWN
    width, kinds, sparse = 0.0, [], False
    for step, part in _parts(run, model, data):
        if isinstance(step, Const) and step.value == "drop":
            continue
        if isinstance(part, Table) and not part.columns and part.exact:
            continue
        value = _transform(run, step, part) if isinstance(step, Model) else part
        if isinstance(value, Unknown):
            return Matrix(Column("any"), rows, max(1.0, width_of(data)))
        if width_of(value) == 0:
            continue
        width += width_of(value)
        kinds.append(column_of(value))
        sparse = sparse or getattr(value, "sparse", False)
    if not kinds:
        return Matrix(Column(), rows, 0.0)
    kind = next((c.kind for c in kinds if c.textual or c.kind == "any"), "number")
    low = min(c.low for c in kinds)
    dense = not sparse or ("sparse_threshold" in model.parameters and model.number("sparse_threshold", 0.3) == 0)
    if dense:
        run.allocate(count_of(rows), width)
    return Matrix(Column(kind, any(c.missing for c in kinds), low=low), rows, width, not dense)


def _check_features(run: Interpreter, model: Model, data: Any) -> None:
    """The features must be those of the fit."""
    fitted = model.fitted
    if not isinstance(fitted, _Fitted) or not isinstance(data, (Table, Matrix)):
        return
    if isinstance(data, Table) and fitted.names is not None and data.exact:
        if set(data.columns) != set(fitted.names):
            stems = [{name.partition("=*")[0] for name in names} for names in (data.columns, fitted.names)]
            if stems[0] == stems[1]:
                run.flag("other_dummies")
                return
            raise Fault("ValueError")
        return
    if isinstance(data, Table) and not data.exact:
        return
    if width_of(data) != fitted.width and fitted.width > 0:
        raise Fault("ValueError")


def _fit_estimator(run: Interpreter, model: Model, data: Any, target: Any) -> None:
    classifies = "Classifier" in model.name or model.name in ("LogisticRegression", "SVC", "LinearSVC") or (
        model.name.endswith("NB") or "Discriminant" in model.name
    )  # fmt: skip
    if target is None and _is_estimator(model.name):
        raise Fault("TypeError" if model.name not in ("KNeighborsClassifier",) else "ValueError")
    rows = rows_of(data)
    for parameter, options in options_of(model.name).items():
        given = model.constant(parameter)
        if isinstance(given, str) and given not in options:
            raise Fault("sklearn.utils._param_validation.InvalidParameterError")
    if isinstance(target, (Vector, Matrix, Table)):
        column = column_of(target)
        if rows is not None and differ(rows, target.rows):
            raise Fault("ValueError")
        if column.missing:
            raise Fault("ValueError")
        if not classifies and column.textual and _is_estimator(model.name):
            raise Fault("ValueError")
        if classifies and column.kind == "number" and not column.whole and column.source == "target":
            raise Fault("ValueError")
        if isinstance(target, (Table, Matrix)) and width_of(target) > 1:
            run.flag("wide_target")
    _check_data(run, model, data)
    if (
        model.name in ("MultinomialNB", "ComplementNB")
        and isinstance(data, (Table, Matrix))
        and column_of(data).low < 0
    ):
        raise Fault("ValueError")
    if rows is None:
        run.unknown += 1
        return
    count, width = max(1.0, count_of(rows)), max(1.0, width_of(data))
    classes = max(1, len(run.inventory.classes)) if classifies else 1
    family = family_of(model.name)
    run.cost(family, _operations(model, family, count, width, classes))
    run.fits.append((model, count, width))
    if run.repeat > 1.0:
        run.flag("fits_often", math.log10(run.repeat))


def _share(model: Model, width: float, default: float) -> float:
    """Features that a split looks at."""
    value = model.constant("max_features", None)
    if value in ("sqrt", "log2", "auto"):
        return math.sqrt(width)
    if isinstance(value, float) and 0 < value <= 1:
        return max(1.0, value * width)
    return default


def _operations(model: Model, family: str, rows: float, width: float, classes: int) -> float:
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


def _predict(run: Interpreter, model: Model, name: str, args: list[Any]) -> Any:
    ending = _ending(model)
    if ending is None and model.name not in _COMMITTEES and not model.name.startswith("AdaBoost"):
        if model.name in _TRANSFORMERS or (model.name == "Pipeline" and model.steps):
            raise Fault("AttributeError")
        return UNKNOWN
    last = ending or model
    if name in ("predict_proba", "predict_log_proba"):
        silent = last.name in _NO_PROBABILITY or (
            last.name == "SVC" and last.constant("probability", False) is not True
        )
        silent = silent or (
            last.name == "SGDClassifier" and last.constant("loss", "hinge") not in ("log_loss", "modified_huber")
        )
        if (
            silent
            or last.name.endswith(("Regressor", "SVR"))
            or last.name in ("Ridge", "Lasso", "LinearRegression", "ElasticNet")
        ):
            raise Fault("AttributeError")
    if model.fitted is None:
        raise Fault("sklearn.exceptions.NotFittedError")
    data = args[0] if args else UNKNOWN
    rows = rows_of(data)
    if isinstance(data, Unknown) or rows is None:
        return UNKNOWN
    _check_features(run, model, data)
    if model.name == "Pipeline":
        value = data
        for step in model.steps[:-1]:
            if isinstance(step, Model):
                value = _transform(run, step, value)
        data = value
        last = ending or model
    _check_data(run, last, data)
    if last is not model and isinstance(data, (Table, Matrix)):
        _check_features(run, last, data)
    if "KNeighbors" in last.name and isinstance(last.fitted, _Fitted):
        run.cost("neighbours", count_of(rows) * count_of(last.fitted.rows) * max(1.0, width_of(data)))
    if last.name.startswith(("SVC", "SVR")) and isinstance(last.fitted, _Fitted):
        run.cost("svm", 0.3 * count_of(rows) * count_of(last.fitted.rows) * max(1.0, width_of(data)))
    if name == "score":
        return UNKNOWN
    target = model.target or Column("any")
    if name == "predict":
        return Vector(Column(target.kind, whole=target.whole, source="prediction"), rows, False)
    if name == "decision_function":
        return Vector(Column(source="prediction"), rows, False)
    return Matrix(Column(source="probability"), rows, float(max(2, len(run.inventory.classes))))


# --- functions ---


def sklearn(run: Interpreter, path: str, args: list[Any], named: dict[str, Any]) -> Any:
    """Result of calling something in scikit-learn."""
    name = path.rpartition(".")[2]
    function: Callable[..., Any] | None = _FUNCTIONS.get(name)
    if function is not None:
        known = parameters_of(name)
        if known is not None and name != "train_test_split" and not named.keys() <= known:
            raise Fault("TypeError")
        return function(run, args, named)
    made = make(run, name, args, named)
    if made is None:
        if ".metrics" in path:
            known = parameters_of(name)
            if known is not None and not named.keys() <= known:
                raise Fault("TypeError")
            _check_metric(args)
            return UNKNOWN
        run.unknown += 1
        return UNKNOWN
    return made


def _check_metric(args: list[Any]) -> None:
    if len(args) > 1 and all(isinstance(arg, (Vector, Table, Matrix)) for arg in args[:2]):
        if differ(args[0].rows, args[1].rows):
            raise Fault("ValueError")


def _train_test_split(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    size = named.get("test_size", named.get("train_size"))
    share = size.value if isinstance(size, Const) and isinstance(size.value, float) else 0.25
    parts: list[Any] = []
    rows = rows_of(args[0]) if args else None
    if rows is None:
        return Sequence([UNKNOWN] * (2 * len(args)), 2 * len(args))
    if any(differ(rows_of(value) or rows, rows) for value in args):
        raise Fault("ValueError")
    if any(isinstance(value, Vector) and value.extension for value in args):
        raise Fault("TypeError")
    kept, left = run.fresh(rows, 1 - share), run.fresh(rows, share)
    for value in args:
        for of_part in (kept, left):
            if isinstance(value, Table):
                parts.append(Table(dict(value.columns), of_part, value.exact))
            elif isinstance(value, Vector):
                parts.append(Vector(value.column, of_part, value.series))
            elif isinstance(value, Matrix):
                parts.append(Matrix(value.column, of_part, value.width, value.sparse))
            else:
                parts.append(UNKNOWN)
    return Sequence(parts, len(parts))


def _cross_val(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    if args and isinstance(args[0], Model) and len(args) > 2:
        if isinstance(args[2], Vector) and args[2].extension:
            raise Fault("TypeError")
        folds = named.get("cv")
        times = float(folds.value) if isinstance(folds, Const) and isinstance(folds.value, int) else 5.0
        try:
            _times(run, times * 0.8, args[0], args[1], args[2])
        finally:
            args[0].fitted = None
        rows = rows_of(args[1]) or run.take(1)
        if True:
            return Vector(Column(), (("", times),), False) if "predict" not in named else Vector(Column(), rows, False)
    return UNKNOWN


def _clone(run: Interpreter, args: list[Any], named: dict[str, Any]) -> Any:
    value = args[0] if args else UNKNOWN
    if not isinstance(value, Model):
        return UNKNOWN
    return Model(
        value.name,
        dict(value.parameters),
        [_clone(run, [step], {}) if isinstance(step, Model) else step for step in value.steps],
    )


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "train_test_split": _train_test_split, "cross_val_score": _cross_val, "clone": _clone,
}  # fmt: skip
_ = (Library, as_array)
