"""Python in README and docs runs as it stands; README's with a shorter training and backends that answer at once."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.wmrl_env.demo.quick import QuickSandbox
from wmrl_env.testing import HashBackend

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks_of(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


BLOCKS = blocks_of(README)


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


@pytest.mark.parametrize("page", ["sandbox", "world-models"])
def test_blocks_of_the_docs_need_nothing_from_each_other(page: str) -> None:
    blocks = blocks_of((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    assert blocks
    for block in blocks:
        done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{block}\n{done.stderr}"


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert target.startswith("https://") or (ROOT / target).exists(), target
