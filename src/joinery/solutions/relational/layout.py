"""The tables that some products need: a table per relation, an index per join side.

Invariant: `matching` on a join side, and on a relation's key, is a lookup in the primary key
or in one index, never a scan.

Stored rows to tuples of cells, with what stands beside a relation's columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from joinery.model.change import Key
from joinery.model.type import Field
from joinery.plan.node import Node
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.solutions.relational.value import Cells, ConvertOf, cells_of
from joinery.solutions.stored.groups import stored_relations, stored_root
from joinery.solutions.stored.state import StoredRow, StoreError
from joinery.solutions.stored.tactic import columns_of

Columns = tuple[str, ...]

STATE = "joinery_state"
POSITION = "joinery_position"
AFTER_DELETE = "joinery_after_delete"
CHANGED = "joinery_changed_us"
PLACE, OFFSET = "joinery_place", "joinery_offset"
OWN_COLUMNS = (STATE, POSITION, AFTER_DELETE, CHANGED, PLACE, OFFSET)
"""What stands beside a relation's columns, as in `StoredRow`."""

DELETED, HIDDEN, VISIBLE = 0, 1, 2
"""Values of `STATE`; a hidden row is left out by the relation's `where`."""


def rows_name(query: str, relation: str) -> str:
    """Return the name of the table of a relation's rows, which is not that of the fence.

    Example:
        >>> rows_name("profile", "star"), rows_name("profile", "batch")
        ('profile__star', 'profile__rows__batch')
    """
    name = f"{query}__{relation}"
    return name if name != fence_name(query) else f"{query}__rows__{relation}"


def documents_name(query: str, product: str) -> str:
    """Return the name of the table of a product's documents."""
    return f"{query}__documents__{product}"


def pending_name(query: str, product: str) -> str:
    """Return the name of the table of a product's roots that are work to do."""
    return f"{query}__pending__{product}"


def fence_name(query: str) -> str:
    """Return the name of the table that tells who writes, and the last batch."""
    return f"{query}__batch"


@dataclass(frozen=True, slots=True)
class RelationTable:
    """How the rows of one relation are kept.

    Attributes:
        relation: The relation.
        key: The primary key: the relation's key columns, those of a join side first.
        indexes: The columns of each further index.
        shown: The columns that products read, in the relation's order.
    """

    relation: Relation
    key: Columns
    indexes: tuple[Columns, ...]
    shown: tuple[Field, ...]

    @property
    def columns(self) -> tuple[Field, ...]:
        """All columns of the relation, declared and derived."""
        return self.relation.row.fields


def relation_tables(products: Sequence[Product]) -> dict[str, RelationTable]:
    """Return the tables by relation.

    Example:
        A star joins its user by a part of its key, and its repository by another one: the
        first leads the primary key, the second needs an index.

    Raises:
        StoreError: A relation has a column that its table has beside those of the relation.
    """
    relations = dict.fromkeys(each for product in products for each in stored_relations(product))
    for each in relations:
        _check_columns(each)
    sides = {each.name: list(_sides(products, each)) for each in relations}
    return {each.name: _table(each, sides[each.name], products) for each in relations}


def _check_columns(relation: Relation) -> None:
    for column in relation.row.fields:
        if column.name in OWN_COLUMNS:
            raise StoreError(
                f'relation "{relation.name}" cannot have a column "{column.name}" here',
                detail="A column of that name is added to its table.",
                hint="Use another solution for its products, or leave the column out of fields.",
            )


def _table(
    relation: Relation, sides: Iterable[Columns], products: Sequence[Product]
) -> RelationTable:
    distinct = list(dict.fromkeys(tuple(dict.fromkeys(side)) for side in sides))
    key = _key_order(relation.key, distinct)
    rest = [side for side in distinct if set(side) != set(key[: len(side)])]
    indexes = {frozenset(side): side for side in rest}
    read = {name for node in _nodes(products, relation) for name in columns_of(node)}
    shown = tuple(each for each in relation.row.fields if each.name in {*read, *relation.key})
    return RelationTable(relation, key, tuple(indexes.values()), shown)


def _key_order(key: Columns, sides: Iterable[Columns]) -> Columns:
    """Return the key's columns so that as many join sides as can be lead them."""
    ordered: list[str] = []
    for side in sorted((each for each in sides if set(each) <= set(key)), key=len):
        if set(ordered) <= set(side):
            ordered += [each for each in side if each not in ordered]
    return (*ordered, *(each for each in key if each not in ordered))


def _sides(products: Sequence[Product], relation: Relation) -> Iterator[Columns]:
    for product in products:
        for node in stored_root(product).walk():
            if node.on and node.relation == relation:
                yield tuple(pair.child for pair in node.on)
            if node.relation == relation:
                for embed in node.embeds:
                    yield tuple(pair.parent for pair in embed.on)


def _nodes(products: Sequence[Product], relation: Relation) -> Iterator[Node]:
    for product in products:
        yield from (node for node in stored_root(product).walk() if node.relation == relation)


_NOWHERE = (None, None)


def stored_cells(
    relation: Relation, to_cell: ConvertOf
) -> Callable[[Iterable[tuple[Key, StoredRow]]], list[Cells]]:
    """Return the function from rows by key to cells: the relation's columns, then `OWN_COLUMNS`."""
    columns = relation.row.fields
    of_row, blank = cells_of(columns, to_cell), dict.fromkeys(each.name for each in columns)

    def gone(key: Key) -> Cells:
        return of_row({**blank, **dict(zip(relation.key, key, strict=True))})

    def cells(rows: Iterable[tuple[Key, StoredRow]]) -> list[Cells]:
        return [
            (gone(key) if row is None else of_row(row))
            + (DELETED if row is None else VISIBLE if visible else HIDDEN, *own)
            + (place or _NOWHERE)
            for key, (row, visible, *own, place) in rows
        ]

    return cells
