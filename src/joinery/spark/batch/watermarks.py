"""The event times of a query's relations, kept with its checkpoint.

Before a batch its tasks are told the newest time of each partition as the batches before left
it, and the watermark of each relation; what they read is added before Spark commits the batch.
A partition is silent from what was last read of it, or the beginning of the run: what came while
nobody read is not yet late.

Invariant: a batch that runs again, also after a crash, begins with the times that it began
with first: those before batch n stand in `watermarks/<n>.json`, which batch n never writes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.files import write_whole
from joinery.model.watermark import EventTimes
from joinery.plan.nodes import Relation
from joinery.project.stream import WatermarkSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = "watermarks"
NEWEST, BEHIND, WATERMARK, DRIFT = "newest", "behind", "watermark", "drift"
_NEWEST_PROPERTY, _WATERMARKS_PROPERTY = "joinery.newest", "joinery.watermarks"
_KEPT = 100  # as many batches as Spark keeps


class QueryTimes:
    """The event times of one query.

    Args:
        query: The query's name.
        relations: Those that it reads.
        watched: Those of them by whose watermark something goes: they have one, if a time.
        checkpoint: Its checkpoint.
        status_file: Shows operators how far the times have come.
        clock: Tells in seconds how long partitions are silent.
    """

    def __init__(
        self,
        query: str,
        relations: Sequence[Relation],
        *,
        watched: Collection[Relation] = (),
        checkpoint: Path,
        status_file: Path,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._query = query
        self._folder = checkpoint / FOLDER
        self._status_file = status_file
        timed = [
            each
            for each in relations
            if each.time and (each.watermark or each.clocks or each in watched)
        ]
        specs = {each.name: each.watermark or WatermarkSpec() for each in timed}
        self._delays = {name: each.delay_ms for name, each in specs.items()}
        self._idle = {name: each.idle_ms for name, each in specs.items() if each.idle_ms}
        self._clock, self._began = clock, clock()
        self._heard: dict[tuple[str, str], float] = {}
        self._before: tuple[int, Mapping[str, EventTimes]] | None = None

    def begin(self, spark: SparkSession, batch_id: int) -> None:
        """Tell the tasks of a batch what the batches before it had; on the query's thread."""
        if self._delays:
            # What tasks are told by a thread's property reaches all that the thread starts.
            times = self._times(batch_id)
            newest = {name: each.newest_us for name, each in times.items()}
            reached = {name: each.watermark_us for name, each in times.items()}
            told = {name: each for name, each in reached.items() if each is not None}
            spark.sparkContext.setLocalProperty(_NEWEST_PROPERTY, json.dumps(newest))
            spark.sparkContext.setLocalProperty(_WATERMARKS_PROPERTY, json.dumps(told))

    def end(self, batch_id: int, summary: Mapping[str, Any]) -> Mapping[str, EventTimes]:
        """Keep what a batch read, before it is committed; return the times since the beginning."""
        if not self._delays:
            return {}
        times = self._waiting(with_counts(self._times(batch_id), summary, self._delays), summary)
        self._write(batch_id + 1, times)
        self._before = (batch_id + 1, times)
        self._show(times)
        return times

    def live(self, summary: Mapping[str, Any]) -> Mapping[str, EventTimes]:
        """Return the times with what real-time mode has counted since it began.

        They are shown and not kept: the run after it begins with those of the last batch.
        """
        if not self._delays:
            return {}
        before = self._before[1] if self._before else {}
        times = self._waiting(with_counts(before, summary, self._delays), summary)
        self._show(times)
        return times

    def _waiting(
        self, times: Mapping[str, EventTimes], summary: Mapping[str, Any]
    ) -> Mapping[str, EventTimes]:
        """Return the times once it is known which partitions are idle."""
        now = self._clock()
        for name, partitions in summary.get(NEWEST, {}).items():
            self._heard.update(((name, each), now) for each in partitions)
        return {
            name: each.waiting_for_all_but(
                [part for part in each.newest_us if self._is_idle(name, part, now)]
            )
            for name, each in times.items()
        }

    def _is_idle(self, relation: str, partition: str, now: float) -> bool:
        idle_ms = self._idle.get(relation)
        since = self._heard.get((relation, partition), self._began)
        return idle_ms is not None and (now - since) * 1000 >= idle_ms

    def _show(self, times: Mapping[str, EventTimes]) -> None:
        told = {name: each.to_json() for name, each in times.items()}
        status = {"query": self._query, "watermarks": told}
        content = json.dumps(status, indent=1, ensure_ascii=False) + "\n"
        write_whole(self._status_file, content, synced=False)

    def _times(self, batch_id: int) -> Mapping[str, EventTimes]:
        """Return the times before a batch."""
        if self._before is None or self._before[0] != batch_id:
            self._before = (batch_id, self._read(batch_id))
        return self._before[1]

    def _read(self, batch_id: int) -> Mapping[str, EventTimes]:
        """Return what was kept before a batch; of relations that have a watermark by now."""
        kept = [int(each.stem) for each in self._folder.glob("*.json") if each.stem.isdigit()]
        # Batches of a plan in which no relation had a watermark kept nothing.
        number = max((each for each in kept if each <= batch_id), default=None)
        if number is None:
            return {}
        told: Any = json.loads((self._folder / f"{number}.json").read_text(encoding="utf-8"))
        return {
            name: EventTimes(
                each[NEWEST],
                {int(bucket): count for bucket, count in each[BEHIND].items()},
                self._delays[name],
                reached_us=each.get(WATERMARK),
                drift={int(bucket): count for bucket, count in each.get(DRIFT, {}).items()},
            )
            for name, each in told.items()
            if name in self._delays
        }

    def _write(self, number: int, times: Mapping[str, EventTimes]) -> None:
        told = {
            name: {
                NEWEST: dict(each.newest_us),
                BEHIND: dict(each.behind),
                WATERMARK: each.watermark_us,
                **({DRIFT: dict(each.drift)} if each.drift else {}),
            }
            for name, each in times.items()
        }
        write_whole(self._folder / f"{number}.json", json.dumps(told), synced=True)
        (self._folder / f"{number - _KEPT}.json").unlink(missing_ok=True)


def with_counts(
    times: Mapping[str, EventTimes],
    summary: Mapping[str, Mapping[str, Mapping[str, int]]],
    delays_ms: Mapping[str, int],
) -> dict[str, EventTimes]:
    """Return times with what a batch, or real-time mode, has counted."""
    after = dict(times)
    newest, behind, drift = (summary.get(each, {}) for each in (NEWEST, BEHIND, DRIFT))
    for name in newest.keys() | behind.keys() | drift.keys():
        counts, drifts = (
            {int(bucket): count for bucket, count in each.get(name, {}).items()}
            for each in (behind, drift)
        )
        known = after.get(name, EventTimes())
        known = replace(known, delay_ms=delays_ms.get(name, 0))
        after[name] = known.plus(newest.get(name, {}), counts, drifts)
    return after
