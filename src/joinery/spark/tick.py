"""Lets a query whose events wait for a time go on while nothing new comes.

Spark then runs a batch without records whenever it is asked to, so such a query looks for
work once a second at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from joinery.solutions.spark_state.program import AsOf, Enrich, KernelProgram

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TICK_MS = 1000
_EMPTY_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"


def ticks(program: KernelProgram) -> bool:
    """Return whether a node of a program has something to do when a time comes."""
    return any(
        (isinstance(each, Enrich) and (each.miss == "wait" or each.every_micros > 0))
        or (isinstance(each, AsOf) and each.idle_micros >= 0)
        for each in program.nodes
    )


@contextmanager
def ticking(spark: SparkSession, wanted: bool) -> Iterator[None]:
    """Let the queries that are started within run batches without records, if `wanted`."""
    if not wanted:
        yield
        return
    before = spark.conf.get(_EMPTY_BATCHES)
    spark.conf.set(_EMPTY_BATCHES, "true")
    try:
        yield
    finally:
        spark.conf.set(_EMPTY_BATCHES, str(before))
