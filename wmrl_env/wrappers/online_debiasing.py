"""Taking the world model's systematic error out of its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from wmrl_env.correction import AnchorPair, AnchorStream, OnlineCalibrator, action_class
from wmrl_env.wrappers.anchor_sampling import AnchorCore, is_predicted
from wmrl_env.wrappers.batch import StepBatch
from wmrl_env.wrappers.shell import AnyEnv, Core, ScalarShell, core_below

__all__ = ["DebiasingCore", "OnlineDebiasing"]

Stratify = Literal["task", "action_class", "task_action_class"]


class DebiasingCore(Core):
    """Core of :class:`OnlineDebiasing`, where the arguments are described."""

    name = "OnlineDebiasing"

    def __init__(
        self,
        env: AnyEnv,
        min_pairs: int = 200,
        refit_every: int = 64,
        capacity: int = 5000,
        stratify: Stratify | None = None,
        stream: AnchorStream | str | None = None,
        update: bool = True,
    ) -> None:
        super().__init__(env)
        if stratify is not None and stratify not in get_args(Stratify):
            raise ValueError(f"stratify must be None or one of {get_args(Stratify)}, got {stratify!r}")
        self.stratify = stratify
        self.calibrator = OnlineCalibrator(min_pairs, refit_every, capacity)
        self.update = update
        self.debiased = AnchorStream()  # the same pairs, with predictions debiased by a map that had not seen them
        self._anchors = anchors_below(env, self.name, stream)
        self._cursor = 0

    def correct(self, batch: StepBatch, rewards: np.ndarray) -> np.ndarray:
        codes, task_ids = batch.require("code"), batch.task_ids
        strata = self._strata(task_ids, codes)
        raw, below = batch.floats("raw_score"), batch.floats("score")
        predicted = is_predicted(batch)
        guesses = np.where(np.isfinite(batch.floats("anchor_score")), raw, below)
        members = batch.matrix("member_scores")
        debiased = np.where(predicted, self.calibrator(guesses, strata), guesses)
        debiased_members = np.where(predicted[:, None], self.calibrator(members, strata), members)
        self._learn()

        scores = np.where(np.isfinite(batch.floats("anchor_score")), below, debiased)
        at_this_height = self.reward(batch, scores)
        batch.set("score", scores)
        batch.set("debiased_score", debiased)
        batch.set("debiased_member_scores", debiased_members)
        batch.set("debiased_reward", at_this_height)
        return at_this_height

    def _strata(self, task_ids: Sequence[str], codes: Sequence[str]) -> list[str] | None:
        if self.stratify is None:
            return None
        classes = [""] * len(codes) if self.stratify == "task" else [action_class(code) for code in codes]
        return [self._stratum(task, of_code) for task, of_code in zip(task_ids, classes, strict=True)]

    def _stratum(self, task_id: str, of_code: str) -> str:
        both = f"{task_id}/{of_code}"
        return {None: "", "task": task_id, "action_class": of_code, "task_action_class": both}[self.stratify]

    def _learn(self) -> None:
        """Read on in the stream. Pairs are debiased before the map learns from them: their residuals are honest."""
        pairs, self._cursor = self._anchors.read(self._cursor)
        if not pairs or not self.update:
            return
        strata = [self._stratum(pair.task_id, pair.action_class) for pair in pairs]
        self.debiased.append(self._debias(pair, stratum) for pair, stratum in zip(pairs, strata, strict=True))
        predicted = np.array([pair.predicted for pair in pairs])
        self.calibrator.update(predicted, np.array([pair.real for pair in pairs]), strata)

    def _debias(self, pair: AnchorPair, stratum: str) -> AnchorPair:
        scores = self.calibrator(np.array([[pair.predicted, *pair.member_scores]]), [stratum])[0].tolist()
        return replace(pair, predicted=scores[0], member_scores=tuple(scores[1:]))

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"calibrator": self.calibrator.state_dict(), "cursor": self._cursor}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.calibrator.load_state_dict(state["calibrator"])
        self._cursor = self._anchors.position(state["cursor"])


class OnlineDebiasing(ScalarShell):
    """Maps predicted scores to what anchors of the same prediction really scored; leaves real scores alone.

    The map never decreases and is the identity until ``min_pairs`` pairs have come; see
    :class:`wmrl_env.correction.OnlineCalibrator`. Members' scores go through the same map.

    Args:
        env: environment with an ``AnchorSampling`` below, or any with ``stream``.
        min_pairs, refit_every, capacity: pairs before the first fit, between fits, and kept.
        stratify: ``None``: one map; ``"task"``, ``"action_class"`` or ``"task_action_class"`` (each class in each
            task): one for each, shrunk to the common one. Only classes let debiasing change the order within a task.
        stream: where anchor pairs come from, an ``AnchorStream`` or its url; by default that of the ``AnchorSampling``
            below.
        update: False freezes the map, for evaluation.

    Raises:
        ValueError: an argument out of its range, a wrong order of wrappers, or no anchors.

    ``info`` of a step: ``score`` as corrected; ``debiased_score`` the mapped prediction, also where the real score is
    known; ``debiased_member_scores``; ``debiased_reward`` the reward at this height.
    """

    core_type = DebiasingCore


def anchors_below(env: AnyEnv, name: str, stream: AnchorStream | str | None) -> AnchorStream:
    """The given stream, or that of the ``AnchorSampling`` in ``env``.

    Raises:
        ValueError: neither is there.
    """
    if stream is not None:
        return stream if isinstance(stream, AnchorStream) else AnchorStream.open(stream)
    sampling = core_below(env, AnchorCore)
    if sampling is None:
        raise ValueError(f"{name} learns from anchors: wrap the env in AnchorSampling first, or pass stream=...")
    return sampling.stream
