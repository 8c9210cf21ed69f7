"""What a killed owner leaves is removed by the next one."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.support import WALLS
from wmrl_env.sandbox.pool import Worker, remove_orphans


@pytest.mark.parametrize("walls", WALLS)
def test_a_killed_owner_leaves_neither_processes_nor_for_long_folders(walls, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = f"""
import sys, tempfile
from wmrl_env.sandbox.pool import Worker
tempfile.tempdir = {str(tmp_path)!r}
worker = Worker({walls!r}, {{"any": "/"}}, [], True)
print(worker._process.pid, flush=True)
worker.run("any", "import time; time.sleep(600)", cpu_s=9, wall_s=900, memory_mb=500)
"""
    owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    worker = int(owner.stdout.readline())
    owner.kill()
    owner.communicate()
    deadline = time.monotonic() + 30
    while Path(f"/proc/{worker}").exists() and _state(worker) != "Z" and time.monotonic() < deadline:
        os.sched_yield()
    assert not Path(f"/proc/{worker}").exists() or _state(worker) == "Z"
    assert any(path.is_dir() for path in tmp_path.iterdir())
    remove_orphans()
    assert not list(tmp_path.iterdir())


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_folders_in_use_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    worker = Worker("process", {}, [], False)
    remove_orphans()
    assert worker.root.is_dir()
    worker.close()
    assert not list(tmp_path.iterdir())
