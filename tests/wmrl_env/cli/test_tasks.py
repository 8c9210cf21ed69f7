import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support import make_task_dir
from wmrl_env import tasks
from wmrl_env.cli import app


def run(*args: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["tasks", *args], env={"COLUMNS": "200"}, catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stdout


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """No task that a command registers outlives its test."""
    known = dict(tasks._registered)
    yield
    tasks._registered.clear()
    tasks._registered.update(known)


def test_list() -> None:
    listed = json.loads(run("--json"))["tasks"]
    assert [card["id"] for card in listed] == [task.id for task in tasks.list()]
    output = run()
    assert all(task.title in output for task in tasks.list())


def test_list_of_one_split() -> None:
    listed = json.loads(run("--split", "heldout", "--json"))["tasks"]
    assert [card["id"] for card in listed] == [task.id for task in tasks.list("heldout")]
    with pytest.raises(ValueError, match="split must be"):
        run("--split", "all")


def test_list_of_one_modality() -> None:
    listed = json.loads(run("--split", "train", "--modality", "text", "--json"))["tasks"]
    assert [card["id"] for card in listed] == [task.id for task in tasks.list("train") if task.modality == "text"]
    assert listed
    with pytest.raises(ValueError, match="modality must be one of tabular, series, text, image, got 'sound'"):
        run("--modality", "sound")


def test_leaderboard_begins_with_the_best() -> None:
    for card in json.loads(run("--json"))["tasks"]:
        best = max if card["higher_is_better"] else min
        assert card["leaderboard"][0] == best(card["leaderboard"])


def test_show() -> None:
    task = tasks.get("churn")
    shown = json.loads(run("show", "churn", "--json"))
    assert shown["text"] == task.text
    assert (shown["origin"], shown["licence"]) == (task.origin, task.licence)
    output = run("show", "churn")
    for part in (task.text.splitlines()[0], task.origin, task.licence, f"{task.time_limit_s:g} CPU seconds"):
        assert part in output


def test_show_a_folder(tmp_path: Path) -> None:
    root = make_task_dir(tmp_path / "toy", origin="A survey", licence="CC0")
    output = run("show", str(root))
    assert "A survey" in output and "CC0" in output and "# toy" in output
    with pytest.raises(KeyError, match="unknown task 'nonesuch'"):
        run("show", "nonesuch")


def test_new_then_check_then_run(tmp_path: Path) -> None:
    root = tmp_path / "mine"
    assert f"wmrl tasks check {root}" in run("new", str(root)).replace("\n", "")
    checked = json.loads(run("check", str(root), "--json"))
    assert checked["ok"] and checked["faults"] == checked["warnings"] == []
    result = json.loads(run("check", str(root), "--run", "--json"))["run"]
    assert result["status"] == "VALID" and result["score"] > 0.6 and 50 < result["metric_value"] < 70
    with pytest.raises(FileExistsError, match="not empty"):
        run("new", str(root))


def test_check_says_everything_that_is_wrong(tmp_path: Path) -> None:
    root = make_task_dir(tmp_path / "toy", colour=3)
    (root / "public/test.csv").unlink()
    (root / "leaderboard.csv").write_text("score\n1\n1\n")
    output = run("check", str(root), code=1)
    for part in ("fault: task.json has unknown keys", "fault: public/test.csv is missing", "fault: all 2 entries"):
        assert part in output
    assert "cannot be used: 3 faults" in output
    result = json.loads(run("check", str(root), "--run", "--json", code=1))
    assert result["ok"] is False and len(result["faults"]) == 3 and "run" not in result


def test_check_takes_what_the_folder_does_not_say(tmp_path: Path) -> None:
    root = make_task_dir(tmp_path / "toy")
    (root / "task.json").unlink()
    (root / "leaderboard.csv").rename(tmp_path / "scores.csv")
    assert "metric is not set" in run("check", str(root), code=1)
    output = run("check", str(root), "--metric", "rmse", "--leaderboard", str(tmp_path / "scores.csv"))
    assert "warning: the leaderboard has 9 entries" in output and "is a usable task: regression, rmse" in output


def test_a_task_that_the_plain_solution_cannot_solve_fails_its_run(tmp_path: Path) -> None:
    root = make_task_dir(tmp_path / "toy")
    table = root / "public/test.csv"
    table.write_text("".join(line.split(",")[0] + "\n" for line in table.read_text().splitlines()))  # ids alone
    assert "is a usable task" in run("check", str(root))
    output = run("check", str(root), "--run", code=1)
    assert "a plain solution does not get through" in output and "RUNTIME_ERROR" in output
