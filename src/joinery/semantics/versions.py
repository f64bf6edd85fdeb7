"""The versions of a relation's rows: each valid from its time until the next one of its key.

Of one time the later position stands; an older position at another time is not stale. Where a
delete tells a time, no version is valid from then until the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from joinery.expression.convert import micros_of
from joinery.model.change import Change, Key, Row
from joinery.plan.history import columns_of_deletes
from joinery.plan.relation import Personal, Relation
from joinery.semantics.merge import KeptRow, RowMerge
from joinery.semantics.personal import without
from joinery.semantics.rows import Findings, equal_value

Version = tuple[int, Row | None]
"""A time in microseconds since 1970, and the row that products see from then on; None for none."""


class Versions:
    """The versions of one row, each from its time on."""

    def __init__(self) -> None:
        self._by_time: dict[int, KeptRow] = {}

    def __iter__(self) -> Iterator[tuple[int, Row | None]]:
        """Yield each time, in microseconds and ascending, with the row from then; None for none."""
        for time_us in sorted(self._by_time):
            yield time_us, self._by_time[time_us].row

    def apply(self, merge: RowMerge, time_us: int, change: Change) -> str:
        """Take a change that is valid from a time; return the counter that tells of it."""
        standing = self._by_time.get(time_us)
        if standing is None:
            standing = self._by_time[time_us] = KeptRow(row=self._before(time_us))
        return merge.apply(standing, change)

    def erase(self, personal: Personal, subject: object) -> None:
        """Take what is personal of a subject out of each of them."""
        for each in self._by_time.values():
            if each.row is not None:
                each.row = without(each.row, personal, subject)

    def _before(self, time_us: int) -> Row | None:
        """Return the row just before a time: what a change leaves out is as in it."""
        earlier = [each for each in self._by_time if each < time_us]
        return self._by_time[max(earlier)].row if earlier else None


@dataclass(frozen=True, slots=True)
class VersionTime:
    """What a change tells of a version.

    Attributes:
        key: Of the row.
        valid_us: From when it is valid.
        known_us: When it became known; None where that is not asked for.
    """

    key: Key
    valid_us: int
    known_us: int | None


class VersionLog:
    """The versions of all rows of one relation.

    Args:
        relation: Whose rows they are.
        valid: The column with the time from which a version is valid.
        findings: Takes the expressions that fail.
        known: The column with the time at which a change became known; None for no such.
    """

    def __init__(
        self, relation: Relation, valid: str, findings: Findings, known: str | None = None
    ) -> None:
        self._relation, self._valid, self._known = relation, valid, known
        self._merge = RowMerge(relation, findings)
        self._clock = RowMerge(relation, Findings())  # what fails in it is found by the other
        self._told = columns_of_deletes(relation, valid, known)
        self._keys: dict[Key, Versions] = {}

    def apply(self, change: Change) -> str:
        """Apply the next change of the log and return the counter that tells of it."""
        told = self.read(change)
        return told if isinstance(told, str) else self.put(told, change)

    def read(self, change: Change) -> VersionTime | str:
        """Return what a change tells; the counter that tells of it where that is not a version."""
        if change.after is None and not self._tells_time(change):
            return "ignored_deletes"
        told = self._clock.row_alone(self._columns_of(change))
        at, known = told[self._valid], None if self._known is None else told[self._known]
        if at is None or (self._known is not None and known is None):
            return "event_without_time" if change.after is not None else "ignored_deletes"
        key = tuple(equal_value(change.key[column]) for column in self._relation.key)
        return VersionTime(key, micros_of(at), None if known is None else micros_of(known))

    def put(self, told: VersionTime, change: Change) -> str:
        """Take a change as the version that it tells; return the counter that tells of it."""
        versions = self._keys.setdefault(told.key, Versions())
        return versions.apply(self._merge, told.valid_us, change)

    def versions_of(self, key: Key) -> Sequence[Version]:
        """Return the versions of a key, the earliest first."""
        return [(at, self._visible(row)) for at, row in self._keys.get(key, Versions())]

    def erase(self, subject: object) -> None:
        """Take what is personal of a subject out of all versions."""
        if self._relation.personal is not None:
            for versions in self._keys.values():
                versions.erase(self._relation.personal, subject)

    def _columns_of(self, change: Change) -> Row:
        if change.after is not None:
            return self._clock.columns_of(change)
        return {**self._clock.columns_of(change), **(change.ended or {}), **change.key}

    def _tells_time(self, change: Change) -> bool:
        told = self._columns_of(change)
        return bool(self._told) and all(told.get(each) is not None for each in self._told)

    def shown(self) -> Iterator[Sequence[Version]]:
        """Yield the versions of each key, the earliest first."""
        for versions in self._keys.values():
            yield [(time_us, self._visible(row)) for time_us, row in versions]

    def _visible(self, row: Row | None) -> Row | None:
        whole = None if row is None else self._merge.derived(row)
        return whole if whole is not None and self._merge.visible(whole) else None
