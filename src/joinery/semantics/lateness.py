"""Watermarks of one relation, by partition, and which of its records are late.

Lateness is a fact of the log: a record is late where its time is below the newest time that
stands before it in its partition, less the delay and what is allowed. So the same records are
late however the log is cut into batches, and in whatever order its partitions are read.

Changes without a place and without a position, as a test sends them, move the watermark at the
end of their batch only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from joinery.model.change import Change
from joinery.project.stream import WatermarkSpec

_WHOLE = WatermarkSpec()


@dataclass(slots=True)
class _Partition:
    newest_us: int | None = None
    heard_us: int = 0


def too_far_ahead(spec: WatermarkSpec | None, change: Change, time_us: int) -> bool:
    """Return whether a time is so far above that of the log that it moves no watermark."""
    if spec is None or spec.ahead_ms is None or change.logged_us is None:
        return False
    return time_us > change.logged_us + spec.ahead_ms * 1000


class Watermarks:
    """The watermarks of one relation; all times are microseconds since 1970."""

    def __init__(self, spec: WatermarkSpec | None) -> None:
        self._spec = told = spec or _WHOLE
        self._delay_us = told.delay_ms * 1000
        self._idle_us = None if told.idle_ms is None else told.idle_ms * 1000
        self._partitions: dict[int, _Partition] = {}
        self._waiting: list[tuple[_Partition, int]] = []
        self._began_us: int | None = None
        self.relation: int | None = None
        """The least over all partitions at the end of the last batch; it never falls."""
        self._ended: list[tuple[int | None, int]] = []

    def of(self, change: Change) -> int | None:
        """Return the watermark of a change's partition before it; None before the first time."""
        newest = self._partition(change).newest_us
        return None if newest is None else newest - self._delay_us

    def note(self, change: Change, time_us: int | None, now_us: int) -> None:
        """Take the time of an upsert, once its lateness is known."""
        if change.place is None and change.position is None and not change.snapshot:
            partition = self._heard(change, now_us)
            if time_us is not None and not too_far_ahead(self._spec, change, time_us):
                self._waiting.append((partition, time_us))
        else:
            self.take(change, None if change.snapshot else time_us, now_us)

    def take(self, change: Change, time_us: int | None, now_us: int) -> None:
        """Take a change in the order of its log; `time_us` is None where it tells no time."""
        partition = self._heard(change, now_us)
        if time_us is not None and not too_far_ahead(self._spec, change, time_us):
            _move(partition, time_us)

    def end_batch(self, now_us: int) -> None:
        """Move the watermark to what the batch has told."""
        self._began_us = now_us if self._began_us is None else self._began_us
        for partition, time_us in self._waiting:
            _move(partition, time_us)
        self._waiting.clear()
        newest = [
            each.newest_us
            for each in self._partitions.values()
            if each.newest_us is not None and not self.silent(each.heard_us, now_us)
        ]
        if newest:
            least = min(newest) - self._delay_us
            self.relation = least if self.relation is None else max(self.relation, least)

    def end_logs(self) -> None:
        """Take all logs as ended: what goes on at the newest time is closed, and stays so."""
        times = (each.newest_us for each in self._partitions.values())
        newest = max((each for each in times if each is not None), default=None)
        if newest is not None:
            self._ended.append((self.relation, newest))

    def has_ended(self, window: tuple[int, int], allowed_us: int) -> bool:
        """Return whether a window was closed since logs had ended, ahead of the watermark."""
        start, end = window
        return any(
            start <= newest and (watermark is None or end + allowed_us > watermark)
            for watermark, newest in self._ended
        )

    def quiet(self, now_us: int) -> bool:
        """Return whether the relation is so long silent as a whole that nobody waits for it."""
        since = self._began_us if self.heard_us is None else self.heard_us
        return since is not None and self.silent(since, now_us)

    def follow(self, watermark: int | None) -> None:
        """Take the watermark of the product whose rows the relation has."""
        if watermark is not None:
            least = watermark - self._delay_us
            self.relation = least if self.relation is None else max(self.relation, least)

    def silent(self, since_us: int, now_us: int) -> bool:
        """Return whether what was heard of last at a time holds nobody up any more."""
        return self._idle_us is not None and now_us - since_us >= self._idle_us

    @property
    def heard_us(self) -> int | None:
        """When anything was last heard of any partition; None before."""
        return max((each.heard_us for each in self._partitions.values()), default=None)

    def _heard(self, change: Change, now_us: int) -> _Partition:
        partition = self._partition(change)
        partition.heard_us = now_us
        return partition

    def _partition(self, change: Change) -> _Partition:
        return self._partitions.setdefault(change.partition, _Partition())


def with_moved(changes: Sequence[Change]) -> Iterator[tuple[Change, Change | None]]:
    """Yield changes in their order, each delete with the upsert that its record makes.

    A record that changes the key of a row is both, at one place. Others have None.
    """
    for change, then in pairwise((*changes, None)):
        if change is None:
            continue
        goes = change.after is None and change.place is not None
        comes = then is not None and then.after is not None and then.place == change.place
        yield change, then if goes and comes else None


def _move(partition: _Partition, time_us: int) -> None:
    newest = partition.newest_us
    partition.newest_us = time_us if newest is None else max(newest, time_us)


def in_log_order(batch: Sequence[Change]) -> list[Change]:
    """Return changes as their log has them; those without a place by position, where they have one.

    Others stay where they are.
    """
    if any(each.place is not None or each.position is None for each in batch):
        return list(batch)
    return sorted(batch, key=lambda each: each.position or 0)
