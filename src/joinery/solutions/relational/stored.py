"""Stored rows to tuples of cells, with what stands beside a relation's columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from joinery.plan.nodes import Relation
from joinery.solutions.relational.cells import Cells, ConvertOf, cells_of
from joinery.solutions.relational.layout import DELETED, HIDDEN, VISIBLE
from joinery.solutions.store import Key, StoredRow

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
