import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from world_models.syntax import REMEMBERED_CHARS, parts_of, statements_of

PIECES = st.sampled_from(
    ["x = 1", "if x:", "    y = 2", "else:", "def f():", "    return 1", "@f", "s = '''", "'''", "# note", "", ")",
     "f(", "    1)", "x = \\", "try:", "except E:", "finally:", "    pass", "\tz = 3", "async def g():", "\x0cq = 1"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=12))
def test_statements_are_those_of_the_whole(lines: list[str]) -> None:
    code = "\n".join(lines)
    assert "".join(parts_of(code)) == code
    try:
        whole = [ast.dump(node) for node in ast.parse(code).body]
    except SyntaxError:
        assert statements_of(code) is None
        return
    found = statements_of(code)
    assert found is not None
    assert [ast.dump(node) for _, nodes in found for node in nodes] == whole


@pytest.mark.parametrize("code", ["x = (", "\0", "x = '\ud800'", "(" * 5000])
def test_what_does_not_parse_has_no_statements(code: str) -> None:
    assert statements_of(code) is None


def test_trees_are_shared_between_solutions() -> None:
    one, other = statements_of("import os\nx = 1\n"), statements_of("import os\nx = 2\n")
    assert one is not None and other is not None
    assert one[0][1] is other[0][1] and one[1][1] is not other[1][1]
    long = "x = [" + "1, " * REMEMBERED_CHARS + "]\n"
    again = statements_of(long + "y = 1\n"), statements_of(long + "y = 2\n")
    assert again[0] is not None and again[1] is not None and again[0][0][1] is not again[1][0][1]
