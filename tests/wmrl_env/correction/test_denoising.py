from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from wmrl_env.correction import AnchorPair, Denoiser, carry_weight, fusion_weights


@st.composite
def covariances(draw) -> np.ndarray:  # type: ignore[no-untyped-def]
    size = draw(st.integers(1, 6))
    root = draw(arrays(np.float64, (size, draw(st.integers(1, 8))), elements=st.floats(-1, 1, width=16)))
    return root @ root.T


@given(covariances())
def test_fused_variance_is_never_above_the_best_streams(covariance: np.ndarray) -> None:
    weights, variance = fusion_weights(covariance)
    assert weights.sum() == pytest.approx(1.0)
    assert 0.0 <= variance <= covariance.diagonal().min()


def test_independent_streams_are_weighed_by_inverse_variance() -> None:
    weights, variance = fusion_weights(np.diag([0.01, 0.04]))
    assert weights == pytest.approx([0.8, 0.2])
    assert variance == pytest.approx(1 / (1 / 0.01 + 1 / 0.04))


def test_streams_that_share_their_errors_gain_nothing() -> None:
    weights, variance = fusion_weights(np.full((4, 4), 0.02))
    assert weights == pytest.approx(np.full(4, 0.25))
    assert variance == pytest.approx(0.02)


def test_perfect_streams_share_the_weight() -> None:
    weights, variance = fusion_weights(np.zeros((2, 2)))
    assert weights.tolist() == [0.5, 0.5]
    assert variance == 0.0


@pytest.mark.parametrize("covariance", [np.zeros((0, 0)), np.zeros((2, 3)), np.array([[np.nan]])])
def test_bad_covariance(covariance: np.ndarray) -> None:
    with pytest.raises(ValueError, match="finite matrix"):
        fusion_weights(covariance)


@given(st.integers(0, 2**32 - 1))
def test_carrier_gives_the_same_policy_gradient_as_weights(seed: int) -> None:
    """REINFORCE of a softmax policy over 5 actions: sum of advantage times the gradient of log pi."""
    rng = np.random.default_rng(seed)
    logits, actions = rng.normal(size=5), rng.integers(5, size=20)
    rewards, weights, baseline = rng.uniform(size=20), rng.uniform(1, 4, size=20), rng.uniform(size=20)
    probabilities = np.exp(logits) / np.exp(logits).sum()
    log_gradients = np.eye(5)[actions] - probabilities
    weighted = (weights * (rewards - baseline)) @ log_gradients
    carried = (carry_weight(rewards, weights, baseline) - baseline) @ log_gradients
    assert carried == pytest.approx(weighted)


def pairs(groups: int, residual: float, first: int = 0, per_group: int = 4) -> list[AnchorPair]:
    return [
        AnchorPair("task", f"g{first + group}", "hash", 0.5, 0.5 + residual * (-1) ** i)
        for group in range(groups)
        for i in range(per_group)
    ]


def unbiased(mean_square: float, groups: int, half_life: float, per_group: int = 4) -> float:
    """Variance of residuals of mean 0 from their mean square: ``n / (n - 1)`` times, with n effective pairs."""
    decay = 0.5 ** (1.0 / half_life)
    n = per_group * sum(decay**i for i in range(groups))
    return mean_square * n / (n - 1)


def test_weight_is_two_after_the_warmup_and_follows_the_residuals() -> None:
    denoiser = Denoiser(warmup=8, half_life=4.0)
    denoiser.update(pairs(7, 0.2))
    assert denoiser.weight == 1.0
    denoiser.update(pairs(1, 0.2, first=7))
    at_warmup = unbiased(0.04, 8, 4.0)
    assert denoiser.residual_variance == pytest.approx(at_warmup)
    assert denoiser.weight == pytest.approx(2.0)
    denoiser.update(pairs(200, 0.1, first=8))
    # About a quarter of the variance, c unchanged.
    assert denoiser.weight == pytest.approx(1.0 + unbiased(0.01, 208, 4.0) / at_warmup)
    denoiser.update(pairs(200, 0.5, first=208))
    assert denoiser.weight == 4.0


def test_residuals_halve_in_half_life_groups() -> None:
    denoiser = Denoiser(half_life=10.0)
    denoiser.update(pairs(1, 0.2))
    denoiser.update(pairs(2000, 0.0, first=1))
    assert denoiser.residual_variance == pytest.approx(0.0, abs=1e-12)
    denoiser = Denoiser(half_life=10.0)
    denoiser.update(pairs(1, 0.2))
    for group in range(1, 11):
        denoiser.update(pairs(1, 0.0, first=group))
    decay = 0.5**0.1
    mean_square = 0.04 * 0.5 / sum(decay**i for i in range(11))
    assert denoiser.residual_variance == pytest.approx(unbiased(mean_square, 11, 10.0))


def test_a_constant_error_is_no_noise() -> None:
    denoiser = Denoiser(warmup=2)
    denoiser.update(AnchorPair("task", f"g{i}", "hash", 0.5, 0.75, (0.5, 0.25)) for i in range(9))
    assert denoiser.residual_variance == 0.0
    assert denoiser.fuse(np.array([0.5]), np.array([[0.2, 0.4]]))[0] == pytest.approx([0.3])


def test_a_perfect_model_keeps_weight_one() -> None:
    denoiser = Denoiser(warmup=2)
    denoiser.update(pairs(10, 0.0))
    assert denoiser.weight == 1.0


def with_members(n: int, seed: int = 0) -> list[AnchorPair]:
    rng = np.random.default_rng(seed)
    real = rng.uniform(0.3, 0.7, size=n)
    members = real[:, None] + rng.normal(0, [0.02, 0.1, 0.1], size=(n, 3))
    return [
        AnchorPair("task", f"g{i // 8}", "hash", float(m.mean()), float(r), tuple(m.tolist()))
        for i, (r, m) in enumerate(zip(real, members, strict=True))
    ]


def test_members_are_fused_by_what_they_were_worth() -> None:
    denoiser = Denoiser()
    members = np.array([[0.2, 0.4, 0.6], [np.nan, 0.4, 0.6]])
    fused, variance = denoiser.fuse(np.array([0.9, 0.9]), members)
    assert fused == pytest.approx([0.4, 0.9])  # the plain mean without pairs; the score where a member is unknown
    assert np.isnan(variance).all()
    denoiser.update(with_members(800))
    fused, variance = denoiser.fuse(np.array([0.9, 0.9]), members)
    assert fused[0] == pytest.approx(0.2, abs=0.05)
    assert fused[1] == 0.9
    assert variance[0] == pytest.approx(0.02**2, rel=0.3)
    assert variance[1] == pytest.approx(denoiser.residual_variance)


def test_without_members_the_score_stays_and_unknown_stays_unknown() -> None:
    denoiser = Denoiser()
    denoiser.update(pairs(3, 0.2))
    fused, variance = denoiser.fuse(np.array([0.3, np.nan]), np.zeros((2, 0)))
    assert fused[0] == 0.3
    assert variance[0] == pytest.approx(unbiased(0.04, 3, 64.0))
    assert np.isnan([fused[1], variance[1]]).all()


def test_another_number_of_members_is_refused() -> None:
    denoiser = Denoiser()
    denoiser.update(with_members(5))
    with pytest.raises(ValueError, match="3 members, now 2"):
        denoiser.update([AnchorPair("task", "g", "hash", 0.5, 0.5, (0.4, 0.6))])


def test_state_continues_bit_equal() -> None:
    denoiser, copy = Denoiser(warmup=4), Denoiser(warmup=4)
    stream = with_members(300)
    denoiser.update(stream[:100])
    copy.load_state_dict(json.loads(json.dumps(denoiser.state_dict())))
    scores, members = np.full(1, 0.5), np.array([[0.3, 0.5, 0.7]])
    for one in (denoiser, copy):
        one.update(stream[100:])
    assert copy.state_dict() == denoiser.state_dict()
    assert copy.weight == denoiser.weight
    assert copy.fuse(scores, members)[0].tolist() == denoiser.fuse(scores, members)[0].tolist()


@pytest.mark.parametrize("arguments", [{"weight_max": 0.5}, {"warmup": 0}, {"half_life": 0.0}])
def test_bad_arguments(arguments: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Denoiser(**arguments)  # type: ignore[arg-type]


def test_a_noisier_near_copy_is_left_out_instead_of_subtracted() -> None:
    weights, variance = fusion_weights(np.array([[1.0, 1.8], [1.8, 4.0]]))
    assert weights == pytest.approx([1.0, 0.0])
    assert variance == pytest.approx(1.0)


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_fusion_is_the_best_average(streams: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(streams, streams + 2))
    covariance = root @ root.T
    weights, variance = fusion_weights(covariance)
    assert weights.min() >= 0.0 and weights.sum() == pytest.approx(1.0)
    others = rng.dirichlet(np.ones(streams), size=50)
    assert variance <= np.einsum("is,st,it->i", others, covariance, others).min() * (1 + 1e-6)


def test_nothing_is_claimed_of_a_variance_before_the_second_pair() -> None:
    denoiser = Denoiser()
    denoiser.update([AnchorPair("task", "g", "hash", 0.5, 0.9, (0.4, 0.6))])
    assert np.isnan(denoiser.residual_variance)
    assert np.isnan(denoiser.fuse(np.array([0.5]), np.array([[0.4, 0.6]]))[1][0])


def planted(rng: np.random.Generator, n: int, offsets: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Real scores, and members' with offsets that cancel out and noise of their own."""
    real = rng.uniform(0.2, 0.9, n)
    return real, real[:, None] + offsets + noise * rng.normal(size=(n, len(offsets)))


@given(st.integers(0, 2**32 - 1))
def test_a_steady_member_that_is_off_adds_no_bias(seed: int) -> None:
    rng = np.random.default_rng(seed)
    offsets, noise = np.array([0.15, -0.05, -0.05, -0.05]), np.array([0.02, 0.08, 0.08, 0.08])
    denoiser = Denoiser()
    real, members = planted(rng, 100, offsets, noise)
    denoiser.update(
        AnchorPair("task", f"g{i}", "hash", float(m.mean()), float(r), tuple(m))
        for i, (r, m) in enumerate(zip(real, members, strict=True))
    )
    real, members = planted(rng, 4000, offsets, noise)
    fused, variance = denoiser.fuse(members.mean(axis=1), members)
    error = fused - real
    assert abs(error.mean()) < 0.02
    assert (error**2).mean() < ((members.mean(axis=1) - real) ** 2).mean()
    assert 1 / 3 < (error**2).mean() / variance[0] < 3


def test_claimed_variances_are_right_on_the_average_from_few_pairs_on() -> None:
    rng = np.random.default_rng(0)
    for n in (2, 4, 7, 12, 30):
        claimed, true = [], []
        for _ in range(400):
            denoiser = Denoiser()
            real, members = planted(rng, n, np.zeros(4), np.full(4, 0.2))
            denoiser.update(
                AnchorPair("task", f"g{i}", "hash", float(m.mean()), float(r), tuple(m))
                for i, (r, m) in enumerate(zip(real, members, strict=True))
            )
            real, members = planted(rng, 50, np.zeros(4), np.full(4, 0.2))
            fused, variance = denoiser.fuse(members.mean(axis=1), members)
            claimed.append(variance[0])
            true.append(((fused - real) ** 2).mean())
        assert 0.75 < np.mean(claimed) / np.mean(true) < 1.6, n
