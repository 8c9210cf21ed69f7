import multiprocessing
import pickle
import threading
from collections.abc import Iterable

import pytest

from tests.world_models.recordings import recording, submission
from world_models.outcomes import Outcome, Status, Submission, ungraded
from world_models.store import Recorder, Transition, TransitionStore, load_transitions, split_of


def outcome(score: float = 0.75, source: str = "sandbox") -> Outcome:
    return Outcome(Status.VALID, score, "Status: VALID", 0.9, 1.5, source)  # type: ignore[arg-type]


def ordered(rows: Iterable[Transition]) -> list[Transition]:
    return sorted(rows, key=lambda row: (row.submission.task_id, row.submission.code))


def test_rows_come_back_as_they_went_in(tmp_path) -> None:
    rows = recording(20)
    with TransitionStore(tmp_path / "new" / "a.sqlite") as store:
        store.add([row.submission for row in rows], [row.outcome for row in rows])
        assert len(store) == 20
        assert ordered(store) == ordered(rows)
        assert ordered(load_transitions(tmp_path / "new" / "a.sqlite")) == ordered(rows)


def test_the_first_outcome_stays_and_only_an_unknown_one_gives_way() -> None:
    store, one = TransitionStore(":memory:"), submission("clean")
    store.add([one], [ungraded("lost", "sandbox")])
    assert not next(iter(store)).executed
    store.add([one, one], [outcome(0.75), outcome(0.5)])
    store.add([one], [ungraded("lost", "sandbox")])
    assert [row.outcome for row in store] == [outcome(0.75)]


def test_a_prediction_and_an_execution_are_two_rows_a_cached_execution_is_none() -> None:
    store, one = TransitionStore(":memory:"), submission("clean")
    store.add([one] * 3, [outcome(), outcome(source="cache"), outcome(0.6, "world_model")])
    assert sorted((row.outcome.source, row.executed) for row in store) == [("sandbox", True), ("world_model", False)]


def test_lone_surrogates_are_stored() -> None:
    store = TransitionStore(":memory:")
    store.add([Submission("t", "text", "x = '\ud800'")], [outcome()])
    assert next(iter(store)).submission.code == "x = '?'"


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="shorter"):
        TransitionStore(":memory:").add([submission("clean")] * 2, [outcome()])


def test_parquet_round_trip_is_deterministic(tmp_path) -> None:
    import pyarrow.parquet as pq

    rows = recording(60)
    for name, order in (("a", rows), ("b", rows[::-1])):
        store = TransitionStore(":memory:")
        store.add([row.submission for row in order], [row.outcome for row in order])
        store.to_parquet(tmp_path / f"{name}.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()
    assert ordered(load_transitions(tmp_path / "a.parquet")) == ordered(rows)
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.column("split").to_pylist() == [
        split_of(*pair) for pair in zip(*(table.column(name).to_pylist() for name in ("task_id", "code")), strict=True)
    ]


def test_damaged_and_missing_files_are_named(tmp_path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    for name in ("bad.sqlite", "bad.parquet"):
        (tmp_path / name).write_bytes(b"neither one nor the other" * 99)
        with pytest.raises(ValueError, match=name):
            load_transitions(tmp_path / name)
    pq.write_table(pa.table({"code": ["x"]}), tmp_path / "few.parquet")
    with pytest.raises(ValueError, match="lacks the columns"):
        load_transitions(tmp_path / "few.parquet")
    with pytest.raises(FileNotFoundError, match=r"none\.sqlite"):
        load_transitions(tmp_path / "none.sqlite")


def test_split_is_about_one_in_five_and_never_changes() -> None:
    parts = [split_of("t", f"x = {i}") for i in range(2000)]
    assert 0.17 < parts.count("test") / 2000 < 0.23
    assert parts[:8] == [split_of("t", f"x = {i}") for i in range(8)]
    assert Transition(Submission("t", "", "x = 0"), outcome()).split == parts[0]


def _batch(start: int) -> tuple[list[Submission], list[Outcome]]:
    return [Submission("t", "text", f"x = {i}") for i in range(start, start + 20)], [outcome()] * 20


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_several_processes_write_one_file(tmp_path, method) -> None:
    store = TransitionStore(tmp_path / "a.sqlite")
    context = multiprocessing.get_context(method)
    workers = [context.Process(target=TransitionStore.add, args=(store, *_batch(20 * i))) for i in range(2)]
    for worker in workers:
        worker.start()
    store.add(*_batch(40))
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert len(store) == 60


def test_several_threads_share_a_store() -> None:
    store = TransitionStore(":memory:")
    threads = [threading.Thread(target=store.add, args=_batch(20 * i)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store) == 60


def _fails_in_fork(store, queue) -> None:
    try:
        len(store)
    except RuntimeError as error:
        queue.put(str(error))


def test_a_store_in_memory_stays_in_its_process() -> None:
    store = TransitionStore(":memory:")
    with pytest.raises(TypeError, match="memory"):
        pickle.dumps(store)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=_fails_in_fork, args=(store, queue))
    process.start()
    assert "memory" in queue.get(timeout=60)
    process.join(60)


def test_recorder_passes_through_and_records() -> None:
    class Truth:
        def execute(self, submissions):
            return [outcome(0.6) for _ in submissions]

    store = TransitionStore(":memory:")
    rows = [submission("clean"), submission("holes")]
    assert Recorder(Truth(), store).execute(rows) == [outcome(0.6)] * 2
    assert {row.submission for row in store} == set(rows)


def test_a_recorder_is_like_what_it_records() -> None:
    class Truth:
        num_members = 3
        workers = 2

        def execute(self, submissions):
            return [outcome(0.6) for _ in submissions]

        def lookup(self, submissions):
            return [None for _ in submissions]

    recorder = Recorder(Truth(), TransitionStore(":memory:"))
    assert (recorder.num_members, recorder.workers, recorder.lookup(["x"])) == (3, 2, [None])
    assert not hasattr(recorder, "close")


def test_a_damaged_parquet_file_is_named(tmp_path) -> None:
    path = tmp_path / "rows.parquet"
    store = TransitionStore(":memory:")
    store.add([submission("clean")], [outcome(0.6)])
    store.to_parquet(path)
    whole = path.read_bytes()
    for damaged in (b"", b"PAR1", whole[:-40], whole[:40] + bytes(200) + whole[240:], b"x" * 500):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"rows\.parquet"):
            load_transitions(path)
    with pytest.raises(FileNotFoundError):
        TransitionStore.from_parquet(tmp_path / "nothing.parquet")
