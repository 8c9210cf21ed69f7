"""The result cache: what is remembered, what never is, and for whom."""

import sqlite3
import threading

from hypothesis import given
from hypothesis import strategies as st

from wmrl_env.sandbox.cache import Result, ResultCache, result_key
from world_models.outcomes import Status

results = st.builds(
    Result,
    st.sampled_from([status for status in Status if status is not Status.UNGRADED]),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.floats(0, 1e6),
    st.text(st.characters(exclude_categories=["Cs"])),
)


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
