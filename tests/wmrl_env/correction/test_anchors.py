from __future__ import annotations

import pytest

from wmrl_env.correction import AnchorPair, AnchorStream


def pair(real: float) -> AnchorPair:
    return AnchorPair("task", "group", "hash", predicted=0.5, real=real)


def test_every_reader_sees_every_pair_once_in_order() -> None:
    stream = AnchorStream()
    stream.append([pair(0.1), pair(0.2)])
    first, cursor = stream.read(0)
    stream.append(pair(real) for real in (0.3,))
    later, cursor = stream.read(cursor)
    assert [p.real for p in first + later] == [0.1, 0.2, 0.3]
    assert stream.read(cursor) == ([], 3)
    assert [p.real for p in stream.read(0)[0]] == [0.1, 0.2, 0.3]
    assert len(stream) == 3


def test_named_streams_are_shared_and_unnamed_are_not() -> None:
    assert AnchorStream.open("memory://test-anchors") is AnchorStream.open("memory://test-anchors")
    assert AnchorStream.open("memory://test-anchors") is not AnchorStream.open("memory://test-anchors-2")
    assert AnchorStream.open() is not AnchorStream.open(None)


@pytest.mark.parametrize(
    "url", ["pairs", "memory://", "sqlite://pairs.db", "sqlite:///:memory:", "ray://", "redis://x"]
)
def test_other_urls_say_what_exists(url: str) -> None:
    with pytest.raises(ValueError, match=r"memory://NAME.*sqlite:///PATH.*ray://NAME"):
        AnchorStream.open(url)


def test_cursors_are_not_negative_but_may_lie_beyond_the_end() -> None:
    stream = AnchorStream()
    stream.append([pair(0.1)])
    assert stream.read(5) == ([], 5)
    assert stream.position(5) == 1
    for refuses in (stream.read, stream.position):
        with pytest.raises(ValueError, match="cursor must be at least 0, got -1"):
            refuses(-1)


@pytest.mark.parametrize("scores", [(float("nan"), 0.5, ()), (0.5, float("inf"), ()), (0.5, 0.5, (float("nan"),))])
def test_unknown_scores_make_no_pair(scores: tuple[float, float, tuple[float, ...]]) -> None:
    predicted, real, members = scores
    with pytest.raises(ValueError, match="finite"):
        AnchorPair("task", "group", "hash", predicted, real, members)


@pytest.mark.parametrize("weight", [0.0, -1.0, float("inf"), float("nan")])
def test_a_weight_is_positive(weight: float) -> None:
    with pytest.raises(ValueError, match="weight of an anchor pair must be positive and finite"):
        AnchorPair("task", "group", "hash", 0.5, 0.5, weight=weight)
