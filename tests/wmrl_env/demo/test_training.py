import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from stable_baselines3 import PPO

from tests.wmrl_env.demo.quick import QuickSandbox
from wmrl_env.demo import ABLATION, DemoConfig
from wmrl_env.demo.training import grade, train
from wmrl_env.testing import HashBackend


def trained(arm: str, config: DemoConfig) -> tuple:
    seconds: list[float] = []
    sandbox = QuickSandbox()
    policy, record = train(arm, 0, config, lambda: sandbox, HashBackend, seconds.append)
    return policy, record, sandbox, seconds


@pytest.mark.parametrize("arm", ABLATION)
def test_arm(arm: str, config: DemoConfig) -> None:
    policy, record, sandbox, seconds = trained(arm, config)

    assert record["wall_s"] >= config.seconds
    assert seconds == sorted(seconds)
    assert seconds[-1] == config.seconds
    assert policy.num_timesteps > 0
    assert sandbox.closed
    assert record["real_executions"] == sandbox.executions
    assert (sandbox.executions > 0) == (arm != "raw")
    assert (record["predictions"] > 0) == (arm != "real")
    assert record["speedup"] > 0
    times, scores = zip(*record["curve"], strict=True)
    assert list(times) == sorted(times)
    assert all(0 <= score <= 1 for score in scores)
    assert bool(record["anchors"]) == (arm not in ("real", "raw"))
    assert json.loads(json.dumps(record, allow_nan=False))["wall_s"] == record["wall_s"]

    graded = grade(policy, 0, config, QuickSandbox())
    assert {task: len(scores) for task, scores in graded["scores"].items()} == {"churn": 2, "ames": 2}
    assert graded["ungraded"] == 0
    assert graded == grade(policy, 0, config, QuickSandbox())


def test_corrected_arm_records_every_level_and_the_map(config: DemoConfig) -> None:
    _, record, _, _ = trained("corrected", config)
    assert {"seconds", "raw", "debiased", "denoised", "real", "weight"} == record["anchors"][-1].keys()
    x, y = np.array(record["map"]).T
    assert np.all(np.diff(x) > 0)
    assert np.all(np.diff(y) >= 0)
    assert max(anchor["weight"] for anchor in record["anchors"]) > 1.0


def test_same_seed_same_training(config: DemoConfig) -> None:
    records = [trained("corrected", config)[1] for _ in range(2)]
    assert records[0]["anchors"] == records[1]["anchors"]
    assert records[0]["map"] == records[1]["map"]


def test_interrupted_training_goes_on_from_the_saved_policy(config: DemoConfig, tmp_path: Path) -> None:
    path = tmp_path / "new" / "policy.zip"

    def interrupted(seconds: float) -> None:
        if seconds > 0.3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("corrected", 0, config, QuickSandbox, HashBackend, interrupted, policy_path=path)
    saved = PPO.load(path)
    state = json.loads(path.with_suffix(".corrections.json").read_text())
    assert len(state["OnlineDebiasing"]["calibrator"]["pairs"]) > 0

    short = replace(config, seconds=0.01)
    resumed, _ = train("corrected", 0, short, QuickSandbox, HashBackend, lambda seconds: None, policy_path=path)
    for name, value in saved.policy.state_dict().items():
        assert torch.equal(value, resumed.policy.state_dict()[name]), name
    resumed_state = json.loads(path.with_suffix(".corrections.json").read_text())
    assert resumed_state["AnchorSampling"]["counts"]["steps"] > state["AnchorSampling"]["counts"]["steps"]


def test_ungraded_steps_count_nowhere(config: DemoConfig) -> None:
    policy, _, _, _ = trained("raw", config)
    graded = grade(policy, 0, config, QuickSandbox(ungraded=0.5))
    scores = [score for of_task in graded["scores"].values() for score in of_task]
    assert graded["ungraded"] > 0
    assert all(0 <= score <= 1 for score in scores)
    with pytest.raises(RuntimeError, match="could grade none of the 4 episodes"):
        grade(policy, 0, config, QuickSandbox(ungraded=1.0))
