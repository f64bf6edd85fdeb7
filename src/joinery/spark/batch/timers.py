"""What a query has to do when a time comes, though nothing new does.

A query whose events wait for a time has to go on while nothing new comes. Spark runs a batch
without records whenever it is asked to, so such a query looks for work once a second at most.
It is asked only after another batch of the same start; so a query that starts and finds
nothing new is started again with a batch that reads nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from joinery.place.place import Place
from joinery.solutions.spark_state.document_program import (
    FanOut,
    Fold,
    Gather,
    Interval,
    Match,
    ToOne,
    Valid,
)
from joinery.solutions.spark_state.event_fold_program import EventFold
from joinery.solutions.spark_state.group_program import Closing, Cuts, Deadlines, Group
from joinery.solutions.spark_state.pattern_program import Pattern, Rule
from joinery.solutions.spark_state.program import (
    Inserts,
    KernelNode,
    KernelProgram,
    Removed,
    Retract,
    Root,
    Subjects,
    Versions,
)
from joinery.solutions.spark_state.search_program import Search
from joinery.solutions.spark_state.stream_program import (
    AsOf,
    Claim,
    CurrentLookup,
    MapEvents,
    PairEvents,
    Rolling,
    Seen,
)
from joinery.solutions.spark_state.versioning import History
from joinery.spark.recovery.checkpoint import begin_empty_batch, last_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

TICK_MS = 1000
_EMPTY_BATCHES = "spark.sql.streaming.noDataMicroBatches.enabled"


def has_timers(program: KernelProgram) -> bool:
    """Return whether a node of a program has something to do when a time comes."""
    return any(_has_timer(each) for each in program.nodes)


def has_deadlines(program: KernelProgram) -> bool:
    """Return whether a node of a program waits for the time of a log."""
    return any(isinstance(each, Closing | Deadlines) for each in program.nodes)


def _has_timer(node: KernelNode) -> bool:
    match node:
        case CurrentLookup():
            return node.miss == "wait" or node.every_micros > 0
        case AsOf():
            return node.idle_micros >= 0
        case Closing():
            return node.idles
        case EventFold():
            return node.waits_by_clock
        case (
            Retract()
            | Inserts()
            | Subjects()
            | ToOne()
            | Match()
            | FanOut()
            | Gather()
            | Interval()
            | Valid()
            | Versions()
            | Fold()
            | Root()
            | Group()
            | Cuts()
            | Deadlines()
            | History()
            | Search()
            | Pattern()
            | Rule()
            | Removed()
            | Claim()
            | MapEvents()
            | Rolling()
            | PairEvents()
            | Seen()
        ):
            return False


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
        check: Raises once another run has taken over.
    """

    def __init__(self, checkpoint: Place, check: Callable[[], None]) -> None:
        self._checkpoint, self._check = checkpoint, check
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
            begin_empty_batch(self._checkpoint, round(time.time() * 1000), self._check)
        self._last = None


def _waits(query: StreamingQuery) -> bool:
    status = query.status
    return not status["isTriggerActive"] and str(status["message"]).startswith("Waiting")
