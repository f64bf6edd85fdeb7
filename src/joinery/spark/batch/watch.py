"""Watches the queries of a run: ends those that are to end, restarts what an outage ended.

Only an outage of brokers is waited for, and by `--wait` not forever. What a query had
committed stays, and it goes on there; one that ends again and again without a batch between
is given up.

Invariant: when one query fails, the others end after the batch that is under way.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from joinery.errors import JoineryError, RunError
from joinery.model.progress import Progress, Waiting
from joinery.project.quantity import duration_text
from joinery.spark.batch.ending import LogsEnded
from joinery.spark.batch.frontiers import Frontiers
from joinery.spark.batch.outage import is_interrupt, outage_of
from joinery.spark.batch.pause import Pauses, paused_warning
from joinery.spark.batch.progress import ProgressBoard
from joinery.spark.batch.query import BatchRefusedError, BatchUnfinishedError, QueryRun
from joinery.spark.batch.query_states import Ask
from joinery.spark.batch.stopping import stop_query
from joinery.spark.batch.timers import OverdueTimers
from joinery.spark.real_time.run import RealTimeRun
from joinery.spark.recovery.attempt import (
    QueryFailedError,
    died,
    failed_query,
    spark_died,
    stopped_query,
)
from joinery.spark.source.file_watch import FileWatch
from joinery.spark.source.kafka_client import KafkaUnreachableError
from joinery.spark.source.kafka_watch import KafkaWatch
from joinery.spark.source.registry_watch import RegistryWatch

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

log = logging.getLogger("joinery.run")


class Watch:
    """The queries of one run.

    Args:
        queries: The queries.
        start: Starts one again after an outage.
        states: Tells which are active, and have read all.
        real_time: The real-time side of the run, if it has one; an outage ends it.
        board: Notified of what is waited for.
        topics: Tells what the sources of a query have lost for good; closed with this.
        files: Compares change files with what was read of them; closed with this.
        frontiers: Follows how far they have come; closed with this.
        registries: Tells which schema registries are waited for.
        overdue: By query, what came due before it was started, where something can.
        ended: By query, the end of its logs, where the run is to close what is open then.
        pauses: Tells which queries somebody paused; those of real time rest until they go on, and
            are not paused after that.

    Attributes:
        error: Why the run failed, once it has.
    """

    def __init__(
        self,
        queries: Sequence[QueryRun],
        start: Callable[[QueryRun], StreamingQuery],
        states: Ask,
        real_time: RealTimeRun | None,
        board: ProgressBoard,
        topics: KafkaWatch,
        files: FileWatch,
        frontiers: Frontiers,
        registries: RegistryWatch,
        overdue: Mapping[str, OverdueTimers],
        ended: Mapping[str, LogsEnded],
        pauses: Pauses,
    ) -> None:
        self._pauses = pauses
        self._overdue = overdue
        self._ended = ended
        self._topics = topics
        self._files = files
        self._frontiers = frontiers
        self._registries = registries
        self._queries = queries
        self._start = start
        self._states = states
        self._real_time = real_time
        self._board = board
        self._outages = {each.name: outage_of(each.name, board.wait) for each in queries}
        self._active: dict[str, StreamingQuery] = {}
        self._found: Mapping[str, bool] = {}
        self.error: JoineryError | None = None

    def begin(self, started: Mapping[str, StreamingQuery]) -> None:
        """Watch all queries from now on, as they were started."""
        self._active.update(started)

    def begins_paused(self, query: QueryRun) -> bool:
        """Return whether a query is not to be started with the others; warn of it."""
        if (asked := self._pauses.asked(query.name)) is None:
            return False
        self._pauses.rest(query)
        self._board.warn(paused_warning(query, asked))
        return True

    @property
    def paused(self) -> frozenset[str]:
        """The queries that stand still because somebody paused them."""
        return self._pauses.resting

    def close(self) -> None:
        """Look after nothing any more."""
        self._topics.close()
        self._files.close()
        self._frontiers.close()

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
    def caught_up(self) -> Mapping[str, bool]:
        """By query, whether it had nothing left to read when `running` last asked Spark.

        Empty in real-time mode, where Spark does not tell.
        """
        if self._real_time is not None:
            return {}
        return {name: self._found.get(name, False) for name in self._active}

    def running(self) -> bool:
        """Look after every query once; return whether one still runs or is waited for."""
        self._registries.look()
        found = self._found = self._states(self._active)
        running = [each for each in self._queries if self._still_running(each, each.name in found)]
        return bool(running)

    def _still_running(self, query: QueryRun, is_active: bool) -> bool:
        if (lost := self._topics.found(query.name)) is not None:
            self._fail(lost)
        if query.name in self._pauses.resting:
            return self._still_resting(query)
        active = self._active[query.name]
        if self._real_time is None:  # which is never paused once it has begun
            self._pauses.heed(query)
        query.repair()
        if is_active:
            self._outages[query.name].seen(self._topics.unreachable(query.name))
            leaves = query.ending.is_set() or query.pausing.is_set()
            if query.lease.lost or (leaves and self._may_stop(query, active)):
                stop_query(active)
            elif self._missed_timers(query, active):
                stop_query(active)
                self._begin_overdue(query)
            elif self._has_built(query) and self._may_stop(query, active):
                stop_query(active)
                self._start_again(query)
            return True
        failure = query.lease.lost or query.failure or active.exception()
        leaves = query.ending.is_set() or query.pausing.is_set()
        if failure is not None and leaves and is_interrupt(failure):
            failure = None
        if query.pausing.is_set() and (failure is None or isinstance(failure, BatchRefusedError)):
            del self._active[query.name]
            self._pauses.rest(query)
            return self._still_resting(query)
        if failure is not None and not isinstance(failure, BatchRefusedError):
            if self._waits(query, failure):
                return not query.ending.is_set() and self._begin_again(query)
            self._fail(failed_query(query.name, failure))
        elif self._real_time and not query.ending.is_set():
            return self._goes_on(self._real_time, query)
        elif self._missed_timers(query, active) and not query.ending.is_set():
            self._begin_overdue(query)
            return True
        elif query.name in self._ended and not query.ending.is_set():
            return self._end_logs(query)
        return False

    def close_live(self) -> None:
        """End what sends in real time; a target that is away keeps it from sending the last."""
        if self._real_time is None:
            return
        self._real_time.close()
        for query in self._queries:
            if isinstance(query.failure, BatchUnfinishedError):
                self._fail(query.failure)

    def _goes_on(self, real_time: RealTimeRun, query: QueryRun) -> bool:
        """Start what follows on a pass of batches of real time; return whether it could."""
        try:
            following = real_time.after(query.name)
        except Exception as error:
            if spark_died(error):
                raise
            self._fail(failed_query(query.name, error))
            return False
        if following is None:  # It never ends by itself.
            self._fail(stopped_query(query.name))
            return False
        self._active[query.name] = following
        return True

    def _still_resting(self, query: QueryRun) -> bool:
        """Look after a paused query; start it once it is to go on."""
        if query.lease.lost is not None:
            self._fail(failed_query(query.name, query.lease.lost))
            return False
        if query.ending.is_set():
            return False
        query.repair()
        if self._pauses.asked(query.name) is not None:
            return not self._pauses.ends
        if not self._outages[query.name].due():
            return True
        query.failure = None
        query.pausing.clear()
        try:
            self._active[query.name] = self._start(query)
        except KafkaUnreachableError as error:
            self._outages[query.name].note(error)
            return True
        except JoineryError as error:
            self._fail(error)
            return False
        self._outages[query.name].seen(None)
        self._pauses.end(query)
        return True

    def _end_logs(self, query: QueryRun) -> bool:
        """Start a query that has read its logs for what is open then; return whether there is."""
        if not self._ended[query.name].begin_batch():
            return False
        self._start_again(query)
        return True

    def _has_built(self, query: QueryRun) -> bool:
        """Return whether the batch is through that builds what joined a query."""
        latest = self._board.progress.latest.get(query.name)
        return (
            query.built_in is not None and latest is not None and latest.batch_id >= query.built_in
        )

    def _missed_timers(self, query: QueryRun, active: StreamingQuery) -> bool:
        """Return whether something may be due that only a batch without records sends."""
        overdue = self._overdue.get(query.name)
        return overdue is not None and overdue.missed(active)

    def _begin_overdue(self, query: QueryRun) -> None:
        self._overdue[query.name].begin_batch()
        self._start_again(query)

    def _start_again(self, query: QueryRun) -> None:
        """Start a query again; a batch that began as it was stopped, and broke off, runs again."""
        if not query.ending.is_set():
            query.failure = None
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


_LOOK_S = 0.2


class WaitedTooLongError(RunError):
    """What a run waited for did not come back in the time that it was given."""

    code = "RUN_WAIT"


class WaitLimit:
    """Bounds how long a run waits for any one thing, from a thread of its own.

    Args:
        limit_ms: The longest wait.
        progress: Tells what is waited for.
        give_up: Called once, with the error that ends the run.
    """

    def __init__(
        self,
        limit_ms: int,
        progress: Callable[[], Progress],
        give_up: Callable[[WaitedTooLongError], None],
    ) -> None:
        self._limit_ms = limit_ms
        self._progress = progress
        self._give_up = give_up
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._look, name="joinery-wait", daemon=True)

    def open(self) -> None:
        """Begin to look."""
        self._thread.start()

    def close(self) -> None:
        """Look no more."""
        self._closing.set()

    def _look(self) -> None:
        while not self._closing.wait(_LOOK_S):
            for each in self._progress().waiting.values():
                if (time.time() - each.since) * 1000 >= self._limit_ms:
                    self._give_up(self._error(each))
                    return

    def _error(self, waiting: Waiting) -> WaitedTooLongError:
        return WaitedTooLongError(
            f"waited {duration_text(self._limit_ms)} for {waiting.target}",
            detail=f"{waiting.reason.rstrip('.')}. What was committed is kept.",
            hint="Start the run again once it is available: it continues where it stopped.",
        )
