"""Streams in a Ray cluster: shared by its drivers and workers."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

from wmrl_env.correction import AnchorPair, AnchorStream
from wmrl_env.correction.storages.ray import NAMESPACE

URL = "ray://test-anchors"


def pair(real: float) -> AnchorPair:
    return AnchorPair("task", "group", "hash", 0.5, real, (-0.0, 0.1), "ridge", ("a", "b"), 2.5)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster.address
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def stream(address: str) -> Iterator[AnchorStream]:
    yield AnchorStream.open(URL)
    ray.kill(ray.get_actor("test-anchors", namespace=NAMESPACE))


def test_workers_and_other_drivers_share_the_stream(
    stream: AnchorStream, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert stream.read(0) == ([], 0)
    monkeypatch.setenv("RAY_ADDRESS", address)
    script = Path(__file__).with_name("participants.py")
    driver = subprocess.Popen([sys.executable, str(script), "write", URL, "0", "60"])
    append = ray.remote(AnchorStream.append)
    ray.get([append.remote(stream, [pair(number), pair(number)]) for number in range(20)])
    assert driver.wait(120) == 0

    pairs, cursor = stream.read(0)
    assert cursor == len(stream) == stream.position(1000) == 100
    assert [one.code_hash for one in pairs if one.group == "0"] == [str(number) for number in range(60)]
    of_workers = [one for one in pairs if one.group == "group"]
    assert of_workers[::2] == of_workers[1::2]
    assert sorted(map(repr, of_workers[::2])) == sorted(repr(pair(number)) for number in range(20))
    assert stream.read(cursor) == ([], 100)


def test_a_pickled_stream_is_the_same(stream: AnchorStream) -> None:
    stream.append([pair(0.1)])
    again = pickle.loads(pickle.dumps(stream))
    again.append([pair(0.2)])
    assert [one.real for one in stream.read(0)[0]] == [0.1, 0.2]


def test_a_stream_outlives_its_connection(stream: AnchorStream, address: str) -> None:
    stream.append([pair(0.1)])
    ray.shutdown()
    ray.init(address=address, log_to_driver=False)
    assert len(stream) == 1


def _refused_in_fork(stream: AnchorStream) -> None:
    with pytest.raises(RuntimeError, match="before a fork"):
        len(stream)


def test_a_fork_is_refused_rather_than_left_waiting(stream: AnchorStream) -> None:
    child = multiprocessing.get_context("fork").Process(target=_refused_in_fork, args=(stream,))
    child.start()
    child.join(60)
    assert child.exitcode == 0


def test_a_lost_actor_is_named(address: str) -> None:
    stream = AnchorStream.open("ray://test-lost")
    ray.kill(ray.get_actor("test-lost", namespace=NAMESPACE))
    with pytest.raises(ConnectionError, match="'ray://test-lost' is lost"):
        stream.read(0)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'wmrl\[ray\]'"):
        AnchorStream.open(URL)


def test_a_missing_cluster_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**kwargs: object) -> None:
        raise ConnectionError("nobody is there")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", init)
    with pytest.raises(ConnectionError, match="finds no cluster: nobody is there; begin one by `ray start --head`"):
        AnchorStream.open(URL)
