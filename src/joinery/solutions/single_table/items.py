"""The rows of one relation as items: `TABLE#<relation>…` and the row's key, found by slots.

A slot's value is `<relation>.<columns>…#<join value>`, so that joins that share a slot never
mix. A row that products do not see, or whose join value is null, has no slot and is in no
index. Within a batch each value of a slot is queried once; rows written since correct it.

Invariant: an item is written with its slots, so a row and the values that find it never differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from joinery.model.change import Key, Row
from joinery.plan.relation import Relation
from joinery.semantics.rows import JoinValue, join_reader
from joinery.solutions.key_value.codec import RowText
from joinery.solutions.key_value.dynamodb_table import DynamoTable, Item, Place, shortened
from joinery.solutions.key_value.key_text import key_bytes
from joinery.solutions.key_value.tables import escaped
from joinery.solutions.single_table.recent import Recent
from joinery.solutions.single_table.slot import slot_name
from joinery.solutions.stored.state import StoredRow

"""By columns, the value of the slot that a row is found by."""


"""How many global secondary indexes a table of DynamoDB may have."""

"""A relation, and the columns by which its rows are found."""


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
