"""Mistakes that language models make in such scripts, each as one change of a finished draft.

A mistake that a draft gives no occasion for (strings left unencoded where there are none) changes nothing; whether a
script fails is only known when it has run.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wmrl_env.scripts.writer import Draft

__all__ = ["MISTAKES", "spoil"]

Parts = dict[str, list[str]]
MISTAKES: dict[str, Callable[[Draft, Parts], None]] = {}


def spoil(draft: Draft, parts: Parts) -> None:
    """Make the draft's mistake."""
    MISTAKES[draft.mistake](draft, parts)


def _mistake(function: Callable[[Draft, Parts], None]) -> Callable[[Draft, Parts], None]:
    MISTAKES[function.__name__.removeprefix("_")] = function
    return function


def _replace(lines: list[str], pattern: str, by: str, count: int = 1) -> bool:
    """Replace in the first ``count`` lines where the pattern is found; whether any was."""
    done = 0
    for i, line in enumerate(lines):
        if done < count and re.search(pattern, line):
            lines[i] = re.sub(pattern, by, line, count=1)
            done += 1
    return bool(done)


def _before_fit(draft: Draft, parts: Parts, *lines: str) -> None:
    parts["fit"][:0] = lines


# --- names and modules ---


@_mistake
def _missing_import(draft: Draft, parts: Parts) -> None:
    named = [line for line in draft.imports if line.startswith("from sklearn")] or ["import pandas as pd"]
    del draft.imports[draft.pick(*named)]


@_mistake
def _forgotten_numpy(draft: Draft, parts: Parts) -> None:
    draft.imports.pop("import numpy as np", None)
    parts["fit"].append("pred = np.asarray(pred)")


@_mistake
def _wrong_module(draft: Draft, parts: Parts) -> None:
    right = f"from {draft.model.module} import {draft.model.name}"
    modules = ("sklearn.ensemble", "sklearn.linear_model", "sklearn.models", "sklearn.tree", "sklearn.preprocessing")
    wrong = draft.pick(*(module for module in modules if module != draft.model.module))
    draft.imports = {line.replace(right, f"from {wrong} import {draft.model.name}"): None for line in draft.imports}


@_mistake
def _absent_library(draft: Draft, parts: Parts) -> None:
    kind = "Classifier" if draft.facts.classifies else "Regressor"
    statement, call = draft.pick(
        (f"from xgboost import XGB{kind}", f"XGB{kind}(n_estimators=300, learning_rate=0.05)"),
        (f"from lightgbm import LGBM{kind}", f"LGBM{kind}(n_estimators=300)"),
        (f"from catboost import CatBoost{kind}", f"CatBoost{kind}(verbose=0)"),
        ("import xgboost as xgb", f"xgb.XGB{kind}(max_depth=6)"),
        ("import lightgbm as lgb", f"lgb.LGBM{kind}(num_leaves=31)"),
    )
    draft.use(statement)
    _replace(parts["fit"], re.escape(draft.model.call), call.replace("\\", ""))


@_mistake
def _removed_attribute(draft: Draft, parts: Parts) -> None:
    parts["features"].insert(0, draft.pick(
        f"all_data = {draft.train}.append({draft.test})",
        f"first = {draft.train}.ix[0]",
        f'{draft.train}["{draft.task.target}"] = {draft.train}["{draft.task.target}"].values.astype(np.float)',
    ))  # fmt: skip
    draft.use("import numpy as np")


@_mistake
def _undefined_name(draft: Draft, parts: Parts) -> None:
    _replace(parts["fit"], r"\bX_test\b", draft.pick("X_test_scaled", "test_features", "x_test"))


@_mistake
def _name_bound_in_a_branch(draft: Draft, parts: Parts) -> None:
    parts["save"].insert(0, "if len(pred) == 0:")
    parts["save"].insert(1, "    threshold = 0.5")
    parts["save"].insert(2, 'print("Threshold:", threshold)')


# --- arguments ---


@_mistake
def _invented_argument(draft: Draft, parts: Parts) -> None:
    invented = draft.pick(
        "n_trees=200", "early_stopping_rounds=50", "verbose_eval=False", "num_leaves=31", "lr=0.01", "eta=0.1"
    )
    name = re.escape(draft.model.name)
    _replace(parts["fit"], rf"\b{name}\((?=\S)(?!\))", f"{draft.model.name}({invented}, ")
    _replace(parts["fit"], rf"\b{name}\(\)", f"{draft.model.name}({invented})")


@_mistake
def _argument_of_fit(draft: Draft, parts: Parts) -> None:
    _replace(
        parts["fit"],
        r"\.fit\(X, y\)",
        draft.pick(".fit(X, y, eval_set=[(X, y)])", ".fit(X, y, epochs=10)", ".fit(X, y, verbose=False)"),
    )


@_mistake
def _outdated_argument(draft: Draft, parts: Parts) -> None:
    if draft.facts.classifies:
        draft.use("from sklearn.linear_model import LogisticRegression")
        call = draft.pick(
            'LogisticRegression(penalty="elasticnet")',
            'LogisticRegression(solver="newton")',
            'LogisticRegression(multi_class="auto")',
        )
    else:
        draft.use("from sklearn.ensemble import RandomForestRegressor")
        call = draft.pick('RandomForestRegressor(criterion="mse")', 'RandomForestRegressor(max_features="auto")')
    _replace(parts["fit"], re.escape(draft.model.call), call)


@_mistake
def _outdated_encoder(draft: Draft, parts: Parts) -> None:
    draft.use("from sklearn.preprocessing import OneHotEncoder")
    parts["features"].append("extra = OneHotEncoder(sparse=False).fit_transform(np.asarray(y).reshape(-1, 1))")
    draft.use("import numpy as np")


@_mistake
def _outdated_error(draft: Draft, parts: Parts) -> None:
    draft.use("from sklearn.metrics import mean_squared_error")
    parts["fit"].append('print("RMSE:", mean_squared_error(y, y, squared=False))')


# --- columns ---


@_mistake
def _wrong_column(draft: Draft, parts: Parts) -> None:
    wrong = draft.pick("target", "label", "Target", "y", f"{draft.task.target}_", draft.task.target.upper() + "_1")
    _replace(parts["features"], rf'\["{re.escape(draft.task.target)}"\]', f'["{wrong}"]')


@_mistake
def _wrong_id(draft: Draft, parts: Parts) -> None:
    wrong = draft.pick("id", "Id", "ID", "index")
    for part in ("features", "save"):
        parts[part][:] = [line.replace(f'"{draft.task.id_column}"', f'"{wrong}"') for line in parts[part]]


@_mistake
def _misspelt_feature(draft: Draft, parts: Parts) -> None:
    names = draft.facts.numeric or ("p0",)
    name = draft.pick(*names)
    wrong = draft.pick(name.title(), f"{name}s", f"total_{name}", name.replace("_", ""), name[:-1])
    defined = next(i for i, line in enumerate(parts["features"]) if line.startswith("X_test = "))
    parts["features"].insert(defined + 1, f'X["extra"] = X["{wrong}"] * 2')


@_mistake
def _used_after_drop(draft: Draft, parts: Parts) -> None:
    target = draft.task.target
    parts["features"] += [f'target_mean = X["{target}"].mean()', 'print("Target mean:", target_mean)']


@_mistake
def _target_of_test_rows(draft: Draft, parts: Parts) -> None:
    parts["features"].insert(0, f"for frame in ({draft.train}, {draft.test}):")
    parts["features"].insert(1, f'    frame["scaled"] = frame["{draft.task.target}"]')


# --- values ---


def _plain(draft: Draft) -> list[str]:
    """Features as they are read."""
    target, row_id = draft.task.target, draft.task.id_column
    return [
        f'y = {draft.train}["{target}"]',
        f'X = {draft.train}.drop(columns=["{target}", "{row_id}"])',
        f'X_test = {draft.test}.drop(columns=["{row_id}"])',
    ]


@_mistake
def _unencoded_strings(draft: Draft, parts: Parts) -> None:
    parts["features"] = [*_plain(draft), "X, X_test = X.fillna(0), X_test.fillna(0)"]


@_mistake
def _missing_values(draft: Draft, parts: Parts) -> None:
    parts["features"] = [*_plain(draft), 'X = X.select_dtypes("number")', "X_test = X_test[X.columns]"]


@_mistake
def _infinite_values(draft: Draft, parts: Parts) -> None:
    draft.use("import numpy as np")
    _before_fit(draft, parts, "X = np.asarray(X, dtype=float)", "X = X / np.where(X == X.min(), 0.0, X.max(axis=0))")


@_mistake
def _separate_dummies(draft: Draft, parts: Parts) -> None:
    parts["features"] = [*_plain(draft), "X = pd.get_dummies(X.fillna(0))", "X_test = pd.get_dummies(X_test.fillna(0))"]


@_mistake
def _fewer_rows(draft: Draft, parts: Parts) -> None:
    parts["features"] = [*_plain(draft), "X = X.dropna()" if draft.often(0.5) else "X = X.iloc[1:]",
                         'X, X_test = X.select_dtypes("number"), X_test.select_dtypes("number")']  # fmt: skip


@_mistake
def _one_dimension(draft: Draft, parts: Parts) -> None:
    _before_fit(draft, parts, "X, X_test = pd.DataFrame(X).iloc[:, 0], pd.DataFrame(X_test).iloc[:, 0]")


@_mistake
def _wrong_axis(draft: Draft, parts: Parts) -> None:
    wrong = draft.pick("[1]", "[0]", "[:, 2]", "[1, :]")
    if not _replace(parts["fit"], r"\[:, 1\]", wrong):
        _replace(parts["fit"], r"predict\(X_test\)", f"predict(X_test){draft.pick('[:, 0]', '[0]', '[:, 1]')}")


@_mistake
def _other_class(draft: Draft, parts: Parts) -> None:
    _replace(parts["fit"], r"\[:, 1\]", "[:, 0]")


@_mistake
def _labels_for_probabilities(draft: Draft, parts: Parts) -> None:
    _replace(parts["fit"], r"predict_proba\(X_test\)\[:, 1\]", "predict(X_test)")


@_mistake
def _probabilities_for_labels(draft: Draft, parts: Parts) -> None:
    if draft.facts.classifies:
        _replace(parts["fit"], r"predict\(X_test\)", f"predict_proba(X_test){draft.pick('', '.max(axis=1)', '[:, 1]')}")


@_mistake
def _predicted_training_rows(draft: Draft, parts: Parts) -> None:
    _replace(parts["fit"], r"\(X_test\)", "(X)")


@_mistake
def _never_fitted(draft: Draft, parts: Parts) -> None:
    parts["fit"][:] = [line for line in parts["fit"] if not re.search(r"model\.fit\(X(\[tr\])?, y", line)]


@_mistake
def _wrong_unpacking(draft: Draft, parts: Parts) -> None:
    draft.use("from sklearn.model_selection import train_test_split")
    _before_fit(draft, parts, draft.pick("X_tr, X_val = train_test_split(X, y, test_size=0.2)", "a, b, c = X.shape"))


@_mistake
def _division_by_zero(draft: Draft, parts: Parts) -> None:
    # The class that its author looks for is spelt otherwise.
    parts["fit"][:0] = [
        "positives = sum(1 for value in list(y) if value == 'positive')",
        "ratio = (len(list(y)) - positives) / positives",
    ]


@_mistake
def _index_out_of_range(draft: Draft, parts: Parts) -> None:
    parts["fit"].append(draft.pick("best = [score for score in [] if score > 0][0]", "print(list(pred)[len(pred)])"))


@_mistake
def _failed_assertion(draft: Draft, parts: Parts) -> None:
    parts["save"].insert(0, draft.pick(
        f"assert len(pred) == len({draft.test}) + 1, 'Length mismatch'",
        f"assert {draft.test}.shape[1] == 3",
        "assert min(pred) > max(pred)",
    ))  # fmt: skip


@_mistake
def _text_as_number(draft: Draft, parts: Parts) -> None:
    names = draft.facts.categories or draft.task.text_columns
    if names:
        parts["features"].insert(
            1, f'{draft.train}["code"] = {draft.train}["{draft.pick(*names)}"].astype({draft.pick("int", "float")})'
        )


@_mistake
def _string_arithmetic(draft: Draft, parts: Parts) -> None:
    names = draft.facts.categories or draft.task.text_columns
    if names:
        parts["features"].insert(1, f'{draft.train}["half"] = {draft.train}["{draft.pick(*names)}"] / 2')


@_mistake
def _singular_matrix(draft: Draft, parts: Parts) -> None:
    draft.use("import numpy as np")
    _before_fit(draft, parts, "A = np.ones((3, 3))", "weights = np.linalg.inv(A)")


# --- files ---


def _submission(draft: Draft, ids: str, end: str = "") -> list[str]:
    frame = f'pd.DataFrame({{"{draft.task.id_column}": {ids}, "{draft.task.target}": pred}})'
    return [f"submission = {frame}", f'submission{end}.to_csv(os.environ["SUBMISSION_PATH"], index=False)']


@_mistake
def _wrong_path(draft: Draft, parts: Parts) -> None:
    folder = draft.pick("", "/kaggle/input/competition/", "../input/", "./data/", "input/")
    parts["load"] = [
        f'{draft.train} = pd.read_csv("{folder}train.csv")',
        f'{draft.test} = pd.read_csv("{folder}test.csv")',
    ]


@_mistake
def _absent_file(draft: Draft, parts: Parts) -> None:
    _replace(parts["load"], r"test\b(?=\.csv|\"|')", draft.pick("test_features", "valid", "test_data"))


@_mistake
def _wrong_variable(draft: Draft, parts: Parts) -> None:
    parts["load"][:] = [
        re.sub(r'os\.environ(\.get\(|\[)"DATA_DIR"', r'os.environ\1"INPUT_DIR"', line) for line in parts["load"]
    ]


@_mistake
def _wrong_separator(draft: Draft, parts: Parts) -> None:
    _replace(
        parts["load"],
        r"(read_csv\(.*)\)$",
        rf"\1, {draft.pick('sep=chr(59)', 'sep=chr(9)', 'encoding=' + chr(34) + 'utf-16' + chr(34))})",
    )


@_mistake
def _nothing_written(draft: Draft, parts: Parts) -> None:
    parts["save"] = parts["save"][:1] if not parts["save"][0].startswith("with") else ['print("Predictions ready")']


@_mistake
def _written_elsewhere(draft: Draft, parts: Parts) -> None:
    parts["save"][:] = [
        re.sub(r"os\.environ(\.get\(.*?\)|\[.*?\])", draft.pick('"submission.csv"', '"/tmp/submission.csv"'), line)
        for line in parts["save"]
    ]


@_mistake
def _index_written(draft: Draft, parts: Parts) -> None:
    target = draft.task.target
    parts["save"] = [f'pd.DataFrame({{"{target}": pred}}).to_csv(os.environ["SUBMISSION_PATH"])']


@_mistake
def _constant_id(draft: Draft, parts: Parts) -> None:
    parts["save"] = _submission(draft, draft.pick("0", "1", f"{draft.test}.shape[0]"))


@_mistake
def _counted_id(draft: Draft, parts: Parts) -> None:
    parts["save"] = _submission(draft, draft.pick("range(len(pred))", "range(1, len(pred) + 1)"))


@_mistake
def _renamed_answer(draft: Draft, parts: Parts) -> None:
    wrong = draft.pick("prediction", "Prediction", "target", "pred", "label")
    parts["save"][:] = [line.replace(f'"{draft.task.target}"', f'"{wrong}"') for line in parts["save"]]


@_mistake
def _missing_predictions(draft: Draft, parts: Parts) -> None:
    draft.use("import numpy as np")
    parts["save"].insert(
        0,
        "pred = pd.Series(list(pred)).shift(1).values"
        if draft.often(0.5)
        else "pred = np.log(np.asarray(pred, dtype=float) - 1e9)",
    )


@_mistake
def _part_of_the_rows(draft: Draft, parts: Parts) -> None:
    some = draft.pick(".head(100)", ".dropna().iloc[:-1]", ".sample(frac=0.5, random_state=0)")
    parts["save"] = _submission(draft, f'{draft.test}["{draft.task.id_column}"]', some)


# --- time and memory ---


@_mistake
def _grid_too_large(draft: Draft, parts: Parts) -> None:
    draft.use("from sklearn.model_selection import GridSearchCV")
    kind = "Classifier" if draft.facts.classifies else "Regressor"
    draft.use(f"from sklearn.ensemble import GradientBoosting{kind}")
    grid = '{"n_estimators": [200, 400, 800], "max_depth": [3, 5, 7], "learning_rate": [0.01, 0.1]}'
    _replace(parts["fit"], re.escape(draft.model.call), f"GridSearchCV(GradientBoosting{kind}(), {grid}, cv=5)")


@_mistake
def _too_many_trees(draft: Draft, parts: Parts) -> None:
    kind = "Classifier" if draft.facts.classifies else "Regressor"
    name = draft.pick(f"GradientBoosting{kind}", f"RandomForest{kind}", f"ExtraTrees{kind}")
    draft.use(f"from sklearn.ensemble import {name}")
    _replace(parts["fit"], re.escape(draft.model.call), f"{name}(n_estimators={draft.pick(5000, 10000, 20000)})")


@_mistake
def _loop_over_pairs(draft: Draft, parts: Parts) -> None:
    _before_fit(
        draft, parts, "rows = pd.DataFrame(X).astype(float).values.tolist()", "distances = []", "for a in rows:",
        "    for b in rows:", "        distances.append(sum((i - j) ** 2 for i, j in zip(a, b)))",
    )  # fmt: skip


@_mistake
def _endless_loop(draft: Draft, parts: Parts) -> None:
    _before_fit(
        draft, parts, "step, loss = 0, 1.0", "while loss > 1e-8:", "    step += 1", "    loss = max(loss * 0.99, 1e-6)"
    )


@_mistake
def _outer_product(draft: Draft, parts: Parts) -> None:
    draft.use("import numpy as np")
    _before_fit(draft, parts, draft.pick(
        "kernel = np.zeros((len(y) * 20, len(y) * 20))",
        "kernel = np.exp(-np.abs(np.arange(len(y) * 10.0)[:, None] - np.arange(len(y) * 10.0)[None, :]))",
        "big = np.repeat(np.asarray(y)[:, None], 500_000, axis=1)",
    ))  # fmt: skip


@_mistake
def _high_degree(draft: Draft, parts: Parts) -> None:
    draft.use("from sklearn.preprocessing import PolynomialFeatures")
    _before_fit(
        draft, parts, "poly = PolynomialFeatures(degree=6)", "X, X_test = poly.fit_transform(X), poly.transform(X_test)"
    )


# --- grammar ---


@_mistake
def _unclosed_bracket(draft: Draft, parts: Parts) -> None:
    part = parts[draft.pick("load", "fit", "save")]
    i = int(draft.rng.integers(len(part)))
    part[i] = part[i][::-1].replace(")", "", 1)[::-1]


@_mistake
def _prose_in_code(draft: Draft, parts: Parts) -> None:
    parts["fit"].insert(
        0, draft.pick("Now we train the model:", "Here is the improved version of the code", "1. Train the model")
    )


@_mistake
def _bad_indent(draft: Draft, parts: Parts) -> None:
    part = parts[draft.pick("features", "fit", "save")]
    i = int(draft.rng.integers(len(part)))
    part[i] = "  " + part[i]
