"""Runs in the session of all tests, such as after one that was killed: no other Java starts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import joinery as jn
from joinery.spark.batch.run import Run, RunOptions
from joinery.spark.launch import RUN_SETTINGS
from joinery.spark.session import clone_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LIMIT_S = 600


def run_to_end(spark: SparkSession, folder: Path, *, solution: str | None = None) -> None:
    """Run the project in a folder over what is left to read, as `joinery run --once` does."""
    run = jn.run(spark, jn.load(folder / "joinery.yaml"), solution=solution, once=True)
    assert run.await_termination(LIMIT_S), "it takes too long"


def rebuild_in_bulk(spark: SparkSession, folder: Path) -> None:
    """Rebuild the project in a folder as `joinery run --bootstrap-from database` begins."""
    project = jn.load(folder / "joinery.yaml")
    run = Run(project.spec, project.plan, RunOptions(once=True, rebuild=True, bulk=True))
    run.prepare()
    run.start(clone_session(spark, RUN_SETTINGS))
    assert run.await_termination(LIMIT_S), "it takes too long"


@contextmanager
def going(spark: SparkSession, folder: Path) -> Iterator[Run]:
    """Keep the project in a folder running for the length of a block, and end it well."""
    run = jn.run(spark, jn.load(folder / "joinery.yaml"))
    try:
        yield run
    finally:
        run.stop()


def until(condition: Callable[[], bool], running: Run) -> None:
    """Wait for a condition while a run goes on."""
    deadline = time.monotonic() + 300
    while not condition():
        assert not running.await_termination(0.05)
        assert time.monotonic() < deadline
