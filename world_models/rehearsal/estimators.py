"""Fits and predictions of scikit-learn, as far as kinds and sizes of values go: what is refused, what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from world_models.rehearsal.arrays import column_of, rows_of, width_of
from world_models.rehearsal.models import (
    COMMITTEES,
    SEARCHES,
    SPLITTERS,
    TRANSFORMERS,
    WRAPPERS,
    Fitted,
    family_of,
    is_estimator,
    make,
    operations,
)
from world_models.rehearsal.names import options_of, parameters_of
from world_models.rehearsal.transformers import check_data, check_features, fit_transformer, parts_of, transform
from world_models.rehearsal.values import (
    UNKNOWN,
    Column,
    Const,
    Fault,
    Index,
    Mapping,
    Matrix,
    Model,
    Sequence,
    Table,
    Unknown,
    Vector,
    count_of,
    differ,
)

if TYPE_CHECKING:
    from world_models.rehearsal.interpreter import Interpreter

__all__ = ["method", "sklearn"]

_NO_PROBABILITY = {"RidgeClassifier", "LinearSVC", "Perceptron", "PassiveAggressiveClassifier", "NearestCentroid"}
_STATELESS = {"FunctionTransformer", "Normalizer", "Binarizer", "HashingVectorizer"}
_SMOOTH_ONLY = {"lbfgs", "newton-cg", "newton-cholesky", "sag"}  # solvers of a logistic regression that take no L1


def method(run: Interpreter, model: Model, name: str, args: list[Any], named: dict[str, Any]) -> Any:
    """Result of a method of a scikit-learn object."""
    if model.name in SPLITTERS:
        return _split(run, model, args) if name == "split" else UNKNOWN
    if name in ("fit", "partial_fit"):
        extra = named.keys() - {"X", "y", "sample_weight", "raw_documents", "classes"}
        if extra and not any("__" in one for one in extra):
            raise Fault("TypeError")
        given = args or [named[key] for key in ("X", "y") if key in named]
        _fit(run, model, *([*given, None, None])[:2])
        return model
    if name == "fit_transform":
        _fit(run, model, *([*args, None, None])[:2])
        return transform(run, model, args[0] if args else UNKNOWN)
    if name in ("transform", "fit_predict", "inverse_transform"):
        if model.fitted is None and model.name not in _STATELESS:
            raise Fault("sklearn.exceptions.NotFittedError")
        if name == "inverse_transform":
            return Vector(model.target or Column("any"), rows_of(args[0]) or run.take(1), False) if args else UNKNOWN
        if _ending(model) is not None and model.name != "Pipeline" and is_estimator(model.name):
            raise Fault("AttributeError")
        return transform(run, model, args[0] if args else UNKNOWN)
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
    if model.name in ("Pipeline", *SEARCHES, *WRAPPERS):
        if not model.steps:
            return model if model.name.startswith("AdaBoost") else None
        return model if model.name.startswith("AdaBoost") else _ending(model.steps[-1])
    if model.name in TRANSFORMERS or model.name in ("ColumnTransformer", "Union"):
        return None
    return model


def _fit(run: Interpreter, model: Model, data: Any, target: Any) -> None:
    if model.name == "Pipeline":
        value = data
        for step in model.steps[:-1]:
            if isinstance(step, Model):
                _fit(run, step, value, target)
                value = transform(run, step, value)
        if model.steps and isinstance(model.steps[-1], Model):
            _fit(run, model.steps[-1], value, target)
        model.fitted = _seen(data, target)
        model.target = column_of(target)
        return
    if model.name in ("ColumnTransformer", "Union"):
        for step, part in parts_of(run, model, data):
            if isinstance(step, Model) and not (isinstance(part, Table) and not part.columns and part.exact):
                _fit(run, step, part, target)
        model.fitted = _seen(data, target)
        return
    if model.name in SEARCHES:
        _search(run, model, data, target)
    elif model.name in COMMITTEES:
        folds = 6.0 if model.name.startswith("Stacking") else 1.0
        for step in model.steps:
            if isinstance(step, Model):
                _times(run, folds, step, data, target)
    elif model.name in WRAPPERS and model.steps:
        inner = model.steps[0]
        times = model.number("n_estimators", 10) if model.name.startswith("Bagging") else 1.0
        if isinstance(inner, Model):
            _times(run, times, inner, data, target)
    elif model.name in TRANSFORMERS:
        fit_transformer(run, model, data)
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


def _seen(data: Any, target: Any) -> Fitted:
    names = tuple(data.columns) if isinstance(data, Table) and data.exact else None
    return Fitted(rows_of(data) or (), width_of(data), names, column_of(target))


def _search(run: Interpreter, model: Model, data: Any, target: Any) -> None:
    if isinstance(target, Vector) and target.extension:
        raise Fault("TypeError")
    grid = next(
        (model.parameters[key] for key in ("param_grid", "param_distributions") if key in model.parameters), None
    )
    candidates = 1.0
    if isinstance(grid, Mapping):
        _check_grid(model.steps[0] if model.steps else None, grid)
        for value in grid.items.values():
            candidates *= max(1.0, value.length if isinstance(value, Sequence) else 1.0)
    if model.name == "RandomizedSearchCV":
        candidates = min(candidates, model.number("n_iter", 10)) if candidates > 1 else model.number("n_iter", 10)
    folds = model.number("cv", 5)
    run.flag("candidates", math.log10(1 + candidates * folds))
    if model.steps and isinstance(model.steps[0], Model):
        _times(run, candidates * folds + 1, model.steps[0], data, target)


def _check_grid(inner: Any, grid: Mapping) -> None:
    known = parameters_of(inner.name) if isinstance(inner, Model) and not inner.steps else None
    if known is not None and any(isinstance(key, str) and key.partition("__")[0] not in known for key in grid.items):
        raise Fault("ValueError")


def _fit_estimator(run: Interpreter, model: Model, data: Any, target: Any) -> None:
    classifies = "Classifier" in model.name or model.name in ("LogisticRegression", "SVC", "LinearSVC") or (
        model.name.endswith("NB") or "Discriminant" in model.name
    )  # fmt: skip
    if target is None and is_estimator(model.name):
        raise Fault("TypeError" if model.name not in ("KNeighborsClassifier",) else "ValueError")
    rows = rows_of(data)
    for parameter, options in options_of(model.name).items():
        given = model.constant(parameter)
        if isinstance(given, str) and given not in options:
            raise Fault("sklearn.utils._param_validation.InvalidParameterError")
    if model.name == "LogisticRegression":
        solver, penalty = model.constant("solver", "lbfgs"), model.constant("penalty", "l2")
        if (penalty == "l1" and solver in _SMOOTH_ONLY) or (penalty == "elasticnet" and solver != "saga"):
            raise Fault("ValueError")
    if isinstance(target, (Vector, Matrix, Table)):
        column = column_of(target)
        if rows is not None and differ(rows, target.rows):
            raise Fault("ValueError")
        if column.missing:
            raise Fault("ValueError")
        if not classifies and column.textual and is_estimator(model.name):
            raise Fault("ValueError")
        if classifies and column.kind == "number" and not column.whole and column.source == "target":
            raise Fault("ValueError")
        if isinstance(target, (Table, Matrix)) and width_of(target) > 1:
            run.flag("wide_target")
    check_data(run, model, data)
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
    run.cost(family, operations(model, family, count, width, classes))
    run.fits.append((model, count, width))
    if run.repeat > 1.0:
        run.flag("fits_often", math.log10(run.repeat))


def _predict(run: Interpreter, model: Model, name: str, args: list[Any]) -> Any:
    ending = _ending(model)
    if ending is None and model.name not in COMMITTEES and not model.name.startswith("AdaBoost"):
        if model.name in TRANSFORMERS or (model.name == "Pipeline" and model.steps):
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
    check_features(run, model, data)
    if model.name == "Pipeline":
        value = data
        for step in model.steps[:-1]:
            if isinstance(step, Model):
                value = transform(run, step, value)
        data = value
        last = ending or model
    check_data(run, last, data)
    if last is not model and isinstance(data, (Table, Matrix)):
        check_features(run, last, data)
    if "KNeighbors" in last.name and isinstance(last.fitted, Fitted):
        run.cost("neighbours", count_of(rows) * count_of(last.fitted.rows) * max(1.0, width_of(data)))
    if last.name.startswith(("SVC", "SVR")) and isinstance(last.fitted, Fitted):
        run.cost("svm", 0.3 * count_of(rows) * count_of(last.fitted.rows) * max(1.0, width_of(data)))
    if name == "score":
        return UNKNOWN
    target = model.target or Column("any")
    if name == "predict":
        return Vector(Column(target.kind, whole=target.whole, source="prediction"), rows, False)
    if name == "decision_function":
        return Vector(Column(source="prediction"), rows, False)
    return Matrix(Column(source="probability"), rows, float(max(2, len(run.inventory.classes))))


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
    arrays = [arg for arg in args[:2] if isinstance(arg, (Vector, Table, Matrix))]
    if len(arrays) == 2 and differ(arrays[0].rows, arrays[1].rows):
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
