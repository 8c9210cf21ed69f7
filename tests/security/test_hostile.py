"""No hostile solution escapes, disturbs the next one or outlives its run; each gets the outcome that it deserves."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.security.hostile import ATTACKS, HARMLESS, Attack
from tests.support import WALLS, make_task_dir
from wmrl_env import tasks
from wmrl_env.sandbox import Sandbox, isolation, landlock
from wmrl_env.tasks.task import ResearchTask
from world_models.outcomes import Outcome, Status, Submission

ROOT = Path(__file__).parents[2]
MODES = [
    pytest.param((walls, warm), id=f"{walls}-{'warm' if warm else 'cold'}") for walls in WALLS for warm in (True, False)
]


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    folder = make_task_dir(
        tmp_path_factory.mktemp("hostile") / "hostile-toy", time_limit_s=30, memory_limit_mb=256, id="hostile-toy"
    )
    task = ResearchTask.from_directory(folder)
    tasks.register(task)
    tasks.register(dataclasses.replace(task, id=f"{task.id}-hurried", time_limit_s=1))
    return task


@pytest.fixture(scope="module")
def port():
    """Somebody listens here, on TCP and on an abstract socket."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        number = server.getsockname()[1]
        abstract.bind(f"\0wmrl-test-{number}")
        abstract.listen()
        yield number


def processes() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def chosen(walls: str) -> list[str]:
    return [name for name, attack in ATTACKS.items() if walls == "bubblewrap" or not attack.walled]


@pytest.fixture(scope="module", params=MODES)
def outcomes(request, task, port, tmp_path_factory) -> dict[str, tuple[Outcome, Outcome]]:
    """By attack: how it ended, and how a harmless solution right after it did."""
    walls, warm = request.param
    patch = pytest.MonkeyPatch()
    patch.setenv("SECRET_TOKEN", "do not tell")
    folder = tmp_path_factory.mktemp("left")
    patch.setattr(tempfile, "tempdir", str(folder))
    names = chosen(walls)
    submissions = []
    for name in names:
        code = ATTACKS[name].code.replace("{port}", str(port)).replace("{private}", str(task.private_dir))
        submissions += [
            Submission(task.id + "-hurried" * ATTACKS[name].hurried, task.text, code),
            Submission(task.id, task.text, f"{HARMLESS}# after: {name}"),
        ]
    before = processes()
    with Sandbox(2, walls, None, warm_start=warm, wall_factor=3.0) as sandbox:
        found = sandbox.execute(submissions)
    assert not list(folder.iterdir()), "folders are left"
    left = [pid for pid in processes() - before if "python" in _command(pid) and str(folder) in _command(pid)]
    assert not left, "processes are left"
    patch.undo()
    return dict(zip(names, zip(found[::2], found[1::2], strict=True), strict=True))


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return ""


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_ends_as_it_should_and_harms_nobody(name, outcomes):
    if name not in outcomes:  # plain processes are not claimed to stop it
        assert ATTACKS[name].walled
        return
    attack, after = outcomes[name]
    assert "ESCAPED" not in attack.feedback, attack.feedback
    assert attack.status in ATTACKS[name].endings, attack.feedback
    assert len(attack.feedback) < 20_000
    assert after.status is Status.VALID, after.feedback


def test_there_are_attacks_of_every_kind():
    assert len(ATTACKS) >= 30
    assert sum(attack.walled for attack in ATTACKS.values()) < len(ATTACKS) - 15


# What Landlock stops where there are no namespaces, and the version that it takes.
LANDLOCKED = {"writes elsewhere": 1, "searches for the labels": 1, "TCP": 4, "abstract socket": 6,
              "kills process 1 and its parent": 6, "mount": 1, "setuid": 0}  # fmt: skip


@pytest.mark.parametrize("name", LANDLOCKED)
def test_plain_processes_are_held_by_landlock(name, task, port):
    if landlock.abi() < LANDLOCKED[name] or (name in ("mount", "setuid") and os.getuid() == 0):
        assert isolation.process_fault()  # it is not claimed
        return
    code = ATTACKS[name].code.replace("{port}", str(port))
    if name == "TCP":
        code = code.replace("('1.1.1.1', 53)", f"('127.0.0.1', {port})")
    with Sandbox(1, "process", None, warm_start=True) as sandbox:
        outcomes = sandbox.execute([Submission(task.id, task.text, one) for one in (code, HARMLESS)])
    assert "ESCAPED" not in outcomes[0].feedback, outcomes[0].feedback
    assert outcomes[0].status in ATTACKS[name].endings and outcomes[1].status is Status.VALID


def as_ordinary_user() -> list[str]:
    """Command prefix, should this be root, under which Python can become nobody and still sees its interpreter."""
    if os.getuid() != 0:
        return []
    args = [isolation.find_bubblewrap() or "bwrap", "--bind", "/proc", "/proc", "--dev-bind", "/dev", "/dev"]
    args += ["--bind", "/tmp", "/tmp", "--setenv", "HOME", "/tmp", "--cap-add", "ALL"]
    for path in ("/usr", "/bin", "/lib", "/lib64", "/etc", "/sys", sys.base_prefix, sys.prefix, str(ROOT)):
        for parent in reversed(Path(path).parents[:-1]):
            args += ["--perms", "0755", "--dir", str(parent)]
        args += ["--ro-bind-try", path, path]
    return [*args, "--chdir", str(ROOT), "--"]


@pytest.mark.skipif("bubblewrap" not in WALLS, reason="there are no walls to be tested")
def test_an_ordinary_user_has_the_same_walls(port):
    script = """
import dataclasses, json, os, sys, tempfile
from pathlib import Path
from wmrl_env.sandbox.containment import drop_root
if os.getuid() == 0:
    drop_root()
sys.path.insert(0, "tests")
from support import make_task_dir
from wmrl_env import tasks
from wmrl_env.sandbox import Sandbox
from wmrl_env.tasks.task import ResearchTask
from world_models.outcomes import Submission
with tempfile.TemporaryDirectory() as folder:
    made = make_task_dir(Path(folder) / "ordinary-toy", time_limit_s=30, memory_limit_mb=256)
    task = ResearchTask.from_directory(made)
    tasks.register(task)
    tasks.register(dataclasses.replace(task, id="ordinary-toy-hurried", time_limit_s=1))
    with Sandbox(2, "bubblewrap", None, warm_start=True, wall_factor=3.0) as sandbox:
        outcomes = sandbox.execute([Submission(name, task.text, code) for name, code in json.load(sys.stdin)])
print(json.dumps([os.getuid(), *([outcome.status, outcome.feedback] for outcome in outcomes)]))
"""
    asked = [
        (
            "ordinary-toy" + "-hurried" * attack.hurried,
            attack.code.replace("{port}", str(port)).replace("{private}", "/etc"),
        )
        for attack in (*ATTACKS.values(), Attack(HARMLESS, (Status.VALID,)))
    ]
    done = subprocess.run(
        [*as_ordinary_user(), sys.executable, "-c", script],
        input=json.dumps(asked),
        capture_output=True, text=True, cwd=ROOT, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    uid, *found = json.loads(done.stdout)
    assert uid != 0
    for name, (status, feedback) in zip(ATTACKS, found, strict=False):
        assert "ESCAPED" not in feedback and status in ATTACKS[name].endings, (name, feedback)
    assert found[-1][0] == "VALID", found[-1]


_PRYING = """
import os
found = []
for name in os.environ["DATA_DIR"], "/proc/{pid}/environ", "/proc/{pid}/cmdline", "/proc/1/environ":
    try:
        found.append(open(name).read() if "proc" in name else "")
    except OSError:
        pass
print("ESCAPED" if any(found) else "held")
"""
_SHUTTING = """
import os
for name in os.listdir(os.environ["DATA_DIR"]):
    try:
        os.chmod(os.path.join(os.environ["DATA_DIR"], name), 0)
    except OSError:
        pass
"""


@pytest.mark.skipif(landlock.abi() < 1, reason="there is no Landlock here")
def test_plain_processes_see_no_other_process(task):
    with Sandbox(1, "process", None) as sandbox:
        (outcome,) = sandbox.execute([Submission(task.id, task.text, _PRYING.replace("{pid}", str(os.getpid())))])
    assert "held" in outcome.feedback


@pytest.mark.parametrize("walls", WALLS)
def test_the_public_half_stays_readable(walls, task):
    before = {path: path.stat().st_mode for path in (task.public_dir, *task.public_dir.iterdir())}
    with Sandbox(1, walls, None, warm_start=True) as sandbox:
        outcomes = sandbox.execute([Submission(task.id, task.text, code) for code in (_SHUTTING, HARMLESS)])
    assert outcomes[1].status is Status.VALID, outcomes[1].feedback
    assert {path: path.stat().st_mode for path in before} == before
