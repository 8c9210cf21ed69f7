import json

import pytest
from typer.testing import CliRunner

from wmrl_env import tasks
from wmrl_env.cli import app


def run(*args: str) -> str:
    result = CliRunner().invoke(app, ["tasks", *args], env={"COLUMNS": "200"}, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_list() -> None:
    listed = json.loads(run("--json"))["tasks"]
    assert [card["id"] for card in listed] == [task.id for task in tasks.list()]
    assert all(task.title in run() for task in tasks.list())


def test_list_of_one_split() -> None:
    listed = json.loads(run("--split", "heldout", "--json"))["tasks"]
    assert [card["id"] for card in listed] == [task.id for task in tasks.list("heldout")]
    with pytest.raises(ValueError, match="split must be"):
        run("--split", "all")


def test_leaderboard_begins_with_the_best() -> None:
    for card in json.loads(run("--json"))["tasks"]:
        best = max if card["higher_is_better"] else min
        assert card["leaderboard"][0] == best(card["leaderboard"])


def test_show() -> None:
    task = tasks.get("churn")
    shown = json.loads(run("show", "churn", "--json"))
    assert shown["text"] == task.text
    assert task.text.splitlines()[0] in run("show", "churn")
