"""Exact checks that come before any prediction and any execution: is there code, and does it compile?"""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import threading
import traceback
import warnings
from functools import lru_cache

from world_models.outcomes import Outcome, Source, Status, Submission, ladder_score, render_feedback

__all__ = ["exact_outcome", "extract_code", "has_block"]

_OPENING = re.compile(r"[ \t]*(`{3,}|~{3,})")
_PYTHON = re.compile(r"[{.]*(?:i?python|py)[\d.]*\}?")
_FINAL = "FINAL"
_LINE_CHARS = 200
_COMPILED_APART = 100_000  # characters
_NO_CODE = "NoCode: the reply holds no Python code"
_compiling = threading.Lock()  # the warnings filters, set aside while compiling, belong to the whole process


def extract_code(reply: str) -> str:
    """The solution that an agent's reply holds, ``""`` where it holds none.

    The last Markdown block that is marked as Python, else the last one without a mark; a block that is never closed
    reaches to the end of the reply. A reply without blocks, or one that is Python as it stands, is the solution itself.
    Lines outside a block that are just ``FINAL`` end an episode and are no code. Nothing is ever cut off.

    >>> extract_code("Let me try.\\n```python\\nprint(1)\\n```\\nFINAL")
    'print(1)'
    """
    whole = _without_final(reply)
    blocks = _blocks(reply) if "```" in reply or "~~~" in reply else []
    if not blocks or _compile_error(whole) is None:
        code = whole
    else:
        marked = [code for mark, code in blocks if _PYTHON.fullmatch(mark)]
        unmarked = [code for mark, code in blocks if not mark]
        code = (marked or unmarked or [""])[-1]
    return code if _has_code(code) else ""


def has_block(reply: str) -> bool:
    """Whether a reply holds a Markdown block."""
    return ("```" in reply or "~~~" in reply) and bool(_blocks(reply))


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


def _blocks(reply: str) -> list[tuple[str, str]]:
    """(mark in lower case, content) of each Markdown block."""
    blocks: list[tuple[str, str]] = []
    fence, mark, content = "", "", list[str]()
    for line in reply.split("\n"):  # not splitlines(): a form feed may stand in code
        if not fence:
            opening = _OPENING.match(line)
            rest = line[opening.end() :] if opening else ""
            if opening and "`" not in rest:
                fence, mark, content = opening[1], (rest.split() or [""])[0].lower(), []
        elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            blocks.append((mark, _dedent(content)))
            fence = ""
        else:
            content.append(line)
    if fence:
        blocks.append((mark, _dedent(_without_final("\n".join(content)).split("\n"))))
    return blocks


def _dedent(lines: list[str]) -> str:
    """Content of a block, which in a Markdown list is indented as a whole."""
    text = "\n".join(lines)
    indented = all(line[:1].isspace() for line in lines if line.strip())
    return textwrap.dedent(text) if indented else text


def _without_final(text: str) -> str:
    if _FINAL not in text:
        return text
    return "\n".join(line for line in text.split("\n") if line.strip() != _FINAL)


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


@lru_cache(maxsize=4096)
def _compile_error(code: str) -> str | None:
    """What the interpreter prints when it refuses to compile the code, ``None`` when it accepts it."""
    if len(code) > _COMPILED_APART:
        return _compile_apart(code)
    try:
        with _compiling, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "solution.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        lines = "".join(traceback.format_exception_only(error)).rstrip().split("\n")
        text = "\n".join(line if len(line) <= _LINE_CHARS else f"{line[:_LINE_CHARS]}…" for line in lines)
        return text.encode("utf-8", "replace").decode("utf-8")
    return None
