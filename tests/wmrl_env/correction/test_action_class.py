from __future__ import annotations

import pytest

from wmrl_env.correction import action_class


@pytest.mark.parametrize(
    ("code", "family"),
    [
        ("from sklearn.linear_model import Lasso\nmodel = LogisticRegression(C=1.0)", "LogisticRegression"),
        ("model = RandomForestClassifier(n_estimators=50)", "RandomForest"),
        ("model = RandomForestRegressor()", "RandomForest"),
        ("model = TransformedTargetRegressor(Ridge(alpha=1.0), func=np.log1p)", "Ridge"),
        ("VotingClassifier([('a', SVC()), ('b', GaussianNB())])", "SVC"),
        ("model = lightgbm.LGBMRegressor ()", "LGBM"),
        ("columns = make_column_transformer((StandardScaler(), x))\nm = HistGradientBoostingClassifier()",
         "HistGradientBoosting"),
        ("print('hello')", "other"),
        ("", "other"),
    ],
)  # fmt: skip
def test_family_of_the_first_estimator(code: str, family: str) -> None:
    assert action_class(code) == family
