"""Runs in the session of all tests, such as after one that was killed: no other Java starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import joinery as jn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from joinery.spark.batch.run import Run

LIMIT_S = 600


def run_to_end(spark: SparkSession, folder: Path, *, solution: str | None = None) -> None:
    """Run the project in a folder over what is left to read, as `joinery run --once` does."""
    run = jn.run(spark, jn.load(folder / "joinery.yaml"), solution=solution, once=True)
    assert run.await_termination(LIMIT_S), "it takes too long"


@contextmanager
def going(spark: SparkSession, folder: Path) -> Iterator[Run]:
    """Keep the project in a folder running for the length of a block, and end it well."""
    run = jn.run(spark, jn.load(folder / "joinery.yaml"))
    try:
        yield run
    finally:
        run.stop()
