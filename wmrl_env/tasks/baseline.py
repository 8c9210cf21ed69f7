"""A plain solution for any task directory, to see that it can be run and graded."""

from __future__ import annotations

from wmrl_env.tasks.directory import Inspection
from wmrl_env.tasks.task import ResearchTask

__all__ = ["baseline"]

_SOLUTION = """\
import os

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import {model}
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

data = os.environ["DATA_DIR"]
train = pd.read_csv(os.path.join(data, {train!r}), dtype={{{id_column!r}: str}})
test = pd.read_csv(os.path.join(data, {test!r}), dtype={{{id_column!r}: str}})
train = train.dropna(subset=[{train_target!r}])
features = [name for name in test.columns if name in train.columns and name != {id_column!r}]
words = [name for name in features if not pd.api.types.is_numeric_dtype(train[name])]
train[words], test[words] = train[words].astype(str), test[words].astype(str)
encoder = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
model = make_pipeline(
    make_column_transformer((encoder, words), remainder="passthrough"),
    {model}(max_iter=50, random_state=0),
)
model.fit(train[features], {truth})
predictions = {predictions}
submission = pd.DataFrame({{{id_column!r}: test[{id_column!r}], {target!r}: predictions}})
submission.to_csv(os.environ["SUBMISSION_PATH"], index=False)
"""


def baseline(task: ResearchTask, found: Inspection) -> str:
    """Source of gradient-boosted trees on all columns, words as numbers.

    Args:
        task: the task.
        found: what its directory holds.
    """
    wanted = task.metric_object.prediction
    truth = f"train[{found.train_target!r}]"
    if wanted == "probability":
        truth, predictions = f"{truth}.astype(str) == {task.positive!r}", "model.predict_proba(test[features])[:, 1]"
    else:
        lowest = {"non_negative": "0", "positive": "1e-6"}.get(wanted)
        predictions = "model.predict(test[features])" + (f".clip({lowest})" if lowest else "")
    return _SOLUTION.format(
        model="HistGradientBoostingClassifier" if task.classes else "HistGradientBoostingRegressor",
        train=found.files["train"],
        test=found.files["test"],
        train_target=found.train_target,
        target=task.target,
        id_column=task.id_column,
        truth=truth,
        predictions=predictions,
    )
