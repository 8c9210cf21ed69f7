import ast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.world_models.recordings import TASKS
from world_models.features import code_features
from world_models.inspection import CHECK_NAMES, inspect_solution
from world_models.inspection.build import describe_library

TASK = """Kind: binary
Metric: roc_auc (higher is better)
Target: risk
Id: row_id

## Columns
age: int, missing 2.00%, unique 70, min 18, max 90
town: text, missing 0.00%, unique 9, e.g. A | B
p0..p15 (16 columns): int, missing 0.00%, unique 9, min 0, max 8
"""


def checks(code: str, task: str = TASK) -> dict[str, float]:
    return dict(zip(CHECK_NAMES, inspect_solution(code, task).tolist(), strict=True))


@pytest.mark.parametrize(
    ("code", "found", "expected"),
    [
        ("print(model)", "undefined_names", 1),
        ("model = 1\nprint(model)", "undefined_names", 0),
        ("def f(a):\n    return [b for b in a if b]\nf(1)", "undefined_names", 0),
        ("from numpy import *\nprint(sin(1))", "undefined_names", 0),
        ("try:\n    pass\nexcept OSError as error:\n    print(error)", "undefined_names", 0),
        ("import xgboost as xgb", "absent_modules", 1),
        ("import json, numpy.linalg", "absent_modules", 0),
        ("from sklearn.models import Ridge", "absent_modules", 1),
        ("from sklearn.ensemble import LogisticRegression", "wrong_names", 1),
        ("from sklearn.linear_model import LogisticRegression", "wrong_names", 0),
        ("RandomForestClassifier(n_trees=3, max_depth=2)", "unknown_arguments", 1),
        ("Ridge(alpha=1.0)", "unknown_arguments", 0),
        ("train['income']", "unknown_columns", 1),
        ("train['age'], train['p15'], train[['town', 'risk']]", "unknown_columns", 0),
        ("train['made'] = 1\ntrain['made']", "unknown_columns", 0),
        ("os.environ['ANYTHING']", "unknown_columns", 0),
        ("train.drop(columns=['risk'])", "drops_target", 1),
        ("train.drop('risk', axis=1)", "drops_target", 1),
        ("test['risk']", "target_of_test", 1),
        ("for frame in (train, test):\n    frame['risk']", "target_of_test", 1),
        ("for frame in (train, other):\n    frame['risk']", "target_of_test", 0),
        ("pd.read_csv('train.csv')", "reads_literal_path", 1),
        ("pd.read_csv(os.path.join(os.environ['DATA_DIR'], 'train.csv'))", "reads_literal_path", 0),
        ("x.to_csv(os.environ['SUBMISSION_PATH'], index=False)", "writes_submission_path", 1),
        ("x.to_csv('submission.csv', index=False)", "writes_literal_path", 1),
        ("x.to_csv(path)", "writes_index", 1),
        ("x.to_csv(path, index=False)", "writes_index", 0),
        ("model = LogisticRegression().fit(X, y)", "needs_filling", 1),
        ("X = X.fillna(0)", "needs_filling", 0),
        ("X = X.fillna(0)", "needs_encoding", 1),
        ("X = pd.get_dummies(X)", "needs_encoding", 0),
        ("p = model.predict_proba(X_test)[:, 1]", "takes_second_column", 1),
        ("p = model.predict_proba(X_test)[:, 0]", "takes_other_column", 1),
        ("p = model.predict_proba(X_test)[1]", "takes_one_row", 1),
        ("p = model.predict(X)", "predicts_train", 1),
        ("p = model.predict(X_test)", "never_fits", 1),
        ("for a in x:\n    for b in x:\n        pass", "nested_loops", 2),
        ("GridSearchCV(m, {'a': [1, 2], 'b': [1, 2, 3, 4, 5]})", "log_candidates", 1),
    ],
)
def test_a_check_finds_what_it_is_for(code, found, expected):
    assert checks(code)[found] == expected


def test_prose_has_to_be_vectorised():
    task = TASK.replace("Id: row_id", "Id: row_id\nText: town")
    assert checks("X = 1", task)["needs_vectorising"] == 1 and checks("X = 1", task)["needs_encoding"] == 0
    assert checks("TfidfVectorizer().fit_transform(X)", task)["needs_vectorising"] == 0


@given(
    st.text() | st.sampled_from(["x = (", "def f(:", "\0", "'" * 999]),
    st.text() | st.sampled_from(list(TASKS.values())),
)
def test_any_text_gives_finite_checks(code, task):
    vector = inspect_solution(code, task)
    assert vector.shape == (len(CHECK_NAMES),) and np.isfinite(vector).all() and not vector.flags.writeable
    try:
        ast.parse(code)
    except (SyntaxError, ValueError):
        assert not vector.any()


def test_the_table_of_names_is_that_of_the_library():
    described = describe_library()
    assert "LogisticRegression" in described["modules"]["sklearn.linear_model"]
    assert "max_depth" in described["parameters"]["RandomForestClassifier"]
    assert not any("._" in name for name in described["modules"])


@pytest.mark.parametrize(
    "code",
    [
        "x = " + "+".join(["1"] * 900),
        "x = f" + "()" * 900,
        "x = df" + ".pipe(f)" * 400,
        "if a:\n    pass\n" + "elif a:\n    pass\n" * 900,
        "x = " + "-" * 90 + "1",
        f"RandomForestClassifier(n_estimators={'9' * 400}, max_iter=-{'9' * 400})",
    ],
)
def test_deep_and_huge_code_is_read_without_an_error(code):
    assert np.isfinite(inspect_solution(code, TASK)).all() and np.isfinite(code_features(code)).all()
