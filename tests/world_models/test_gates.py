import os
import signal
import threading
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from world_models.gates import exact_outcome, extract_code
from world_models.outcomes import Status, Submission


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ("print(1)", "print(1)"),
        ("Here:\n```python\nprint(1)\n```\nDone.", "print(1)"),
        ("```py\nx = 1\n```\nbetter:\n```Python\nx = 2\n```", "x = 2"),
        ("```python\nx = 1\n```\nit prints\n```\n1\n```", "x = 1"),
        ("```\nx = 1\n```", "x = 1"),
        ("```bash\nls\n```", ""),
        ("```python\nx = 1", "x = 1"),
        ("```python\nx = 1\nFINAL", "x = 1"),
        ("```python\nx = '''\nFINAL\n'''\n```\nFINAL", "x = '''\nFINAL\n'''"),
        ("x = 1\nFINAL", "x = 1"),
        ("FINAL", ""),
        ("  \n\t", ""),
        ("# only a comment\n", ""),
        ("```python\n# only a comment\n```", ""),
        ("text = '''\n```\n'''\n", "text = '''\n```\n'''\n"),
        ("1. First\n   ```python\n   if 1:\n       x = 1\n   ```", "if 1:\n    x = 1"),
        ("````python\ns = '''\n```\n'''\n````", "s = '''\n```\n'''"),
        ("~~~python\nx = 1\n~~~", "x = 1"),
        ("```python\nx = 'a\x0cb'\n```", "x = 'a\x0cb'"),
    ],
)
def test_code_of_a_reply(reply: str, code: str) -> None:
    assert extract_code(reply) == code


@given(st.text())
def test_extraction_never_fails_and_a_block_comes_back_whole(text: str) -> None:
    extract_code(text)
    source = f"x = {text!r}"
    assert extract_code(f"Look:\n```python\n{source}\n```\nFINAL") == source
    assert extract_code(source) == source


@pytest.mark.parametrize(
    ("code", "status", "last"),
    [
        ("", Status.MALFORMED, "NoCode: the reply holds no Python code"),
        ("def f(:\n", Status.SYNTAX_ERROR, "SyntaxError: invalid syntax"),
        (
            "if 1:\nx",
            Status.SYNTAX_ERROR,
            "IndentationError: expected an indented block after 'if' statement on line 1",
        ),
        ("return 1", Status.SYNTAX_ERROR, "SyntaxError: 'return' outside function"),
    ],
)
def test_what_cannot_run_is_known_exactly(code: str, status: Status, last: str) -> None:
    outcome = exact_outcome(Submission("t", "", code))
    assert outcome is not None
    assert (outcome.status, outcome.score, outcome.variance, outcome.source) == (status, 0.0, 0.0, "world_model")
    lines = outcome.feedback.split("\n")
    assert lines[0] == f"Status: {status}" and lines[-1] == last


@pytest.mark.parametrize(
    "code", ["\0", "x = '\ud800'", "(" * 5000, "-" * 50_000 + "1", "x" + ".a" * 30_000, "not " * 9999]
)
def test_strange_code_is_refused_as_text_that_can_be_printed(code: str) -> None:
    outcome = exact_outcome(Submission("t", "", code), "sandbox")
    assert outcome is not None and outcome.status is Status.SYNTAX_ERROR
    assert (outcome.source, outcome.variance) == ("sandbox", None)
    assert len(outcome.feedback.encode("utf-8")) < 2000


def test_code_that_compiles_passes_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert exact_outcome(Submission("t", "", "x = '\\d'\nassert (1, 'always')\n")) is None


LINES = st.sampled_from(
    ["x = 1", "global x", "def f():", "    return x", "return x", "    global x", "from __future__ import annotations",
     "y = 2\x0cz = 3", "y = 2\rz = 3", "# note\x0cz = 3", "s = '''", "'''", "f(", ")", "x = \\", "else:", "if x:",
     "@f", "\ufeffx = 1", "await f()", "for x in y: continue", "    break", "x: int = 3", ""]
)  # fmt: skip


@given(st.lists(LINES, max_size=10))
def test_what_compiles_line_by_line_is_what_compiles_at_once(lines: list[str]) -> None:
    code = "\n".join(["import os", *lines])
    try:
        compile(code, "solution.py", "exec", dont_inherit=True)
    except SyntaxError as error:
        outcome = exact_outcome(Submission("t", "", code))
        assert outcome is not None and outcome.status is Status.SYNTAX_ERROR and str(error.msg) in outcome.feedback
    else:
        assert exact_outcome(Submission("t", "", code)) is None


@pytest.mark.parametrize("mark", ["python", "Python3", "py3", "python3.11", "ipython", "{python}", "{.python}", "py"])
def test_the_usual_marks_of_python_blocks_are_known(mark: str) -> None:
    assert extract_code(f"See:\n```{mark}\nx = 1\n```\n```text\nnothing\n```").strip() == "x = 1"


def test_an_opening_line_of_any_length_is_read_at_once() -> None:
    for filling in ("a", " ", "~"):
        assert extract_code("```" + filling * 300_000 + "`\nnot code at all") != "unreachable"


def test_code_that_the_compiler_does_not_survive_is_refused() -> None:
    outcome = exact_outcome(Submission("t", "", "[x " + "for x in y " * 50_000 + "]"))
    assert outcome is not None and outcome.status is Status.SYNTAX_ERROR
    assert exact_outcome(Submission("t", "", "x = 1\n" * 20_000)) is None
    broken = exact_outcome(Submission("t", "", "x = 1\n" * 20_000 + "def f(:"))
    assert broken is not None and broken.feedback.endswith("SyntaxError: invalid syntax")
    assert 'File "solution.py", line 20001' in broken.feedback


def _checks(seconds: int) -> None:
    signal.alarm(seconds)
    exact_outcome(Submission("t", "", "print(0.5)"))
    os._exit(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_fork_while_another_thread_compiles_does_not_hang() -> None:
    ended = threading.Event()

    def compile_on() -> None:
        number = 0
        while not ended.is_set():
            number += 1
            exact_outcome(Submission("t", "", f"x = {number}\n" + "y = 1\n" * 2000))

    thread = threading.Thread(target=compile_on)
    thread.start()
    try:
        for _ in range(10):
            if (pid := os.fork()) == 0:
                _checks(20)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    finally:
        ended.set()
        thread.join()
