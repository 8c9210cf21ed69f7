"""A made-up recording with a known law, for tests: fast, and learnable by a model that reads values of arguments."""

from __future__ import annotations

import numpy as np

from world_models.outcomes import Outcome, Status, Submission, ladder_score, render_feedback
from world_models.store import Transition

TASK = """# {title}

Predict the target.

Kind: binary
Metric: roc_auc (higher is better)
Limits: 10 CPU seconds, 1024 MB
Target: y
Id: row_id
Classes: no 0.700, yes 0.300

## Files
train.csv: {rows} rows, 4 columns
test.csv: 200 rows, 3 columns
sample_submission.csv: row_id,y

## Columns
age: int, missing {missing:.2f}%, unique 70, min 18, max 90
income: float, missing 0.00%, unique 900, min -3.5, max 1e+06
town: text, missing 0.00%, unique 3, e.g. Ham | Leeds | Ulm
"""
TASKS = {
    "clean": TASK.format(title="Clean", rows=4000, missing=0.0),
    "holes": TASK.format(title="Holes", rows=1000, missing=12.5),
}
CODE = """from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

model = RandomForestClassifier(n_estimators={trees}, max_depth={depth}, random_state={seed})
solution = {solution}
solution.fit(X, y)
"""
IMPUTED = 'make_pipeline(SimpleImputer(strategy="median"), model)'


def submission(task: str, trees: int = 100, depth: int = 4, seed: int = 0, imputed: bool = True) -> Submission:
    code = CODE.format(trees=trees, depth=depth, seed=seed, solution=IMPUTED if imputed else "model")
    return Submission(task, TASKS[task], code)


def outcome_of(task: str, trees: int, depth: int, imputed: bool) -> Outcome:
    """The law: missing values fail without imputation, big forests time out, depth makes the score."""
    seconds = trees / 40
    if task == "holes" and not imputed:
        detail = (
            'Traceback (most recent call last):\n  File "solution.py", line 7, in <module>\n    solution.fit(X, y)\n'
            "ValueError: Input X contains NaN.\nPlease impute."
        )
        return _failure(Status.RUNTIME_ERROR, 0.1, detail)
    if seconds > 10:
        return _failure(Status.TIMEOUT, 10.0, "TimeoutError: the solution exceeded the limit of 10 CPU seconds")
    score = ladder_score(Status.VALID, depth / 10)
    metric = 0.5 + depth / 20
    feedback = render_feedback(Status.VALID, metric=("roc_auc", metric), score=score, seconds=seconds)
    return Outcome(Status.VALID, score, feedback, metric, seconds, "sandbox")


def _failure(status: Status, seconds: float, detail: str) -> Outcome:
    score = ladder_score(status)
    feedback = render_feedback(status, score=score, seconds=seconds, detail=detail)
    return Outcome(status, score, feedback, None, seconds, "sandbox")


def recording(count: int, seed: int = 0) -> list[Transition]:
    """``count`` distinct solutions with their outcomes."""
    rng = np.random.default_rng(seed)
    rows: dict[str, Transition] = {}
    while len(rows) < count:
        task = ("clean", "holes")[rng.integers(2)]
        trees, depth = int(rng.choice([50, 100, 200, 800])), int(rng.integers(1, 11))
        imputed = bool(rng.random() < 0.7)
        one = submission(task, trees, depth, seed=len(rows), imputed=imputed)
        rows.setdefault(one.code + task, Transition(one, outcome_of(task, trees, depth, imputed)))
    return list(rows.values())
