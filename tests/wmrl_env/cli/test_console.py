import json

import pytest
from rich.table import Table

from wmrl_env.cli.console import emit, progress


def test_json_has_null_for_what_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    emit({"a": float("nan"), "b": [1.5, float("inf")], "c": {"d": (None, "é")}}, "", as_json=True)
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [1.5, None], "c": {"d": [None, "é"]}}


def test_view_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    emit({}, "pip install 'wmrl[sb3]'", as_json=False)
    assert capsys.readouterr().out == "pip install 'wmrl[sb3]'\n"
    table = Table("x")
    table.add_row("[bold]")
    emit({}, table, as_json=False)
    assert "[bold]" in capsys.readouterr().out


def test_progress_leaves_stdout_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("working", "steps") as advance:
        advance(1, 2)
        advance(2, 2, "nearly there")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "nearly there" in captured.err
    assert "2/2 steps" in captured.err
