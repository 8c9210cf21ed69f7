"""Weighing rewards by what is known of their noise."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from wmrl_env.correction import AnchorStream, Denoiser, carry_weight
from wmrl_env.wrappers.anchor_sampling import is_predicted
from wmrl_env.wrappers.batch import StepBatch
from wmrl_env.wrappers.online_debiasing import DebiasingCore, anchors_below
from wmrl_env.wrappers.shell import AnyEnv, Core, ScalarShell, core_below

__all__ = ["DenoisingCore", "InverseVarianceDenoising"]


class DenoisingCore(Core):
    """Core of :class:`InverseVarianceDenoising`, where the arguments are described."""

    name = "InverseVarianceDenoising"

    def __init__(
        self,
        env: AnyEnv,
        weight_max: float = 4.0,
        warmup: int = 32,
        half_life: float = 64.0,
        carrier: Literal["info", "reward"] = "info",
        stream: AnchorStream | str | None = None,
        update: bool = True,
    ) -> None:
        super().__init__(env)
        if carrier not in ("info", "reward"):
            raise ValueError(f"carrier must be 'info' or 'reward', got {carrier!r}")
        self.carrier = carrier
        self.denoiser = Denoiser(weight_max, warmup, half_life)
        self.update = update
        debiasing = core_below(env, DebiasingCore)
        if stream is None and debiasing is not None:
            stream = debiasing.debiased
        self._anchors = anchors_below(env, self.name, stream)
        self._cursor = 0

    def correct(self, batch: StepBatch, rewards: np.ndarray) -> np.ndarray:
        self.learn()
        real, below = batch.floats("anchor_score"), batch.floats("score")
        known, predicted = np.isfinite(real), is_predicted(batch)
        guesses = _where_missing(batch.floats("debiased_score"), np.where(known, batch.floats("raw_score"), below))
        members = batch.matrix("debiased_member_scores")
        if not members.shape[1]:
            members = batch.matrix("member_scores")
        fused, variances = self.denoiser.fuse(guesses, members)
        fused = np.where(predicted, fused, guesses)
        variances = np.where(predicted, _where_missing(variances, batch.floats("score_variance")), 0.0)

        scores = np.where(known, below, fused)
        at_this_height = self.reward(batch, scores)
        batch.set("score", scores)
        batch.set("denoised_score", fused)
        batch.set("denoised_reward", at_this_height)
        batch.set("reward_variance", np.where(known, 0.0, np.where(np.isnan(scores), np.nan, variances)))
        return self.weigh(batch, at_this_height, known)

    def learn(self) -> None:
        """Read on in the stream."""
        pairs, self._cursor = self._anchors.read(self._cursor)
        if self.update:
            self.denoiser.update(pairs)

    def weigh(self, batch: StepBatch, rewards: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Note the weight of rows with a known real score, and give back the rewards as the carrier has them: (k,)."""
        weights = np.where(known, self.denoiser.weight, 1.0)
        batch.set("reward_weight", weights)
        if self.carrier == "info":
            return rewards
        baselines = np.array([self.rule.task_mean(task) for task in batch.task_ids])
        return carry_weight(rewards, weights, baselines)

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"denoiser": self.denoiser.state_dict(), "cursor": self._cursor}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.denoiser.load_state_dict(state["denoiser"])
        self._cursor = self._anchors.position(state["cursor"])


class InverseVarianceDenoising(ScalarShell):
    """Fuses the members' scores by inverse variance, and weighs real scores the more the model errs.

    See :class:`wmrl_env.correction.Denoiser` for the formulas. Residuals are those of debiased predictions where an
    ``OnlineDebiasing`` is below, of raw ones otherwise.

    Args:
        env: environment with an ``AnchorSampling`` below, or any with ``stream``.
        weight_max: largest weight of a row with a real score, at least 1.
        warmup: anchored groups before weights start; the weight is 2 then.
        half_life: of residuals, in anchored groups.
        carrier: ``"info"``: rewards stay as they are, for trainers that read ``info["reward_weight"]``; ``"reward"``:
            ``b + weight * (reward - b)`` with the task's running mean ``b``, for trainers that take no weights.
        stream: where anchor pairs come from, an ``AnchorStream`` or its url; by default from the wrappers below.
        update: False freezes the estimates, for evaluation.

    Raises:
        ValueError: an argument out of its range, a wrong order of wrappers, or no anchors.

    ``info`` of a step: ``score`` as corrected; ``denoised_score`` the fused prediction, also where the real score is
    known; ``denoised_reward`` the reward at this height, without the carrier; ``reward_weight`` (1 where no real score
    is known); ``reward_variance`` of the row's score, 0 where it is real, NaN while nothing is known of it.
    """

    core_type = DenoisingCore


def _where_missing(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(values), others, values)
