"""One query of a run in real-time mode: in batches up to the ends of its logs, then live.

It begins with batches until one pass over the logs was short, so that a backlog costs what it
costs in micro-batches. Both run on the same checkpoint with the same state.

Invariant: real-time mode begins only where the last pass of batches has committed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from joinery.model.batch import BatchProgress, with_ages
from joinery.model.watermark import EventTimes
from joinery.place.place import Place
from joinery.spark.batch.progress import ProgressBoard
from joinery.spark.batch.watermarks import QueryTimes
from joinery.spark.real_time.counts import DocumentCounts, LiveCounts, plus, since
from joinery.spark.real_time.uncommitted import RealTimeMark
from joinery.spark.real_time.writers import LiveWriter
from joinery.spark.recovery.checkpoint import committed_positions, last_batch
from joinery.spark.source.source import positions

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery


_SHORT_PASS = 10_000
_TICK_S = 1.0


@dataclass(slots=True)
class RealTimeQuery:
    """One query, first in batches, then in real time.

    Attributes:
        name: The query's name.
        checkpoint: Its checkpoint.
        writer: Brings what it sends to its sinks.
        interval_ms: How often real-time mode commits.
        catch_up: Starts a pass of batches over what stands in the logs.
        counts: Tells what real-time mode has counted since it began.
        close_counts: Ends the counting.
        sent: Notes that the sinks have documents, by product.
        times: Knows how far event times had come in batches.
        board: Notified of the counts.
    """

    name: str
    checkpoint: Place
    writer: LiveWriter
    interval_ms: int
    catch_up: Callable[[], StreamingQuery]
    counts: Callable[[], LiveCounts]
    close_counts: Callable[[], None]
    sent: Callable[[DocumentCounts], None]
    times: QueryTimes
    board: ProgressBoard
    live: bool = False
    _ticker: Ticker | None = field(default=None, repr=False)
    _begun: tuple[str, ...] = ()

    def start(self) -> StreamingQuery:
        """Start the first pass of batches."""
        return self._catch_up()

    def after(self) -> StreamingQuery:
        """Start what follows on a pass of batches that ended well."""
        if rows_between(self._begun, committed_positions(self.checkpoint)) > _SHORT_PASS:
            return self._catch_up()
        mark = RealTimeMark(self.checkpoint)
        mark.begin()
        started = self._start_live()
        self.live = True
        heed = partial(self._heed, mark)
        self._ticker = Ticker(self.name, self._counted, self.times, self.board, heed)
        return started

    def _catch_up(self) -> StreamingQuery:
        self._begun = committed_positions(self.checkpoint)
        return self.catch_up()

    def _counted(self) -> LiveCounts:
        """Return what tasks have counted, and what the driver did."""
        return plus(self.counts(), self.writer.counts())

    def _heed(self, mark: RealTimeMark, counts: LiveCounts) -> None:
        """Note what the next run has to know, but for a disk that takes nothing."""
        with suppress(OSError):
            mark.follow()
            self.sent(counts.get("documents", {}))

    def close(self) -> None:
        """Send no more, and tell the last counts."""
        self.writer.close()
        if self._ticker is not None:
            self._ticker.close()
        self.close_counts()

    def _start_live(self) -> StreamingQuery:
        spark, writer = self.writer.stream()
        last, _ = last_batch(self.checkpoint)
        self.times.begin(spark, 0 if last is None else last + 1)
        writer = (
            writer.queryName(self.name)
            .option("checkpointLocation", str(self.checkpoint))
            .outputMode("update")
            .trigger(realTime=f"{self.interval_ms} milliseconds")
        )
        started: StreamingQuery = writer.start()
        self.writer.begin(str(started.id))
        return started


def rows_between(begun: Sequence[str], ended: Sequence[str]) -> int:
    """Return how many records lie between two positions of a query's sources.

    Args:
        begun: The position of each source, as Spark writes it; empty for the beginnings of logs.
        ended: The same, later.

    Example:
        >>> rows_between(['{"t": {"0": 5}}', "-"], ['{"t": {"0": 7, "1": 2}}', '{"u": {"0": 1}}'])
        5
        >>> rows_between([], ['{"format": 1, "topics": {"t": {"done": "0", "lines": 8}}}'])
        8
    """
    return _records_up_to(ended) - _records_up_to(begun)


def _records_up_to(told: Sequence[str]) -> int:
    return sum(count for each in told for count in _records(positions(each)))


def _records(position: Mapping[str, Any]) -> Iterator[int]:
    """Yield how many records of each partition lie before a position; of files, of each topic."""
    if isinstance(position.get("format"), int):
        yield from (each["lines"] for each in position["topics"].values())
    else:
        yield from (count for offsets in position.values() for count in offsets.values())


def partitions_read(told: Sequence[str]) -> int:
    """Return how many partitions a position of a query's sources has.

    Example:
        >>> partitions_read(['{"t": {"0": 5, "1": 2}}', "-"])
        2
    """
    return sum(1 for each in told for _ in _records(positions(each)))


class Ticker:
    """Tells the board, second by second, what real-time mode has counted since the last time.

    Args:
        query: The query's name.
        counts: Tells what was counted since the query began.
        times: Knows how far event times had come before.
        board: Notified of what came since.
        heed: Called each time with all that was counted, also where nothing came.
    """

    def __init__(
        self,
        query: str,
        counts: Callable[[], LiveCounts],
        times: QueryTimes,
        board: ProgressBoard,
        heed: Callable[[LiveCounts], None] = lambda counts: None,
    ) -> None:
        self._heed = heed
        self._query = query
        self._counts = counts
        self._times = times
        self._board = board
        self._told: LiveCounts = {}
        self._told_at = time.time()
        self._ticks = 0
        self._tell({}, {}, self._told_at)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="joinery-ticker", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Tell what is left, and end."""
        self._ended.set()
        self._thread.join()
        self._tick()

    def _run(self) -> None:
        while not self._ended.wait(_TICK_S):
            self._tick()

    def _tick(self) -> None:
        counts, now = self._counts(), time.time()
        self._heed(counts)
        fresh = since(self._told, counts)
        if fresh:
            self._tell(fresh, self._times.live(counts), now)
            self._told, self._told_at = counts, now

    def _tell(self, fresh: LiveCounts, times: Mapping[str, EventTimes], now: float) -> None:
        tick = BatchProgress(
            query=self._query,
            batch_id=self._ticks,
            relations=with_ages(fresh.get("relations", {}), round(now * 1000)),
            documents=fresh.get("documents", {}),
            counters=fresh.get("counters", {}),
            dead=sum(sum(each.values()) for each in fresh.get("dead_letters", {}).values()),
            seconds=now - self._told_at,
            ended_at=now,
            live=True,
            event_times=times,
        )
        self._ticks += 1
        self._board.tick(tick)
