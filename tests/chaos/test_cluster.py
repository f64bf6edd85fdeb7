"""The job runs unchanged on a cluster: by `joinery run --master`, and under `spark-submit`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis
from tests.chaos.world import World, assert_documents, make_world, write_project
from tests.session_run import run_to_end
from tests.spark.run_of_all_forms import PROJECT, feed, sent

from joinery.dev.redis import redis as redis_service
from joinery.dev.service import Service
from joinery.spark.jar import spark_home
from joinery.testing.cluster import Cluster, wait_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.chaos]

LIMIT_S = 600
SCRIPT = """\
import sys
import joinery as jn
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
jn.run(spark, jn.load("joinery.yaml"), once=True).await_termination()
assert spark.sparkContext.master.startswith("spark://")
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(seed=3)


def project(folder: Path, world: World) -> None:
    """Write a project whose state is kept in as many partitions as there are cores."""
    write_project(folder, world)
    file = folder / "joinery.yaml"
    few = 'spark: {spark.sql.shuffle.partitions: "2"}, max_rows_per_batch'
    file.write_text(file.read_text().replace("max_rows_per_batch", few))


def run(folder: Path, command: list[str]) -> str:
    done = ended(folder, command)
    assert done.returncode == 0, done.stderr[-20000:]
    return done.stdout


def ended(
    folder: Path, command: list[str], python: str = sys.executable
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env=environment(python),
    )


def running(folder: Path, command: list[str]) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, stdout=pipe, stderr=pipe, text=True, env=environment(sys.executable)
    )


def environment(python: str) -> dict[str, str]:
    return {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": python}


def joinery(cluster: Cluster) -> list[str]:
    return [sys.executable, "-m", "joinery.cli.main", "run", "--once", "--master", cluster.url]


def test_an_executor_that_is_killed_leaves_no_trace(
    tmp_path: Path, cluster: Cluster, world: World
) -> None:
    project(tmp_path, world)
    killed = threading.Event()

    def kill_one() -> None:
        commits = tmp_path / ".joinery/checkpoint/profile/commits/0"
        wait_for(commits.exists, "the first batch")
        os.kill(cluster.executors()[0].pid, signal.SIGKILL)
        killed.set()

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    run(tmp_path, joinery(cluster))

    assert killed.wait(1)
    assert_documents(tmp_path, world.documents())


STREAM = """\
streams:
  told:
    from: entry
    steps:
      - {lookup: wanted, on: {id: seq}, fields: [condition], on_change: re_emit, for: 7d}
    sink: {files: {path: out}}
"""


def test_all_forms_are_on_a_cluster_as_on_one_machine_though_an_executor_is_killed(
    tmp_path: Path, cluster: Cluster, spark: SparkSession
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for number in range(2):
        for folder in (here, there):
            feed(folder, number)
            (folder / "joinery.yaml").write_text(PROJECT + STREAM, encoding="utf-8")
        run_to_end(spark, here)
        if not number:
            run(there, joinery(cluster))
    commits = there / ".joinery/checkpoint/all/commits"
    with running(there, joinery(cluster)) as going:
        wait_for(lambda: (commits.parent / "offsets/1").exists(), "the second batch")
        executor = cluster.executors()[0]
        executor.kill()
        executor.wait()
        assert not (commits / "1").exists(), "it was killed after the second batch"
        _, errors = going.communicate(timeout=LIMIT_S)

    assert 0 == going.returncode, errors[-20000:]
    assert {"0", "1"} <= {each.name for each in commits.iterdir()}
    products = sorted(each.name for each in (here / "out").iterdir())
    assert 14 == len(products)
    assert [last(here, each) for each in products] == [last(there, each) for each in products]


def last(folder: Path, product: str) -> tuple[str, dict[str, str | None]]:
    """Return a product with its documents, as its sink has them in the end."""
    return product, {key: told[-1][1] for key, told in sent(folder, product).items()}


def test_the_job_runs_under_spark_submit(tmp_path: Path, cluster: Cluster, world: World) -> None:
    project(tmp_path, world)
    (tmp_path / "job.py").write_text(SCRIPT)

    submit = [str(spark_home() / "bin/spark-submit"), "--master", cluster.url]
    run(tmp_path, [*submit, "--conf", "spark.sql.shuffle.partitions=2", "job.py"])

    assert_documents(tmp_path, world.documents())


TO_REDIS = """\
sources: {{changes: {{files: {{path: data}}}}}}
defaults: {{source: changes, format: json}}
relations:
  customer: {{key: [id], fields: {{id: long, name: string}}}}
products:
  profile: {{root: customer, sink: {{redis: {{url: "{url}", parallel: tasks}}}}}}
"""


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with redis_service(tmp_path_factory.mktemp("redis")).started() as service:
        yield service


def customers(folder: Path, redis: Service) -> None:
    (folder / "joinery.yaml").write_text(TO_REDIS.format(url=redis.address))
    changes = folder / "data/customer/1.jsonl"
    changes.parent.mkdir(parents=True)
    changes.write_text("".join(f'{{"id": {each}, "name": "c{each}"}}\n' for each in range(100)))


def test_executors_write_and_state_has_a_partition_a_core(
    tmp_path: Path, cluster: Cluster, redis: Service
) -> None:
    customers(tmp_path, redis)

    lines: list[dict[str, Any]] = [
        json.loads(each) for each in run(tmp_path, joinery(cluster)).splitlines()
    ]

    (batch,) = (each for each in lines if each["event"] == "batch")
    assert {"profile": 0} == batch["through_driver"]
    assert 100 == batch["documents"]["profile"]["upserts"]
    started = next(each for each in lines if each["event"] == "started")
    assert {"profile": 2} == started["partitions"]
    with Redis.from_url(redis.address) as server:
        assert 100 == len(server.keys("profile:*"))


def test_executors_without_joinery_are_told_how_to_get_it(
    tmp_path: Path, cluster: Cluster, redis: Service
) -> None:
    customers(tmp_path, redis)

    refused = ended(tmp_path, joinery(cluster), python="/usr/bin/python3")

    assert 1 == refused.returncode
    assert "RUN_TASKS" in refused.stderr
    assert "venv-pack" in refused.stderr
