"""Namespaces raised from inside; in processes of their own, since there is no way back."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from wmrl_env.sandbox import containment, isolation

SCRIPT = """
import json, os, runpy, sys, types
path, folder = sys.argv[1:]
containment = types.SimpleNamespace(**runpy.run_path(path))  # importing it would start threads, which may not leave
os.makedirs(folder + "/work/run")
open(folder + "/work/secret", "w").close()
if os.getuid() == 0:
    os.chmod(folder, 0o755)
if not containment.unshare():
    print("null")
    sys.exit()
pid = os.fork()
if pid == 0:
    containment.hide_behind(folder + "/work/run")
    containment.drop_privileges()
    caps = [line for line in open("/proc/self/status") if line.startswith(("CapEff", "CapBnd", "NoNewPrivs"))]
    again = containment.unshare()
    print(json.dumps({
        "pid": os.getpid(), "uid": os.getuid(), "caps": [line.split()[1] for line in caps], "cwd": os.listdir("."),
        "above": os.listdir(".."), "tmp": os.listdir("/tmp"), "again": again,
    }), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
"""


@pytest.fixture
def folder():
    """Not in /tmp, over which there will be another one."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        yield Path(name)


def test_a_process_leaves_for_namespaces_without_power_or_past(folder):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, containment.__file__, str(folder)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert (found is None) == bool(
        isolation.namespaces_fault()
    ) or found  # a plain process may where a walled one may not
    if found:
        assert found["pid"] == 1 and found["uid"] == containment.NOBODY
        assert [int(number, 16) for number in found["caps"]] == [0, 0, 1]
        assert found["cwd"] == [] and found["above"] == ["run"] and not found["again"]
    assert os.path.exists(folder / "work" / "secret")


def test_failures_name_the_call():
    try:
        containment._call("umount", b"/nonesuch")
    except OSError as error:
        assert "umount" in str(error)
    else:
        raise AssertionError("there is no such mount")
