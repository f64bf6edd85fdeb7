"""The rows of some relations while their logs are told change by change.

Invariant: what `matching` finds is what `semantics.rows.Rows` finds over the same rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from joinery.model.change import Change, Key, Row
from joinery.plan.relation import Relation
from joinery.semantics.merge import KeptRow, RowMerge
from joinery.semantics.rows import Findings, JoinValue, join_value

LogPlace = tuple[int, int]
"""Where a record stands in its log."""
Place = tuple[str, tuple[str, ...]]
"""Where rows are looked up: a relation and its columns."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change did to the rows that products see.

    Attributes:
        before: The row before it; None where products saw none.
        after: The row after it; None where they see none.
    """

    before: Row | None
    after: Row | None


class Record(NamedTuple):
    """What is kept of a change: where it stands, not what it says."""

    relation: str
    place: LogPlace | None
    position: int | None

    @classmethod
    def of(cls, change: Change) -> Self:
        """Return what is kept of a change."""
        return cls(change.relation, change.place, change.position)


@dataclass(slots=True)
class Known:
    """What the log has told of one key.

    Attributes:
        standing: The newest state.
        by: The record that made it.
        seen: The row as products see it; None where they see none.
        refused: The newest record that was out of date; None for none.
    """

    standing: KeptRow = field(default_factory=KeptRow)
    by: Record | None = None
    seen: Row | None = None
    refused: Record | None = None


class LiveRows:
    """Rows by relation, with an index on each set of columns that was asked for."""

    def __init__(self, relations: Iterable[Relation]) -> None:
        self._merges = {each.name: RowMerge(each, Findings()) for each in relations}
        self._known: dict[str, dict[Key, Known]] = {name: {} for name in self._merges}
        self._indexes: dict[Place, dict[JoinValue, dict[Key, Row]]] = {}

    def apply(self, change: Change) -> Effect:
        """Apply the next change of the log."""
        key = tuple(change.key.values())
        known = self._known[change.relation].setdefault(key, Known())
        merge, before = self._merges[change.relation], known.seen
        outcome = merge.apply(known.standing, change)
        if outcome == "stale":
            known.refused = Record.of(change)
        if outcome != "applied":
            return Effect(before, before)
        known.by, known.refused = Record.of(change), None
        row = None if known.standing.row is None else merge.derived(known.standing.row)
        known.seen = row if row is not None and merge.visible(row) else None
        self._index(change.relation, key, before, known.seen)
        return Effect(before, known.seen)

    def known(self, relation: str, key: Key) -> Known | None:
        """Return what the log has told of a key; None where it never told of it."""
        return self._known[relation].get(key)

    def row(self, relation: str, key: Key) -> Row | None:
        """Return the row of a key as products see it; None where they see none."""
        known = self._known[relation].get(key)
        return None if known is None else known.seen

    def keys(self, relation: str) -> Collection[Key]:
        """Return all keys that the log has told of."""
        return self._known[relation]

    def whole(self, relation: str, known: Known) -> Row | None:
        """Return the row with its derived columns, whether products see it or not."""
        row = known.standing.row
        return None if row is None else self._merges[relation].derived(row)

    def matching(
        self, relation: str, columns: tuple[str, ...], value: JoinValue | None
    ) -> Sequence[Row]:
        """Return the rows of `relation` whose `columns` equal `value`; None matches nothing."""
        if value is None:
            return ()
        place = relation, columns
        if place not in self._indexes:
            self._indexes[place] = {}
            for key, known in self._known[relation].items():
                self._put(place, key, known.seen)
        return tuple(self._indexes[place].get(value, {}).values())

    def _index(self, relation: str, key: Key, before: Row | None, after: Row | None) -> None:
        for place in self._indexes:
            if place[0] != relation:
                continue
            value = None if before is None else join_value(before, place[1])
            if value is not None:
                self._indexes[place].get(value, {}).pop(key, None)
            self._put(place, key, after)

    def _put(self, place: Place, key: Key, row: Row | None) -> None:
        value = None if row is None else join_value(row, place[1])
        if row is not None and value is not None:
            self._indexes[place].setdefault(value, {})[key] = row


class Asked:
    """Rows as they are at one moment, which remember what they were asked for."""

    def __init__(self, rows: LiveRows) -> None:
        self._rows = rows
        self._places: dict[Place, set[JoinValue]] = {}

    def matching(
        self, relation: str, columns: tuple[str, ...], value: JoinValue | None
    ) -> Sequence[Row]:
        """Return the rows of `relation` whose `columns` equal `value`; None matches nothing."""
        if value is not None:
            self._places.setdefault((relation, columns), set()).add(value)
        return self._rows.matching(relation, columns, value)

    def concerns(self, relation: str, effect: Effect) -> bool:
        """Return whether an answer that was given may be another one by now."""
        rows = [row for row in (effect.before, effect.after) if row is not None]
        return any(
            join_value(row, columns) in values
            for (name, columns), values in self._places.items()
            if name == relation
            for row in rows
        )


def keyed(columns: Sequence[str], key: Key) -> Mapping[str, object]:
    """Return a key as a row."""
    return dict(zip(columns, key, strict=True))
