"""Training of the ensemble on recorded executions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from world_models.facts import solution_facts
from world_models.features import task_features
from world_models.learned.messages import MessageBook
from world_models.learned.model import ENDINGS, Heads, LearnedModel, Scaling, expected_score
from world_models.learned.network import EnsembleNetwork, one_thread
from world_models.outcomes import Status
from world_models.store import Transition, load_transitions

__all__ = ["Targets", "adapt", "calibrate", "heads_loss", "targets_of", "train", "trainable"]

_MINIMUM = 50
_SUPPORT = 20
_VALIDATION_SHARE = 0.1
_BATCH = 128
_LEARNING_RATE, _WEIGHT_DECAY = 3e-3, 1e-1
_DROPOUT = 0.1
_TASK_NOISE = 0.5  # so that no member knows a task by the exact values of its facts
_BAG = 0.9  # share of the rows that a member sees
_WEIGHTS = {"percentile": 1.0, "seconds": 0.3, "kind": 0.3}


class Targets(NamedTuple):
    """What the heads are fitted to, each (N,)."""

    status: Tensor
    percentile: Tensor  # NaN where not valid
    log_seconds: Tensor
    kind: Tensor  # -1 where there is none
    score: Tensor

    def rows(self, index: Tensor) -> Targets:
        return Targets(*(column[index] for column in self))


def train(
    transitions: str | Path | Iterable[Transition],
    out_dir: str | Path | None = None,
    *,
    seed: int = 0,
    exclude_tasks: Collection[str] = (),
    members: int = 5,
    hidden: int = 72,
    epochs: int = 60,
    progress: Callable[[int, int], None] | None = None,
) -> LearnedModel:
    """Train the world model ``learned`` on the executions among ``transitions`` that are in the split ``"train"``.

    A tenth of them is set aside to calibrate status probabilities and variances.

    Args:
        transitions: a recording, or the path of one (see :func:`world_models.load_transitions`).
        out_dir: where the checkpoint goes; ``None`` writes none.
        seed: of weights, order and noise; same seed, same model.
        exclude_tasks: ids of tasks held out whole.
        members: size of the ensemble, at least 1.
        hidden: width of a member, at least 1.
        epochs: passes over the data, at least 1.
        progress: called with (done, total) epochs after each.

    Raises:
        ValueError: a size below 1, or fewer than 50 usable transitions.
        FileNotFoundError: no recording at that path.
    """
    if min(members, hidden, epochs) < 1:
        raise ValueError(f"members, hidden and epochs must be at least 1, got {members}, {hidden}, {epochs}")
    recorded = load_transitions(transitions) if isinstance(transitions, (str, Path)) else transitions
    usable = [row for row in recorded if trainable(row, exclude_tasks)]
    if len(usable) < _MINIMUM:
        raise ValueError(
            f"training needs at least {_MINIMUM} executed solutions of the split 'train', got {len(usable)}"
        )
    rng = np.random.default_rng(seed)
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**31)))
        model = _train(usable, rng, members, hidden, epochs, progress)
    model.facts |= {"seed": seed, "rows": len(usable), "tasks": sorted({row.submission.task_id for row in usable})}
    model.version = _version(model)
    if out_dir is not None:
        model.save(out_dir)
    return model


def adapt(
    model: LearnedModel,
    transitions: str | Path | Iterable[Transition],
    *,
    epochs: int = 60,
    learning_rate: float = 1e-3,
    pull: float = 0.001,
    seed: int = 0,
) -> LearnedModel:
    """A copy of ``model``, trained further on executions of new tasks or solutions; ``model`` stays as it is.

    Weights are pulled back to those of ``model``, so that few rows change little (L2-SP; Li et al., 2018).

    Args:
        model: what is known so far.
        transitions: a recording, or the path of one; all executions in it are used, whatever their split.
        epochs: passes over the data, at least 1.
        learning_rate: above 0.
        pull: weight of the squared distance from the weights of ``model``, at least 0.
        seed: of order and dropout; same seed, same model.

    Raises:
        ValueError: an argument out of its range, or nothing executed in the recording.
    """
    if epochs < 1 or not learning_rate > 0.0 or not pull >= 0.0:
        raise ValueError(f"epochs={epochs}, learning_rate={learning_rate}, pull={pull} are out of range")
    recorded = load_transitions(transitions) if isinstance(transitions, (str, Path)) else transitions
    rows = [row for row in recorded if row.executed and row.outcome.status in ENDINGS]
    if not rows:
        raise ValueError("no executed solutions to learn from")
    network = EnsembleNetwork(**model.network.sizes)
    network.load_state_dict(model.network.state_dict())
    before = [parameter.detach().clone() for parameter in network.parameters()]
    code = model.scaling.code(solution_facts([submission for submission, _ in rows]))
    task = model.scaling.task(np.stack([task_features(submission.task_text) for submission, _ in rows]))
    inputs = torch.from_numpy(code).float(), torch.from_numpy(task).float()
    targets = targets_of(rows, [model.book.kind_of(outcome) for _, outcome in rows])
    optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        everyone = torch.ones(network.sizes["members"], len(rows))
        for _ in range(epochs):
            for batch in torch.randperm(len(rows)).split(_BATCH):
                heads = Heads.split(network(inputs[0][batch], inputs[1][batch], _DROPOUT))
                loss = heads_loss(heads, targets.rows(batch), everyone[:, batch])
                distance = torch.stack(
                    [((p - b) ** 2).sum() for p, b in zip(network.parameters(), before, strict=True)]
                )
                optimizer.zero_grad()
                (loss + pull * distance.sum()).backward()
                optimizer.step()
    facts = {**model.facts, "adapted_to": len(rows)}
    adapted = LearnedModel(network, model.scaling, model.book, model.temperature, model.variance_scale, facts)
    adapted.version = _version(adapted)
    return adapted


def trainable(row: Transition, exclude_tasks: Collection[str]) -> bool:
    """Whether a row was executed, is of the split ``"train"`` and of none of the tasks."""
    submission, outcome = row
    return (
        row.executed and outcome.status in ENDINGS and submission.task_id not in exclude_tasks and row.split == "train"
    )


def _train(
    rows: list[Transition],
    rng: np.random.Generator,
    members: int,
    hidden: int,
    epochs: int,
    progress: Callable[[int, int], None] | None,
) -> LearnedModel:
    code = solution_facts([submission for submission, _ in rows])
    task = np.stack([task_features(submission.task_text) for submission, _ in rows])
    order = torch.from_numpy(rng.permutation(len(rows)))
    held = max(1, round(_VALIDATION_SHARE * len(rows)))
    validation, training = order[:held], order[held:]
    book, kinds = MessageBook.collect(rows)
    scaling = Scaling.fit(code[training], task[training], _SUPPORT)
    inputs = torch.from_numpy(scaling.code(code)).float(), torch.from_numpy(scaling.task(task)).float()
    targets = targets_of(rows, kinds)

    network = EnsembleNetwork(members, len(scaling.columns), task.shape[1], hidden, Heads.size(len(book)))
    bags = torch.rand(members, len(rows)) < _BAG
    steps = epochs * -(-len(training) // _BATCH)
    optimizer = torch.optim.AdamW(network.parameters(), lr=_LEARNING_RATE, weight_decay=_WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _LEARNING_RATE, total_steps=steps, pct_start=0.1)
    for epoch in range(epochs):
        for batch in training[torch.randperm(len(training))].split(_BATCH):
            noisy = inputs[1][batch] + _TASK_NOISE * torch.randn(members, len(batch), task.shape[1])
            heads = Heads.split(network(inputs[0][batch], noisy, _DROPOUT))
            loss = heads_loss(heads, targets.rows(batch), bags[:, batch].float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
        if progress is not None:
            progress(epoch + 1, epochs)
    with torch.no_grad():
        heads = Heads.split(network(inputs[0][validation], inputs[1][validation]))
        temperature, variance_scale = calibrate(heads, targets.rows(validation))
    return LearnedModel(network, scaling, book, temperature, variance_scale)


def targets_of(rows: list[Transition], kinds: list[int]) -> Targets:
    """Targets of executed rows, ``kinds`` as :meth:`MessageBook.collect` gives them."""
    outcomes = [outcome for _, outcome in rows]
    scores = torch.tensor([outcome.score for outcome in outcomes])
    valid = torch.tensor([outcome.status is Status.VALID for outcome in outcomes])
    return Targets(
        torch.tensor([ENDINGS.index(outcome.status) for outcome in outcomes]),
        torch.where(valid, 2.0 * scores - 1.0, torch.nan),
        torch.tensor([outcome.seconds for outcome in outcomes]).log1p(),
        torch.tensor(kinds),
        scores,
    )


def heads_loss(heads: Heads, targets: Targets, weight: Tensor) -> Tensor:
    """Sum over members of the weighted mean loss of each head; ``weight`` is (E, B)."""
    members = weight.shape[0]

    def classify(logits: Tensor, labels: Tensor) -> Tensor:
        spread = labels.expand(members, -1)
        return functional.cross_entropy(logits.movedim(-1, 1), spread, reduction="none", ignore_index=-1)

    error = torch.nan_to_num(targets.percentile) - heads.percentile
    valid = ~targets.percentile.isnan()
    # Gaussian likelihood, weighted by the deviation (Seitzer et al., 2022): noisy solutions are learned as well.
    deviation = heads.log_variance.detach().mul(0.5).exp()
    likelihood = 0.5 * (heads.log_variance + error**2 / heads.log_variance.exp()) * deviation
    losses = {
        "percentile": torch.where(valid, likelihood + 4.0 * error**2, 0.0),
        "seconds": (heads.log_seconds[:, torch.arange(len(targets.status)), targets.status] - targets.log_seconds) ** 2,
        "kind": classify(heads.kind, targets.kind) if heads.kind.shape[-1] else torch.zeros_like(weight),
    }
    total = classify(heads.status, targets.status)
    for name, loss in losses.items():
        total = total + _WEIGHTS[name] * loss
    return (weight * total).mean(1).sum()


def calibrate(heads: Heads, targets: Targets) -> tuple[float, float]:
    """Temperature of least cross-entropy, and the ratio of squared errors to predicted variances."""

    def cross_entropy(temperature: float) -> float:
        probabilities = torch.softmax(heads.status / temperature, -1).mean(0)
        return functional.nll_loss(probabilities.clamp(min=1e-12).log(), targets.status).item()

    temperature = min(np.geomspace(0.5, 4.0, 43).tolist(), key=cross_entropy)
    _, members, variances = expected_score(heads, temperature)
    variance = variances.mean(0) + members.var(0, correction=0)
    ratio = ((members.mean(0) - targets.score) ** 2).mean() / variance.mean()
    return temperature, float(ratio.clamp(0.25, 4.0))


def _version(model: LearnedModel) -> str:
    """Eight hex digits of the weights' hash."""
    digest = hashlib.sha256()
    for tensor in model.network.state_dict().values():
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()[:8]
