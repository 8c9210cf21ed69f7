"""The README's Python runs as it stands there, but for backends that answer at once and a shorter training."""

import re
from pathlib import Path

import pytest

from tests.wmrl_env.demo.quick import QuickSandbox
from wmrl_env.testing import HashBackend

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_there_is_one_block_a_use() -> None:
    assert len(BLOCKS) == 3
    assert all(len(block.strip().splitlines()) <= 10 for block in BLOCKS)


@pytest.mark.parametrize("block", BLOCKS, ids=["train", "correct", "world-model"])
def test_block_runs(block: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("world_models.learned.LearnedModel.default", HashBackend)
    monkeypatch.setattr("wmrl_env.sandbox.Sandbox", QuickSandbox)
    monkeypatch.setattr("world_models.make", lambda name: HashBackend(), raising=False)
    exec(compile(block.replace("20_000", "1_000"), "README.md", "exec"), {})
    assert ("learn(" in block) == (capsys.readouterr().out == "")


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert target.startswith("https://") or (Path(__file__).parents[1] / target).exists(), target
