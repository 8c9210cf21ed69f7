"""The sandbox over a Ray cluster of two nodes, one of which dies."""

from __future__ import annotations

import threading

import pytest
import ray
from ray.cluster_utils import Cluster

from tests.support import make_task_dir
from wmrl_env import tasks
from wmrl_env.sandbox import RaySandbox, Sandbox
from wmrl_env.tasks.task import ResearchTask
from world_models.outcomes import Status, Submission

WRITE = """
import csv, os, time
rows = list(csv.DictReader(open(os.path.join(os.environ["DATA_DIR"], "test.csv"))))
with open(os.environ["SUBMISSION_PATH"], "w") as file:
    file.write("row_id,y\\n" + "".join(f"{row['row_id']},{value}\\n" for row in rows))
"""


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    task = ResearchTask.from_directory(make_task_dir(tmp_path_factory.mktemp("ray") / "ray-toy"))
    tasks.register(task)
    return task


@pytest.fixture
def cluster():
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster, nodes
    ray.shutdown()
    cluster.shutdown()


def codes(count: int) -> list[str]:
    """Valid ones with different scores, failing ones, ones that take a moment."""
    kinds = [
        lambda i: f"value = {i / 100}\n{WRITE}",
        lambda i: f"raise ValueError({i})",
        lambda i: f"value = {i / 100}\n{WRITE}\ntime.sleep(0.2)",
        lambda i: f"x = {i}",
        lambda i: f"def f({i}:",
    ]
    return [kinds[i % len(kinds)](i) for i in range(count)]


def told(outcome):
    return outcome.status, outcome.score, outcome.metric_value, outcome.feedback.split("CPU seconds")[0]


def test_a_lost_node_loses_no_outcome_and_counts_none_twice(cluster, task, tmp_path):
    whole, nodes = cluster
    submissions = [Submission(task.id, task.text, code) for code in codes(60)]
    with Sandbox(2, "process", None, warm_start=True) as local:
        expected = [told(outcome) for outcome in local.execute(submissions)]
    with RaySandbox(2, "process", tmp_path / "results.sqlite", warm_start=True) as sandbox:
        assert sandbox.workers == 2
        threading.Timer(3.0, lambda: whole.remove_node(nodes[0], allow_graceful=False)).start()
        outcomes = sandbox.execute(submissions)
        assert [told(outcome) for outcome in outcomes] == expected
        assert sandbox.executions == 48  # those that cannot be compiled are not run
        again = sandbox.execute(submissions)
        assert sandbox.executions == 48 and {outcome.source for outcome in again if outcome.seconds} == {"cache"}
        assert {outcome.status for outcome in again} >= {Status.VALID, Status.RUNTIME_ERROR, Status.NO_SUBMISSION}


def test_bad_arguments():
    with pytest.raises(ValueError, match="cpus"):
        RaySandbox(cpus=0)
