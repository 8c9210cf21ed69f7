"""Recording real outcomes: balanced, seeded, resumable."""

import pytest

from tests.support import make_task_dir
from wmrl_env import tasks
from wmrl_env.collect import collect, draw_solutions
from wmrl_env.sandbox import Sandbox
from wmrl_env.tasks.task import ResearchTask
from world_models.store import TransitionStore


def test_draws_are_distinct_seeded_and_extend_each_other():
    task = tasks.get("churn")
    drawn = draw_solutions(task, 40, seed=1)
    assert len(set(drawn)) == 40
    assert draw_solutions(task, 25, seed=1) == drawn[:25]
    assert draw_solutions(task, 40, seed=2) != drawn
    assert draw_solutions(tasks.get("ames"), 5, seed=1) != drawn[:5]


def test_an_interrupted_collection_goes_on_where_it_stopped(tmp_path):
    task = ResearchTask.from_directory(make_task_dir(tmp_path / "collect-toy"))
    tasks.register(task)
    toy = {"task_ids": [task.id], "references": False}
    seen = []

    def interrupt(done, total):
        seen.append((done, total))
        if done:
            raise KeyboardInterrupt

    with Sandbox(1, "process", tmp_path / "results.sqlite", warm_start=True) as sandbox:
        with pytest.raises(KeyboardInterrupt):
            collect(
                tmp_path / "a.sqlite",
                per_task=3,
                task_ids=[task.id],
                references=False,
                sandbox=sandbox,
                progress=interrupt,
            )
        executed = sandbox.executions
        store = collect(tmp_path / "a.sqlite", **toy, per_task=4, sandbox=sandbox)
        assert seen == [(0, 3), (3, 3)] and executed == 3 and sandbox.executions == 4
    assert len(store) == 4
    assert len(TransitionStore(tmp_path / "a.sqlite")) == 4
