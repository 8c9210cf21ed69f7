"""The result cache: what is remembered, what never is, and for whom."""

import sqlite3
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wmrl_env.sandbox.cache import Result, ResultCache, result_key
from world_models.outcomes import Status

rest = (st.floats(0, 1e6), st.text(st.characters(exclude_categories=["Cs"])))
failures = st.sampled_from([status for status in Status if status not in (Status.UNGRADED, Status.VALID)])
valid = st.tuples(st.just(Status.VALID), st.floats(allow_nan=False, allow_infinity=False), *rest)
results = (valid | st.tuples(failures, st.none(), *rest)).map(lambda fields: Result(*fields))


@given(result=results)
def test_a_result_comes_back_as_it_went_in(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("cache") / "deep" / "results.sqlite"
    cache = ResultCache(path)
    cache.put("key", result)
    assert cache.get(["key", "other"]) == {"key": result}
    cache.close()
    assert ResultCache(path).get(["key"]) == {"key": result}


def test_the_first_result_stays_and_an_unknown_one_is_never_kept(tmp_path):
    cache = ResultCache(tmp_path / "results.sqlite")
    first = Result(Status.VALID, 0.5, 1.0, "")
    cache.put("key", first)
    cache.put("key", Result(Status.TIMEOUT, None, 9.0, ""))
    cache.put("lost", Result(Status.UNGRADED, None, 0.0, "gone"))
    assert cache.get(["key", "lost"]) == {"key": first}


def test_threads_and_handles_share_one_file(tmp_path):
    caches = [ResultCache(tmp_path / "results.sqlite") for _ in range(3)]

    def fill(cache, start):
        for i in range(start, start + 50):
            cache.put(str(i), Result(Status.VALID, float(i), 1.0, ""))

    threads = [threading.Thread(target=fill, args=(cache, 50 * i)) for i, cache in enumerate(caches * 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = caches[0].get([str(i) for i in range(1000)])
    assert len(found) == 300 and all(result.metric_value == float(key) for key, result in found.items())
    assert sqlite3.connect(tmp_path / "results.sqlite").execute("PRAGMA integrity_check").fetchone() == ("ok",)


@given(codes=st.lists(st.text(st.characters()), min_size=2, max_size=2, unique=True))
def test_keys_differ_with_code_and_task_even_for_lone_surrogates(codes):
    one, other = codes
    assert result_key("task", one) != result_key("task", other)
    assert result_key("task", one) != result_key("other task", one)
    assert result_key("task", one) == result_key("task", one)


def test_the_oldest_results_go_first(tmp_path):
    cache = ResultCache(tmp_path / "results.sqlite", max_mb=1.0)
    for i in range(600):
        cache.put(f"{i:04}", Result(Status.RUNTIME_ERROR, None, 1.0, "x" * 4000))
    assert cache.size_mb < 2.5  # it looks every 256 results
    assert cache.get(["0000"]) == {} and cache.get(["0599"])
    kept = len(cache)
    assert cache.prune(0.5) == kept - len(cache) > 0 and cache.size_mb <= 0.5
    assert cache.get(["0599"])
    assert cache.clear() > 0 and len(cache) == 0


def test_results_of_an_earlier_version_are_read_and_go_first(tmp_path):
    old = sqlite3.connect(tmp_path / "results.sqlite")
    old.execute(
        "CREATE TABLE results (key TEXT PRIMARY KEY, status TEXT, metric_value REAL, seconds REAL, detail TEXT)"
    )
    old.execute("INSERT INTO results VALUES ('old', 'VALID', 0.5, 1.0, ?)", ("x" * 100_000,))
    old.commit()
    old.close()
    cache = ResultCache(tmp_path / "results.sqlite")
    assert cache.get(["old"])["old"].metric_value == 0.5
    cache.put("new", Result(Status.VALID, 0.7, 1.0, ""))
    cache.prune(0.1)
    assert cache.get(["old", "new"]).keys() == {"new"}


def test_a_damaged_file_is_set_aside(tmp_path, caplog):
    path = tmp_path / "results.sqlite"
    path.write_bytes(b"no database" * 500)
    cache = ResultCache(path)
    cache.put("key", Result(Status.VALID, 0.5, 1.0, ""))
    assert len(cache) == 1 and "damaged" in caplog.text
    assert list(tmp_path.glob("results.sqlite.damaged-*"))
    with pytest.raises(ValueError, match="max_mb"):
        ResultCache(path, max_mb=0)


def test_what_was_put_survives_a_kill(tmp_path):
    script = f"""
import itertools
from wmrl_env.sandbox.cache import Result, ResultCache
from world_models.outcomes import Status
cache = ResultCache({str(tmp_path / "results.sqlite")!r})
for i in itertools.count():
    cache.put(str(i), Result(Status.VALID, float(i), 1.0, ""))
    print(i, flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        last = next(line for line in process.stdout if int(line) >= 200)
        process.kill()
        rest = process.stdout.read().split()
    told = int((rest or [last])[-1])
    cache = ResultCache(tmp_path / "results.sqlite")
    found = cache.get([str(i) for i in range(told + 1)])
    assert len(found) == told + 1 and all(result.metric_value == float(key) for key, result in found.items())


def test_a_result_that_makes_no_sense_is_forgotten(tmp_path):
    path = tmp_path / "results.sqlite"
    cache = ResultCache(path)
    for status, metric in (("NOPE", 0.5), ("VALID", None), ("TIMEOUT", 0.5), (None, None)):
        cache.put("key", Result(Status.VALID, 0.5, 1.0, ""))
        with sqlite3.connect(path) as database:
            database.execute("UPDATE results SET status = ?, metric_value = ?", (status, metric))
        assert cache.get(["key"]) == {} and len(cache) == 0


def test_what_cannot_be_read_or_written_costs_no_outcome(tmp_path, caplog):
    cache = ResultCache(tmp_path / "results.sqlite")
    cache._connection.execute("PRAGMA query_only = 1")  # as on a full disk
    cache.put("key", Result(Status.VALID, 0.5, 1.0, ""))
    assert "could not be written" in caplog.text and cache.get(["key"]) == {}
    cache._connection.execute("PRAGMA query_only = 0")
    cache._connection.execute("DROP TABLE results")
    assert cache.get(["key"]) == {} and "could not be read" in caplog.text
    with pytest.raises(OSError, match="cannot be opened"):
        ResultCache(tmp_path)
