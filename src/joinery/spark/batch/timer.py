"""Lets a query whose events wait for a time go on while nothing new comes.

Spark then runs a batch without records whenever it is asked to, so such a query looks for
work once a second at most. It is asked only after another batch of the same start; so a
query that starts and finds nothing new is begun again with a batch that reads nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.solutions.spark_state.program import AsOf, CurrentLookup, KernelProgram
from joinery.spark.recovery.checkpoint import begin_empty_batch, last_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

TICK_MS = 1000
_EMPTY_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"


def has_timers(program: KernelProgram) -> bool:
    """Return whether a node of a program has something to do when a time comes."""
    return any(
        (isinstance(each, CurrentLookup) and (each.miss == "wait" or each.every_micros > 0))
        or (isinstance(each, AsOf) and each.idle_micros >= 0)
        for each in program.nodes
    )


@contextmanager
def running_timers(spark: SparkSession, wanted: bool) -> Iterator[None]:
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


class OverdueTimers:
    """What came due while a query did not run, and is missed until it has run one batch.

    Args:
        checkpoint: The query's, before it is started.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._checkpoint = checkpoint
        self._last, _ = last_batch(checkpoint)

    def missed(self, query: StreamingQuery) -> bool:
        """Return whether a query, between two batches or ended well, has found nothing new."""
        if self._last is None or (query.isActive and not _waits(query)):
            return False
        if last_batch(self._checkpoint) != (self._last, True):
            self._last = None
        return self._last is not None

    def begin_batch(self) -> None:
        """Have a stopped query whose timers were missed run a batch when it starts."""
        if last_batch(self._checkpoint) == (self._last, True):
            begin_empty_batch(self._checkpoint, round(time.time() * 1000))
        self._last = None


def _waits(query: StreamingQuery) -> bool:
    status = query.status
    return not status["isTriggerActive"] and str(status["message"]).startswith("Waiting")
