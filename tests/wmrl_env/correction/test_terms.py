from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_env.correction import solution_terms


@pytest.mark.parametrize(
    ("code", "terms"),
    [
        ("f()", {"f"}),
        ("f(3, 'a')", {"f", "f(0=3)", "f(1='a')"}),
        ("f(x, z=None)", {"f", "f(0=x)", "f(z=None)"}),
        ("f(-1, not True, z=-2.5)", {"f", "f(0=-1)", "f(1=not True)", "f(z=-2.5)"}),
        ("sklearn.svm.SVC(kernels.rbf)", {"SVC", "SVC(0=rbf)"}),
        ("f(g(1), [2], 3 + 4)", {"f", "g", "g(0=1)"}),
        ("f(*rest, **options)", {"f", "f(**=options)"}),
        ("DEPTH = 3", {"DEPTH=3"}),
        ("RATE = -0.5", {"RATE=-0.5"}),
        ("a = b = 'x'", {"a='x'", "b='x'"}),
        ("best = Ridge", {"best=Ridge"}),
        ("self.depth = np.inf", {"depth=inf"}),
        ("a = [1]", set()),
        ("def fit(x):\n    if x:\n        y = f(x)\n", {"f", "f(0=x)"}),
    ],
)
def test_calls_and_constants(code: str, terms: set[str]) -> None:
    assert set(solution_terms(code)) == terms


@pytest.mark.parametrize("code", ["", "1 +", "def", "\ud800 = f(1)", "f(1)\n  g(2)", "f(1)\0", "I would use a Ridge."])
def test_what_does_not_parse_or_does_nothing_has_no_terms(code: str) -> None:
    assert solution_terms(code) == ()


def test_terms_are_sorted_and_each_is_there_once() -> None:
    assert solution_terms("g(2)\nf(1)\ng(2)\nf(1)") == ("f", "f(0=1)", "g", "g(0=2)")


@given(st.permutations(["a = 1", "f(2)", "model = Ridge(alpha=0.1)", "for i in range(3):\n    g(i)"]))
def test_order_of_the_statements_does_not_matter(statements: list[str]) -> None:
    assert solution_terms("\n".join(statements)) == tuple(
        sorted(["a=1", "f", "f(0=2)", "Ridge", "Ridge(alpha=0.1)", "range", "range(0=3)", "g", "g(0=i)"])
    )


def test_layout_and_comments_do_not_matter() -> None:
    assert solution_terms("f( 1,\n   z = 'a' )  # g(2)") == solution_terms('f(1, z="a")')


@pytest.mark.parametrize("length", [38, 39])
def test_a_constant_of_more_than_40_characters_is_a_text_and_no_choice(length: int) -> None:
    assert (len(solution_terms(f"x = '{'a' * length}'")) == 1) == (length == 38)  # and two quotation marks
    assert (len(solution_terms(f"f('{'a' * length}')")) == 2) == (length == 38)


@pytest.mark.parametrize("number", ["0x" + "f" * 5000, "-0x" + "f" * 5000])
def test_an_integer_that_python_refuses_to_print_is_left_out(number: str) -> None:
    assert solution_terms(f"f({number}, 2)") == ("f", "f(1=2)")
