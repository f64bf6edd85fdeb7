"""Collects the progress of a run: counts as batches end, times as Spark tells them.

Invariant: each batch is told once, in the order its query ran it.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from joinery.model.progress import BatchProgress, Progress, Waiting
from joinery.model.warning import RunWarning, Warnings
from joinery.spark.kernel import progress_log
from joinery.spark.source.kafka_watch import KafkaGroups
from joinery.spark.source.source import Backlog, SourceRead, files_backlog, kafka_backlog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FLUSH_MS = 2000


class ProgressBoard:
    """The progress of a run, written by its queries and read by anyone.

    Args:
        on_batch: Called for each batch once its times are known.
        on_wait: Called with the target of a sink, and what is waited for; None once it is back.
        warnings: Takes what someone should look at.
    """

    def __init__(
        self,
        on_batch: Callable[[BatchProgress], None] = lambda batch: None,
        on_wait: Callable[[str, Waiting | None], None] = lambda target, waiting: None,
        warnings: Warnings | None = None,
    ) -> None:
        self._on_batch = on_batch
        self._on_wait = on_wait
        self._mutex = threading.Lock()
        self._progress = Progress()
        self._warnings = warnings or Warnings()
        self._untimed: dict[tuple[str, int], BatchProgress] = {}

    @property
    def progress(self) -> Progress:
        """The run as it stands."""
        return replace(self._progress, warnings=self._warnings.known)

    def add(self, batch: BatchProgress) -> None:
        """Count a batch whose documents the sinks have."""
        with self._mutex:
            self._progress = self._progress.plus(batch)
            self._untimed[batch.query, batch.batch_id] = batch

    def time(
        self,
        query: str,
        batch_id: int,
        durations_ms: Mapping[str, int],
        backlog: Backlog,
        state_bytes: int | None = None,
    ) -> None:
        """Tell where the time of a batch went, what is still to read, and how much is kept."""
        with self._mutex:
            counted = self._untimed.pop((query, batch_id), None)
            if counted is None:
                return
            durations = {**counted.durations_ms, **durations_ms}
            batch = replace(
                counted,
                durations_ms=durations,
                remaining=backlog.bytes,
                remaining_rows=backlog.rows,
                lag=backlog.lag,
                state_bytes=state_bytes,
                seconds=durations_ms.get("triggerExecution", counted.seconds * 1000) / 1000,
            )
            self._progress = self._progress.timed(batch)
        self._on_batch(batch)

    def tick(self, batch: BatchProgress) -> None:
        """Count what happened within a batch that goes on."""
        with self._mutex:
            self._progress = self._progress.plus(batch)
        self._on_batch(batch)

    def wait(self, target: str, waiting: Waiting | None) -> None:
        """Tell what the sink of `target` is waited for; None once it is back."""
        with self._mutex:
            self._progress = self._progress.waits(target, waiting)
        self._on_wait(target, waiting)

    def warn(self, warning: RunWarning) -> None:
        """Tell, once, of something that someone should look at."""
        self._warnings.add(warning)

    def flush(self) -> None:
        """Tell the batches whose times never came."""
        with self._mutex:
            left, self._untimed = list(self._untimed.values()), {}
        for batch in left:
            self._on_batch(batch)


class BatchTimes:
    """Takes Spark's times and positions of each batch to the board.

    A listener in the JVM remembers them: one in Python is asked for every field by a call of
    its own, which took more processor time than a small batch.

    Args:
        spark: The session whose queries are heard.
        board: Told of them.
        reads: What each query reads, in the order of its streams.
        groups: Told the read positions.
    """

    def __init__(
        self,
        spark: SparkSession,
        board: ProgressBoard,
        reads: Mapping[str, Sequence[SourceRead]],
        groups: KafkaGroups,
    ) -> None:
        self._board = board
        self._reads = reads
        self._groups = groups
        self._context: Any = spark.sparkContext._jsc
        self._streams = spark._jsparkSession.streams()
        self._log = progress_log(spark)
        self._streams.addListener(self._log)

    def take(self) -> None:
        """Tell the board what has come since the last time."""
        for told in json.loads(self._log.take()):
            self._tell(told)

    def close(self) -> None:
        """Take what Spark has still to tell, and listen no more."""
        # Times are a courtesy: a listener that lags must not fail a run that is done.
        with contextlib.suppress(Exception):
            self._context.sc().listenerBus().waitUntilEmpty(_FLUSH_MS)
        self.take()
        self._streams.removeListener(self._log)
        self._groups.close()

    def _tell(self, told: Mapping[str, Any]) -> None:
        query: str = told["query"] or ""
        backlog = Backlog()
        for read, source in zip(self._reads.get(query, ()), told["sources"], strict=False):
            if read.source.kind == "kafka":
                backlog = backlog.plus(kafka_backlog(read, source["end"], source["latest"]))
                self._groups.note(query, read.source.name, source["end"])
            else:
                backlog = backlog.plus(files_backlog(read, source["metrics"] or {}))
        self._board.time(query, told["batch"], told["durations"], backlog, told["state"])
