"""The event times of a query's relations, kept with its checkpoint.

Before a batch its tasks are told the newest time of each partition as the batches before left
it, and the watermark of each relation; what they read is added before Spark commits the batch.
A partition is silent from what was last read of it, or the beginning of the run: what came while
nobody read is not yet late. Which partitions are idle is decided as a batch begins, by the clock;
those that it then reads are not idle at its end.

Invariant: a batch that runs again, also after a crash, begins with the times that it began
with first: those before batch n stand in `watermarks/<n>.json`, which batch n never writes; and
with the same idle partitions, which stand in `watermarks/<n>.idle`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from joinery.files import write_whole
from joinery.model.watermark import EventTimes
from joinery.place.place import Place
from joinery.plan.relation import Relation
from joinery.project.stream import WatermarkSpec
from joinery.spark.recovery.checkpoint import ended_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = "watermarks"
NEWEST, BEHIND, WATERMARK, DRIFT = "newest", "behind", "watermark", "drift"
IDLE, SILENT, ENDED = "idle", "silent", "ended"
_NEWEST_PROPERTY, _WATERMARKS_PROPERTY = "joinery.newest", "joinery.watermarks"
_KEPT = 100  # as many batches as Spark keeps

_Idle = Mapping[str, Sequence[str]]
"""The partitions that nobody waits for, by relation; none where nothing came of one at all."""


class QueryTimes:
    """The event times of one query.

    Args:
        relations: Those that it reads.
        watched: Those of them by whose watermark something goes: they have one, if a time.
        checkpoint: Its checkpoint.
        clock: Tells in seconds how long partitions are silent.
    """

    def __init__(
        self,
        relations: Sequence[Relation],
        *,
        watched: Collection[Relation] = (),
        checkpoint: Place,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = checkpoint / FOLDER
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
        self._decided: tuple[int, _Idle] | None = None

    def begin(self, spark: SparkSession, batch_id: int) -> None:
        """Tell the tasks of a batch what the batches before it had; on the query's thread."""
        if self._delays:
            # What tasks are told by a thread's property reaches all that the thread starts.
            times, idle = self._times(batch_id), self._idle_in(batch_id)
            newest = {name: each.newest_us for name, each in times.items()}
            told = {
                name: _told(times.get(name, EventTimes()), idle.get(name))
                for name in {**times, **idle}
            }
            spark.sparkContext.setLocalProperty(_NEWEST_PROPERTY, json.dumps(newest))
            spark.sparkContext.setLocalProperty(_WATERMARKS_PROPERTY, json.dumps(told))

    def end(self, batch_id: int, summary: Mapping[str, Any]) -> Mapping[str, EventTimes]:
        """Keep what a batch read, before it is committed; return the times since the beginning."""
        if not self._delays:
            return {}
        counted = with_counts(self._times(batch_id), summary, self._delays)
        times = self._waiting(counted, summary, self._idle_in(batch_id))
        if ended_batch(self._folder.parent) == batch_id:
            times = {name: each.at_the_end() for name, each in times.items()}
        self._write(batch_id + 1, times)
        self._before = (batch_id + 1, times)
        return times

    def live(self, summary: Mapping[str, Any]) -> Mapping[str, EventTimes]:
        """Return the times with what real-time mode has counted since it began.

        They are shown and not kept: the run after it begins with those of the last batch.
        """
        if not self._delays:
            return {}
        before = self._before[1] if self._before else {}
        counted = with_counts(before, summary, self._delays)
        return self._waiting(counted, summary, self._silent(counted))

    def _waiting(
        self, times: Mapping[str, EventTimes], summary: Mapping[str, Any], idle: _Idle
    ) -> Mapping[str, EventTimes]:
        """Return the times at the end of a batch, at whose beginning some partitions were idle."""
        now, heard = self._clock(), summary.get(NEWEST, {})
        for name, partitions in heard.items():
            self._heard.update(((name, each), now) for each in partitions)
        return {
            name: each.waiting_for_all_but(set(idle.get(name, ())) - heard.get(name, {}).keys())
            for name, each in times.items()
        }

    def _idle_in(self, batch_id: int) -> _Idle:
        """Return the partitions that are idle as a batch begins, the same when it runs again."""
        if not self._idle:
            return {}
        if self._decided is None or self._decided[0] != batch_id:
            self._decided = (batch_id, self._decide(batch_id))
        return self._decided[1]

    def _decide(self, batch_id: int) -> _Idle:
        file = self._folder / f"{batch_id}.{IDLE}"
        if file.is_file():
            known: _Idle = json.loads(file.read_text(encoding="utf-8"))
            return known
        idle = self._silent(self._times(batch_id))
        write_whole(file, json.dumps(idle), synced=bool(idle))
        return idle

    def _silent(self, times: Mapping[str, EventTimes]) -> _Idle:
        now = self._clock()
        found = {
            name: [part for part in each.newest_us if self._is_idle(name, part, now)]
            for name, each in times.items()
        }
        unheard = [each for each in self._idle if not times.get(each, EventTimes()).newest_us]
        silent: dict[str, list[str]] = {
            name: [] for name in unheard if self._is_idle(name, "", now)
        }
        return {**silent, **{name: parts for name, parts in found.items() if parts}}

    def _is_idle(self, relation: str, partition: str, now: float) -> bool:
        idle_ms = self._idle.get(relation)
        since = self._heard.get((relation, partition), self._began)
        return idle_ms is not None and (now - since) * 1000 >= idle_ms

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
                ended=tuple((at, newest) for at, newest in each.get(ENDED, ())),
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
                **({ENDED: each.ended} if each.ended else {}),
            }
            for name, each in times.items()
        }
        write_whole(self._folder / f"{number}.json", json.dumps(told), synced=True)
        for kind in ("json", IDLE):
            (self._folder / f"{number - _KEPT}.{kind}").unlink(missing_ok=True)


def _told(times: EventTimes, idle: Sequence[str] | None) -> dict[str, object]:
    """Return what tasks are told of a relation before a batch; `idle` is None where none is."""
    told: dict[str, object] = {IDLE: sorted(idle or ())}
    if times.watermark_us is not None:
        told[WATERMARK] = times.watermark_us
    if idle is not None and times.newest_us.keys() <= set(idle):
        told[SILENT] = True
    if times.ended:
        told[ENDED] = times.ended
    return told


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
