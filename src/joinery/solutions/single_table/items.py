"""The rows of one relation as items: `TABLE#<relation>…` and the row's key, found by slots.

A slot's value is `<relation>.<columns>…#<join value>`, so that joins that share a slot never
mix. A row that products do not see, or whose join value is null, has no slot and is in no
index. Within a batch each value of a slot is queried once; rows written since correct it.

Invariant: an item is written with its slots, so a row and the values that find it never differ.

Rows that were written a moment ago, which indexes may not show yet.

DynamoDB brings an index up to its table some time after a write, mostly within a second. What
a query of an index finds is therefore corrected by the rows that this writer, the only one,
wrote since.

Which generic index finds the rows of a relation by which of its columns.

A relation needs a slot for each set of columns that edges join on, other than its primary
key. Two needs of one relation are in conflict, and those of different relations are not,
since the values of a slot carry relation and columns. So the conflicts of each relation are a
clique, and as many slots do as the relation with the most needs has.

Invariant: a need keeps its slot for ever; a slot is given to a need only while no other need
of the same relation ever had it.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from joinery.errors import SpecError
from joinery.model.change import Key, Row
from joinery.plan.relation import Relation
from joinery.semantics.rows import JoinValue, join_reader
from joinery.solutions.key_value.codec import RowText, key_bytes
from joinery.solutions.key_value.dynamodb_table import DynamoTable, Item, Place, shortened
from joinery.solutions.key_value.tables import escaped
from joinery.solutions.stored.state import StoredRow

Found = Mapping[tuple[str, ...], str]
"""By columns, the value of the slot that a row is found by."""


class Recent:
    """The rows of one relation, by sort key.

    Args:
        lag_s: How far behind an index may be.
        clock: Tells seconds.
    """

    def __init__(self, lag_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._lag_s = lag_s
        self._clock = clock
        self._rows: dict[str, tuple[Row | None, Found, float]] = {}
        self._finds: defaultdict[tuple[tuple[str, ...], str], set[str]] = defaultdict(set)

    def __contains__(self, sort: object) -> bool:
        return sort in self._rows

    def put(self, sort: str, row: Row | None, found: Found) -> None:
        """Note that a row was written; None where products do not see it."""
        self._drop(sort)
        self._rows[sort] = (row, found, self._clock())
        for side in found.items():
            self._finds[side].add(sort)

    def matching(self, columns: tuple[str, ...], value: str) -> Iterator[Row]:
        """Yield the rows that a slot's value finds."""
        for sort in self._finds.get((columns, value), ()):
            row = self._rows[sort][0]
            if row is not None:
                yield row

    def expire(self) -> None:
        """Drop what indexes show by now."""
        until = self._clock() - self._lag_s
        for sort in [each for each, (_, _, at) in self._rows.items() if at < until]:
            self._drop(sort)

    def clear(self) -> None:
        """Drop everything: indexes were waited for."""
        self._rows.clear()
        self._finds.clear()

    def _drop(self, sort: str) -> None:
        former = self._rows.pop(sort, None)
        for side in former[1].items() if former else ():
            self._finds[side].discard(sort)
            if not self._finds[side]:
                del self._finds[side]


MOST = 20
"""How many global secondary indexes a table of DynamoDB may have."""

Need = tuple[str, tuple[str, ...]]
"""A relation, and the columns by which its rows are found."""


class TooManySlotsError(SpecError):
    """A relation is joined by more sets of columns than a table has indexes for."""

    code = "SPEC_SLOTS"


def assign(needs: Collection[Need], given: Mapping[Need, int]) -> dict[Need, int]:
    """Return the slots, counted from 1, of all needs, those already `given` as they are.

    Raises:
        TooManySlotsError: One would be above `MOST`.

    Example:
        >>> assign([("star", ("repo",)), ("star", ("user",)), ("repo", ("owner",))], {})
        {('repo', ('owner',)): 1, ('star', ('repo',)): 1, ('star', ('user',)): 2}
        >>> assign([("star", ("at",))], {("star", ("repo",)): 1})
        {('star', ('repo',)): 1, ('star', ('at',)): 2}
    """
    slots = dict(given)
    for need in sorted(set(needs) - slots.keys()):
        taken = {slot for (relation, _), slot in slots.items() if relation == need[0]}
        slots[need] = next(slot for slot in range(1, len(taken) + 2) if slot not in taken)
        if slots[need] > MOST:
            raise _too_many(need[0], [columns for name, columns in slots if name == need[0]])
    return slots


def slot_name(slot: int) -> str:
    """Return the name of an index, and of the attribute that it is over."""
    return f"GSI_{slot}"


def _too_many(relation: str, columns: Collection[tuple[str, ...]]) -> TooManySlotsError:
    told = ", ".join(sorted("(" + ", ".join(each) + ")" for each in columns))
    return TooManySlotsError(
        f'relation "{relation}" needs more than the {MOST} indexes of a DynamoDB table',
        detail=f"It is joined by {told}.",
        hint="Give some of its products another `table`, or join on the primary key.",
    )


_LONGEST_SORT = 990
_LONGEST_VALUE = 2_000


@dataclass(frozen=True, slots=True)
class ItemLayout:
    """Where the items of one query stand.

    Attributes:
        scope: Of the query and its generation; parts it from others in the same table.
        shards: Over how many partition keys a relation is spread.
    """

    scope: str
    shards: int = 1


class ItemTable:
    """One relation.

    Args:
        relation: Its key and columns.
        sides: The slot of each set of columns that edges join on.
        table: Where all items are.
        layout: Under which names.
        recent: What was written lately; outlives the batch.
    """

    def __init__(
        self,
        relation: Relation,
        sides: Mapping[tuple[str, ...], int],
        table: DynamoTable,
        layout: ItemLayout,
        recent: Recent,
    ) -> None:
        self._key = relation.key
        self._table = table
        self._layout = layout
        self._recent = recent
        self._text = RowText(relation.row.fields)
        name = escaped(relation.name)
        self._head = f"TABLE#{name}#{layout.scope}"
        self._slots = {columns: slot_name(slot) for columns, slot in sides.items()}
        self._values = {
            columns: f"{name}.{','.join(map(escaped, columns))}#{layout.scope}#"
            for columns in sides
        }
        self._readers = {columns: join_reader(relation, columns) for columns in sides}
        self._read: dict[str, Row | None] = {}
        self._queried: defaultdict[tuple[str, ...], dict[str, list[tuple[str, Row]]]]
        self._queried = defaultdict(dict)

    def rows(self, keys: Collection[Key]) -> dict[Key, StoredRow]:
        """Return what is stored under `keys`."""
        places = {key: self.place(sort_key(key)) for key in keys}
        found = self._table.get(places.values())
        return {
            key: self._text.stored(found[place]) for key, place in places.items() if place in found
        }

    def matching(self, columns: tuple[str, ...], values: Collection[JoinValue]) -> list[Row]:
        """Return the visible rows whose `columns` equal one of `values`."""
        if columns not in self._slots:
            return self._under(columns, values)
        wanted = {self._value(columns, value): value for value in values}
        queried, recent = self._queried[columns], self._recent
        value_of = self._readers[columns]
        asked = [each for each in wanted if each not in queried]
        for value, found in zip(
            asked, self._table.indexed(self._slots[columns], asked), strict=True
        ):
            queried[value] = [
                (sort, row)
                for (_, sort), text in found.items()
                if (row := self._text.visible(text)) is not None and value_of(row) == wanted[value]
            ]
        rows = [row for v in wanted for sort, row in queried[v] if sort not in recent]
        rows += [row for value in wanted for row in recent.matching(columns, value)]
        return rows

    def write(self, rows: Mapping[Key, StoredRow]) -> None:
        """Put rows in place of those under their keys."""
        items: dict[Place, Item | None] = {}
        noted: list[tuple[str, Row | None, dict[tuple[str, ...], str]]] = []
        for key, stored in rows.items():
            sort = sort_key(key)
            seen = stored.row if stored.visible else None
            found = {} if seen is None else self._found(seen)
            slots = {self._slots[columns]: value for columns, value in found.items()}
            items[self.place(sort)] = Item(self._text.text(stored), slots)
            noted.append((sort, seen, found))
        self._table.put(items)
        for sort, seen, found in noted:
            self._recent.put(sort, seen, found)
            self._read[sort] = seen

    def stored(self, sorts: Iterable[str]) -> dict[str, StoredRow]:
        """Return what is stored under some sort keys."""
        places = {sort: self.place(sort) for sort in sorts}
        found = self._table.get(places.values())
        return {s: self._text.stored(found[place]) for s, place in places.items() if place in found}

    def remove(self, sorts: Iterable[str]) -> None:
        """Remove rows that are no more."""
        self._table.put({self.place(sort): None for sort in sorts})

    def place(self, sort: str) -> Place:
        """Return where the row with a sort key stands."""
        if self._layout.shards == 1:
            return self._head, sort
        return f"{self._head}#{crc32(sort.encode()) % self._layout.shards}", sort

    def _under(self, columns: tuple[str, ...], values: Collection[JoinValue]) -> list[Row]:
        """Return the visible rows by primary key, whose columns stand in another order."""
        at = [columns.index(column) for column in self._key]
        sorts = {sort_key([value[place] for place in at]) for value in values}
        missing = {sort: self.place(sort) for sort in sorts if sort not in self._read}
        found = self._table.get(missing.values())
        for sort, place in missing.items():
            text = found.get(place)
            self._read[sort] = None if text is None else self._text.visible(text)
        rows = (self._read[sort] for sort in sorts)
        return [row for row in rows if row is not None]

    def _found(self, row: Row) -> dict[tuple[str, ...], str]:
        """Return by which values of slots a row is found."""
        values = ((columns, value_of(row)) for columns, value_of in self._readers.items())
        return {columns: self._value(columns, each) for columns, each in values if each is not None}

    def _value(self, columns: tuple[str, ...], value: JoinValue) -> str:
        return shortened(self._values[columns] + key_bytes(value).decode(), _LONGEST_VALUE)


def sort_key(key: Sequence[Any]) -> str:
    """Return the sort key of a row's item."""
    return shortened(key_bytes(key).decode(), _LONGEST_SORT)
