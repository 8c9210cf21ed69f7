"""Cards and leaderboards are what the script makes of the data."""

import csv
import json

import pytest

from wmrl_env import tasks
from wmrl_env.tasks import build
from wmrl_env.tasks.sources import SOURCES
from world_models.outcomes import Outcome, Status


@pytest.mark.parametrize("task_id", ["churn", "visits", "hpc"])
def test_the_shipped_card_is_the_one_built(task_id, tmp_path, monkeypatch):
    shipped = json.loads((build._HERE / "cards" / f"{task_id}.json").read_text(encoding="utf-8"))
    monkeypatch.setattr(build, "_HERE", tmp_path)
    built = json.loads(build.write_card(SOURCES[task_id]).read_text(encoding="utf-8"))
    assert built["inventory"] == shipped["inventory"]
    assert {**built, "fingerprint": ""} == {**shipped, "fingerprint": ""}


class Graded:
    """A sandbox where every third solution fails."""

    def __init__(self, workers, warm_start):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        pass

    def execute(self, submissions):
        return [
            Outcome(Status.VALID, 0.5, "", 0.5 + i / 1000, 1.0, "sandbox")
            if i % 3
            else Outcome(Status.TIMEOUT, 0.1, "", None, 10.0, "sandbox")
            for i in range(len(submissions))
        ]


@pytest.mark.parametrize("task_id", ["churn", "ames"])
def test_a_leaderboard_holds_valid_solutions_best_first(task_id, tmp_path, monkeypatch):
    monkeypatch.setattr("wmrl_env.sandbox.Sandbox", Graded)
    monkeypatch.setattr(build, "_HERE", tmp_path)
    monkeypatch.setattr(build, "_ENTRIES", 30)
    (tmp_path / "leaderboards").mkdir()
    task = tasks.get(task_id)
    with build.write_leaderboard(task, workers=1).open(newline="") as file:
        rows = list(csv.DictReader(file))
    values = [float(row["metric_value"]) for row in rows]
    assert len(rows) == 30 + 12 and values == sorted(values, reverse=task.higher_is_better)
    assert sum(row["solution"] == "free form" for row in rows) == 12
    monkeypatch.setattr(build, "reference_solutions", lambda task: iter([["model = A()"] * 9] * 9))
    with pytest.raises(RuntimeError, match="only 24 valid"):
        build.write_leaderboard(task, workers=1)
