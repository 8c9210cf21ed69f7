"""What a confined process can and cannot do with files; run in a process of its own, since there is no way back."""

import subprocess
import sys

from wmrl_env.sandbox import landlock

SCRIPT = """
import sys
from wmrl_env.sandbox.landlock import confine
root = sys.argv[1]
readable = [root + "/read", sys.prefix, sys.base_prefix, "/usr", "/lib"]
version = confine(readable, [root + "/write"], [root + "/read/hidden"])
def can(path, mode="r"):
    try:
        open(root + path, mode).close()
        return True
    except PermissionError:
        return False
print(version, *(can(path) for path in ("/read/a", "/read/deep/b", "/read/hidden/c", "/other")))
print(can("/write/new", "w"), can("/read/new", "w"))
"""


def test_only_what_was_named_can_be_reached(tmp_path):
    for folder in ("read/deep", "read/hidden", "write"):
        (tmp_path / folder).mkdir(parents=True)
    for file in ("read/a", "read/deep/b", "read/hidden/c", "other"):
        (tmp_path / file).write_text("x")
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path)], capture_output=True, text=True, check=True)
    version, *found = done.stdout.split()
    assert int(version) == landlock.abi()
    held = ["True", "True", "False", "False", "True", "False"]
    assert found == (held if landlock.abi() else ["True"] * 6)


def test_a_kernel_without_it_is_told_apart(monkeypatch):
    def missing(*args):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(landlock, "_syscall", missing)
    assert landlock.abi() == 0
    assert landlock.confine(["/"], ["/tmp"]) == 0
