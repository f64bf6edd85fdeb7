"""Watches the queries of a run: ends those that are to end, begins again what an outage ended.

Invariant: when one query fails, the others end after the batch that is under way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from joinery.errors import JoineryError
from joinery.spark.batch.progress import ProgressBoard
from joinery.spark.batch.query import BatchRefusedError, QueryRun
from joinery.spark.batch.tick import Overdue
from joinery.spark.real_time.run import RealTimeRun
from joinery.spark.recovery.attempt import QueryFailedError, died, failed_query, spark_died
from joinery.spark.recovery.outage import outage_of
from joinery.spark.source.files import FileWatch
from joinery.spark.source.kafka_client import KafkaUnreachableError
from joinery.spark.source.kafka_watch import KafkaWatch

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK_EVERY_S = 1.0


class Watch:
    """The queries of one run, all started.

    Args:
        queries: The queries.
        start: Starts one, now and after an outage.
        real_time: The real-time side of the run, if it has one; an outage ends it.
        board: Told of what is waited for.
        topics: Tells what the sources of a query have lost for good; closed with this.
        files: Compares change files with what was read of them; closed with this.
        overdue: By query, what came due before it was started, where something can.

    Attributes:
        error: Why the run failed, once it has.
    """

    def __init__(
        self,
        queries: Sequence[QueryRun],
        start: Callable[[QueryRun], StreamingQuery],
        real_time: RealTimeRun | None,
        board: ProgressBoard,
        topics: KafkaWatch,
        files: FileWatch,
        overdue: Mapping[str, Overdue],
    ) -> None:
        self._overdue = overdue
        self._topics = topics
        self._files = files
        self._queries = queries
        self._start = start
        self._real_time = real_time
        self._board = board
        self._outages = {each.name: outage_of(each.name, board.wait) for each in queries}
        self._active: dict[str, StreamingQuery] = {}
        self._caught_up = False
        self._looked_at = 0.0
        self.error: JoineryError | None = None

    def begin(self) -> None:
        """Start all queries, or none."""
        try:
            for query in self._queries:
                self._active[query.name] = self._start(query)
        except BaseException:
            for active in self._active.values():
                active.stop()
            raise

    def close(self) -> None:
        """Look after nothing any more."""
        self._topics.close()
        self._files.close()

    def request_stop(self) -> None:
        """Ask all queries to end after the batch that is under way; returns at once."""
        for query in self._queries:
            query.ending.set()

    def broke_off(self, error: Exception) -> None:
        """Note that the watch itself failed, as it does when Spark's process died."""
        if isinstance(error, JoineryError):
            self.error = self.error or error
        elif spark_died(error):
            for query in self._queries:
                query.died()
            failed = (each.died_of for each in self._queries)
            self.error = self.error or died(next((why for why in failed if why), ""))
        else:
            self.error = self.error or QueryFailedError(f"the run ended: {error}")

    @property
    def caught_up(self) -> bool:
        """Whether no query has anything left to read; asked of Spark once a second."""
        if self._real_time is None and time.monotonic() >= self._looked_at + _LOOK_EVERY_S:
            self._looked_at = time.monotonic()
            self._caught_up = all(map(_has_read_all, self._active.values()))
        return self._caught_up

    def running(self) -> bool:
        """Look after every query once; return whether one still runs or is waited for."""
        running = [query for query in self._queries if self._still_running(query)]
        return bool(running)

    def _still_running(self, query: QueryRun) -> bool:
        active = self._active[query.name]
        if (lost := self._topics.found(query.name)) is not None:
            self._fail(lost)
        if active.isActive:
            self._outages[query.name].seen(self._topics.unreachable(query.name))
            if query.lease.lost or (query.ending.is_set() and self._may_stop(query, active)):
                active.stop()
            elif self._lies(query, active):
                active.stop()
                self._begin_overdue(query)
            return True
        failure = query.lease.lost or query.failure or active.exception()
        if failure is not None and not isinstance(failure, BatchRefusedError):
            if self._waits(query, failure):
                return not query.ending.is_set() and self._begin_again(query)
            self._fail(failed_query(query.name, failure))
        elif self._real_time and not query.ending.is_set():
            following = self._real_time.after(query.name, active)
            if following is not None:
                self._active[query.name] = following
            return following is not None
        elif self._lies(query, active) and not query.ending.is_set():
            self._begin_overdue(query)
            return True
        return False

    def _lies(self, query: QueryRun, active: StreamingQuery) -> bool:
        """Return whether something may be due that only a batch without records sends."""
        overdue = self._overdue.get(query.name)
        return overdue is not None and overdue.lies(active)

    def _begin_overdue(self, query: QueryRun) -> None:
        self._overdue[query.name].begin_batch()
        try:
            self._active[query.name] = self._start(query)
        except KafkaUnreachableError as error:
            query.failure = error  # an outage, which is waited for

    def _waits(self, query: QueryRun, failure: Exception) -> bool:
        """Return whether a query ended by an outage of its sources, which is waited for."""
        latest = self._board.progress.latest.get(query.name)
        if self._real_time is not None or query.lease.lost:
            return False
        return self._outages[query.name].may_wait(failure, latest.batch_id if latest else None)

    def _begin_again(self, query: QueryRun) -> bool:
        """Start a query again that an outage ended; return whether it runs, or still waits."""
        outage = self._outages[query.name]
        if not outage.due():
            return True
        try:
            started = self._start(query)
        except KafkaUnreachableError as error:
            outage.note(error)
            return True
        except JoineryError as error:
            self._fail(error)
            return False
        query.failure = None
        self._active[query.name] = started
        self._topics.reached(query.name)
        outage.over()
        return True

    def _fail(self, error: JoineryError) -> None:
        self.error = self.error or error
        self.request_stop()

    def _may_stop(self, query: QueryRun, active: StreamingQuery) -> bool:
        """True between two batches; real-time mode has no such moment."""
        live = self._real_time is not None and self._real_time.live(query.name)
        return live or _idle(active)


def _idle(active: StreamingQuery) -> bool:
    """Return whether a query is between batches; while it looks for data, it is."""
    status: Mapping[str, Any] = active.status
    return not status["isTriggerActive"] or str(status["message"]).startswith("Getting offsets")


def _has_read_all(active: StreamingQuery) -> bool:
    """Return whether a query found nothing new when it last looked."""
    status: Mapping[str, Any] = active.status
    return not status["isDataAvailable"] and str(status["message"]).startswith("Waiting for")
