"""Steps before an estimator: what they refuse, and what they make of their input."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from world_models.rehearsal.arrays import column_of, is_textual, rows_of, width_of
from world_models.rehearsal.models import EVENTS, PASS_NAN, TAKE_TEXT, VECTORISERS, Fitted
from world_models.rehearsal.values import (
    UNKNOWN,
    Column,
    Const,
    Fault,
    Mapping,
    Matrix,
    Model,
    Sequence,
    Table,
    Unknown,
    Vector,
    count_of,
)

if TYPE_CHECKING:
    from world_models.rehearsal.interpreter import Interpreter

__all__ = ["check_data", "check_features", "fit_transformer", "parts_of", "transform"]

_TOLERANT = ("HistGradientBoosting", "DecisionTree", "RandomForest", "ExtraTrees", "Bagging", "Dummy")
_TAKE_DENSE = ("HistGradientBoosting", "GaussianNB", "LinearDiscriminant", "QuadraticDiscriminant")

_ANY = Column("any")
_TAKE_ANYTHING = TAKE_TEXT | {"SimpleImputer", "KNNImputer"}


def check_data(run: Interpreter, model: Model, data: Any) -> None:
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
        if column.missing and not model.name.startswith(_TOLERANT) and model.name not in PASS_NAN:
            raise Fault("ValueError")
        if column.missing:
            run.flag("fits_missing")
        if isinstance(data, Matrix) and data.sparse and any(part in model.name for part in _TAKE_DENSE):
            raise Fault("TypeError")
        if count_of(data.rows) == 0 or width_of(data) == 0:
            raise Fault("ValueError")
        if isinstance(data, Table) and any(not isinstance(name, str) for name in data.columns):
            raise Fault("TypeError")


def check_features(run: Interpreter, model: Model, data: Any) -> None:
    """The features must be those of the fit."""
    fitted = model.fitted
    first = model.steps[0] if model.name == "Pipeline" and model.steps else model
    if isinstance(first, Model) and first.name == "ColumnTransformer":
        return  # it looks for no more columns than it works on
    if not isinstance(fitted, Fitted) or not isinstance(data, (Table, Matrix)):
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


def fit_transformer(run: Interpreter, model: Model, data: Any) -> None:
    name = model.name
    if name in VECTORISERS:
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
    if name in TAKE_TEXT:
        if isinstance(data, Vector):
            raise Fault("ValueError")
        return
    check_data(run, model, data)
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
    width = min(width, 2000.0)
    if model.constant("interaction_only", False):
        count = sum(math.comb(int(width), k) for k in range(degree + 1))
    else:
        count = math.comb(int(width) + degree, degree)
    return float(count - (model.constant("include_bias", True) is False))


def transform(run: Interpreter, model: Model, data: Any) -> Any:
    name = model.name
    if isinstance(data, Unknown):
        return UNKNOWN
    if name == "Pipeline":
        for step in model.steps:
            if isinstance(step, Model):
                data = transform(run, step, data)
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
    if name in VECTORISERS:
        run.flag("log_words", math.log10(max(1.0, model.number("max_features", 20_000))))
        run.flag("characters", float("char" in str(model.constant("analyzer", "word"))))
        trained_on = model.fitted.rows if isinstance(model.fitted, Fitted) else rows
        wanted = model.number("n_features" if name == "HashingVectorizer" else "max_features", 0)
        size = wanted or min(20_000.0, 4.0 * count_of(trained_on))
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
        if name == "LabelBinarizer":
            return Matrix(Column(whole=True), rows, column.unique if 2 < column.unique < math.inf else 1.0)
        return Vector(Column(whole=True, unique=column.unique), rows, False)
    if isinstance(data, (Table, Matrix)):
        check_features(run, model, data)
        if name not in _TAKE_ANYTHING:
            check_data(run, model, data)
    if name in ("SimpleImputer", "KNNImputer"):
        return Matrix(Column(column.kind, False), rows, width)
    if name == "OrdinalEncoder":
        if "handle_unknown" not in model.parameters:
            run.flag("unseen_labels", 0.5)
        return Matrix(Column(missing=column.missing, whole=True, low=-1.0), rows, width)
    if name == "TargetEncoder":
        return Matrix(Column(), rows, width)
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
    if name == "SplineTransformer":
        width *= model.number("n_knots", 5) + model.number("degree", 3) - 1
    elif name == "SelectPercentile":
        width = max(1.0, round(width * model.number("percentile", 10) / 100))
    elif name == "RFE":
        width = min(width, model.number("n_features_to_select", max(1.0, width // 2)))
    low = 0.0 if name == "MinMaxScaler" else -1.0
    if model.name == "FunctionTransformer":
        return data
    return Matrix(Column(column.kind, column.missing, low=low), rows, width, getattr(data, "sparse", False))


def parts_of(run: Interpreter, model: Model, data: Any) -> list[tuple[Any, Any]]:
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
        return Vector(data.columns.get(chosen.value, _ANY), data.rows)
    if isinstance(chosen, Sequence) and all(isinstance(item, Const) for item in chosen.items):
        names = [item.value for item in chosen.items]
        if data.exact and any(name not in data.columns for name in names):
            raise Fault("ValueError")
        return Table({name: data.columns.get(name, _ANY) for name in names}, data.rows)
    return UNKNOWN


def _joined(run: Interpreter, model: Model, data: Any) -> Any:
    rows = rows_of(data)
    if rows is None:
        return UNKNOWN
    width, kinds, sparse = 0.0, [], False
    for step, part in parts_of(run, model, data):
        if isinstance(step, Const) and step.value == "drop":
            continue
        if isinstance(part, Table) and not part.columns and part.exact:
            continue
        value = transform(run, step, part) if isinstance(step, Model) else part
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
