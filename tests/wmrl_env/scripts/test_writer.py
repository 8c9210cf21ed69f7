"""Free-form scripts: always Python, never twice the same, each mistake where it was asked for."""

import ast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_env import scripts, tasks
from wmrl_env.sandbox import Sandbox
from world_models.outcomes import Status, Submission, exception_class

ALL = tasks.list()
UNGRAMMATICAL = {"unclosed_bracket", "prose_in_code", "bad_indent"}


@given(seed=st.integers(0, 2**32 - 1), task=st.sampled_from(ALL), mistake=st.sampled_from(["", *scripts.MISTAKES]))
def test_every_draft_is_a_python_script_and_repeatable(seed, task, mistake):
    code = scripts.write(np.random.default_rng(seed), task, mistake)
    assert code == scripts.write(np.random.default_rng(seed), task, mistake)
    if mistake not in UNGRAMMATICAL:
        ast.parse(code)


def test_styles_differ():
    drafts = [scripts.write(np.random.default_rng(seed), tasks.get("churn")) for seed in range(60)]
    assert len(set(drafts)) == 60
    for trait in ("class ", "def main", "def load", "# ", '"""', "KFold", "get_dummies", "print("):
        assert 0 < sum(trait in draft for draft in drafts) < 60
    lengths = [len(draft.splitlines()) for draft in drafts]
    assert max(lengths) > 1.7 * min(lengths)


@pytest.mark.parametrize("mistake", scripts.MISTAKES)
def test_a_mistake_changes_the_draft(mistake):
    changed = 0
    for seed in range(12):
        task = tasks.get(("churn", "ames", "device")[seed % 3])
        right, wrong = (scripts.write(np.random.default_rng(seed), task, name) for name in ("", mistake))
        changed += right != wrong
    assert changed


def test_an_unknown_mistake_is_refused():
    with pytest.raises(ValueError, match="unknown mistake"):
        scripts.write(np.random.default_rng(0), ALL[0], "haste")


def test_mistakes_end_as_they_do_in_life():
    task = tasks.ensure_data(tasks.get("concrete"))
    expected = {
        "missing_import": (Status.RUNTIME_ERROR, "NameError"),
        "absent_library": (Status.RUNTIME_ERROR, "ModuleNotFoundError"),
        "wrong_path": (Status.RUNTIME_ERROR, "FileNotFoundError"),
        "used_after_drop": (Status.RUNTIME_ERROR, "KeyError"),
        "nothing_written": (Status.NO_SUBMISSION, "NoSubmission"),
        "constant_id": (Status.INVALID_SUBMISSION, "InvalidSubmission"),
        "division_by_zero": (Status.RUNTIME_ERROR, "ZeroDivisionError"),
        "outer_product": (Status.OUT_OF_MEMORY, None),
        "prose_in_code": (Status.SYNTAX_ERROR, "SyntaxError"),
    }
    codes = [scripts.write(np.random.default_rng(4), task, mistake) for mistake in expected]
    with Sandbox(2, warm_start=True) as sandbox:
        outcomes = sandbox.execute([Submission(task.id, task.text, code) for code in codes])
    for (mistake, (status, error)), outcome in zip(expected.items(), outcomes, strict=True):
        assert outcome.status is status, (mistake, outcome.feedback)
        assert error is None or exception_class(outcome.feedback) == error, (mistake, outcome.feedback)
