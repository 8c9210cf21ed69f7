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


@pytest.mark.parametrize("url", ["sqlite:///pairs.db", "ray://pairs", "memory://", "pairs"])
def test_other_urls_say_what_exists(url: str) -> None:
    with pytest.raises(ValueError, match="memory://NAME"):
        AnchorStream.open(url)


@pytest.mark.parametrize("scores", [(float("nan"), 0.5, ()), (0.5, float("inf"), ()), (0.5, 0.5, (float("nan"),))])
def test_unknown_scores_make_no_pair(scores: tuple[float, float, tuple[float, ...]]) -> None:
    predicted, real, members = scores
    with pytest.raises(ValueError, match="finite"):
        AnchorPair("task", "group", "hash", predicted, real, members)
