import copy
import pickle
import string

import numpy as np
import pytest
from gymnasium.vector.utils import batch_space
from hypothesis import given
from hypothesis import strategies as st

from wmrl_env.envs.spaces import STATUS_CODES, PrintableText, ReplyText, observation_space, printable
from world_models.outcomes import Status


@given(st.text(st.characters()), st.integers(0, 200))
def test_printable_is_always_inside_its_space(text: str, max_length: int) -> None:
    assert printable(text, max_length) in PrintableText(max_length)


@given(st.text(string.printable, max_size=100))
def test_printable_leaves_printable_text_alone(text: str) -> None:
    assert printable(text, 100) == text


def test_foreign_characters_are_escaped_by_their_code() -> None:
    assert printable("é\x00→🙂\ud800", 100) == "\\xe9\\x00\\u2192\\U0001f642\\ud800"


@pytest.mark.parametrize("length", [150, 1_000, 100_000])
def test_long_text_keeps_both_ends_and_says_what_is_missing(length: int) -> None:
    cut = printable("a" * (length - 5) + "final", 100)
    assert len(cut) == 100
    assert cut.startswith("aaa") and cut.endswith("final")
    assert f"[... {length - 100} characters cut ...]" in cut


def test_contains_agrees_with_the_charset() -> None:
    space = PrintableText(3)
    for code in range(0x180):
        assert (chr(code) in space) == (chr(code) in string.printable)
    assert "abcd" not in space
    assert 3 not in space


def test_replies_of_any_kind_are_in_the_action_space() -> None:
    space = ReplyText(seed=0)
    for reply in ("", "é🙂\ud800\0", "x" * 1_000_000, space.sample()):
        assert reply in space
    assert None not in space


def test_copies_share_tables_but_not_their_random_state() -> None:
    space = ReplyText(seed=3)
    twin = copy.deepcopy(space)
    assert twin.character_set is space.character_set
    assert [space.sample() for _ in range(3)] == [twin.sample() for _ in range(3)]
    assert pickle.loads(pickle.dumps(space)) == space
    batched = batch_space(space, 3)
    assert len(set(batched.sample())) == 3
    assert "ReplyText" in repr(batched)


def test_observation_space_holds_every_status() -> None:
    space = observation_space(4)
    assert set(STATUS_CODES) == set(Status)
    for code in (0, *STATUS_CODES.values()):
        assert code in space["last_status"]
    assert "PrintableText" in repr(space)
    assert np.ones(1, np.float32) in space["best_score"]
