"""What a rehearsal finds, program by program, and against thousands of real executions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world_models.recordings import TASKS
from world_models.outcomes import Status, exception_class
from world_models.rehearsal import REHEARSAL_NAMES, rehearse
from world_models.rehearsal.inventory import read_inventory
from world_models.store import load_transitions

TASK = """# Risk

Kind: binary
Metric: roc_auc (higher is better)
Limits: 10 CPU seconds, 512 MB
Target: risk
Id: row_id
Text: note
Time: day (all test rows are later than the train rows)
Classes: no 0.700, yes 0.300

## Files
train.csv: 1000 rows, 8 columns
test.csv: 400 rows, 7 columns
sample_submission.csv: row_id,risk

## Columns
age: int, missing 2.00%, unique 70, min 18, max 90
income: float, missing 0.00%, unique 900, min -3.5, max 1e+06
town: text, missing 0.00%, unique 9, e.g. A | B
note: text, missing 1.00%, unique 990, e.g. I was | We were
day: text, missing 0.00%, unique 400, e.g. 2020-01-01
p0 (3 columns): int, missing 0.00%, unique 9, min 0, max 8
"""
HEAD = """import os
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import LabelEncoder, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import SVC
train = pd.read_csv(os.path.join(os.environ["DATA_DIR"], "train.csv"))
test = pd.read_csv(os.environ["DATA_DIR"] + "/test.csv")
y = train["risk"]
X, X_test = train[["age", "income", "p0", "p1"]].fillna(0), test[["age", "income", "p0", "p1"]].fillna(0)
"""
FIT = """model = RandomForestClassifier(n_estimators=50).fit(X, y)
pred = model.predict_proba(X_test)[:, 1]
"""
SAVE = """pd.DataFrame({"row_id": test["row_id"], "risk": pred}).to_csv(os.environ["SUBMISSION_PATH"], index=False)
"""


def facts(code: str, task: str = TASK) -> dict[str, float]:
    found = dict(zip(REHEARSAL_NAMES, rehearse(code, task).tolist(), strict=True))
    return {name: value for name, value in found.items() if value}


def raised(code: str) -> str | None:
    return next((name.removeprefix("raises_") for name in facts(code) if name.startswith("raises_")), None)


def test_a_sound_program_seems_valid() -> None:
    found = facts(HEAD + FIT + SAVE)
    assert {"finished", "submits", "seems_VALID", "id_of_test", "answers_probability", "ends_in_forest"} <= found.keys()
    assert not any(name.startswith(("raises", "wrong", "missing")) for name in found)
    assert found["log_rows"] == pytest.approx(np.log10(1001)) and found["log_width"] == pytest.approx(np.log10(5))
    assert found["fit_n_estimators"] == pytest.approx(np.log10(50))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("print(model)", "NameError"),
        ("def f():\n    if len(test) == 0:\n        a = 1\n    print(a)\nf()", "UnboundLocalError"),
        ("import xgboost as xgb", "ModuleNotFoundError"),
        ("from sklearn.models import Ridge", "ModuleNotFoundError"),
        ("from sklearn.ensemble import LogisticRegression", "ImportError"),
        ("RandomForestClassifier(n_trees=3)", "TypeError"),
        ("RandomForestClassifier(criterion='mse').fit(X, y)", "sklearn.utils._param_validation.InvalidParameterError"),
        ("train['salary']", "KeyError"),
        ("train.drop(columns=['salary'])", "KeyError"),
        ("test['risk']", "KeyError"),
        ("for frame in (train, test):\n    frame['scaled'] = frame['risk']", "KeyError"),
        ("os.environ['INPUT_DIR']", "KeyError"),
        ("pd.read_csv('train.csv')", "FileNotFoundError"),
        ("pd.read_csv(os.environ['DATA_DIR'] + '/valid.csv')", "FileNotFoundError"),
        ("pd.read_csv(os.environ['DATA_DIR'] + '/test.csv', encoding='utf-16')", "UnicodeError"),
        ("train.append(test)", "AttributeError"),
        ("np.float(3)", "AttributeError"),
        ("train['town'] / 2", "TypeError"),
        ("train['town'].astype(int)", "ValueError"),
        ("train['age'].astype(int)", "pandas.errors.IntCastingNaNError"),
        ("train.mean()", "TypeError"),
        ("train['income'].dt.year", "AttributeError"),
        ("SVC().fit(train[['age', 'income']], y)", "ValueError"),  # missing values
        ("SVC().fit(train[['town', 'income']], y)", "ValueError"),  # words
        ("SVC().fit(X.dropna().iloc[1:], y)", "ValueError"),  # fewer rows
        ("SVC().fit(X['age'], y)", "ValueError"),  # one dimension
        ("SVC().fit(X, y, epochs=3)", "TypeError"),
        ("SVC().predict(X)", "sklearn.exceptions.NotFittedError"),
        ("RidgeClassifier().fit(X, y).predict_proba(X)", "AttributeError"),
        ("SVC().fit(X, y).predict_proba(X)", "AttributeError"),
        ("SVC().fit(X, y).predict(X_test[['age']])", "ValueError"),
        ("SVC(probability=True).fit(X, y).predict_proba(X_test)[:, 2]", "IndexError"),
        ("SVC().fit(X, y).predict(X_test)[:, 1]", "IndexError"),
        ("StandardScaler().fit_transform(X)['age']", "IndexError"),
        ("a, b, c = X.shape", "ValueError"),
        ("X_tr, X_val = train_test_split(X, y)", "ValueError"),
        ("train_test_split(X, y.values)", "TypeError"),  # pandas' own strings
        ("cross_val_score(SVC(), X, y.values)", "TypeError"),
        ("for a, b in StratifiedKFold(3).split(X):\n    pass", "TypeError"),
        ("for a, b in KFold(3).split(X):\n    X[a]", "KeyError"),
        ("SimpleImputer(strategy='mean').fit(train[['town']])", "ValueError"),
        ("TfidfVectorizer().fit(train['note'])", "ValueError"),  # missing values
        ("TfidfVectorizer().fit(train['income'])", "AttributeError"),
        ("OneHotEncoder(sparse=False)", "TypeError"),
        ("ratio = 1 / sum(1 for value in list(y) if value == 'maybe')", "ZeroDivisionError"),
        ("np.linalg.inv(np.ones((3, 3)))", "numpy.linalg.LinAlgError"),
        ("kernel = np.zeros((len(y) * 20, len(y) * 20))", "MemoryError"),
        ("a = np.arange(len(y) * 20.0)\nb = a[:, None] - a[None, :]", "MemoryError"),
        ("PolynomialFeatures(degree=8).fit_transform(train.select_dtypes('number').fillna(0))", None),
        ("assert len(test) == 3", "AssertionError"),
        ("raise RuntimeError('no')", "other"),
        ("[][0]", "IndexError"),
        ("list(X.columns)[9]", "IndexError"),
        ("X.missing_method()", "AttributeError"),
        ("None.split()", "AttributeError"),
        ("1 + 'a'", "TypeError"),
        ("def f(a):\n    return a\nf()", "TypeError"),
        ("def f(a):\n    return a\nf(1, b=2)", "TypeError"),
        ("try:\n    train['salary']\nexcept KeyError:\n    pass", None),
        ("try:\n    import xgboost\nexcept ImportError:\n    xgboost = None", None),
        ("try:\n    train['salary']\nexcept ValueError:\n    pass", "KeyError"),
        ("X['new'] = X['age'] * X['income']\nX['new'].mean()", None),
        ("X = X.assign(double=lambda d: d['age'] * 2)\nX['double']", None),
        ("for c in X.columns:\n    X[c] = X[c].astype(float)", None),
        ("le = LabelEncoder()\ntrain['town'] = le.fit_transform(train['town'])\nSVC().fit(train[['town']], y)", None),
        ("when = pd.to_datetime(train['day'])\nX['month'] = when.dt.month\nSVC().fit(X, y)", None),
        ("f = lambda d: d['salary']\nf(train)", "KeyError"),
        ("class A:\n    def go(self):\n        return train['salary']\nA().go()", "KeyError"),
        ("if unknown_to_all():\n    pass", "NameError"),
        ("for i in range(3):\n    for j in range(3):\n        break", None),
    ],
)
def test_a_fault_is_foreseen(code: str, kind: str | None) -> None:
    assert raised(HEAD + code) == kind


@pytest.mark.parametrize(
    ("ending", "found"),
    [
        ("", "seems_NO_SUBMISSION"),
        (SAVE.replace("risk", "prediction"), "wrong_columns"),
        (SAVE.replace(", index=False", ""), "wrong_columns"),
        (SAVE.replace('test["row_id"]', "1"), "constant_id"),
        ("pred = pred[:100]\ntest = test.head(100)\n" + SAVE, "wrong_rows"),
        ("pred = pd.Series(pred).shift(1).values\n" + SAVE, "missing_answers"),
        ("pred = model.predict(X_test)\n" + SAVE, "text_for_numbers"),
        (SAVE.replace("SUBMISSION_PATH", "OUT"), "raises_KeyError"),
        (SAVE.replace('os.environ["SUBMISSION_PATH"]', '"submission.csv"'), "seems_VALID"),
        (SAVE.replace('os.environ["SUBMISSION_PATH"]', '"/tmp/submission.csv"'), "seems_NO_SUBMISSION"),
        ("import csv\nwith open(os.environ['SUBMISSION_PATH'], 'w') as f:\n    w = csv.writer(f)\n"
         "    w.writerow(['row_id', 'risk'])\n    w.writerows(zip(test['row_id'], pred))\n", "seems_VALID"),
    ],
)  # fmt: skip
def test_what_is_written_is_judged(ending: str, found: str) -> None:
    assert facts(HEAD + FIT + ending)[found] == 1.0


def test_costs_grow_with_what_is_asked() -> None:
    few, many = (facts(HEAD + f"RandomForestClassifier(n_estimators={n}).fit(X, y)") for n in (10, 1000))
    assert many["cost_forest"] - few["cost_forest"] == pytest.approx(2.0, abs=0.01)
    searched = facts(
        HEAD + "GridSearchCV(RandomForestClassifier(n_estimators=10), {'max_depth': [2, 3, 4]}, cv=4).fit(X, y)"
    )
    assert searched["cost_forest"] > few["cost_forest"] + 0.5 and searched["candidates"] > 1
    loops = facts(HEAD + "for a in X.values.tolist():\n    for b in X.values.tolist():\n        c = 1")
    assert loops["log_operations"] == pytest.approx(6.0, abs=0.1)
    assert facts("while True:\n    a = 1")["long_loop"] == 1.0
    counted = "step, loss = 0, 1.0\nwhile loss > 0.5:\n    loss = loss * 0.5\n    step += 1"
    assert "long_loop" not in facts(counted)


def test_arguments_are_described_and_steps_told() -> None:
    code = "make_pipeline(SimpleImputer(strategy='median'), StandardScaler(), LogisticRegression(C=0.1)).fit(X, y)"
    found = facts(HEAD + code)
    assert found["fit_C"] == pytest.approx(-1.0) and found["fit_gives_C"] == 1.0
    assert found["StandardScaler"] == found["imputes_median"] == found["ends_in_linear"] == 1.0


@given(
    st.text() | st.sampled_from(["x = (", "def f(:", "\0", "'" * 999]),
    st.text() | st.sampled_from([TASK, *TASKS.values()]),
)
def test_any_text_gives_finite_facts(code: str, task: str) -> None:
    vector = rehearse(code, task)
    assert vector.shape == (len(REHEARSAL_NAMES),) and np.isfinite(vector).all() and not vector.flags.writeable


_NAMES = st.sampled_from(
    ["train", "test", "X", "y", "np", "pd", "model", "os", "len", "RandomForestClassifier", "missing"]
)
_LEAVES = st.sampled_from(["1", "0", "'age'", "'row_id'", "None", "[1, 'a']", "{}", ":", "2.5", "True", "-1"]) | _NAMES
_EXPRESSIONS = st.recursive(
    _LEAVES.filter(lambda leaf: leaf != ":"),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda two: f"{two[0]}[{two[1]}]"),
        st.tuples(inner, inner).map(lambda two: f"{two[0]}({two[1]})"),
        st.tuples(inner, st.sampled_from(["drop", "values", "fit", "iloc", "mean", "columns", "append", "shape"])).map(
            lambda two: f"({two[0]}).{two[1]}"
        ),
        st.tuples(inner, st.sampled_from("+-*/%<&"), inner).map(lambda three: f"({three[0]} {three[1]} {three[2]})"),
        inner.map(lambda one: f"[v for v in {one} if v]"),
        inner.map(lambda one: f"{one}[:, 1]"),
    ),
    max_leaves=12,
)


@given(st.lists(_EXPRESSIONS, min_size=1, max_size=6))
def test_no_program_makes_the_rehearsal_fail(expressions: list[str]) -> None:
    code = HEAD + "\n".join(f"try:\n    v{i} = {one}\nexcept Exception:\n    pass" for i, one in enumerate(expressions))
    assert np.isfinite(rehearse(code, TASK)).all()


@pytest.mark.parametrize(
    "code",
    [
        "x = " + "+".join(["1"] * 900),
        "x = f" + "()" * 900,
        "if a:\n    pass\n" + "elif a:\n    pass\n" * 900,
        "def f(n):\n    return f(n)\nf(1)",
        "x = 10 ** 10 ** 10",
        "x = 'a' * 10 ** 12",
        "x = [1]\nwhile x:\n    x = x + x",
        "x = 1\n" * 50_000,
    ],
)
def test_deep_long_and_endless_programs_come_to_an_end(code: str) -> None:
    assert np.isfinite(rehearse(code, TASK)).all()


def test_the_inventory_is_read() -> None:
    inventory = read_inventory(TASK)
    assert (inventory.target, inventory.id_column, inventory.train_rows, inventory.test_rows) == (
        "risk",
        "row_id",
        1000,
        400,
    )
    assert list(inventory.columns) == ["age", "income", "town", "note", "day", "p0", "p1", "p2"]
    assert inventory.columns["age"].missing and inventory.columns["town"].kind == "text"
    assert (inventory.cpu_s, inventory.memory_mb, inventory.classes) == (10.0, 512.0, ("no", "yes"))
    assert read_inventory("Something else.").columns == {}


def test_it_agrees_with_what_really_happened() -> None:
    """Of recorded programs that did not run out of time: how often does the rehearsal alone know the ending?"""
    rows = load_transitions(Path(__file__).parents[3] / "data" / "scripts.parquet")[::8]
    undecided = (Status.TIMEOUT, Status.SYNTAX_ERROR, Status.MALFORMED)
    rows = [row for row in rows if row.outcome.status not in undecided]
    right = named = failures = 0
    for submission, outcome in rows:
        found = facts(submission.code, submission.task_text)
        seems = next(name.removeprefix("seems_") for name in found if name.startswith("seems_"))
        right += str(outcome.status).startswith(seems)
        if outcome.status is Status.RUNTIME_ERROR and (kind := exception_class(outcome.feedback)):
            failures += 1
            named += found.get(f"raises_{kind}", 0.0)
    assert len(rows) > 400
    assert right / len(rows) > 0.9
    assert named / failures > 0.8
