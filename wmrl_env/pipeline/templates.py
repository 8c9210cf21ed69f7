"""The pieces of a rendered solution: imports, preprocessing, estimators, output."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from wmrl_env.tasks.task import ResearchTask

__all__ = ["MODELS", "repairs", "safe_options", "solution"]

_Choices = dict[str, str]
_Imports = list[tuple[str, str]]  # (module, name)

# family -> (module, classifier, regressor)
MODELS: dict[str, tuple[str, str, str]] = {
    "linear": ("sklearn.linear_model", "LogisticRegression", "Ridge"),
    "neighbors": ("sklearn.neighbors", "KNeighborsClassifier", "KNeighborsRegressor"),
    "generalised": ("", "MultinomialNB", "PoissonRegressor"),
    "svm": ("sklearn.svm", "SVC", "SVR"),
    "tree": ("sklearn.tree", "DecisionTreeClassifier", "DecisionTreeRegressor"),
    "random_forest": ("sklearn.ensemble", "RandomForestClassifier", "RandomForestRegressor"),
    "extra_trees": ("sklearn.ensemble", "ExtraTreesClassifier", "ExtraTreesRegressor"),
    "gradient_boosting": ("sklearn.ensemble", "GradientBoostingClassifier", "GradientBoostingRegressor"),
    "hist_boosting": ("sklearn.ensemble", "HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
    "mlp": ("sklearn.neural_network", "MLPClassifier", "MLPRegressor"),
}

_CAPACITY: dict[str, dict[str, dict[str, Any]]] = {
    "linear": {"small": {}, "medium": {}, "large": {}},
    "neighbors": {"small": {"n_neighbors": 50}, "medium": {"n_neighbors": 15}, "large": {"n_neighbors": 3}},
    "generalised": {"small": {}, "medium": {}, "large": {}},
    "svm": {"small": {"kernel": "linear"}, "medium": {"kernel": "rbf"}, "large": {"kernel": "poly", "degree": 3}},
    "tree": {"small": {"max_depth": 3}, "medium": {"max_depth": 8}, "large": {"max_depth": None}},
    "random_forest": {"small": {"n_estimators": 50}, "medium": {"n_estimators": 150}, "large": {"n_estimators": 400}},
    "extra_trees": {"small": {"n_estimators": 50}, "medium": {"n_estimators": 150}, "large": {"n_estimators": 400}},
    "gradient_boosting": {
        "small": {"n_estimators": 50, "max_depth": 2},
        "medium": {"n_estimators": 150, "max_depth": 3},
        "large": {"n_estimators": 400, "max_depth": 4},
    },
    "hist_boosting": {"small": {"max_iter": 40}, "medium": {"max_iter": 120}, "large": {"max_iter": 400}},
    "mlp": {
        "small": {"hidden_layer_sizes": (16,)},
        "medium": {"hidden_layer_sizes": (64,)},
        "large": {"hidden_layer_sizes": (128, 64)},
    },
}
_LINEAR_STEPS = {"small": 100, "medium": 300, "large": 1000}

_FORESTS: dict[str, dict[str, Any]] = {
    "weak": {"min_samples_leaf": 1},
    "strong": {"min_samples_leaf": 10},
    "l1": {"min_samples_leaf": 3, "max_features": 0.5},
}
# family -> regularisation -> (keywords for classification, keywords for regression)
_REGULARISATION: dict[str, dict[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    "linear": {
        "weak": ({"C": 10.0}, {"alpha": 0.1}),
        "strong": ({"C": 0.05}, {"alpha": 100.0}),
        "l1": ({"C": 0.5, "l1_ratio": 1.0, "solver": "lbfgs"}, {"alpha": 1.0, "solver": "lbfgs"}),
    },
    "neighbors": {
        "weak": ({"weights": "distance"},) * 2,
        "strong": ({"weights": "uniform"},) * 2,
        "l1": ({"weights": "distance", "p": 1},) * 2,
    },
    "generalised": {
        "weak": ({"alpha": 0.1}, {"alpha": 0.01}),
        "strong": ({"alpha": 10.0}, {"alpha": 10.0}),
        "l1": ({"alpha": 1.0, "fit_prior": False}, {"alpha": 1.0, "solver": "newton-cholesky"}),
    },
    "svm": {
        "weak": ({"C": 10.0},) * 2,
        "strong": ({"C": 0.1},) * 2,
        "l1": ({"C": 1.0, "gamma": "auto"},) * 2,
    },
    "tree": {name: (options, options) for name, options in _FORESTS.items()},
    "random_forest": {name: (options, options) for name, options in _FORESTS.items()},
    "extra_trees": {name: (options, options) for name, options in _FORESTS.items()},
    "gradient_boosting": {
        "weak": ({"learning_rate": 0.2},) * 2,
        "strong": ({"learning_rate": 0.05, "subsample": 0.5},) * 2,
        "l1": ({"learning_rate": 0.1, "max_features": 0.3},) * 2,
    },
    "hist_boosting": {
        "weak": ({"learning_rate": 0.2},) * 2,
        "strong": ({"learning_rate": 0.05, "l2_regularization": 10.0, "min_samples_leaf": 40},) * 2,
        "l1": ({"learning_rate": 0.1, "max_leaf_nodes": 12},) * 2,
    },
    "mlp": {
        "weak": ({"alpha": 1e-5},) * 2,
        "strong": ({"alpha": 1.0},) * 2,
        "l1": ({"alpha": 1e-3, "early_stopping": True},) * 2,
    },
}
_LOGGED_TARGET = "model = TransformedTargetRegressor(model, func=np.log1p, inverse_func=np.expm1)"
_SEEDED = {"svm", "tree", "random_forest", "extra_trees", "gradient_boosting", "hist_boosting", "mlp"}
_TAKES_CLASS_WEIGHT = {"linear", "svm", "tree", "random_forest", "extra_trees", "hist_boosting"}


def _is_classifier(task: ResearchTask) -> bool:
    return bool(task.classes)


def _wants_probability(task: ResearchTask) -> bool:
    return task.metric_object.prediction == "probability"


def _blended(task: ResearchTask) -> str:
    """The estimator that a blend averages the model with."""
    return MODELS["hist_boosting"][1 if _is_classifier(task) else 2]


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _call(name: str, keywords: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={_literal(value)}' for key, value in keywords.items())})"


def _import_lines(imports: Iterable[tuple[str, str]]) -> list[str]:
    """One sorted line a module, from (module, name) pairs."""
    by_module: dict[str, set[str]] = {}
    for module, name in imports:
        by_module.setdefault(module, set()).add(name)
    return [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(by_module.items())]


def _estimator(choices: _Choices, task: ResearchTask) -> tuple[tuple[str, str], str]:
    """Import and constructor call of the chosen model."""
    family, classifier = choices["model"], _is_classifier(task)
    module, *names = MODELS[family]
    name = names[0] if classifier else names[1]
    if not module:
        module = "sklearn.naive_bayes" if classifier else "sklearn.linear_model"  # no module holds both
    keywords = dict(_CAPACITY[family][choices["capacity"]])
    if (family, classifier) in (("linear", True), ("generalised", False)):
        keywords["max_iter"] = _LINEAR_STEPS[choices["capacity"]]
    elif family == "mlp":
        keywords["max_iter"] = 60
    if family == "svm" and classifier and choices["output"] == "probabilities":
        keywords["probability"] = True
    keywords |= _REGULARISATION[family][choices["regularisation"]][0 if classifier else 1]
    if choices["class_weight"] == "balanced":
        keywords["class_weight"] = "balanced"
    if family in _SEEDED and not (family == "svm" and not classifier):
        keywords["random_state"] = 0
    return (module, name), _call(name, keywords)


def _numeric_steps(choices: _Choices) -> tuple[_Imports, list[str]]:
    imports: _Imports = []
    steps: list[str] = []
    if choices["imputation"] in ("median", "mean", "most_frequent"):
        imports.append(("sklearn.impute", "SimpleImputer"))
        steps.append(f"SimpleImputer(strategy={_literal(choices['imputation'])})")
    if choices["features"] == "polynomial":
        imports.append(("sklearn.preprocessing", "PolynomialFeatures"))
        steps.append("PolynomialFeatures(degree=2, include_bias=False)")
    scaler = {
        "standard": "StandardScaler()",
        "minmax": "MinMaxScaler()",
        "quantile": 'QuantileTransformer(n_quantiles=200, output_distribution="normal", random_state=0)',
    }.get(choices["scaling"])
    if scaler:
        imports.append(("sklearn.preprocessing", scaler.split("(")[0]))
        steps.append(scaler)
    return imports, steps


def _text_steps(choices: _Choices) -> tuple[_Imports, list[str]]:
    imports: _Imports = []
    steps: list[str] = []
    if choices["imputation"] in ("median", "mean", "most_frequent"):
        imports.append(("sklearn.impute", "SimpleImputer"))
        steps.append('SimpleImputer(strategy="most_frequent")')
    if choices["encoding"] == "ordinal":
        imports.append(("sklearn.preprocessing", "OrdinalEncoder"))
        steps.append('OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)')
    elif choices["encoding"] == "onehot":
        imports.append(("sklearn.preprocessing", "OneHotEncoder"))
        steps.append('OneHotEncoder(handle_unknown="ignore", sparse_output=False)')
    return imports, steps


def _prose_step(choices: _Choices) -> tuple[_Imports, str]:
    """What turns one column of prose into numbers."""
    module = "sklearn.feature_extraction.text"
    if choices["encoding"] == "onehot":
        return [(module, "CountVectorizer")], "CountVectorizer(binary=True, min_df=3, max_features=500)"
    svd = [("sklearn.decomposition", "TruncatedSVD"), (module, "TfidfVectorizer")]
    return svd, "make_pipeline(TfidfVectorizer(min_df=2), TruncatedSVD(50, random_state=0))"


def _calendar(task: ResearchTask) -> list[str]:
    """Lines that replace the column of times by what a season or a trend can be seen in."""
    if not task.time_column:
        return []
    return [
        "for frame in (X, X_test):",
        f"    when = pd.to_datetime(frame.pop({_literal(task.time_column)}))",
        '    frame["years"] = when.dt.year + when.dt.dayofyear / 366',
        '    frame["day_of_year"], frame["weekday"], frame["hour"] = when.dt.dayofyear, when.dt.weekday, when.dt.hour',
    ]


def _filled(choices: _Choices, prose: list[str]) -> list[str]:
    """Lines that make missing prose empty, where missing values are seen to at all."""
    if not prose or choices["imputation"] not in ("median", "mean", "most_frequent"):
        return []
    return [
        f'X[{_literals(prose)}] = X[{_literals(prose)}].fillna("")',
        f'X_test[{_literals(prose)}] = X_test[{_literals(prose)}].fillna("")',
    ]


def _literals(names: list[str]) -> str:
    return f"[{', '.join(map(_literal, names))}]"


def _steps(name: str, steps: list[str]) -> list[str]:
    if not steps:
        return []
    if len(steps) == 1:
        return [f"{name} = {steps[0]}"]
    return [f"{name} = make_pipeline(", *(f"    {step}," for step in steps), ")"]


def _final_steps(choices: _Choices, classifier: bool) -> tuple[_Imports, list[str]]:
    """Steps between the encoded columns and the model."""
    if choices["features"] == "select":
        score = "f_classif" if classifier else "f_regression"
        module = "sklearn.feature_selection"
        return [(module, "SelectKBest"), (module, score)], [f"SelectKBest({score}, k=10)"]
    if choices["features"] == "pca":
        return [("sklearn.decomposition", "PCA")], ["PCA(n_components=0.95, random_state=0)"]
    return [], []


def solution(choices: _Choices, task: ResearchTask) -> str:
    """Python source of the solution that makes these choices for this task."""
    classifier = _is_classifier(task)
    target, row_id = _literal(task.target), _literal(task.id_column)
    model_import, model = _estimator(choices, task)
    numeric_imports, numeric = _numeric_steps(choices)
    text_imports, text = _text_steps(choices) if choices["encoding"] != "drop_text" else ([], [])
    final_imports, _ = _final_steps(choices, classifier)
    imports = [
        ("sklearn.compose", "make_column_transformer"),
        ("sklearn.pipeline", "make_pipeline"),
        model_import,
        *numeric_imports,
        *text_imports,
        *final_imports,
    ]
    if choices["ensembling"] == "blend":
        imports.append(("sklearn.ensemble", _blended(task)))
    if choices["ensembling"] == "bagging":
        imports.append(("sklearn.model_selection", "KFold"))
    logged = choices["target_transform"] == "log1p"
    if logged and not classifier:
        imports.append(("sklearn.compose", "TransformedTargetRegressor"))

    prose = list(task.text_columns)
    prose_imports, words = _prose_step(choices) if prose and choices["encoding"] != "none" else ([], "")
    imports += prose_imports
    transformers = [f"({'numeric' if numeric else _literal('passthrough')}, numeric_columns)"]
    if choices["encoding"] != "drop_text":
        transformers.append(f"({'text' if text else _literal('passthrough')}, text_columns)")
        transformers += [
            f"({'words' if words else _literal('passthrough')}, {_literal(name) if words else _literals([name])})"
            for name in prose
        ]
    lines = [
        "import os",
        "from pathlib import Path",
        "",
        "import numpy as np",
        "import pandas as pd",
        *_import_lines(imports),
        "",
        'data = Path(os.environ["DATA_DIR"])',
        'train = pd.read_csv(data / "train.csv")',
        'test = pd.read_csv(data / "test.csv")',
    ]
    if choices["imputation"] == "drop_rows":
        lines += ["train = train.dropna()", "test = test.dropna()"]
    lines += [
        "",
        f"y = train.pop({target})",
        f"X = train.drop(columns={row_id})",
        f"X_test = test.drop(columns={row_id})",
    ]
    if logged and classifier:
        lines.append("y = np.log1p(y)")
    lines += [
        *_calendar(task),
        *_filled(choices, prose),
        'numeric_columns = X.select_dtypes("number").columns',
        'text_columns = X.select_dtypes(exclude="number").columns' + (f".drop({_literals(prose)})" if prose else ""),
        "",
        *_steps("numeric", numeric),
        *_steps("text", text),
        *([f"words = {words}"] if words else []),
        f"columns = make_column_transformer({', '.join([*transformers, *(['sparse_threshold=0'] if words else [])])})",
        f"model = {model}",
        *([] if classifier or not logged else [_LOGGED_TARGET]),
        "",
        *_fit_and_predict(choices, task),
        "",
        f"submission = pd.DataFrame({{{row_id}: test[{row_id}], {target}: prediction}})",
        'submission.to_csv(os.environ["SUBMISSION_PATH"], index=False)',
    ]
    return "\n".join(lines) + "\n"


def _prediction(choices: _Choices, task: ResearchTask) -> str:
    """Expression for the submitted column, from ``output`` of one fit or ``outputs`` of several."""
    several = choices["ensembling"] != "single"
    probabilities = choices["output"] == "probabilities"
    if _wants_probability(task) and not probabilities:
        vote = f"output == {_label(task.positive)}"
        return f"np.mean([{vote} for output in outputs], axis=0)" if several else f"({vote}).astype(int)"
    if _is_classifier(task) and not probabilities:
        return "pd.DataFrame(outputs).mode().iloc[0].to_numpy()" if several else "output"
    mean = "np.mean(outputs, axis=0)" if several else "output"
    if not _is_classifier(task):
        return mean
    return mean + ("[:, 1]" if _wants_probability(task) else ".max(axis=1)")


def _label(label: str) -> str:
    """A class as pandas reads it from a CSV file."""
    try:
        return repr(float(label)) if "." in label else repr(int(label))
    except ValueError:
        return label if label in ("True", "False") else _literal(label)


def _fit_and_predict(choices: _Choices, task: ResearchTask) -> list[str]:
    method = "predict_proba" if choices["output"] == "probabilities" else "predict"
    final = ["columns", *_final_steps(choices, _is_classifier(task))[1]]
    if choices["ensembling"] == "bagging":
        lines = [
            f"solution = make_pipeline({', '.join([*final, 'model'])})",
            "outputs = []",
            "for kept, _ in KFold(n_splits=3, shuffle=True, random_state=0).split(X):",
            "    solution.fit(X.iloc[kept], y.iloc[kept])",
            f"    outputs.append(solution.{method}(X_test))",
        ]
    elif choices["ensembling"] == "blend":
        lines = [
            "outputs = []",
            f"for estimator in (model, {_blended(task)}(random_state=0)):",
            f"    solution = make_pipeline({', '.join([*final, 'estimator'])})",
            "    solution.fit(X, y)",
            f"    outputs.append(solution.{method}(X_test))",
        ]
    else:
        lines = [
            f"solution = make_pipeline({', '.join([*final, 'model'])})",
            "solution.fit(X, y)",
            f"output = solution.{method}(X_test)",
        ]
    return [*lines, f"prediction = {_prediction(choices, task)}"]


def safe_options(task: ResearchTask) -> dict[str, tuple[str, ...]]:
    """Options that a careful author of this task's solutions chooses among, for decisions with a wrong one."""
    options: dict[str, tuple[str, ...]] = {
        "imputation": ("median", "mean", "most_frequent"),
        "encoding": ("ordinal", "onehot") if task.modality == "text" else ("ordinal", "onehot", "drop_text"),
        "regularisation": ("weak", "strong", "l1"),
        "target_transform": ("none",) if _is_classifier(task) else ("none", "log1p"),
        "output": ("probabilities",) if _wants_probability(task) else ("predictions",),
    }
    if task.modality == "image":  # squares of hundreds of pixels fit into no memory
        options["features"] = ("none", "select", "pca")
    return options


def repairs(choices: _Choices, task: ResearchTask) -> dict[str, str]:
    """Changes that keep these choices from contradicting each other."""
    changes: dict[str, str] = {}
    takes_weight = _is_classifier(task) and choices["model"] in _TAKES_CLASS_WEIGHT
    if choices["class_weight"] == "balanced" and not takes_weight:
        changes["class_weight"] = "none"
    if choices["model"] == "linear" and choices["regularisation"] == "l1":
        changes["regularisation"] = "strong"
    if choices["model"] == "generalised" and _is_classifier(task):
        changes |= {"scaling": "minmax"} | ({"features": "none"} if choices["features"] == "pca" else {})
        if choices["encoding"] == "ordinal":
            changes["encoding"] = "onehot"
    return changes
