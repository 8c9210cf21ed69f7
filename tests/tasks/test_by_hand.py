"""A person's solution, one a modality, scores in the sandbox as when it is run by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
import sklearn.metrics

import wmrl_env  # noqa: F401  registers the environments
from wmrl_env import tasks
from wmrl_env.sandbox import Sandbox

SOLUTIONS = Path(__file__).parents[2] / "examples" / "solutions"


def rmsle(truth, prediction):
    return sklearn.metrics.root_mean_squared_log_error(truth, prediction)


def mape(truth, prediction):
    return sklearn.metrics.mean_absolute_percentage_error(truth, prediction)


def auc(truth, prediction):
    return sklearn.metrics.roc_auc_score(truth == max(truth), prediction)


def macro_f1(truth, prediction):
    return sklearn.metrics.f1_score(truth, prediction, average="macro")


@pytest.mark.parametrize(
    ("modality", "task_id", "metric"),
    [("tabular", "ames", rmsle), ("series", "births", mape), ("text", "foods", auc), ("image", "digits", macro_f1)],
)
def test_the_sandbox_env_gives_the_metric_of_a_run_by_hand(modality, task_id, metric, tmp_path):
    task, code = tasks.ensure_data(tasks.get(task_id)), (SOLUTIONS / f"{modality}.py").read_text()
    assert task.modality == modality
    written = tmp_path / "submission.csv"
    environment = {**os.environ, "DATA_DIR": str(task.public_dir), "SUBMISSION_PATH": str(written)}
    environment |= {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path, check=True)
    graded = pd.read_csv(task.private_dir / "labels.csv").merge(pd.read_csv(written), on="row_id")
    by_hand = metric(graded[f"{task.target}_x"], graded[f"{task.target}_y"])

    with Sandbox(1, cache=None) as sandbox:
        env = gym.make("wmrl/AutoResearchSandbox-v0", task=task_id, backend=sandbox)
        env.reset(seed=0)
        *_, info = env.step(f"My solution:\n```python\n{code}```")
        env.close()
    assert info["status"] == "VALID", info["feedback"]
    np.testing.assert_allclose(info["metric_value"], by_hand, rtol=0, atol=1e-9)
    assert info["score"] > 0.5
