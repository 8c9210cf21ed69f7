"""Streams in a file: what threads, forks and processes see of each other."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.wmrl_env.correction.storages.participants import ENOUGH_S, learn, told
from wmrl_env.correction import AnchorPair, AnchorStream, OnlineCalibrator
from wmrl_env.correction.storages import sqlite
from wmrl_env.tasks import ResearchTask

WRITERS, READERS, PAIRS = 4, 2, 150  # pairs a writer

finite = st.floats(allow_nan=False, allow_infinity=False)
text = st.text(st.characters(), max_size=5)  # with lone surrogates and NUL
pairs = st.builds(
    AnchorPair,
    task_id=text,
    group=text,
    code_hash=text,
    predicted=finite,
    real=finite,
    member_scores=st.lists(finite, max_size=3).map(tuple),
    action_class=text,
    terms=st.lists(text, max_size=3).map(tuple),
    weight=st.floats(min_value=0.0, exclude_min=True, allow_infinity=False),
)


def pair(real: float, group: str = "group") -> AnchorPair:
    return AnchorPair("task", group, "hash", predicted=0.5, real=real)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/new/folder/pairs.db"


def reals(stream: AnchorStream) -> list[float]:
    return [one.real for one in stream.read(0)[0]]


@settings(max_examples=60)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(0, 1), st.lists(pairs, max_size=3)),
            st.tuples(st.just("read"), st.integers(0, 1), st.integers(0, 2)),
            st.tuples(st.just("position"), st.integers(0, 1), st.integers(0, 20)),
        ),
        max_size=12,
    )
)
def test_any_interleaving_is_that_of_a_stream_in_memory(steps: list[tuple[str, int, object]]) -> None:
    with TemporaryDirectory() as folder:
        in_memory = AnchorStream()
        opened = [AnchorStream.open(f"sqlite:///{folder}/pairs.db") for _ in range(2)]
        cursors = [0, 0, 0]
        for step, which, argument in steps:
            if step == "append":
                in_memory.append(argument)  # type: ignore[arg-type]
                opened[which].append(argument)  # type: ignore[arg-type]
            elif step == "read":
                expected, after = in_memory.read(cursors[argument])  # type: ignore[call-overload]
                found, cursor = opened[which].read(cursors[argument])  # type: ignore[call-overload]
                assert (repr(found), cursor) == (repr(expected), after)  # repr, as -0.0 == 0.0
                cursors[argument] = cursor  # type: ignore[call-overload]
            else:
                assert opened[which].position(argument) == in_memory.position(argument)  # type: ignore[arg-type]
        assert len(opened[0]) == len(opened[1]) == len(in_memory)


def test_numbers_of_numpy_are_kept(url: str) -> None:
    stream = AnchorStream.open(url)
    stream.append([pair(np.float32(0.1))])  # type: ignore[arg-type]
    assert reals(stream) == [float(np.float32(0.1))]


def test_what_cannot_be_appended_leaves_no_part_behind(url: str) -> None:
    stream = AnchorStream.open(url)
    with pytest.raises(AttributeError, match="bytes"):
        stream.append([pair(0.1), AnchorPair(b"task", "group", "hash", 0.5, 0.5)])  # type: ignore[arg-type]
    assert len(stream) == 0


def participant(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, str(Path(__file__).with_name("participants.py")), *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def last_words(process: subprocess.Popen[str], told: str | None = None) -> str:
    said, _ = process.communicate(told, timeout=ENOUGH_S)
    assert process.returncode == 0
    return said.strip()


def test_many_writers_and_readers_give_the_map_of_one_process(url: str) -> None:
    readers = [participant("read", url, WRITERS * PAIRS) for _ in range(READERS)]
    writers = [participant("write", url, writer, PAIRS) for writer in range(WRITERS)]
    assert [last_words(writer) for writer in writers] == [""] * WRITERS
    learned = [last_words(reader) for reader in readers]

    pairs, cursor = AnchorStream.open(url).read(0)
    assert cursor == WRITERS * PAIRS
    for writer in range(WRITERS):
        assert [int(one.code_hash) for one in pairs if one.group == str(writer)] == list(range(PAIRS))
    assert all(len({one.group for one in pairs[i : i + 3]}) == 1 for i in range(0, cursor, 3))  # none came between
    alone = OnlineCalibrator(min_pairs=50, refit_every=7)
    learn(alone, pairs)
    assert alone.fitted
    assert learned == [told(alone)] * READERS


def test_two_trainings_learn_from_each_other(url: str, fake_task: ResearchTask) -> None:
    training = [participant("train", url, seed, fake_task.public_dir.parent) for seed in range(2)]
    own = [int(process.stdout.readline()) for process in training]  # type: ignore[union-attr]
    learned = [last_words(process, "go on\n") for process in training]

    pairs, cursor = AnchorStream.open(url).read(0)
    assert min(own) > 50 and sum(own) == cursor
    assert len({one.group for one in pairs}) > 2 and len({one.code_hash for one in pairs}) == cursor
    alone = OnlineCalibrator(min_pairs=50, refit_every=7)
    alone.update(np.array([one.predicted for one in pairs]), np.array([one.real for one in pairs]))
    assert learned == [told(alone)] * 2


def test_threads_share_a_stream(url: str) -> None:
    stream = AnchorStream.open(url)

    def write(writer: int) -> None:
        for number in range(50):
            stream.append([pair(number, f"{writer}")])

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(2)]
    for thread in threads:
        thread.start()
    seen: list[AnchorPair] = []
    cursor, deadline = 0, time.monotonic() + ENOUGH_S
    while cursor < 100 and time.monotonic() < deadline:
        found, cursor = stream.read(cursor)
        seen += found
    for thread in threads:
        thread.join()
    for writer in range(2):
        assert [one.real for one in seen if one.group == f"{writer}"] == list(range(50))


def test_a_pickled_stream_is_the_same_file_wherever_it_is_opened(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    stream = AnchorStream.open("sqlite:///pairs.db")
    stream.append([pair(0.1)])
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = pickle.loads(pickle.dumps(stream))
    again.append([pair(0.2)])
    assert reals(stream) == reals(again) == [0.1, 0.2]
    assert not list((tmp_path / "elsewhere").iterdir())


def _child(stream: AnchorStream, line: Connection) -> None:
    stream.append([pair(0.2)])
    line.send("one appended")
    line.recv()
    stream.append([pair(0.3)])


def test_a_fork_has_locks_of_its_own(url: str) -> None:
    """Where it has not, the parent thinks it is the last one and deletes the log that the child goes on writing."""
    stream = AnchorStream.open(url)
    stream.append([pair(0.1)])
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=_child, args=(stream, there))
    child.start()
    assert here.poll(ENOUGH_S) and here.recv() == "one appended"
    assert reals(stream) == [0.1, 0.2]
    stream._storage.close()  # type: ignore[attr-defined]
    here.send("go on")
    child.join(ENOUGH_S)
    assert child.exitcode == 0
    assert reals(stream) == [0.1, 0.2, 0.3]


def test_a_fork_waits_for_threads_that_write(url: str) -> None:
    stream = AnchorStream.open(url)
    ended = threading.Event()

    def write() -> None:
        while not ended.is_set():
            stream.append([pair(0.1)])

    thread = threading.Thread(target=write)
    thread.start()
    codes = []
    for _ in range(10):
        if (pid := os.fork()) == 0:
            code = 1
            try:
                stream.append([pair(0.2)])
                code = 0
            finally:
                os._exit(code)
        codes.append(os.waitpid(pid, 0)[1])
    ended.set()
    thread.join()
    assert codes == [0] * 10
    assert reals(stream).count(0.2) == 10


def _text(path: Path) -> None:
    path.write_text("no database at all " * 100)


def _foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE pairs (position INTEGER PRIMARY KEY, pair TEXT)")


def _newer(path: Path) -> None:
    AnchorStream.open(f"sqlite:///{path}")
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA user_version = 2")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (_text, "file is not a database; name a new file"),
        (_foreign, "database of something else, not an anchor stream; name a new file"),
        (_newer, "schema version 2, expected 1; name a new file"),
    ],
)
def test_other_files_are_refused_and_left_alone(tmp_path: Path, write: Callable[[Path], None], message: str) -> None:
    path = tmp_path / "pairs.db"
    write(path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=f"{path}.*{message}"):
        AnchorStream.open(f"sqlite:///{path}")
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_stream(tmp_path: Path) -> None:
    (tmp_path / "pairs.db").touch()
    assert len(AnchorStream.open(f"sqlite:///{tmp_path}/pairs.db")) == 0


def test_a_path_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "pairs.db"):
        with pytest.raises(OSError, match=f"{path} cannot be used as an anchor stream.*may write"):
            AnchorStream.open(f"sqlite:///{path}")


def test_damage_done_later_is_met_by_the_reader(url: str) -> None:
    stream = AnchorStream.open(url)
    stream.append([pair(0.1)] * 1000)
    stream._storage.close()  # type: ignore[attr-defined]
    path = Path(url.removeprefix("sqlite:///"))
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with pytest.raises(ValueError, match="malformed; name a new file"):
        stream.read(0)


def test_a_locked_file_is_waited_for_and_then_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_BUSY_S", 0.01)
    stream = AnchorStream.open(url)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OSError, match="database is locked"):
            stream.append([pair(0.1)])
        assert reals(stream) == []  # readers need not wait
        other.execute("ROLLBACK")
    stream.append([pair(0.2)])
    assert reals(stream) == [0.2]


def test_a_file_that_another_process_uses_in_another_mode_is_waited_for(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "_BUSY_S", 0.01)
    AnchorStream.open(url)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN")
        other.execute("SELECT * FROM pairs").fetchall()
        with pytest.raises(OSError, match="database is locked"):
            AnchorStream.open(url)
        other.execute("ROLLBACK")
    assert len(AnchorStream.open(url)) == 0


def test_a_reader_touches_only_what_is_new(url: str) -> None:
    AnchorStream.open(url)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database:
        for query, arguments in ((sqlite._SELECT, (7,)), (sqlite._SIZE, ())):
            plan = " ".join(row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {query}", arguments))
            assert "SEARCH pairs" in plan and "SCAN" not in plan and "TEMP B-TREE" not in plan
