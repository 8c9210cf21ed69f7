"""Training of heads on a language model's hidden states, which stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

import numpy as np
import torch

from world_models.language.heads import Probe, TrainedHeads
from world_models.language.model import LanguageModel
from world_models.learned.messages import MessageBook
from world_models.learned.model import Heads
from world_models.learned.network import one_thread
from world_models.learned.training import calibrate, heads_loss, targets_of, trainable
from world_models.store import Transition, load_transitions

__all__ = ["train_heads"]

_MINIMUM = 50
_VALIDATION_SHARE = 0.1
_BATCH = 64
_LEARNING_RATE, _WEIGHT_DECAY = 3e-3, 3e-2
_DROPOUT = 0.2
_COMPONENTS = 96
_ROWS_A_COMPONENT = 3  # at least, so that components are no noise
_BAG = 0.9  # share of the rows that a member sees


def train_heads(
    model: LanguageModel,
    transitions: str | Path | Iterable[Transition],
    out_dir: str | Path | None = None,
    *,
    seed: int = 0,
    exclude_tasks: Collection[str] = (),
    most: int | None = None,
    members: int = 5,
    hidden: int = 64,
    epochs: int = 60,
    progress: Callable[[int, int], None] | None = None,
) -> LanguageModel:
    """Train heads on the executions among ``transitions`` that are in the split ``"train"``.

    The language model reads every solution once, which takes nearly all of the time; its weights stay as they are.
    A tenth of the solutions is set aside to calibrate status probabilities and variances.

    Args:
        model: whose prompts and hidden states are used; it is not changed.
        transitions: a recording, or the path of one (see :func:`world_models.load_transitions`).
        out_dir: where the checkpoint goes; ``None`` writes none.
        seed: of the choice of solutions, weights and order; same seed, same heads.
        exclude_tasks: ids of tasks held out whole.
        most: solutions that are drawn where there are more; ``None`` takes all.
        members: size of the ensemble, at least 1.
        hidden: width of a member, at least 1.
        epochs: passes over the features, at least 1.
        progress: called with (done, total) solutions as they are read.

    Returns:
        A model with the heads, which shares the language model with ``model``.

    Raises:
        ValueError: a size below 1, or fewer than 50 usable transitions.
        FileNotFoundError: no recording at that path.
    """
    if min(members, hidden, epochs) < 1:
        raise ValueError(f"members, hidden and epochs must be at least 1, got {members}, {hidden}, {epochs}")
    recorded = load_transitions(transitions) if isinstance(transitions, (str, Path)) else transitions
    rows = [row for row in recorded if trainable(row, exclude_tasks)]
    rng = np.random.default_rng(seed)
    if most is not None and len(rows) > most:
        rows = [rows[i] for i in sorted(rng.choice(len(rows), most, replace=False))]
    if len(rows) < _MINIMUM:
        raise ValueError(f"training needs at least {_MINIMUM} executed solutions of the split 'train', got {len(rows)}")
    features = model.features([row.submission for row in rows], progress)
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(rng.integers(2**31)))
        heads = _fit(rows, torch.from_numpy(features).float(), rng, members, hidden, epochs)
    heads.facts = {"seed": seed, "rows": len(rows), "tasks": sorted({row.submission.task_id for row in rows})}
    trained = model.with_heads(heads)
    if out_dir is not None:
        trained.save(out_dir)
    return trained


def _fit(
    rows: list[Transition], features: torch.Tensor, rng: np.random.Generator, members: int, hidden: int, epochs: int
) -> TrainedHeads:
    order = torch.from_numpy(rng.permutation(len(rows)))
    held = max(1, round(_VALIDATION_SHARE * len(rows)))
    validation, training = order[:held], order[held:]
    book, kinds = MessageBook.collect(rows)
    targets = targets_of(rows, kinds)
    count = min(_COMPONENTS, len(training) // _ROWS_A_COMPONENT, features.shape[1])
    probe = Probe(members, features.shape[1], count, hidden, Heads.size(len(book)))
    probe.fit_components(features[training])
    inputs = probe.components(features)

    bags = torch.rand(members, len(rows)) < _BAG
    steps = epochs * -(-len(training) // _BATCH)
    optimizer = torch.optim.AdamW(probe.parameters(), lr=_LEARNING_RATE, weight_decay=_WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, _LEARNING_RATE, total_steps=steps, pct_start=0.1)
    for _ in range(epochs):
        for batch in training[torch.randperm(len(training))].split(_BATCH):
            heads = Heads.split(probe(inputs[batch], _DROPOUT))
            loss = heads_loss(heads, targets.rows(batch), bags[:, batch].float())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        heads = Heads.split(probe(inputs[validation]))
        temperature, variance_scale = calibrate(heads, targets.rows(validation))
    return TrainedHeads(probe, book, temperature, variance_scale)
