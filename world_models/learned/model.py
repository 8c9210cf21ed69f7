"""World model ``learned``: status, score and its variance, seconds and messages from features of code and task."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from world_models.base import CheckpointError, WorldModel
from world_models.facts import FACTS_HASH, SOLUTION_FACTS, solution_facts
from world_models.features import TASK_FEATURE_NAMES, task_features
from world_models.learned.messages import MessageBook
from world_models.learned.network import EnsembleNetwork, one_thread
from world_models.outcomes import Outcome, Status, Submission, ladder_score, render_feedback

__all__ = ["ENDINGS", "Heads", "LearnedModel", "Scaling", "expected_score"]

ENDINGS: tuple[Status, ...] = (
    Status.VALID,
    Status.RUNTIME_ERROR,
    Status.TIMEOUT,
    Status.OUT_OF_MEMORY,
    Status.NO_SUBMISSION,
    Status.INVALID_SUBMISSION,
)
"""How an execution can end; the order of the status outputs."""

_SHIPPED = Path(__file__).with_name("checkpoint")
_LADDER = torch.tensor([ladder_score(status, 0.0) for status in ENDINGS], dtype=torch.float64)
_CHUNK = 256
_TASK_FACTS = len(TASK_FEATURE_NAMES)
_REMEMBERED = 16_384
_LOG_VARIANCE = (-9.0, -1.0)  # of a percentile: standard deviations from 0.01 to 0.6
_DIGITS = 9  # predictions are float64, so that rounding hides the order of summation, which depends on the batch


class Heads(NamedTuple):
    """Outputs of a network, each (E, B, ...)."""

    status: Tensor  # logits over ENDINGS
    percentile: Tensor  # of a valid solution, in (0, 1)
    log_variance: Tensor  # of that percentile
    log_seconds: Tensor  # log(1 + CPU seconds) of each ending
    kind: Tensor  # logits over the kinds of messages

    @classmethod
    def size(cls, kinds: int) -> int:
        """Number of outputs K."""
        return 2 * len(ENDINGS) + 2 + kinds

    @classmethod
    def split(cls, outputs: Tensor) -> Heads:
        first = len(ENDINGS)
        return cls(
            outputs[..., :first],
            torch.sigmoid(outputs[..., first]),
            outputs[..., first + 1].clamp(*_LOG_VARIANCE),
            outputs[..., first + 2 : 2 * first + 2],
            outputs[..., 2 * first + 2 :],
        )


class Scaling(NamedTuple):
    """From raw features to a network's inputs."""

    columns: np.ndarray  # int64 (C,), the solution features that are used
    code_mean: np.ndarray
    code_std: np.ndarray
    task_mean: np.ndarray
    task_std: np.ndarray

    @classmethod
    def fit(cls, code: np.ndarray, task: np.ndarray, support: int) -> Scaling:
        """Scaling to mean 0 and deviation 1 of the solution features that vary in at least ``support`` rows."""
        common = np.maximum((code == 0).sum(0), (code == code[0]).sum(0))
        columns = np.flatnonzero(len(code) - common >= support)
        _, first = np.unique(code[:, columns], axis=1, return_index=True)  # equal columns say nothing new
        columns = columns[np.sort(first)]
        chosen, facts = code[:, columns].astype(np.float64), task.astype(np.float64)
        deviation = facts.std(0)
        # A fact that was the same for all tasks has taught nothing: an infinite deviation keeps it out.
        deviation[deviation < 1e-6] = np.inf
        statistics = (chosen.mean(0), chosen.std(0), facts.mean(0), deviation)
        return cls(columns, *(values.astype(np.float32) for values in statistics))

    def code(self, features: np.ndarray) -> np.ndarray:
        """(B, features of a solution) -> (B, C), clipped to 5 deviations."""
        return np.clip((features[:, self.columns] - self.code_mean) / self.code_std, -5.0, 5.0)

    def task(self, features: np.ndarray) -> np.ndarray:
        """(B, T) -> (B, T), clipped to 3 deviations; the mean task where a text was not recognised."""
        scaled = np.clip((features - self.task_mean) / self.task_std, -3.0, 3.0)
        return np.where(features[:, :1] > 0, scaled, 0.0)


def expected_score(heads: Heads, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    """Status probabilities (E, B, S), expected score (E, B) and its variance (E, B), member by member."""
    probabilities = torch.softmax(heads.status / temperature, dim=-1)
    endings = _LADDER.to(heads.status).expand(probabilities.shape).clone()
    endings[..., 0] += 0.5 * heads.percentile
    score = (probabilities * endings).sum(-1)
    within = probabilities[..., 0] * 0.25 * heads.log_variance.exp()
    return probabilities, score, (probabilities * (endings - score[..., None]) ** 2).sum(-1) + within


class LearnedModel(WorldModel):
    """Ensemble of networks over features of code and task; ``world_models.make("learned")`` gives the shipped one.

    A prediction's score is its expected value over all endings, its variance the mean of the members' own variances
    plus their disagreement, scaled to the errors seen in validation.

    Args:
        network: the members.
        scaling: of the features.
        book: the kinds of messages that it tells.
        temperature: by which status logits are divided, above 0.
        variance_scale: by which variances are multiplied, above 0.
        facts: what is known of the training, JSON-able; kept in the checkpoint.

    Raises:
        ValueError: the parts do not fit each other, a weight is not finite, or a scale is not above 0.
    """

    name = "learned"

    def __init__(
        self,
        network: EnsembleNetwork,
        scaling: Scaling,
        book: MessageBook,
        temperature: float = 1.0,
        variance_scale: float = 1.0,
        facts: dict[str, Any] | None = None,
    ) -> None:
        _check_parts(network, scaling, book, temperature, variance_scale)
        self.network = network.double().requires_grad_(False)
        self.scaling = scaling
        self.book = book
        self.temperature = temperature
        self.variance_scale = variance_scale
        self.facts = facts or {}
        self.num_members = network.sizes["members"]
        self._known: OrderedDict[tuple[str, str], Outcome] = OrderedDict()  # agents in training repeat solutions

    @classmethod
    def default(cls, **kwargs: Any) -> Self:
        return cls.load(_SHIPPED, **kwargs)

    def predict_batch(self, submissions: Sequence[Submission]) -> list[Outcome]:
        keys = [(submission.task_text, submission.code) for submission in submissions]
        found = {key: outcome for key in keys if (outcome := self._known.get(key)) is not None}
        fresh = {key: submission for key, submission in zip(keys, submissions, strict=True) if key not in found}
        waiting = list(fresh.values())
        for start in range(0, len(waiting), _CHUNK):
            chunk = waiting[start : start + _CHUNK]
            found |= zip(((one.task_text, one.code) for one in chunk), self._predict(chunk), strict=True)
        self._known |= {key: found[key] for key in fresh}
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return [found[key] for key in keys]

    def _predict(self, submissions: Sequence[Submission]) -> list[Outcome]:
        code = self.scaling.code(solution_facts(submissions))
        task = self.scaling.task(np.stack([task_features(submission.task_text) for submission in submissions]))
        with one_thread():
            heads = Heads.split(self.network(torch.from_numpy(code).double(), torch.from_numpy(task).double()))
        probabilities, members, variances = expected_score(heads, self.temperature)
        variance = self.variance_scale * (variances.mean(0) + members.var(0, correction=0))
        rows = zip(
            submissions,
            probabilities.mean(0).numpy(),
            heads.percentile.mean(0).tolist(),
            heads.log_seconds.mean(0).expm1().clamp(min=0.0).numpy(),
            heads.kind.softmax(-1).mean(0).numpy(),
            members.T.tolist(),
            variance.tolist(),
            strict=True,
        )
        return [self._outcome(*row) for row in rows]

    def _outcome(
        self,
        submission: Submission,
        probabilities: np.ndarray,
        percentile: float,
        ending_seconds: np.ndarray,
        kinds: np.ndarray,
        members: list[float],
        variance: float,
    ) -> Outcome:
        ending = int(probabilities.round(_DIGITS).argmax())
        status, seconds = ENDINGS[ending], round(float(ending_seconds[ending]), _DIGITS)
        candidates = [i for i, of_status in enumerate(self.book.statuses) if of_status == status]
        detail = ""
        if candidates:
            detail = self.book.tell(max(candidates, key=kinds.round(_DIGITS).__getitem__), submission)
        feedback = render_feedback(
            status, score=ladder_score(status, round(percentile, _DIGITS)), seconds=seconds, detail=detail
        )
        scores = tuple(round(score, _DIGITS) for score in members)
        return Outcome(
            status=status,
            score=round(math.fsum(scores) / len(scores), _DIGITS),
            feedback=feedback,
            metric_value=None,
            seconds=seconds,
            source="world_model",
            variance=round(variance, _DIGITS),
            member_scores=scores,
        )

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        config = {
            "solution_facts": FACTS_HASH,
            "network": self.network.sizes,
            "temperature": self.temperature,
            "variance_scale": self.variance_scale,
            "facts": self.facts,
            "messages": self.book.state(),
        }
        tensors = {f"network.{name}": value.float().numpy() for name, value in self.network.state_dict().items()}
        tensors |= {f"scaling.{name}": value for name, value in self.scaling._asdict().items()}
        return config, tensors

    @classmethod
    def _restore(cls, config: dict[str, Any], tensors: dict[str, np.ndarray], **kwargs: Any) -> Self:
        if config["solution_facts"] != FACTS_HASH:
            raise CheckpointError("the checkpoint was trained on other facts than this version computes; train anew")
        network = EnsembleNetwork(**config["network"])
        weights = {name: torch.from_numpy(tensors[f"network.{name}"].copy()) for name in network.state_dict()}
        network.load_state_dict(weights)
        scaling = Scaling(*(tensors[f"scaling.{name}"] for name in Scaling._fields))
        book = MessageBook(config["messages"])
        return cls(network, scaling, book, config["temperature"], config["variance_scale"], config["facts"], **kwargs)


def _check_parts(
    network: EnsembleNetwork, scaling: Scaling, book: MessageBook, temperature: float, variance_scale: float
) -> None:
    sizes = network.sizes
    lengths = (sizes["code"],) * 3 + (sizes["task"],) * 2
    if tuple(map(np.shape, scaling)) != tuple((length,) for length in lengths) or sizes["task"] != _TASK_FACTS:
        raise ValueError(f"scaling of shapes {[np.shape(part) for part in scaling]} for a network of sizes {sizes}")
    if scaling.columns.dtype.kind != "i" or not ((scaling.columns >= 0) & (scaling.columns < SOLUTION_FACTS)).all():
        raise ValueError(f"the columns of the scaling must be integers in [0, {SOLUTION_FACTS})")
    if sizes["outputs"] != Heads.size(len(book)):
        raise ValueError(
            f"{sizes['outputs']} outputs for {len(book)} kinds of messages, {Heads.size(len(book))} expected"
        )
    floats = [scaling.code_mean, scaling.code_std, scaling.task_mean, *network.state_dict().values()]
    if not all(np.isfinite(np.asarray(values)).all() for values in floats):
        raise ValueError("a weight is NaN or infinite")
    if not ((scaling.code_std > 0).all() and (scaling.task_std > 0).all()):
        raise ValueError("a deviation in the scaling is not above 0")
    if not (0.0 < temperature < math.inf and 0.0 < variance_scale < math.inf):
        raise ValueError(f"temperature={temperature} and variance_scale={variance_scale} must be above 0 and finite")
