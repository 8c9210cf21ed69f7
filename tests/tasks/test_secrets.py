"""The labels of every shipped task are out of a solution's reach, also those that installed packages carry."""

from __future__ import annotations

import json
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support import WALLS
from wmrl_env import tasks
from wmrl_env.sandbox import Sandbox
from wmrl_env.tasks.sources import SOURCES, task_dir
from world_models.outcomes import Status, Submission

_SITE = Path(sysconfig.get_path("purelib")).resolve()
_opened: list[str] | None = None


def _listen(event: str, args: tuple) -> None:
    if _opened is not None and event == "open" and isinstance(args[0], str):
        _opened.append(args[0])


sys.addaudithook(_listen)  # there is no way to take one off: it does nothing while nobody collects


def carriers(task_id: str) -> set[str]:
    """Data files below site-packages that a task is made of, relative to it."""
    global _opened
    _opened = []
    try:
        SOURCES[task_id].read()
    finally:
        opened, _opened = _opened, None
    paths = {Path(path).resolve() for path in opened}
    return {
        str(path.relative_to(_SITE))
        for path in paths
        if path.is_relative_to(_SITE) and path.suffix not in (".py", ".pyc", ".so", ".pth")
    }


@pytest.fixture(scope="module")
def files() -> dict[str, set[str]]:
    return {task_id: carriers(task_id) for task_id in SOURCES}


@pytest.fixture(scope="module", params=WALLS)
def readable(request, files) -> set[str]:
    """What a solution finds of these files, and of the prepared halves."""
    wanted = sorted(set().union(*files.values()))
    private = [str(path) for task_id in SOURCES for path in (task_dir(task_id) / "private").glob("*")]
    code = f"""
import json, os, sys
found = []
for place in {[*sys.path, ""]!r} + sys.path:
    for path in {wanted!r}:
        try:
            open(os.path.join(place, path), "rb").read(1)
            found.append(path)
        except OSError:
            pass
for path in {private if request.param == "bubblewrap" else []!r}:
    if os.path.exists(path):
        found.append(path)
print("FOUND " + json.dumps(sorted(set(found))))
"""
    task = tasks.ensure_data(tasks.get("churn"))
    with Sandbox(1, request.param, None) as sandbox:
        (outcome,) = sandbox.execute([Submission(task.id, task.text, code)])
    assert outcome.status is Status.NO_SUBMISSION, outcome.feedback
    (line,) = (line for line in outcome.feedback.splitlines() if line.startswith("FOUND "))
    return set(json.loads(line.removeprefix("FOUND ")))


@pytest.mark.parametrize("task_id", SOURCES)
def test_no_solution_reads_the_files_that_a_task_is_made_of(task_id, files, readable):
    assert files[task_id], "where do this task's rows come from?"
    assert not files[task_id] & readable
    assert not {path for path in readable if f"/{task_id}/" in path}


@pytest.mark.parametrize("walls", WALLS)
def test_data_sets_of_scikit_learn_are_out_of_reach(walls):
    task = tasks.ensure_data(tasks.get("churn"))
    codes = [f"import sklearn.datasets\nsklearn.datasets.load_{name}()" for name in ("digits", "diabetes", "wine")]
    with Sandbox(1, walls, None, warm_start=True) as sandbox:
        outcomes = sandbox.execute([Submission(task.id, task.text, code) for code in codes])
    assert [outcome.status for outcome in outcomes] == [Status.RUNTIME_ERROR] * len(codes)
