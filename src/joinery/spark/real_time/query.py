"""Runs one query in real-time mode: what stands in the logs in batches, then a change at a time.

Both run on the same checkpoint with the same state. A run begins with batches until one pass
over the logs was short, so that a backlog costs what it costs in micro-batches.

Invariant: real-time mode begins only where the last pass of batches has committed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.model.progress import BatchProgress, with_ages
from joinery.spark.batch.progress import ProgressBoard
from joinery.spark.real_time.rules import RealTimeTarget
from joinery.spark.uncommitted import RealTimeMark

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_SHORT_PASS = 10_000
_TICK_S = 1.0
_PRODUCER = (
    ("max.request.size", str(17 << 20)),
    ("compression.type", "lz4"),
)
Counts = Mapping[str, Mapping[str, Mapping[str, int]]]


@dataclass(slots=True)
class RealTimeQuery:
    """One query, first in batches, then in real time.

    Attributes:
        name: The query's name.
        checkpoint: Its checkpoint.
        target: Where its records go.
        interval_ms: How often real-time mode commits.
        catch_up: Starts a pass of batches over what stands in the logs.
        records: Makes the stream of records for the sink.
        counts: Tells what real-time mode has counted since it began.
        close_counts: Ends the counting.
        board: Told of the counts.
    """

    name: str
    checkpoint: Path
    target: RealTimeTarget
    interval_ms: int
    catch_up: Callable[[], StreamingQuery]
    records: Callable[[], DataFrame]
    counts: Callable[[], Counts]
    close_counts: Callable[[], None]
    board: ProgressBoard
    live: bool = False
    _ticker: Ticker | None = field(default=None, repr=False)

    def start(self) -> StreamingQuery:
        """Start the first pass of batches."""
        return self.catch_up()

    def after(self, ended: StreamingQuery) -> StreamingQuery:
        """Start what follows on a pass of batches that ended well."""
        if rows_of(ended) > _SHORT_PASS:
            return self.catch_up()
        RealTimeMark(self.checkpoint).begin()
        started = self._start_live()
        self.live = True
        self._ticker = Ticker(self.name, self.counts, self.board)
        return started

    def close(self) -> None:
        """Tell the last counts."""
        if self._ticker is not None:
            self._ticker.close()
        self.close_counts()

    def _start_live(self) -> StreamingQuery:
        place = self.target.dead_letters
        options = {f"kafka.{name}": value for name, value in (*_PRODUCER, *place.properties)}
        # PySpark's own types do not know the trigger yet.
        writer: Any = self.records().writeStream.queryName(self.name).format("kafka")
        started: StreamingQuery = (
            writer.options(**options)
            .option("kafka.bootstrap.servers", place.bootstrap)
            .option("checkpointLocation", str(self.checkpoint))
            .outputMode("update")
            .trigger(realTime=f"{self.interval_ms} milliseconds")
            .start()
        )
        return started


def rows_of(ended: StreamingQuery) -> int:
    """Return how many rows the last batches of a query read."""
    return sum(each.numInputRows for each in ended.recentProgress)


class Ticker:
    """Tells the board, second by second, what real-time mode has counted since the last time.

    Args:
        query: The query's name.
        counts: Tells what was counted since the query began.
        board: Told of what came since.
    """

    def __init__(self, query: str, counts: Callable[[], Counts], board: ProgressBoard) -> None:
        self._query = query
        self._counts = counts
        self._board = board
        self._told: Counts = {}
        self._told_at = time.time()
        self._ticks = 0
        self._tell({}, self._told_at)
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
        fresh = since(self._told, counts)
        if fresh:
            self._tell(fresh, now)
            self._told, self._told_at = counts, now

    def _tell(self, fresh: Counts, now: float) -> None:
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
        )
        self._ticks += 1
        self._board.tick(tick)


def since(before: Counts, now: Counts) -> dict[str, dict[str, dict[str, int]]]:
    """Return what was counted between two tellings; empty where nothing was.

    Example:
        >>> since({"relations": {"user": {"read": 2}}}, {"relations": {"user": {"read": 5}}})
        {'relations': {'user': {'read': 3}}}
    """
    fresh: dict[str, dict[str, dict[str, int]]] = {}
    for kind, owners in now.items():
        for owner, counters in owners.items():
            known = before.get(kind, {}).get(owner, {})
            more = {name: count - known.get(name, 0) for name, count in counters.items()}
            if any(more.values()):
                fresh.setdefault(kind, {})[owner] = {n: c for n, c in more.items() if c}
    return fresh
