"""Solutions in the free form that language models write: one author's draft, drawn at random.

An author has a style (names, structure, how much is explained), picks what to do with the columns, and may make one
mistake, named in :data:`wmrl_env.scripts.mistakes.MISTAKES`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wmrl_env.scripts.facts import Facts, facts_of
from wmrl_env.scripts.mistakes import MISTAKES, spoil
from wmrl_env.scripts.models import Model, draw_model
from wmrl_env.tasks.task import ResearchTask

__all__ = ["write"]

_COMMENTS = {
    "load": ("Load the data", "Read training and test data", "1. Data loading", "Loading datasets"),
    "features": ("Prepare features", "Preprocessing", "2. Feature engineering", "Handle missing values and encode"),
    "fit": ("Train the model", "Model training", "3. Fit and predict", "Build and fit the model"),
    "save": ("Save the submission", "Write predictions", "4. Submission", "Create the submission file"),
}
_REPORT = {
    "roc_auc": "roc_auc_score", "log_loss": "log_loss", "accuracy": "accuracy_score", "macro_f1": "f1_score",
    "quadratic_kappa": "cohen_kappa_score", "r2": "r2_score", "rmse": "mean_squared_error",
    "mae": "mean_absolute_error", "rmsle": "mean_squared_log_error", "mape": "mean_absolute_percentage_error",
    "poisson_deviance": "mean_poisson_deviance",
}  # fmt: skip
_SCORING = {
    "roc_auc": "roc_auc",
    "log_loss": "neg_log_loss",
    "accuracy": "accuracy",
    "macro_f1": "f1_macro",
    "r2": "r2",
}


class Draft:
    """A script in the making.

    Attributes:
        rng: where all choices come from.
        facts: the task.
        mistake: the one that is made, ``""`` for none.
        imports: statements, in the order in which they were needed.
    """

    def __init__(self, rng: np.random.Generator, task: ResearchTask, mistake: str) -> None:
        self.rng = rng
        self.task = task
        self.facts: Facts = facts_of(task)
        self.mistake = mistake
        self.imports: dict[str, None] = {"import os": None, "import pandas as pd": None}
        if self.often(0.8):
            self.use("import numpy as np")
        self.train, self.test = self.pick(
            ("train", "test"), ("train", "test"), ("train_df", "test_df"), ("df", "test_df")
        )
        self.talkative = rng.random()
        self.logged = (
            not self.facts.classifies
            and task.metric in ("rmsle", "mape", "mae", "rmse")
            and all(word not in task.inventory.splitlines()[0] for word in (": -",))
            and self.often(0.6 if task.metric == "rmsle" else 0.2)
        )
        self.model: Model = draw_model(rng, self.facts.classifies, positive=task.metric == "poisson_deviance")

    def often(self, probability: float) -> bool:
        return bool(self.rng.random() < probability)

    def pick(self, *options):  # type: ignore[no-untyped-def]
        return options[self.rng.integers(len(options))]

    def use(self, statement: str) -> None:
        self.imports[statement] = None

    def say(self, part: str) -> list[str]:
        if not self.often(self.talkative):
            return []
        return [f"# {self.pick(*_COMMENTS[part])}"]

    # --- parts of a script: each reads and defines the names that the next one expects ---

    def load(self) -> list[str]:
        """Defines the two frames."""
        folder = self.pick("DATA_DIR", "data_dir", "input_dir", "path")
        style = self.rng.integers(3)
        if style == 0:
            self.use("from pathlib import Path")
            place, where = f'{folder} = Path(os.environ["DATA_DIR"])', f'{folder} / "{{}}.csv"'
        elif style == 1:
            place, where = f'{folder} = os.environ["DATA_DIR"]', f'os.path.join({folder}, "{{}}.csv")'
        else:
            place, where = f'{folder} = os.environ.get("DATA_DIR", "./data")', f'f"{{{{{folder}}}}}/{{}}.csv"'
        lines = [
            place,
            *(
                f"{frame} = pd.read_csv({where.format(part)})"
                for frame, part in ((self.train, "train"), (self.test, "test"))
            ),
        ]
        if self.often(self.talkative * 0.7):
            lines.append(self.pick(
                f'print("Train shape:", {self.train}.shape, "Test shape:", {self.test}.shape)',
                f"print({self.train}.shape, {self.test}.shape)",
                f'print(f"Train: {{{self.train}.shape}}, missing: {{{self.train}.isnull().sum().sum()}}")',
                f"print({self.train}.head())",
                f'print({self.train}["{self.task.target}"].describe())',
            ))  # fmt: skip
        return lines

    def features(self) -> list[str]:
        """Defines y, X and X_test, of numbers only."""
        target, row_id = self.task.target, self.task.id_column
        column = f'{self.train}["{target}"]'
        lines = [f"y = {column}{self.pick('', '', '', '', '.copy()', '.copy()', '.values')}"]
        if self.logged:
            self.use("import numpy as np")
            lines = [f'y = np.log1p({self.train}["{target}"])']
        lines += [
            f'X = {self.train}.drop(columns=["{target}", "{row_id}"])' if self.often(0.6)
            else f'X = {self.train}.drop(["{row_id}", "{target}"], axis=1)',
            f'X_test = {self.test}.drop(columns=["{row_id}"])'
            if self.often(0.6)
            else f'X_test = {self.test}.drop("{row_id}", axis=1)',
        ]  # fmt: skip
        if self.task.time_column:
            lines += self._seasons()
        if self.task.text_columns:
            return lines + self._prose()
        if self.task.modality == "image":
            return lines + self._pixels()
        return lines + self._invented() + self._cleaned()

    def _seasons(self) -> list[str]:
        name = self.task.time_column
        parts = ["year", "month", "dayofweek", *(part for part in ("day", "dayofyear", "hour") if self.often(0.5))]
        lines = ["for frame in (X, X_test):", f'    when = pd.to_datetime(frame["{name}"])']
        lines += [f'    frame["{part}"] = when.dt.{part}' for part in parts]
        if self.often(0.3):
            self.use("import numpy as np")
            lines += [
                f'    frame["{wave}_year"] = np.{wave}(2 * np.pi * when.dt.dayofyear / 365.25)'
                for wave in ("sin", "cos")
            ]
        return [*lines, f'X, X_test = X.drop(columns="{name}"), X_test.drop(columns="{name}")']

    def _invented(self) -> list[str]:
        """Features of the author's own."""
        lines: list[str] = []
        numeric = list(self.facts.numeric)
        if self.often(0.4) and len(numeric) >= 2:
            one, other = self.rng.choice(numeric, 2, replace=False)
            made = self.pick(
                f'frame["ratio"] = frame["{one}"] / (frame["{other}"] + 1)',
                f'frame["total"] = frame["{one}"] + frame["{other}"]',
                f'frame["product"] = frame["{one}"] * frame["{other}"]',
                f'frame["difference"] = frame["{one}"] - frame["{other}"]',
            )
            lines += ["for frame in (X, X_test):", f"    {made}"]
        if self.often(0.15):
            lines += ['X["n_missing"] = X.isnull().sum(axis=1)', 'X_test["n_missing"] = X_test.isnull().sum(axis=1)']
        if self.often(0.2) and self.facts.categories:
            name = self.pick(*self.facts.categories)
            lines += [
                f'counts = X["{name}"].value_counts()',
                f'X["{name}_count"] = X["{name}"].map(counts)',
                f'X_test["{name}_count"] = X_test["{name}"].map(counts)',
            ]
        return lines

    def _cleaned(self) -> list[str]:
        """Missing values filled, strings encoded."""
        numbers = self.pick("num_cols", "numeric_features", "numeric_cols")
        strings = self.pick("cat_cols", "categorical_features", "object_cols")
        others = self.pick('exclude="number"', 'exclude=["number"]')
        lines = [
            f"{strings} = X.select_dtypes({others}).columns.tolist()",
            f"{numbers} = [c for c in X.columns if c not in {strings}]",
        ]  # fmt: skip
        how = self.pick("fillna", "fillna", "imputer", "constant")
        if how == "imputer":
            self.use("from sklearn.impute import SimpleImputer")
            lines += [
                f'imputer = SimpleImputer(strategy="{self.pick("median", "mean")}")',
                f"X[{numbers}] = imputer.fit_transform(X[{numbers}])",
                f"X_test[{numbers}] = imputer.transform(X_test[{numbers}])",
            ]
        elif how == "fillna":
            lines += [
                f"fill = X[{numbers}].{self.pick('median', 'mean')}()",
                f"X[{numbers}] = X[{numbers}].fillna(fill)",
                f"X_test[{numbers}] = X_test[{numbers}].fillna(fill)",
            ]
        else:
            value = self.pick("-1", "0", "-999")
            lines += [
                f"X[{numbers}], X_test[{numbers}] = X[{numbers}].fillna({value}), X_test[{numbers}].fillna({value})"
            ]
        if not self.facts.categories and self.often(0.7):
            return lines
        return lines + self._encoded(strings)

    def _encoded(self, strings: str) -> list[str]:
        style = self.pick("dummies", "dummies", "label", "ordinal", "codes", "drop", "onehot")
        if style == "dummies":
            first = self.pick("", "", ", drop_first=True", ", dummy_na=True")
            return [
                f"both = pd.get_dummies(pd.concat([X, X_test]), columns={strings}{first})",
                "X, X_test = both.iloc[: len(X)], both.iloc[len(X) :]",
            ]
        if style == "label":
            self.use("from sklearn.preprocessing import LabelEncoder")
            return [
                f"for col in {strings}:",
                "    le = LabelEncoder()",
                "    le.fit(pd.concat([X[col], X_test[col]]).astype(str))",
                "    X[col] = le.transform(X[col].astype(str))",
                "    X_test[col] = le.transform(X_test[col].astype(str))",
            ]
        if style == "ordinal":
            self.use("from sklearn.preprocessing import OrdinalEncoder")
            return [
                f'X[{strings}] = X[{strings}].fillna("missing")',
                f'X_test[{strings}] = X_test[{strings}].fillna("missing")',
                'encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)',
                f"X[{strings}] = encoder.fit_transform(X[{strings}])",
                f"X_test[{strings}] = encoder.transform(X_test[{strings}])",
            ]
        if style == "codes":
            return [
                f"for col in {strings}:",
                '    known = X[col].astype("category").cat.categories',
                "    X[col] = pd.Categorical(X[col], categories=known).codes",
                "    X_test[col] = pd.Categorical(X_test[col], categories=known).codes",
            ]
        if style == "onehot":
            self.use("from sklearn.preprocessing import OneHotEncoder")
            self.use("import numpy as np")
            return [
                'encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)',
                f"hot = encoder.fit_transform(X[{strings}].astype(str))",
                f"hot_test = encoder.transform(X_test[{strings}].astype(str))",
                f"X = np.hstack([X.drop(columns={strings}).values, hot])",
                f"X_test = np.hstack([X_test.drop(columns={strings}).values, hot_test])",
            ]
        return [f"X, X_test = X.drop(columns={strings}), X_test.drop(columns={strings})"]

    def _prose(self) -> list[str]:
        module = "sklearn.feature_extraction.text"
        columns = list(self.task.text_columns)
        joined = ' + " " + '.join(f'frame["{name}"].fillna("")' for name in columns)
        lines = ["def text_of(frame):", f"    return {joined}", ""]
        name = self.pick("TfidfVectorizer", "TfidfVectorizer", "CountVectorizer")
        self.use(f"from {module} import {name}")
        grams = self.pick("", "ngram_range=(1, 2), ", 'analyzer="char_wb", ngram_range=(2, 4), ')
        size = self.pick(300, 500, 1000, 2000, 3000)
        lines += [
            f"vectorizer = {name}({grams}max_features={size}, min_df={self.pick(2, 3, 5)})",
            "words = vectorizer.fit_transform(text_of(X))",
            "words_test = vectorizer.transform(text_of(X_test))",
        ]
        if self.often(0.6) or self.model.name.startswith(("Hist", "Gaussian", "LinearDisc")):
            if self.often(0.5):
                self.use("from sklearn.decomposition import TruncatedSVD")
                lines += [
                    f"svd = TruncatedSVD(n_components={self.pick(20, 50, 100)}, random_state=0)",
                    "X, X_test = svd.fit_transform(words), svd.transform(words_test)",
                ]
            else:
                lines += ["X, X_test = words.toarray(), words_test.toarray()"]
        else:
            lines += ["X, X_test = words, words_test"]
        return lines

    def _pixels(self) -> list[str]:
        lines = [
            self.pick(
                "X, X_test = X / 255.0, X_test / 255.0",
                "X, X_test = X.values / 16.0, X_test.values / 16.0",
                "X, X_test = X.to_numpy(), X_test.to_numpy()",
            )
        ]
        if self.often(0.4):
            self.use("from sklearn.decomposition import PCA")
            lines += [
                f"pca = PCA(n_components={self.pick(10, 20, 30, 50)}, random_state=0)",
                "X, X_test = pca.fit_transform(X), pca.transform(X_test)",
            ]
        return lines

    def fit(self) -> list[str]:
        """Defines pred, one prediction a row of X_test."""
        model = self.model
        self.use(f"from {model.module} import {model.name}")
        lines: list[str] = []
        if model.scaled and self.often(0.8) and not self.task.text_columns:
            scaler = self.pick("StandardScaler", "StandardScaler", "MinMaxScaler", "RobustScaler")
            self.use(f"from sklearn.preprocessing import {scaler}")
            if self.often(0.5):
                lines += [f"scaler = {scaler}()", "X = scaler.fit_transform(X)", "X_test = scaler.transform(X_test)"]
                call = model.call
            else:
                self.use("from sklearn.pipeline import make_pipeline")
                call = f"make_pipeline({scaler}(), {model.call})"
        else:
            call = model.call
        method = "predict_proba" if self.facts.wants_probability and model.probabilistic else "predict"
        column = "[:, 1]" if method == "predict_proba" else ""
        if self.often(0.25):
            lines += self._folds(call, method, column)
        else:
            lines += [f"model = {call}", *self._checked(), "model.fit(X, y)", f"pred = model.{method}(X_test){column}"]
        if self.often(0.15) and not self.facts.classifies:
            other = draw_model(self.rng, False)
            self.use(f"from {other.module} import {other.name}")
            lines += [f"second = {other.call}", "second.fit(X, y)", "pred = 0.5 * pred + 0.5 * second.predict(X_test)"]
        return lines + self._after()

    def _folds(self, call: str, method: str, column: str) -> list[str]:
        labels = self.facts.classifies
        splitter = "StratifiedKFold" if labels else "KFold"
        self.use(f"from sklearn.model_selection import {splitter}")
        self.use("import numpy as np")
        lines = [
            f"kf = {splitter}(n_splits={self.pick(3, 5, 5)}, shuffle=True, random_state=42)",
            "X, X_test, y = np.asarray(X), np.asarray(X_test), np.asarray(y)"
            if not self.task.text_columns
            else "y = np.asarray(y)",
            "fold_preds = []",
            "for fold, (tr, va) in enumerate(kf.split(X, y)):",
            f"    model = {call}",
            "    model.fit(X[tr], y[tr])",
            f"    fold_preds.append(model.{method}(X_test){column})",
        ]
        if self.often(self.talkative):
            lines.append('    print(f"Fold {fold}: score {model.score(X[va], y[va]):.4f}")')
        if labels and method == "predict":
            return [*lines, "pred = pd.DataFrame(fold_preds).mode().iloc[0].values"]
        return [*lines, "pred = np.mean(fold_preds, axis=0)"]

    def _checked(self) -> list[str]:
        """A validation score, printed before the final fit."""
        how = self.rng.random()
        if how < 0.5:
            return []
        if (
            how < 0.75
            and self.task.metric in _SCORING
            and (self.model.probabilistic or not self.facts.wants_probability)
        ):
            self.use("from sklearn.model_selection import cross_val_score")
            return [
                f'scores = cross_val_score(model, X, y, cv={self.pick(3, 5)}, scoring="{_SCORING[self.task.metric]}")',
                'print(f"CV score: {scores.mean():.4f} +/- {scores.std():.4f}")',
            ]
        self.use("from sklearn.model_selection import train_test_split")
        return [
            "X_tr, X_val, y_tr, y_val = train_test_split(X, y, test_size=0.2, random_state=42)",
            "model.fit(X_tr, y_tr)",
            'print("Validation score:", model.score(X_val, y_val))',
        ]

    def _after(self) -> list[str]:
        lines = []
        if self.logged:
            lines.append("pred = np.expm1(pred)")
        wanted = self.task.metric_object.prediction
        if wanted == "positive":
            self.use("import numpy as np")
            lines.append(f"pred = np.clip(pred, {self.pick('1e-3', '0.01', '1e-6')}, None)")
        elif wanted == "non_negative" or (self.task.kind == "counts" and self.often(0.5)):
            self.use("import numpy as np")
            lines.append(self.pick("pred = np.maximum(pred, 0)", "pred = np.clip(pred, 0, None)"))
        if self.task.kind == "counts" and wanted != "positive" and self.often(0.15):
            self.use("import numpy as np")
            lines.append("pred = np.round(pred)")
        return lines

    def save(self) -> list[str]:
        target, row_id, test = self.task.target, self.task.id_column, self.test
        path = self.pick(
            'os.environ["SUBMISSION_PATH"]',
            'os.environ["SUBMISSION_PATH"]',
            'os.environ.get("SUBMISSION_PATH", "submission.csv")',
        )
        name = self.pick("submission", "sub", "output", "result")
        style = self.rng.integers(3)
        if style == 0:
            lines = [
                f'{name} = pd.DataFrame({{"{row_id}": {test}["{row_id}"], "{target}": pred}})',
                f"{name}.to_csv({path}, index=False)",
            ]
        elif style == 1:
            lines = [
                f'{name} = {test}[["{row_id}"]].copy()',
                f'{name}["{target}"] = pred',
                f"{name}.to_csv({path}, index=False)",
            ]
        else:
            self.use("import csv")
            lines = [
                f'with open({path}, "w", newline="") as f:',
                "    writer = csv.writer(f)",
                f'    writer.writerow(["{row_id}", "{target}"])',
                f'    writer.writerows(zip({test}["{row_id}"], pred))',
            ]
        if self.often(self.talkative * 0.6):
            lines.append(self.pick('print("Done")', 'print("Submission saved")', "print(pred[:5])"))
        return lines


def write(rng: np.random.Generator, task: ResearchTask, mistake: str = "") -> str:
    """Source text of a solution in free form.

    Args:
        rng: where all choices come from; the same state gives the same text.
        task: what is solved.
        mistake: one of :data:`wmrl_env.scripts.mistakes.MISTAKES`, ``""`` for an author who makes none of them.

    Raises:
        ValueError: an unknown mistake.
    """
    if mistake and mistake not in MISTAKES:
        raise ValueError(f"unknown mistake {mistake!r}; known: {', '.join(MISTAKES)}")
    draft = Draft(rng, task, mistake)
    parts = {name: getattr(draft, name)() for name in ("load", "features", "fit", "save")}
    if mistake:
        spoil(draft, parts)
    comments = {name: draft.say(name) for name in parts}
    body = draft.pick(_flat, _flat, _main, _functions, _class)(draft, parts, comments)
    return "\n".join([*_head(draft), *body]) + "\n"


def _head(draft: Draft) -> list[str]:
    lines: list[str] = []
    if draft.often(draft.talkative * 0.6):
        title = draft.task.title
        lines += draft.pick(
            [f'"""{title}: {draft.model.name}."""', ""], [f"# {title}", f"# Approach: {draft.model.name}", ""]
        )
    if draft.often(0.25):
        draft.imports = {"import warnings": None, **draft.imports}
    plain = [line for line in draft.imports if line.startswith("import")]
    named = [line for line in draft.imports if not line.startswith("import")]
    lines += plain if draft.often(0.5) else sorted(plain)
    lines += sorted(named) if draft.often(0.5) else named
    if "import warnings" in draft.imports:
        lines += ["", 'warnings.filterwarnings("ignore")']
    if draft.often(0.15):
        lines += ["", "SEED = 42"]
    return [*lines, ""]


def _indent(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]


def _flat(draft: Draft, parts: dict[str, list[str]], comments: dict[str, list[str]]) -> list[str]:
    lines: list[str] = []
    for name, part in parts.items():
        lines += [*comments[name], *part, *([""] if draft.often(0.7) else [])]
    return lines


def _main(draft: Draft, parts: dict[str, list[str]], comments: dict[str, list[str]]) -> list[str]:
    return ["", "def main():", *_indent(_flat(draft, parts, comments)), "", 'if __name__ == "__main__":', "    main()"]


def _signatures(draft: Draft) -> dict[str, tuple[str, str, str]]:
    """(name of the function, what it takes, what it returns) of each part."""
    frames = f"{draft.train}, {draft.test}"
    return {
        "load": (draft.pick("load_data", "read_data", "load"), "", frames),
        "features": (draft.pick("preprocess", "build_features", "prepare"), frames, "X, y, X_test"),
        "fit": (draft.pick("train_and_predict", "fit_model", "run_model"), "X, y, X_test", "pred"),
        "save": (draft.pick("save_submission", "write_output", "save"), f"{draft.test}, pred", ""),
    }


def _functions(draft: Draft, parts: dict[str, list[str]], comments: dict[str, list[str]], owner: str = "") -> list[str]:
    lines: list[str] = []
    calls: list[str] = []
    for part, (name, takes, gives) in _signatures(draft).items():
        taken = ", ".join(filter(None, ["self" if owner else "", takes]))
        text = [f'    """{comments[part][0][2:]}."""'] if comments[part] else []
        lines += [
            "",
            f"def {name}({taken}):",
            *text,
            *_indent(parts[part]),
            *([f"    return {gives}"] if gives else []),
            "",
        ]
        calls.append((f"{gives} = " if gives else "") + f"{owner}{name}({takes})")
    if owner:
        return [*lines, "", "def run(self):", *_indent(calls)]
    return [*lines, "", 'if __name__ == "__main__":', *_indent(calls)]


def _class(draft: Draft, parts: dict[str, list[str]], comments: dict[str, list[str]]) -> list[str]:
    name = draft.pick("Solution", "Pipeline", "Predictor")
    return ["", f"class {name}:", *_indent(_functions(draft, parts, comments, "self.")), "", f"{name}().run()"]
