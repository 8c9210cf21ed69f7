"""Exact checks that come before any prediction and any execution: is there code, and does it compile?"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import threading
import traceback
import warnings
from functools import lru_cache

from world_models.outcomes import Outcome, Source, Status, Submission, ladder_score, render_feedback
from world_models.syntax import REMEMBERED_CHARS, parts_of

__all__ = ["FINAL", "exact_outcome", "extract_code", "has_block", "is_final"]

FINAL = "FINAL"

_PYTHON = re.compile(r"[{.]*(?:i?python|py)[\d.]*\}?")
_LINE_CHARS = 200
_COMPILED_APART = 100_000  # characters
_NO_CODE = "NoCode: the reply holds no Python code"
_REFUSALS = (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError)
_compiling = threading.Lock()  # the warnings filters, set aside while compiling, belong to the whole process
if hasattr(os, "register_at_fork"):  # a child must not inherit it as held by a thread that it does not have
    os.register_at_fork(
        before=_compiling.acquire, after_in_parent=_compiling.release, after_in_child=_compiling.release
    )


def extract_code(reply: str) -> str:
    """The solution that an agent's reply holds, ``""`` where it holds none.

    The last Markdown block that is marked as Python, else the last one without a mark; a block that is never closed
    reaches to the end of the reply. A reply without blocks, or one that is Python as it stands, is the solution itself.
    Lines outside a closed block that are just ``FINAL`` end an episode and are no code. Nothing is ever cut off.

    >>> extract_code("Let me try.\\n```python\\nprint(1)\\n```\\nFINAL")
    'print(1)'
    """
    whole, blocks = _taken_apart(reply)
    if not blocks or _compile_error(whole) is None:
        code = whole
    else:
        marked = [code for mark, code in blocks if _PYTHON.fullmatch(mark)]
        unmarked = [code for mark, code in blocks if not mark]
        code = (marked or unmarked or [""])[-1]
    return code if _has_code(code) else ""


def has_block(reply: str) -> bool:
    """Whether a reply holds a Markdown block."""
    return bool(_taken_apart(reply)[1])


def is_final(reply: str) -> bool:
    """Whether a line of a reply, outside its closed Markdown blocks, is just ``FINAL``."""
    return FINAL in reply and _taken_apart(reply)[0] != reply


def exact_outcome(submission: Submission, source: Source = "world_model") -> Outcome | None:
    """The outcome of a submission that cannot run at all: MALFORMED or SYNTAX_ERROR; ``None`` for all others.

    Args:
        submission: the solution; its ``code`` as :func:`extract_code` gives it.
        source: who asks.
    """
    if not _has_code(submission.code):
        status, detail = Status.MALFORMED, _NO_CODE
    else:
        error = _compile_error(submission.code)
        if error is None:
            return None
        status, detail = Status.SYNTAX_ERROR, error
    score = ladder_score(status)
    feedback = render_feedback(status, score=score, seconds=0.0, detail=detail)
    return Outcome(status, score, feedback, None, 0.0, source, 0.0 if source == "world_model" else None)


def _taken_apart(reply: str) -> tuple[str, list[tuple[str, str]]]:
    """The reply without ``FINAL`` lines, and (mark in lower case, content) of each of its Markdown blocks."""
    lines = reply.split("\n")  # not splitlines(): a form feed may stand in code
    blocks: list[tuple[str, str]] = []
    protected: set[int] = set()  # lines in closed blocks
    fence, mark, start = "", "", 0
    for i, line in enumerate(lines if "```" in reply or "~~~" in reply else ()):
        if not fence:
            fence, mark = _opening(line)
            start = i + 1
        elif _closes(line, fence):
            blocks.append((mark, _dedent(lines[start:i])))
            protected.update(range(start, i))
            fence = ""
    if fence:
        blocks.append((mark, _dedent([line for line in lines[start:] if line.strip() != FINAL])))
    if FINAL not in reply:
        return reply, blocks
    return "\n".join(line for i, line in enumerate(lines) if i in protected or line.strip() != FINAL), blocks


def _opening(line: str) -> tuple[str, str]:
    """Fence and mark of a line that opens a block, two empty strings where it does not.

    A fence may come after text, as in ``Here it is: ```python``, if it is marked as Python.
    """
    for char in "`~":
        at = line.rfind(3 * char)
        rest = line[at + 3 :].strip().lower()
        if at < 0 or "`" in rest:
            continue
        before = line[:at].rstrip(char)
        if not before.strip() or _PYTHON.fullmatch(rest):
            return char * (at + 3 - len(before)), (rest.split() or [""])[0]
    return "", ""


def _closes(line: str, fence: str) -> bool:
    line = line.strip()
    return line.startswith(fence) and line.lstrip(fence[0])[:1] in ("", "<")  # as in "```</answer>"


def _dedent(lines: list[str]) -> str:
    """Content of a block, which in a Markdown list is indented as a whole."""
    text = "\n".join(lines)
    indented = all(line[:1].isspace() for line in lines if line.strip())
    return textwrap.dedent(text) if indented else text


def _has_code(code: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("#") for line in code.split("\n"))


def _compile_apart(code: str) -> str | None:
    """The same in a process of its own: long code can be nested so deeply that the compiler's stack overflows."""
    script = "import sys; compile(sys.stdin.buffer.read().decode('utf-8', 'surrogatepass'), 'solution.py', 'exec')"
    done = subprocess.run(
        [sys.executable, "-I", "-W", "ignore", "-c", script],
        input=code.encode("utf-8", "surrogatepass"), capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode == 0:
        return None
    if done.returncode < 0:
        return "SyntaxError: the code is nested too deeply to be compiled"
    lines = done.stderr.decode("utf-8", "replace").rstrip().split("\n")
    said = [i for i, line in enumerate(lines) if line.startswith('  File "solution.py"')] or [len(lines) - 1]
    return "\n".join(line[:_LINE_CHARS] for line in lines[said[0] :])


@lru_cache(maxsize=8192)
def _compiles(part: str) -> bool:
    try:
        compile(part, "solution.py", "exec", dont_inherit=True)
    except _REFUSALS:
        return False
    return True


def _compiles_in_parts(code: str) -> bool:
    """Whether all statements compile one by one, which most of a new solution's have done before.

    Then all of them together do too: only ``global`` and imports from ``__future__`` depend on what comes before.
    """
    parts = parts_of(code)
    alone = len(parts) == 1 or any(len(part) > REMEMBERED_CHARS for part in parts)
    return not (alone or "global" in code or "__future__" in code) and all(map(_compiles, parts))


@lru_cache(maxsize=4096)
def _compile_error(code: str) -> str | None:
    """What the interpreter prints when it refuses to compile the code, ``None`` when it accepts it."""
    if len(code) > _COMPILED_APART:
        return _compile_apart(code)
    try:
        with _compiling, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if not _compiles_in_parts(code):
                compile(code, "solution.py", "exec", dont_inherit=True)
    except _REFUSALS as error:
        lines = "".join(traceback.format_exception_only(error)).rstrip().split("\n")
        text = "\n".join(line if len(line) <= _LINE_CHARS else f"{line[:_LINE_CHARS]}…" for line in lines)
        return text.encode("utf-8", "replace").decode("utf-8")
    return None
