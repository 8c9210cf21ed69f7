"""World model ``corrupted``: the truth plus chosen bias and noise, to see what a correction does with known errors."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from world_models.base import WorldModel
from world_models.outcomes import Backend, Outcome, Status, Submission

__all__ = ["CorruptedModel"]

_TOLD = re.compile(r"^Score: .*$", re.M)
_METRIC = re.compile(r"^Metric: .*\n", re.M)


class CorruptedModel(WorldModel):
    """Outcomes of a true backend with wrong scores, clipped to [0, 1].

    A score is shown as ``drift(t, of_class(bias(score))) + noise``. Member m's noise is
    ``noise * (sqrt(correlation) * z + sqrt(1 - correlation) * z_m)`` with standard normal ``z`` and ``z_m``, read off a
    hash of seed, task and code: without ``drift``, equal submissions have equal outcomes in every batch and process.
    With ``fresh`` it is drawn anew for each prediction, as by a model that samples its answers.
    Status and seconds stay true; feedback tells the wrong score and no metric.

    Args:
        truth: a backend, or what :func:`world_models.make` takes.
        bias: shown score of a true one; ``None`` for the score itself.
        class_bias: by stratum, what is added, or a function from the score to the one shown; strata not named keep it.
        stratum: which stratum a submission belongs to; needed with ``class_bias``.
        noise: standard deviation of each member's noise, at least 0; or a function from the true score to it.
        drift: function of the number of submissions predicted so far and the score, to the one shown.
        correlation: of two members' noise, in [0, 1].
        members: size of the ensemble, at least 1.
        seed: of the noise.
        fresh: whether equal submissions have noise of their own each time.

    Raises:
        ValueError: an argument outside its range, or ``class_bias`` without ``stratum``.
    """

    name = "corrupted"

    def __init__(
        self,
        truth: Backend | str,
        bias: Callable[[float], float] | None = None,
        class_bias: Mapping[str, float | Callable[[float], float]] | None = None,
        stratum: Callable[[Submission], str] | None = None,
        noise: float | Callable[[float], float] = 0.1,
        correlation: float = 0.0,
        members: int = 4,
        seed: int = 0,
        drift: Callable[[int, float], float] | None = None,
        fresh: bool = False,
    ) -> None:
        if not callable(noise) and not (math.isfinite(noise) and noise >= 0.0):
            raise ValueError(f"noise must be finite and at least 0, got {noise}")
        if not 0.0 <= correlation <= 1.0:
            raise ValueError(f"correlation must lie in [0, 1], got {correlation}")
        if members < 1:
            raise ValueError(f"members must be at least 1, got {members}")
        if class_bias and stratum is None:
            raise ValueError("class_bias needs stratum, a function from a submission to one of its keys")
        if isinstance(truth, str):
            from world_models.registry import make

            truth = make(truth)
        self.truth = truth
        self.bias = bias
        self.class_bias = dict(class_bias or {})
        self.stratum = stratum
        self.noise = noise
        self.correlation = correlation
        self.num_members = members
        self.seed = seed
        self.drift = drift
        self._fresh = np.random.default_rng(seed) if fresh else None
        self.predicted = 0

    def variance(self, score: float) -> float:
        """Variance of the members' mean around the biased score of a true one, before clipping."""
        return self._deviation(score) ** 2 * (self.correlation + (1.0 - self.correlation) / self.num_members)

    def _deviation(self, score: float) -> float:
        return self.noise(score) if callable(self.noise) else self.noise

    def predict_batch(self, submissions: Sequence[Submission]) -> list[Outcome]:
        outcomes = list(map(self._corrupt, submissions, self.truth.execute(submissions)))
        self.predicted += len(submissions)
        return outcomes

    def _corrupt(self, submission: Submission, true: Outcome) -> Outcome:
        if true.score is None or true.status is Status.UNGRADED:
            return true
        shown = true.score if self.bias is None else self.bias(true.score)
        of_class = None if self.stratum is None else self.class_bias.get(self.stratum(submission))
        if of_class is not None:
            shown = of_class(shown) if callable(of_class) else shown + of_class
        if self.drift is not None:
            shown = self.drift(self.predicted, shown)
        scores = np.clip(shown + self._deviation(true.score) * self._noise(submission), 0.0, 1.0)
        score = float(scores.mean())
        return Outcome(
            status=true.status,
            score=score,
            feedback=_TOLD.sub(f"Score: {score:.3f}", _METRIC.sub("", true.feedback, count=1), count=1),
            metric_value=None,
            seconds=true.seconds,
            source="world_model",
            variance=self.variance(true.score),
            member_scores=tuple(scores.tolist()),
        )

    def _noise(self, submission: Submission) -> np.ndarray:
        """Of each member, in standard deviations."""
        rng = self._fresh or self._read_off(submission)
        common, own = rng.standard_normal(), rng.standard_normal(self.num_members)
        return math.sqrt(self.correlation) * common + math.sqrt(1.0 - self.correlation) * own

    def _read_off(self, submission: Submission) -> np.random.Generator:
        key = f"{self.seed}\0{submission.task_id}\0{submission.code}".encode(errors="surrogatepass")
        return np.random.default_rng(np.frombuffer(hashlib.sha256(key).digest(), np.uint32))
