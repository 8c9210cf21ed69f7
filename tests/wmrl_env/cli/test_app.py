import sys
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

from wmrl_env.cli import app, main

COMMANDS = ("demo", "tasks", "collect", "train-world-model", "fidelity", "compare", "train", "report", "doctor")


def call(monkeypatch: pytest.MonkeyPatch, *args: str) -> int:
    """Exit code of the entry point."""
    monkeypatch.setattr(sys, "argv", ["wmrl", *args])
    with pytest.raises(SystemExit) as exit_:
        main()
    return int(exit_.value.code or 0)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_and_offers_json(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert "--json" in result.output


def test_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).output == f"wmrl {version('wmrl')}\n"


def test_wrong_input_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "tasks", "show", "no-such-task") == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("wmrl: unknown task 'no-such-task'; known: ")
    assert captured.err.count("\n") == 1


def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["wmrl", "--debug", "tasks", "show", "no-such-task"])
    with pytest.raises(KeyError, match="no-such-task"):
        main()


def test_unknown_option_is_exit_code_2(monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(monkeypatch, "tasks", "--no-such-option") == 2


def test_interrupt_is_exit_code_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("wmrl_env.tasks.list", interrupted)
    assert call(monkeypatch, "tasks") == 130
    assert "goes on where it stopped" in capsys.readouterr().err
