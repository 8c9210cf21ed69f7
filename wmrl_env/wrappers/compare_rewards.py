"""Raw, debiased, denoised and real rewards, side by side."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wmrl_env.wrappers.anchor_sampling import AnchorCore
from wmrl_env.wrappers.batch import StepBatch
from wmrl_env.wrappers.shell import AnyEnv, Core, ScalarShell, core_below

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["CompareCore", "CompareRewards"]

_STAGES = ("raw", "debiased", "denoised", "guarded", "real")
_KEYS = {  # column -> info key
    "raw_score": "raw_score",
    "debiased_score": "debiased_score",
    "denoised_score": "denoised_score",
    "guarded_score": "guarded_score",
    "real_score": "anchor_score",
    "score": "score",
    "raw_reward": "raw_reward",
    "debiased_reward": "debiased_reward",
    "denoised_reward": "denoised_reward",
    "guarded_reward": "guarded_reward",
    "real_reward": "anchor_reward",
    "reward_weight": "reward_weight",
    "reward_variance": "reward_variance",
    "audited": "audited",
    "audit_probability": "audit_probability",
}


class CompareCore(Core):
    """Core of :class:`CompareRewards`, where the arguments are described."""

    name = "CompareRewards"

    def __init__(self, env: AnyEnv, capacity: int = 100_000) -> None:
        super().__init__(env)
        if capacity < 1:
            raise ValueError(f"capacity must be at least 1, got {capacity}")
        self.steps = 0
        self._sampling = core_below(env, AnchorCore)
        self._records: deque[tuple[Any, ...]] = deque(maxlen=capacity)

    def correct(self, batch: StepBatch, rewards: np.ndarray) -> np.ndarray:
        columns = [batch.floats(key).tolist() for key in _KEYS.values()]
        steps = range(self.steps, self.steps + len(batch))
        groups = [""] * len(batch) if self._sampling is None else self._sampling.group_keys(batch.rows)
        identities = (steps, batch.rows.tolist(), batch.task_ids, groups)
        self._records.extend(zip(*identities, *columns, rewards.tolist(), strict=True))
        self.steps += len(batch)
        return rewards

    def columns(self) -> dict[str, np.ndarray]:
        """The kept steps by column: ``step``, ``env``, ``task_id``, ``group``, scores, rewards, audits, ``reward``."""
        names = ["step", "env", "task_id", "group", *_KEYS, "reward"]
        values = zip(*self._records, strict=True) if self._records else [()] * len(names)
        kinds = [np.int64, np.int64, object, object, *[np.float64] * (len(_KEYS) + 1)]
        return {name: np.array(value, kind) for name, value, kind in zip(names, values, kinds, strict=True)}

    def summary(self) -> dict[str, Any]:
        """What the corrections did over the kept steps.

        Returns:
            ``steps`` seen, ``kept``, ``anchored`` and ``ungraded`` among those kept, ``mean_weight`` of anchored steps,
            and one entry for each of ``raw``, ``debiased``, ``denoised``, ``guarded``, ``real``: ``mean_score``,
            ``mean_reward`` over its steps; and against real scores, over steps that have both: ``n``; ``bias`` and
            ``mae``, audited steps weighted since the guard prefers what looks good; ``within_group``, the root mean
            square of the error once its group's mean is taken out, which is what group-relative advantages see;
            ``spearman`` (NaN where undefined). An executed row's guarded score is its real one, so that ``guarded`` has
            no error of its own. Stages without their wrapper have ``n = 0`` and NaN.
        """
        columns = self.columns()
        real = columns["real_score"]
        known = np.isfinite(real)
        weights = _weights(columns["audited"], columns["audit_probability"])
        result: dict[str, Any] = {
            "steps": self.steps,
            "kept": len(real),
            "anchored": int(known.sum()),
            "ungraded": int(np.isnan(columns["score"]).sum()),
            "mean_weight": _mean(columns["reward_weight"][known]),
        }
        for stage in _STAGES:
            scores = columns[f"{stage}_score"]
            both = known & np.isfinite(scores)
            error = scores[both] - real[both]
            result[stage] = {
                "mean_score": _mean(scores),
                "mean_reward": _mean(columns[f"{stage}_reward"]),
                "n": int(both.sum()),
                "bias": _mean(error, weights[both]),
                "mae": _mean(np.abs(error), weights[both]),
                "within_group": _within_group(error, columns["group"][both]),
                "spearman": _spearman(scores[both], real[both]),
            }
        return result

    def to_frame(self) -> pd.DataFrame:
        """The kept steps as a frame; see :meth:`columns`."""
        import pandas as pd

        return pd.DataFrame(self.columns())

    def plot(self, path: str | Path | None = None) -> Figure:
        """Rewards over time, predictions against real scores, and anchor weight; saved where ``path`` is given."""
        from matplotlib.figure import Figure

        columns = self.columns()
        figure = Figure(figsize=(12, 3.6), layout="constrained")
        over_time, against_real, weight = figure.subplots(1, 3)
        for stage in _STAGES:
            rewards = columns[f"{stage}_reward"]
            known = np.isfinite(rewards)
            if known.any():
                over_time.plot(columns["step"][known], _running_mean(rewards[known]), label=stage)
        over_time.set(xlabel="step", ylabel="reward, running mean", title="Rewards")
        for stage in _STAGES[:3]:
            against_real.plot(
                columns[f"{stage}_score"], columns["real_score"], "o", markersize=3, alpha=0.5, label=stage
            )
        against_real.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
        against_real.set(xlabel="predicted score", ylabel="real score", title="Anchored steps")
        anchored = np.isfinite(columns["real_score"])
        weight.plot(columns["step"][anchored], columns["reward_weight"][anchored])
        weight.set(xlabel="step", ylabel="weight of anchored steps", title="Anchor weight")
        for axes in (over_time, against_real):
            if axes.get_legend_handles_labels()[0]:
                axes.legend(frameon=False)
        if path is not None:
            figure.savefig(path, dpi=120)
        return figure

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() | {"steps": self.steps, "records": [list(record) for record in self._records]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.steps = state["steps"]
        self._records = deque(map(tuple, state["records"]), maxlen=self._records.maxlen)


class CompareRewards(ScalarShell):
    """Keeps what every correction below made of each step; changes nothing.

    Args:
        env: environment, best with the whole stack below.
        capacity: steps kept, first in first out.

    Raises:
        ValueError: ``capacity`` below 1, or a wrong order of wrappers.

    ``summary()`` compares the stages with real scores, ``to_frame()`` gives all steps, ``plot()`` draws them.
    """

    core_type = CompareCore


def _mean(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    known = np.isfinite(values)
    return (
        float(np.average(values[known], weights=None if weights is None else weights[known])) if known.any() else np.nan
    )


def _weights(audited: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """1, but for audited rows by 1 / the probability of that, in the mean 1: the guard prefers what looks good."""
    weights = np.ones(len(audited))
    chosen = (audited == 1.0) & (probability > 0.0)
    if chosen.any():
        weights[chosen] = 1.0 / probability[chosen]
        weights[chosen] /= weights[chosen].mean()
    return weights


def _within_group(errors: np.ndarray, groups: np.ndarray) -> float:
    """Root mean square of the errors around their group's mean, over groups of two and more; NaN without any."""
    _, members, counts = np.unique(groups.astype(str), return_inverse=True, return_counts=True)
    freedom = int((counts - 1).sum())
    means = np.bincount(members, errors) / counts
    return float(np.sqrt(np.sum((errors - means[members]) ** 2) / freedom)) if freedom else np.nan


def _spearman(a: np.ndarray, b: np.ndarray) -> float:
    if len(a) < 2 or np.ptp(a) == 0.0 or np.ptp(b) == 0.0:
        return np.nan
    from scipy.stats import rankdata

    return float(np.corrcoef(rankdata(a), rankdata(b))[0, 1])


def _running_mean(values: np.ndarray, windows: int = 25) -> np.ndarray:
    """Mean over the last ``len(values) / windows`` values, or as many as there are."""
    width = max(1, len(values) // windows)
    total = np.cumsum(values)
    total[width:] -= total[:-width].copy()
    return total / np.minimum(np.arange(1, len(values) + 1), width)
