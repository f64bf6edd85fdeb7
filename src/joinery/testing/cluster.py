"""A standalone cluster of Spark on this machine, for tests and measurements."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import psutil

from joinery.dev.port import free_port
from joinery.spark.jar import spark_home

_EXECUTOR = "CoarseGrainedExecutorBackend"
_UP_S = 600.0


class Cluster:
    """A master and its workers, started and ended as a context.

    Args:
        folder: Takes their logs and what executors write.
        workers: How many, each with one core.

    Attributes:
        url: Of the master.
        workers: The processes of the workers.
    """

    def __init__(self, folder: Path, *, workers: int = 2) -> None:
        self._folder = folder
        self._wanted = workers
        self._running = ExitStack()
        self.url = f"spark://127.0.0.1:{free_port()}"
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            port = self.url.rpartition(":")[2]
            self._start("master", "deploy.master.Master", "--port", port, "--webui-port", "0")
            wait_for(lambda: "I have been elected leader" in self._log("master"), "the master")
            self.workers = [self._worker(each) for each in range(self._wanted)]
            registered = "Registering worker"
            wait_for(lambda: self._log("master").count(registered) == self._wanted, "the workers")
        except BaseException:
            self._running.close()
            raise
        return self

    def __exit__(self, *failure: object) -> None:
        self._running.close()

    def executors(self) -> list[psutil.Process]:
        """Return the processes that run tasks."""
        return [
            child
            for worker in self.workers
            for child in psutil.Process(worker.pid).children(recursive=True)
            if _runs_tasks(child)
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
        self._running.callback(_stop, started)
        return started

    def _log(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text(errors="replace")


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until something of a cluster is there."""
    until = time.monotonic() + _UP_S
    while not condition():
        assert time.monotonic() < until, f"{what} did not come up"
        time.sleep(0.1)


def _runs_tasks(process: psutil.Process) -> bool:
    try:
        return any(_EXECUTOR in part for part in process.cmdline())
    except psutil.Error:  # it has just ended
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(30)
