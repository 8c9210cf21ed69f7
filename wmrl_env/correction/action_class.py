"""Which kind of solution a piece of code is: the stratum of ``stratify="action_class"``."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["OTHER", "action_class"]

OTHER = "other"

_ESTIMATOR = re.compile(
    r"\b(?!TransformedTarget|Voting|Stacking|Bagging|Calibrated|MultiOutput|OneVs)(?=[A-Z])"
    r"(\w*?(?:Classifier|Regressor|Regression|NB|SVC|SVR|Ridge|Lasso|ElasticNet|Perceptron|"
    r"DiscriminantAnalysis)(?:CV)?)\s*\("
)
_KIND = re.compile(r"(?:Classifier|Regressor)(?:CV)?$")


@lru_cache(maxsize=4096)
def action_class(code: str) -> str:
    """Model family of a solution: its first constructed estimator, by scikit-learn's naming, wrappers passed over.

    ``Classifier`` and ``Regressor`` are cut off, so that a family is one class over all kinds of tasks. ``"other"``
    where no estimator is constructed.

    >>> action_class("model = RandomForestRegressor(n_estimators=50)")
    'RandomForest'
    """
    found = _ESTIMATOR.search(code)
    return _KIND.sub("", found[1]) if found else OTHER
