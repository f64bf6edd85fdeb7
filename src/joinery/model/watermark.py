"""How far the event times of a relation have come, partition by partition of its log.

The watermark is the least over the partitions of the newest time of each, less the delay that
the relation declares. Partitions that are idle hold it back no more, and it never falls. How far
rows come behind the newest time of their partition says which delay would have held them all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

SHARES = (0.5, 0.9, 0.99, 0.999, 1.0)
_PART_BITS = 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def bucket_ceiling_us(bucket: int) -> int:
    """Return the longest distance that a bucket counts; the kernel's `TaskTimes` fills them.

    Example:
        >>> [bucket_ceiling_us(each) for each in (0, 3, 4, 7, 8, 11, 12)]
        [0, 3, 4, 7, 9, 15, 19]
    """
    parts = 1 << _PART_BITS
    if bucket < parts:
        return bucket
    doublings, part = divmod(bucket, parts)
    return ((parts + part + 1) << (doublings - 1)) - 1


@dataclass(frozen=True, slots=True)
class EventTimes:
    """The event times of one relation that were read so far.

    Attributes:
        newest_us: By partition, in microseconds since 1970.
        behind: How many rows came how far behind the newest time of their partition, by
            bucket (`bucket_ceiling_us`).
        delay_ms: How far behind the newest time a row may still arrive.
        idle: Partitions that were silent for so long that nobody waits for them.
        reached_us: What the watermark was before.
        drift: How many rows came of devices whose clock was how far from the receiver's, by
            bucket.
        ended: The watermark, None for none, and the newest time in any partition, whenever all
            logs were taken as ended.
    """

    newest_us: Mapping[str, int] = field(default_factory=dict)
    behind: Mapping[int, int] = field(default_factory=dict)
    delay_ms: int = 0
    idle: frozenset[str] = frozenset()
    reached_us: int | None = None
    drift: Mapping[int, int] = field(default_factory=dict)
    ended: tuple[tuple[int | None, int], ...] = ()

    def plus(
        self,
        newest_us: Mapping[str, int],
        behind: Mapping[int, int],
        drift: Mapping[int, int] | None = None,
    ) -> EventTimes:
        """Return the times after some more rows."""
        newest = dict(self.newest_us)
        for partition, time_us in newest_us.items():
            newest[partition] = max(time_us, newest.get(partition, time_us))
        return replace(
            self,
            newest_us=newest,
            behind=_sum(self.behind, behind),
            drift=_sum(self.drift, drift or {}),
        )

    def waiting_for_all_but(self, idle: Collection[str]) -> EventTimes:
        """Return the times at the end of a batch, when some partitions were idle.

        Example:
            >>> times = EventTimes({"0": 9, "1": 7}).waiting_for_all_but(["1"])
            >>> (times.watermark_us, times.waiting_for_all_but([]).watermark_us)
            (9, 9)
        """
        times = replace(self, idle=frozenset(idle))
        return replace(times, reached_us=times.watermark_us)

    def at_the_end(self) -> EventTimes:
        """Return the times after all logs were taken as ended.

        Of ends at one watermark the last closed all that the others did.

        Example:
            >>> EventTimes({"0": 9, "1": 7}).at_the_end().at_the_end().ended
            ((7, 9),)
        """
        if not self.newest_us:
            return self
        end = self.watermark_us, max(self.newest_us.values())
        others = (each for each in self.ended if each[0] != end[0])
        return replace(self, ended=(*others, end))

    @property
    def held_back_by(self) -> str | None:
        """The partition that is waited for and has the oldest newest time; None without any."""
        waited = self.newest_us.keys() - self.idle
        return min(waited, key=lambda each: (self.newest_us[each], each), default=None)

    @property
    def watermark_us(self) -> int | None:
        """The relation's watermark; None before the first row.

        Example:
            >>> EventTimes({"0": 9_000_000, "1": 7_000_000}, delay_ms=1000).watermark_us
            6000000
        """
        partition = self.held_back_by
        if partition is None:
            return self.reached_us
        least = self.newest_us[partition] - self.delay_ms * 1000
        return least if self.reached_us is None else max(least, self.reached_us)

    @property
    def rows(self) -> int:
        """How many rows had a time."""
        return sum(self.behind.values())

    def behind_us(self, share: float) -> int:
        """Return how far behind that share of the rows is at most, rounded up by a quarter at most.

        Example:
            >>> times = EventTimes(behind={0: 98, 8: 1, 12: 1})
            >>> [times.behind_us(each) for each in (0.5, 0.99, 1.0)]
            [0, 9, 19]
        """
        return _reached_us(self.behind, share)

    def drift_us(self, share: float) -> int:
        """Return how far that share of the devices' clocks is off at most, rounded up likewise."""
        return _reached_us(self.drift, share)

    def to_json(self) -> dict[str, object]:
        """Return what an operator looks at as one JSON object."""
        watermark_us = self.watermark_us
        newest_us = max(self.newest_us.values(), default=None)
        drift = {f"{share:g}": self.drift_us(share) / 1e6 for share in SHARES}
        return {
            "watermark": _text(watermark_us),
            "held_back_by": self.held_back_by,
            "newest": _text(newest_us),
            "partitions": len(self.newest_us),
            "idle": sorted(self.idle),
            "delay_s": self.delay_ms / 1000,
            "behind_s": {f"{share:g}": self.behind_us(share) / 1e6 for share in SHARES},
            **({"drift_s": drift} if self.drift else {}),
        }


def _sum(counts: Mapping[int, int], more: Mapping[int, int]) -> dict[int, int]:
    return {each: counts.get(each, 0) + more.get(each, 0) for each in counts.keys() | more.keys()}


def _reached_us(counts: Mapping[int, int], share: float) -> int:
    """Return the end of the bucket at which that share of all is counted."""
    wanted, counted, ceiling = share * sum(counts.values()), 0, 0
    for bucket in sorted(counts):
        ceiling = bucket_ceiling_us(bucket)
        counted += counts[bucket]
        if counted >= wanted:
            break
    return ceiling


def _text(time_us: int | None) -> str | None:
    """Return a time as text; beyond the calendar's years, as microseconds."""
    if time_us is None:
        return None
    try:
        at = _EPOCH + timedelta(microseconds=time_us)
    except OverflowError:
        return str(time_us)
    return at.isoformat().replace("+00:00", "Z")
