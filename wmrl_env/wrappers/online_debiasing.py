"""Taking the world model's systematic error out of its scores."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from wmrl_env.correction import (
    AnchorPair,
    AnchorStream,
    DriftDetector,
    OnlineCalibrator,
    PredictionSmoother,
    ResidualModel,
    action_class,
    solution_terms,
)
from wmrl_env.correction.threads import one_blas_thread
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
        residuals: bool = False,
        stream: AnchorStream | str | None = None,
        update: bool = True,
        detect_drift: bool = False,
    ) -> None:
        super().__init__(env)
        if stratify is not None and stratify not in get_args(Stratify):
            raise ValueError(f"stratify must be None or one of {get_args(Stratify)}, got {stratify!r}")
        self.stratify = stratify
        self.calibrator = OnlineCalibrator(min_pairs, refit_every, capacity)
        self.residuals = ResidualModel() if residuals else None
        self.smoother = PredictionSmoother()
        self.drift = DriftDetector() if detect_drift else None
        self._unsettled = True  # until the map is fitted, first or after a change
        self._sizes: deque[int] = deque(maxlen=4096)  # pairs of each value that the detector has seen
        self.update = update
        self.debiased = AnchorStream()  # the same pairs, with predictions debiased by a map that had not seen them
        self._anchors = anchors_below(env, self.name, stream)
        self._cursor = 0
        self._sampling = core_below(env, AnchorCore)
        if self._sampling is not None:
            self._sampling.heard = False

    @one_blas_thread()
    def correct(self, batch: StepBatch, rewards: np.ndarray) -> np.ndarray:
        if self.residuals is not None and self.update:
            terms = [solution_terms(code) for code in batch.require("code")]
            predictions = np.where(is_predicted(batch), batch.floats("raw_score"), np.nan)
            self.smoother.add(batch.task_ids, terms, predictions)
        debiased, debiased_members, residual, variance = self.debias(batch)
        if self.residuals is not None:
            batch.set("residual", residual)
            batch.set("residual_variance", variance)
        self.learn()

        scores = np.where(np.isfinite(batch.floats("anchor_score")), batch.floats("score"), debiased)
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

    @one_blas_thread()
    def debias(self, batch: StepBatch) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What is known now of each row: debiased score (k,) and members' (k, M), and mean and variance (k,) of the
        residual in it, 0 where nothing was predicted."""
        codes, task_ids = batch.require("code"), batch.task_ids
        strata = self._strata(task_ids, codes)
        raw, predicted = batch.floats("raw_score"), is_predicted(batch)
        members = batch.matrix("member_scores")
        debiased = np.where(predicted, self.calibrator(raw, strata), raw)
        debiased_members = np.where(predicted[:, None], self.calibrator(members, strata), members)
        residual, variance = np.zeros((2, len(batch)))
        if self.residuals is not None:
            terms = [solution_terms(code) for code in codes]
            residual, variance = self._residual(self.residuals, task_ids, terms, raw)
            usable = predicted & np.isfinite(residual)
            residual, variance = np.where(usable, residual, 0.0), np.where(usable, variance, 0.0)
        return debiased + residual, debiased_members + residual[:, None], residual, variance

    def _residual(
        self,
        residuals: ResidualModel,
        task_ids: Sequence[str],
        terms: Sequence[tuple[str, ...]],
        predicted: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        return residuals(task_ids, terms, predicted, self._own_part(task_ids, terms, predicted))

    def _own_part(self, task_ids: Sequence[str], terms: Sequence[tuple[str, ...]], predicted: np.ndarray) -> np.ndarray:
        """What predictions say beyond the smoothed ones, 0 where there is nothing to smooth."""
        return np.nan_to_num(predicted - self.smoother(task_ids, terms))

    def learn(self) -> None:
        """Read on in the stream. Pairs are debiased before the map learns from them: their residuals are honest."""
        pairs, self._cursor = self._anchors.read(self._cursor)
        if not pairs or not self.update:
            return
        predicted, real = _scores(pairs)
        debiased = list(self._debias(pairs))
        self.debiased.append(debiased)
        honest = real - _scores(debiased)[0]
        if self._sampling is not None:
            self._sampling.schedule.observe([pair.task_id for pair in pairs], honest, real)
        fits, learned = self.calibrator.fits, self.residuals is not None and self.residuals.fitted
        self.calibrator.update(predicted, real, self._strata_of(pairs), np.array([pair.weight for pair in pairs]))
        if self.residuals is not None:
            self.residuals.add(pairs)
        self._forget(pairs, honest)
        if self.residuals is not None:
            self._condition(self.residuals)
        fitted = self._unsettled and self.calibrator.fits > fits
        if self.drift is not None and (fitted or (self.residuals is not None and self.residuals.fitted > learned)):
            self.drift.restart()  # what changes is the corrections' doing
            self._unsettled = False

    def _forget(self, pairs: Sequence[AnchorPair], honest: np.ndarray) -> None:
        """Let go of the pairs before a change. Pairs of one solution share its error, and count as one."""
        if self.drift is None or self._unsettled:
            return
        solutions: dict[str, list[int]] = {}
        for row, pair in enumerate(pairs):
            solutions.setdefault(pair.code_hash, []).append(row)
        self._sizes.extend(map(len, solutions.values()))
        for later, rows in zip(range(len(solutions) - 1, -1, -1), solutions.values(), strict=True):
            if since := self.drift.update(float(honest[rows].mean())):
                keep = sum(list(self._sizes)[-(since + later) :])
                self.calibrator.forget(keep)
                if self.residuals is not None:
                    self.residuals.forget(keep)
                self._unsettled = True
                return

    def _condition(self, residuals: ResidualModel) -> None:
        predicted, real = _scores(residuals.pairs)
        own = self._own_part(*_identities(residuals.pairs), predicted)
        residuals.condition(real - self.calibrator(predicted, self._strata_of(residuals.pairs)), own)

    def _strata_of(self, pairs: Iterable[AnchorPair]) -> list[str]:
        return [self._stratum(pair.task_id, pair.action_class) for pair in pairs]

    def _debias(self, pairs: list[AnchorPair]) -> Iterator[AnchorPair]:
        shifts = np.zeros(len(pairs))
        if self.residuals is not None:
            shifts, _ = self._residual(self.residuals, *_identities(pairs), _scores(pairs)[0])
        for pair, stratum, shift in zip(pairs, self._strata_of(pairs), shifts.tolist(), strict=True):
            scores = self.calibrator(np.array([[pair.predicted, *pair.member_scores]]), [stratum])[0] + shift
            yield replace(pair, predicted=float(scores[0]), member_scores=tuple(scores[1:].tolist()))

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {
            "calibrator": self.calibrator.state_dict(),
            "residuals": None if self.residuals is None else self.residuals.state_dict(),
            "smoother": self.smoother.state_dict(),
            "drift": None if self.drift is None else self.drift.state_dict(),
            "unsettled": self._unsettled,
            "sizes": list(self._sizes),
            "cursor": self._cursor,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.calibrator.load_state_dict(state["calibrator"])
        for name, part in (("residuals", self.residuals), ("drift", self.drift)):
            if (state[name] is None) != (part is None):
                raise ValueError(f"the state is of an OnlineDebiasing {'without' if part else 'with'} {name}")
        if self.drift is not None:
            self.drift.load_state_dict(state["drift"])
        if self.residuals is not None:
            self.smoother.load_state_dict(state["smoother"])
            self.residuals.load_state_dict(state["residuals"])
        self._unsettled = state["unsettled"]
        self._sizes = deque(state["sizes"], maxlen=self._sizes.maxlen)
        self._cursor = self._anchors.position(state["cursor"])


def _identities(pairs: Collection[AnchorPair]) -> tuple[list[str], list[tuple[str, ...]]]:
    """Task ids and terms, n each."""
    return [pair.task_id for pair in pairs], [pair.terms for pair in pairs]


def _scores(pairs: Collection[AnchorPair]) -> tuple[np.ndarray, np.ndarray]:
    """Predicted and real scores, float64 (n,) each."""
    return np.array([pair.predicted for pair in pairs]), np.array([pair.real for pair in pairs])


class OnlineDebiasing(ScalarShell):
    """Maps predicted scores to what anchors of the same prediction really scored; leaves real scores alone.

    The map never decreases and is the identity until ``min_pairs`` pairs have come; see
    :class:`wmrl_env.correction.OnlineCalibrator`. Members' scores go through the same map.

    Args:
        env: environment with an ``AnchorSampling`` below, or any with ``stream``.
        min_pairs, refit_every, capacity: pairs before the first fit, between fits, and kept.
        stratify: ``None``: one map; ``"task"``, ``"action_class"`` or ``"task_action_class"`` (each class in each
            task): one for each, shrunk to the common one. Only classes let debiasing change the order within a task.
        residuals: learn also what the map leaves over, by task and by what the solution does, and take it out; see
            :class:`wmrl_env.correction.ResidualModel`. Repairs a model that is wrong on a whole class of solutions,
            the order included.
        stream: where anchor pairs come from, an ``AnchorStream`` or its url; by default that of the ``AnchorSampling``
            below.
        update: False freezes the map, for evaluation.
        detect_drift: forget the pairs before a change of the honest residuals, found by
            :class:`wmrl_env.correction.DriftDetector`. The map stays until ``refit_every`` new pairs have come.

    Raises:
        ValueError: an argument out of its range, a wrong order of wrappers, or no anchors.

    ``info`` of a step: ``score`` as corrected; ``debiased_score`` the mapped prediction, also where the real score is
    known; ``debiased_member_scores``; ``debiased_reward`` the reward at this height. With ``residuals``, ``residual``
    is what was added to the mapped prediction, and ``residual_variance`` how uncertain it is.
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
