import hashlib
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

import world_models
from tests.world_models.recordings import submission
from world_models.base import CheckpointError
from world_models.features import code_features, task_features
from world_models.learned import LearnedModel
from world_models.learned.model import Heads, Scaling, expected_score
from world_models.outcomes import Status, exception_class
from world_models.testing import check_world_model


def test_it_learns_the_law_for_solutions_never_seen(model, rows) -> None:
    unseen = [row for row in rows if row.split == "test"]
    report = world_models.fidelity(model, unseen, bootstrap=10)
    assert report.metrics["status_accuracy"].value > 0.9
    assert report.metrics["pairwise_accuracy"].value > 0.9
    assert report.metrics["exception_accuracy"].value > 0.8
    assert report.metrics["score_mae"].value < 0.08


def test_it_reads_arguments_and_the_task(model) -> None:
    shallow, deep, slow, careless = model.execute(
        [
            submission("clean", depth=2),
            submission("clean", depth=9),
            submission("clean", trees=800),
            submission("holes", imputed=False),
        ]
    )
    assert deep.score > shallow.score + 0.1
    assert slow.status is Status.TIMEOUT and slow.seconds > deep.seconds
    assert careless.status is Status.RUNTIME_ERROR
    assert careless.feedback.endswith(
        'File "solution.py", line 7, in <module>\n    solution.fit(X, y)\n'
        "ValueError: Input X contains NaN.\nPlease impute."
    )
    assert exception_class(slow.feedback) == "TimeoutError"


def test_it_keeps_the_contract(model, rows) -> None:
    check_world_model(model, [row.submission for row in rows[:300]])


def test_members_and_variance(model) -> None:
    (outcome,) = model.execute([submission("clean")])
    assert model.num_members == len(outcome.member_scores) == 4
    assert outcome.score == pytest.approx(np.mean(outcome.member_scores), abs=1e-8)
    assert outcome.variance > model.variance_scale * np.var(outcome.member_scores)


def test_predictions_repeat_and_the_memory_is_bounded(model, monkeypatch) -> None:
    monkeypatch.setattr("world_models.learned.model._REMEMBERED", 3)
    batch = [submission("clean", depth=depth) for depth in range(1, 9)]
    first = model.execute(batch)
    assert len(model._known) == 3
    assert model.execute(batch + batch[::-1]) == first + first[::-1]


def test_a_model_travels_to_another_process(model) -> None:
    assert pickle.loads(pickle.dumps(model)).execute([submission("clean")]) == model.execute([submission("clean")])


def test_strange_tasks_give_sane_predictions(model) -> None:
    one = submission("clean")
    (outcome,) = model.execute([world_models.Submission("new", "no inventory at all", one.code)])
    assert 0.0 <= outcome.score <= 1.0


def test_checkpoints_of_other_features_or_shapes_are_refused(model, tmp_path) -> None:
    model.save(tmp_path)
    path = tmp_path / "model.json"
    head = json.loads(path.read_text())
    for change, message in (({"solution_facts": "0"}, "other facts"), ({"network": {}}, "incomplete")):
        path.write_text(json.dumps({**head, "config": head["config"] | change}))
        with pytest.raises(CheckpointError, match=message):
            LearnedModel.load(tmp_path)
    sizes = head["config"]["network"] | {"hidden": 7}
    path.write_text(json.dumps({**head, "config": head["config"] | {"network": sizes}}))
    with pytest.raises(CheckpointError, match="damaged"):
        LearnedModel.load(tmp_path)


@pytest.mark.parametrize(
    "damage", ["shape", "scaling", "nan", "missing", "temperature", "variance_scale", "column", "kinds"]
)
def test_a_checkpoint_whose_parts_do_not_fit_is_refused_at_once(model, tmp_path, damage: str) -> None:
    from safetensors.numpy import load_file, save

    model.save(tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    head = json.loads((tmp_path / "model.json").read_text())
    if damage == "shape":
        weights["network.code.bias"] = weights["network.code.bias"][:1]
    elif damage == "scaling":  # of one value, which numpy would spread over all
        weights["scaling.code_mean"] = weights["scaling.code_mean"][:1]
    elif damage == "nan":
        weights["network.head.weight"][0, 0, 0] = np.nan
    elif damage == "missing":
        del weights["network.head.bias"]
    elif damage == "column":
        weights["scaling.columns"][0] = 10**6
    elif damage == "kinds":
        head["config"]["messages"] = head["config"]["messages"][:-1]
    else:
        head["config"][damage] = 0
    (tmp_path / "model.safetensors").write_bytes(save(weights))
    head["sha256"] = hashlib.sha256((tmp_path / "model.safetensors").read_bytes()).hexdigest()
    (tmp_path / "model.json").write_text(json.dumps(head))
    with pytest.raises(CheckpointError, match="incomplete or damaged"):
        LearnedModel.load(tmp_path)


def test_the_shipped_model_is_there_small_and_knows_the_tasks() -> None:
    from wmrl_env import pipeline, tasks
    from wmrl_env.testing import check_backend

    model = world_models.make("learned")
    assert model.num_members >= 4
    folder = Path(world_models.__file__).parent / "learned" / "checkpoint"
    assert (folder / "model.safetensors").stat().st_size <= 4 * 2**20
    assert set(model.facts["tasks"]) <= {task.id for task in tasks.list(split="train")}
    rng = np.random.default_rng(0)
    batch = [
        world_models.Submission(task.id, task.text, pipeline.render(action, task))
        for task in tasks.list()
        for action in pipeline.competent(rng, task, 2)
    ]
    check_world_model(model, batch)
    check_backend(model, batch)


def test_expected_score_against_simulation() -> None:
    torch.manual_seed(0)
    heads = Heads.split(torch.randn(2, 3, Heads.size(0), dtype=torch.float64))
    probabilities, mean, variance = expected_score(heads, 1.5)
    rng = np.random.default_rng(0)
    ladder = np.array([0.5, 0.1, 0.1, 0.1, 0.2, 0.2])
    for member in range(2):
        for row in range(3):
            endings = rng.choice(6, 200_000, p=probabilities[member, row].numpy())
            deviation = heads.log_variance[member, row].mul(0.5).exp().item()
            percentile = rng.normal(heads.percentile[member, row].item(), deviation, 200_000)
            scores = ladder[endings] + np.where(endings == 0, 0.5 * percentile, 0.0)
            assert mean[member, row].item() == pytest.approx(scores.mean(), abs=0.003)
            assert variance[member, row].item() == pytest.approx(scores.var(), rel=0.03)


def test_scaling_uses_what_varies_once(rows) -> None:
    code = np.stack([code_features(row.submission.code) for row in rows])
    task = np.stack([task_features(row.submission.task_text) for row in rows])
    scaling = Scaling.fit(code, task, support=3)
    scaled = scaling.code(code)
    assert 0 < scaled.shape[1] < 40
    assert (scaling.code_std > 0).all() and len(np.unique(scaled, axis=1).T) == scaled.shape[1]
    assert np.abs(scaling.task(task).mean(0)).max() < 1e-3
    assert not scaling.task(np.zeros_like(task[:1])).any()
