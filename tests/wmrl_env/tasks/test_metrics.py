"""Metrics: values by hand, directions, names."""

import numpy as np
import pytest

from wmrl_env.tasks.metrics import METRICS, get_metric


def test_metrics_have_known_values():
    truth, prediction = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    assert get_metric("roc_auc").compute(truth, prediction) == pytest.approx(0.75)
    assert get_metric("rmse").compute([1.0, 3.0], [1.0, 1.0]) == pytest.approx(2**0.5)
    assert get_metric("mae").compute([1.0, 3.0], [1.0, 1.0]) == pytest.approx(1.0)
    assert get_metric("accuracy").compute(["a", "b"], ["a", "a"]) == pytest.approx(0.5)
    assert get_metric("macro_f1").compute(["a", "b"], ["a", "a"]) == pytest.approx(1 / 3)
    assert get_metric("log_loss").compute([0, 1], [0.5, 0.5]) == pytest.approx(0.6931, abs=1e-4)
    assert {name for name, metric in METRICS.items() if metric.higher_is_better} == {
        "roc_auc", "accuracy", "macro_f1", "quadratic_kappa", "r2",
    }  # fmt: skip
    assert get_metric("quadratic_kappa").compute(np.array(["2", "10", "4"]), np.array(["2", "10", "4"])) == 1.0
    grades = np.array(["0", "2", "10"])
    near, far = (
        get_metric("quadratic_kappa").compute(grades, np.array(other)) for other in (["0", "4", "10"], ["10", "2", "0"])
    )
    assert near > 0 > far
    assert get_metric("mape").compute([2.0, 4.0], [1.0, 4.0]) == pytest.approx(0.25)
    assert get_metric("r2").compute([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]) == pytest.approx(0.0)


def test_an_unknown_metric_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown metric 'beauty'; known: .*roc_auc"):
        get_metric("beauty")
