"""Small trained heads on a language model's hidden states."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from world_models.learned.messages import MessageBook
from world_models.learned.model import ENDINGS, Heads, expected_score
from world_models.learned.network import MemberLinear, one_thread
from world_models.outcomes import Submission

__all__ = ["Judgement", "Probe", "TrainedHeads"]

_DIGITS = 9


class Judgement(NamedTuple):
    """A prediction before it becomes an ``Outcome``."""

    ending: int  # index into ENDINGS
    percentile: float
    seconds: float
    detail: str
    score: float
    variance: float
    members: tuple[float, ...] = ()


class Probe(nn.Module):
    """Ensemble of networks with one hidden layer over the principal components of hidden states.

    Args:
        members: E, size of the ensemble.
        features: F, number of features.
        components: C, number of principal components.
        hidden: width of the hidden layer.
        outputs: K.
    """

    mean: Tensor
    projection: Tensor

    def __init__(self, members: int, features: int, components: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.sizes = {
            "members": members,
            "features": features,
            "components": components,
            "hidden": hidden,
            "outputs": outputs,
        }
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("projection", torch.zeros(features, components))
        self.inner = MemberLinear(members, components, hidden)
        self.outer = MemberLinear(members, hidden, outputs)

    def fit_components(self, features: Tensor) -> None:
        """Set mean and projection so that the components of ``features`` (N, F) have mean 0 and deviation 1."""
        features = features.double()
        mean, deviation = features.mean(0), features.std(0).clamp(min=1e-6)
        _, values, vectors = torch.linalg.svd((features - mean) / deviation, full_matrices=False)
        count = self.sizes["components"]
        spread = (values[:count] / math.sqrt(len(features))).clamp(min=1e-6 * float(values[0]) + 1e-12)
        # The sign of a singular vector is arbitrary: its largest entry is made positive.
        signs = vectors[:count].gather(1, vectors[:count].abs().argmax(1, keepdim=True)).sign()
        self.mean = mean.to(self.mean)
        self.projection = ((vectors[:count] * signs) / spread[:, None] / deviation).T.to(self.projection)

    def components(self, features: Tensor) -> Tensor:
        """(B, F) -> (B, C), clipped to 5 deviations."""
        return ((features - self.mean) @ self.projection).clamp(-5.0, 5.0)

    def forward(self, components: Tensor, dropout: float = 0.0) -> Tensor:
        """Outputs (E, B, K) for components (B, C)."""
        hidden = functional.silu(self.inner(functional.dropout(components, dropout, training=dropout > 0)))
        return self.outer(functional.dropout(hidden, dropout, training=dropout > 0))


class TrainedHeads:
    """A probe and what turns its outputs into predictions.

    Args:
        probe: the networks.
        book: the kinds of messages that it tells.
        temperature: by which status logits are divided, above 0.
        variance_scale: by which variances are multiplied, above 0.
        facts: what is known of the training, JSON-able.

    Raises:
        ValueError: the parts do not fit each other, a weight is not finite, or a scale is not above 0.
    """

    def __init__(
        self,
        probe: Probe,
        book: MessageBook,
        temperature: float = 1.0,
        variance_scale: float = 1.0,
        facts: dict[str, Any] | None = None,
    ) -> None:
        if probe.sizes["outputs"] != Heads.size(len(book)):
            raise ValueError(f"{probe.sizes['outputs']} outputs for {len(book)} kinds of messages")
        if not all(bool(values.isfinite().all()) for values in probe.state_dict().values()):
            raise ValueError("a weight of the heads is NaN or infinite")
        if not (0.0 < temperature < math.inf and 0.0 < variance_scale < math.inf):
            raise ValueError(
                f"temperature={temperature} and variance_scale={variance_scale} must be above 0 and finite"
            )
        self.probe = probe.double().requires_grad_(False)
        self.book = book
        self.temperature = temperature
        self.variance_scale = variance_scale
        self.facts = facts or {}

    @property
    def members(self) -> int:
        return self.probe.sizes["members"]

    @property
    def features(self) -> int:
        return self.probe.sizes["features"]

    def judge(self, submission: Submission, features: np.ndarray) -> Judgement:
        """Prediction of a solution from its features (F,)."""
        with one_thread():
            components = self.probe.components(torch.from_numpy(features).double()[None])
            heads = Heads.split(self.probe(components))
        probabilities, members, variances = expected_score(heads, self.temperature)
        ending = int(probabilities.mean(0)[0].numpy().round(_DIGITS).argmax())
        kinds = heads.kind.softmax(-1).mean(0)[0].numpy().round(_DIGITS)
        candidates = [i for i, status in enumerate(self.book.statuses) if status == ENDINGS[ending]]
        detail = self.book.tell(max(candidates, key=kinds.__getitem__), submission) if candidates else ""
        scores = tuple(members[:, 0].tolist())
        return Judgement(
            ending=ending,
            percentile=float(heads.percentile.mean()),
            seconds=max(0.0, math.expm1(float(heads.log_seconds[:, 0, ending].mean()))),
            detail=detail,
            score=math.fsum(scores) / len(scores),
            variance=self.variance_scale * float(variances.mean() + members[:, 0].var(correction=0)),
            members=scores,
        )

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """JSON-able configuration, and arrays."""
        config = {
            "probe": self.probe.sizes,
            "temperature": self.temperature,
            "variance_scale": self.variance_scale,
            "facts": self.facts,
            "messages": self.book.state(),
        }
        return config, {name: values.float().numpy() for name, values in self.probe.state_dict().items()}

    @classmethod
    def from_state(cls, config: dict[str, Any], tensors: dict[str, np.ndarray]) -> TrainedHeads:
        probe = Probe(**config["probe"])
        probe.load_state_dict({name: torch.from_numpy(tensors[name].copy()) for name in probe.state_dict()})
        book = MessageBook(config["messages"])
        return cls(probe, book, config["temperature"], config["variance_scale"], config["facts"])
