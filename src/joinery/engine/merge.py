"""One change into the stored state of its key: which change stands, and what the row is then.

Invariant: a stale change alters nothing but `after_delete`, which belongs to the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from joinery.engine.scope import Findings, guarded, relation_scope
from joinery.model.change import Change, Row
from joinery.plan.nodes import Relation


@dataclass(slots=True)
class Standing:
    """The newest state of one key; a deleted row is remembered without its columns."""

    row: Row | None = None
    position: int | None = None
    after_delete: bool = False


class RowMerge:
    """The rules of one relation."""

    def __init__(self, relation: Relation, findings: Findings) -> None:
        scope = relation_scope(relation)
        self._names = tuple(column.name for column in relation.columns)
        self._derived = [
            (each.name, guarded(each.expression, scope, findings)) for each in relation.derived
        ]
        self._where = guarded(relation.where, scope, findings) if relation.where else None

    def apply(self, standing: Standing, change: Change) -> str:
        """Apply the next change of the log and return the counter that tells of it."""
        after_delete = standing.after_delete
        standing.after_delete = change.after is None and not change.tombstone
        if change.tombstone and after_delete:
            return "tombstones_ignored"
        if not _newer(change.position, standing.position):
            return "stale"
        standing.row = None if change.after is None else self._merged(standing.row, change)
        if change.position is not None:
            standing.position = change.position
        return "applied"

    def derived(self, row: Row) -> Row:
        """Return a row with its derived columns."""
        if not self._derived:
            return row
        whole = dict(row)
        for name, evaluate in self._derived:
            whole[name] = evaluate(whole)
        return whole

    def visible(self, row: Row) -> bool:
        """Return whether products see a row, given with its derived columns."""
        return self._where is None or self._where(row) is True

    def _merged(self, row: Row | None, change: Change) -> dict[str, Any]:
        """Return the row after an upsert: a column that is absent keeps its stored value."""
        stored = row or {}
        told = {**(change.after or {}), **change.key}
        return {name: told[name] if name in told else stored.get(name) for name in self._names}


def _newer(position: int | None, stored: int | None) -> bool:
    """Tell whether the log's next change stands: equal positions yield to the later place."""
    return position is None or stored is None or position >= stored
