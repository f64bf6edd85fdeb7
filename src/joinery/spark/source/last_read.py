"""Remembers by which record the reading of each partition stands, and tells where the log differs.

A log that lost its end, and has grown past the place that was read, has other records there. Its
offsets do not tell, and neither does the id of its topic: a broker that was put back from a backup
has both, and so has a replica that lacked records and became leader.

A record is noted before the batch that read it is committed, beside the one before: which of both
was read last is told by the positions of the checkpoint, whenever a run ends.

Invariant: what is known of a partition stands while the log differs from it, unless the source may
go on nevertheless.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, ClassVar, TypeVar

from joinery.model.warning import RunWarning
from joinery.place.place import Place
from joinery.spark.source.kafka_client import Partition, RecordsLostError, told_losses
from joinery.spark.source.query_notes import QueryNotes
from joinery.spark.source.source import Positions

T = TypeVar("T")
FILE_NAME = "joinery.last_records.json"
_MOST_UNPROVEN = 100


@dataclass(frozen=True, slots=True)
class RecordSign:
    """What a record is known by.

    Attributes:
        offset: Where it stands.
        time_ms: Its timestamp, in milliseconds since 1970; -1 for none.
        key: A checksum of its key; None without one.
        value: A checksum of its value; None for a tombstone.
    """

    offset: int
    time_ms: int
    key: int | None
    value: int | None


Signs = Mapping[Partition, RecordSign]
"""A record of each partition."""
Kept = Mapping[Partition, tuple[RecordSign, ...]]
"""The last record of each partition, and the one before."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """A record that stands where another was read.

    Attributes:
        differs: What is not the same: `time`, `key`, `value`.
    """

    topic: str
    partition: int
    offset: int
    differs: tuple[str, ...]
    count: ClassVar = 1
    """How many records were not read for sure."""

    def __str__(self) -> str:
        what = " and ".join(filter(None, (", ".join(self.differs[:-1]), self.differs[-1])))
        verb = "differ" if len(self.differs) > 1 else "differs"
        return (
            f'topic "{self.topic}" partition {self.partition} has another record at offset'
            f" {self.offset} than the one that was read there ({what} {verb})"
        )


def replaced(
    known: Mapping[Partition, RecordSign], found: Mapping[Partition, RecordSign]
) -> list[Replaced]:
    """Return where a log has other records than those that were read.

    A record that is not there proves nothing: retention or compaction may have removed it.

    Args:
        known: The records that were read.
        found: Those that stand at their offsets now.
    """
    return [
        Replaced(topic, partition, sign.offset, differs)
        for (topic, partition), sign in sorted(known.items())
        if (now := found.get((topic, partition))) is not None
        and now.offset == sign.offset
        and (differs := _differences(sign, now))
    ]


def _differences(one: RecordSign, other: RecordSign) -> tuple[str, ...]:
    pairs = {
        "time": (one.time_ms, other.time_ms),
        "key": (one.key, other.key),
        "value": (one.value, other.value),
    }
    return tuple(name for name, (before, now) in pairs.items() if before != now)


def replaced_error(source: str, found: Sequence[Replaced]) -> RecordsLostError:
    """Return the error that tells where a source has other records than those that were read."""
    return RecordsLostError(
        _message(source),
        detail=told_losses(found),
        hint="A broker was put back from a backup, or a replica that lacked records became leader:"
        " read everything again with joinery run --rebuild, or set fail_on_data_loss: false on the"
        " source to continue with what is there.",
    )


def replaced_warning(source: str, found: Sequence[Replaced]) -> RunWarning:
    """Return the same as a warning, for a source that may go on."""
    return RunWarning(
        code="WARN_RECORDS_LOST",
        about=f'source "{source}"',
        message=f"{_message(source)}, so documents may keep what the lost ones said",
        detail=told_losses(found),
        hint="Read everything again with joinery run --rebuild.",
    )


def _message(source: str) -> str:
    return f'source "{source}" lost records that were read, and has others in their place'


class LastRead:
    """The last records that one query read, by source, beside its checkpoint; for any thread.

    Args:
        checkpoint: Of the query.
        check: Raises once another run has taken over.
    """

    def __init__(self, checkpoint: Place, check: Callable[[], None]) -> None:
        self._notes = QueryNotes(checkpoint / FILE_NAME, check, _json, _kept)
        self._lock = threading.Lock()
        self._unproven: dict[str, list[Signs]] = {}
        self._held: dict[str, set[Partition]] = {}

    def known(self, source: str, topics: Collection[str]) -> dict[Partition, RecordSign]:
        """Return the last record that was read of each partition of some topics."""
        with self._lock:
            return {
                place: newest
                for place, (newest, *_) in self._kept(source).items()
                if place[0] in topics
            }

    def note(self, source: str, signs: Signs) -> None:
        """Note the last records that a batch read, before it is committed."""
        with self._lock:
            signs = _without(signs, self._held.get(source, ()))
            if not signs:
                return
            run = self._of_run(source)
            run.append(signs)
            if len(run) > _MOST_UNPROVEN:
                run[:2] = [_merged(run[:2])]
            kept = self._kept(source)
            self._keep(
                source,
                {**kept, **{each: (sign, *kept.get(each, ())[:1]) for each, sign in signs.items()}},
            )

    def hold(self, source: str, differing: Sequence[Replaced]) -> None:
        """Go on by the records from which a log differs, whatever a batch reads of it later.

        So a later start finds them to differ, too.
        """
        offsets = {(each.topic, each.partition): each.offset for each in differing}
        with self._lock:
            held = {
                place: (sign,)
                for signs in self._of_run(source)
                for place, sign in signs.items()
                if offsets.get(place) == sign.offset
            }
            self._held.setdefault(source, set()).update(held)
            self._keep(source, {**self._kept(source), **held})

    def forget(self, source: str, places: Collection[Partition]) -> None:
        """Know nothing any more of some partitions."""
        with self._lock:
            self._unproven[source] = [_without(each, places) for each in self._of_run(source)]
            self._held.get(source, set()).difference_update(places)
            self._keep(source, _without(self._kept(source), places))

    def forget_beyond(self, source: str, read: Positions) -> None:
        """Know nothing any more of what was not read.

        So it is of a batch that was not committed, and of a topic that was left out meanwhile.

        Args:
            source: Its name.
            read: The next offset to be read, by topic and partition.
        """
        with self._lock:
            self._unproven.pop(source, None)
            kept: dict[Partition, tuple[RecordSign, ...]] = {}
            for (topic, partition), signs in self._kept(source).items():
                end = read.get(topic, {}).get(str(partition), 0)
                if there := tuple(each for each in signs if each.offset < end):
                    kept[topic, partition] = there
            self._keep(source, kept)

    def unproven(self, source: str) -> tuple[Signs, ...]:
        """Return what was read when `prove` was called last, and by each batch since."""
        with self._lock:
            return tuple(self._of_run(source))

    def prove(self, source: str, count: int) -> None:
        """Take the log for the one of which the first of `unproven` were read."""
        with self._lock:
            signs = self._of_run(source)
            self._unproven[source] = [_merged(signs[:count]), *signs[count:]]

    def _of_run(self, source: str) -> list[Signs]:
        if source not in self._unproven:
            newest = {place: signs[0] for place, signs in self._kept(source).items()}
            self._unproven[source] = [newest]
        return self._unproven[source]

    def _keep(self, source: str, kept: Kept) -> None:
        if kept != self._kept(source):
            self._notes.put(source, kept)

    def _kept(self, source: str) -> Kept:
        return self._notes.get(source) or {}


def _without(signs: Mapping[Partition, T], places: Collection[Partition]) -> dict[Partition, T]:
    return {each: sign for each, sign in signs.items() if each not in places}


def _merged(every: Sequence[Signs]) -> Signs:
    return {place: sign for signs in every for place, sign in signs.items()}


_FACTS = 4


def _json(kept: Kept) -> object:
    told: dict[str, dict[str, list[int | None]]] = {}
    for (topic, partition), signs in kept.items():
        facts = [fact for each in signs for fact in astuple(each)]
        told.setdefault(topic, {})[str(partition)] = facts
    return told


def _kept(told: Any) -> Kept:
    return {
        (topic, int(partition)): tuple(
            RecordSign(*facts[at : at + _FACTS]) for at in range(0, len(facts), _FACTS)
        )
        for topic, partitions in told.items()
        for partition, facts in partitions.items()
    }


def signs_of(told: Any) -> Signs:
    """Return records from what the kernel tells of them as JSON, one of each partition."""
    return {place: signs[0] for place, signs in _kept(told).items()}
