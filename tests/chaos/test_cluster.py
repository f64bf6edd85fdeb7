"""The job runs unchanged on a cluster: by `joinery run --master`, and under `spark-submit`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import psutil
import pytest
from tests.chaos.world import World, assert_documents, make_world, write_project

from joinery.dev.process import free_port
from joinery.spark.jar import spark_home

pytestmark = [pytest.mark.services, pytest.mark.chaos]

LIMIT_S = 600
EXECUTOR = "CoarseGrainedExecutorBackend"
SCRIPT = """\
import sys
import joinery as jn
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
jn.run(spark, jn.load("joinery.yaml"), once=True).await_termination()
assert spark.sparkContext.master.startswith("spark://")
"""


class Cluster:
    """A standalone master and two workers, each with one core."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running = ExitStack()
        self.url = f"spark://127.0.0.1:{free_port()}"
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        port = self.url.rpartition(":")[2]
        self._start("master", "deploy.master.Master", "--port", port, "--webui-port", "0")
        wait_for(lambda: "I have been elected leader" in self._log("master"), "the master")
        for index in range(2):
            self.workers.append(self._worker(index))
        wait_for(lambda: self._log("master").count("Registering worker") == 2, "the workers")
        return self

    def __exit__(self, *failure: object) -> None:
        self._running.close()

    def executors(self) -> list[psutil.Process]:
        """Return the processes that run tasks."""
        return [
            child
            for worker in self.workers
            for child in psutil.Process(worker.pid).children(recursive=True)
            if any(EXECUTOR in part for part in child.cmdline())
        ]

    def _worker(self, index: int) -> subprocess.Popen[bytes]:
        options = ["--cores", "1", "--memory", "1500m", "--webui-port", "0"]
        work = str(self._folder / f"work{index}")
        return self._start(
            f"worker{index}", "deploy.worker.Worker", *options, "--work-dir", work, self.url
        )

    def _start(self, name: str, kind: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = self._running.enter_context((self._folder / f"{name}.log").open("wb"))
        command = [str(spark_home() / "bin/spark-class"), f"org.apache.spark.{kind}"]
        started = subprocess.Popen(
            [*command, "--host", "127.0.0.1", *arguments],
            stdout=log,
            stderr=log,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
            start_new_session=True,
        )
        self._running.callback(stop, started)
        return started

    def _log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text(errors="replace")


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(30)


def wait_for(condition: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < until, f"{what} did not come up"
        time.sleep(0.1)


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


def run(folder: Path, command: list[str]) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr[-20000:]


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


def test_the_job_runs_under_spark_submit(tmp_path: Path, cluster: Cluster, world: World) -> None:
    project(tmp_path, world)
    (tmp_path / "job.py").write_text(SCRIPT)

    submit = [str(spark_home() / "bin/spark-submit"), "--master", cluster.url]
    run(tmp_path, [*submit, "--conf", "spark.sql.shuffle.partitions=2", "job.py"])

    assert_documents(tmp_path, world.documents())
