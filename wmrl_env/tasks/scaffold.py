"""A small task in the package's own layout, to be turned into one's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["new_task"]

_SEED = 0
_TEST_SHARE = 0.4
_ID, _TARGET = "row_id", "progression"

_DESCRIPTION = """\
Predict how far diabetes has progressed one year after a patient was examined: a number, larger is worse.

Columns: age in years, sex, body mass index, mean blood pressure, and six measurements of the blood serum (s1 to s6).
"""

_CARD = {
    "title": "Progression of diabetes",
    "metric": "rmse",
    "kind": "regression",
    "id_column": _ID,
    "target": _TARGET,
    "split": "train",
    "modality": "tabular",
    "time_limit_s": 10,
    "memory_limit_mb": 1024,
    "origin": "Efron, Hastie, Johnstone and Tibshirani 2004, Python package scikit-learn",
    "licence": "BSD-3-Clause",
}

_README = """\
# A research task of your own

This folder is a complete task. Replace its parts one by one; `wmrl tasks check .` says what is still wrong, and
`wmrl tasks check . --run` runs a plain solution on it for real.

| file | what to replace |
|---|---|
| `task.json` | Title, metric, names of the id and target columns, limits of a solution, origin and licence. |
| `public/description.md` | What is asked, in prose. Solutions read it; the inventory of columns is added for agents. |
| `public/train.csv` | Rows with the target. |
| `public/test.csv` | Rows without it, each with an id, in an order that tells nothing. |
| `public/sample_submission.csv` | The ids of `test.csv`, with any prediction: it shows the format. |
| `private/labels.csv` | The ids of `test.csv` with the true target. No solution sees this folder. |
| `leaderboard.csv` | Metric values of real solutions, one a line, weak ones too: a score is the share that it beats. |

Remove this file when you are done: it is not part of the task.

    gymnasium.make("wmrl_env:wmrl/AutoResearchSandbox-v0", task="path/to/this/folder")
"""


def new_task(root: Path, progress: Callable[[int, int], None] | None = None) -> Path:
    """Write a small complete task into a new or empty folder.

    Its data are scikit-learn's diabetes set, its leaderboard holds the errors of simple models that are fitted here.

    Args:
        root: the folder.
        progress: called with the number of models fitted and their total.

    Raises:
        FileExistsError: the folder holds something.
    """
    from sklearn.datasets import load_diabetes
    from sklearn.metrics import root_mean_squared_error

    root = Path(root).expanduser()
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise FileExistsError(f"{root} is not empty: name a new folder")
    frame = load_diabetes(as_frame=True, scaled=False).frame.rename(columns={"target": _TARGET})
    frame = frame.sample(frac=1, random_state=_SEED).reset_index(drop=True)
    frame.insert(0, _ID, range(len(frame)))
    cut = round(len(frame) * (1 - _TEST_SHARE))
    train, test = frame.iloc[:cut], frame.iloc[cut:]

    models = list(_models())
    features = [name for name in frame.columns if name not in (_ID, _TARGET)]
    errors: list[tuple[float, str]] = []
    for name, columns, model in models:
        chosen = columns or features
        predicted = model.fit(train[chosen], train[_TARGET]).predict(test[chosen])
        errors.append((root_mean_squared_error(test[_TARGET], predicted), name))
        if progress is not None:
            progress(len(errors), len(models))

    (root / "public").mkdir(parents=True)
    (root / "private").mkdir(mode=0o700)
    _write(train, root / "public" / "train.csv")
    _write(test.drop(columns=_TARGET), root / "public" / "test.csv")
    guess = round(float(train[_TARGET].mean()), 1)
    _write(test[[_ID]].assign(**{_TARGET: guess}), root / "public" / "sample_submission.csv")
    _write(test[[_ID, _TARGET]], root / "private" / "labels.csv")
    board = "".join(f"{error:.6g},{name}\n" for error, name in sorted(errors))
    (root / "leaderboard.csv").write_text("metric_value,solution\n" + board, encoding="utf-8")
    (root / "task.json").write_text(json.dumps(_CARD, indent=2) + "\n", encoding="utf-8")
    (root / "public" / "description.md").write_text(_DESCRIPTION, encoding="utf-8")
    (root / "README.md").write_text(_README, encoding="utf-8")
    return root


def _write(frame: pd.DataFrame, path: Path) -> None:
    frame.to_csv(path, index=False, lineterminator="\n")


def _models() -> Iterator[tuple[str, list[str] | None, Any]]:
    """Simple models from weak to strong: name, columns used (``None``: all), estimator."""
    from sklearn.dummy import DummyRegressor
    from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import Lasso, LinearRegression, Ridge
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR
    from sklearn.tree import DecisionTreeRegressor

    yield "mean", None, DummyRegressor()
    for columns in (["age"], ["sex"], ["bmi"], ["bp"], ["s5"], ["bmi", "bp"], ["bmi", "s5"], ["bmi", "bp", "s5"]):
        yield f"least squares on {' and '.join(columns)}", columns, LinearRegression()
    yield "least squares", None, LinearRegression()
    for alpha in (1.0, 100.0, 300.0, 1000.0):
        yield f"ridge {alpha:g}", None, make_pipeline(StandardScaler(), Ridge(alpha))
    for alpha in (0.5, 2.0, 8.0, 16.0):
        yield f"lasso {alpha:g}", None, make_pipeline(StandardScaler(), Lasso(alpha))
    for count in (1, 2, 4, 8, 16, 32, 64):
        yield f"{count} nearest neighbours", None, make_pipeline(StandardScaler(), KNeighborsRegressor(count))
    for cost in (1, 10, 100):
        yield f"support vectors {cost}", None, make_pipeline(StandardScaler(), SVR(C=cost))
    for depth in (1, 2, 3, 5, 8):
        yield f"tree of depth {depth}", None, DecisionTreeRegressor(max_depth=depth, random_state=_SEED)
    for leaf in (1, 5, 20):
        yield f"forest, {leaf} rows a leaf", None, RandomForestRegressor(30, min_samples_leaf=leaf, random_state=_SEED)
        yield f"random trees, {leaf} rows", None, ExtraTreesRegressor(30, min_samples_leaf=leaf, random_state=_SEED)
    for rate in (0.02, 0.05, 0.1, 0.3):
        yield f"boosting at {rate}", None, GradientBoostingRegressor(learning_rate=rate, random_state=_SEED)
