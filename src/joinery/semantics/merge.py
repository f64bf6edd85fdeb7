"""One change into the stored state of its key: which change stands, and what the row is then.

Invariant: a stale change alters nothing but `after_delete`, which belongs to the log. Rows of an
append relation are never deleted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from joinery.expression.convert import moment_of
from joinery.model.change import Change, Row
from joinery.plan.relation import LOG_TIME, Relation
from joinery.semantics.rows import Findings, guarded, values_reader

Place = tuple[int, int]


@dataclass(slots=True)
class KeptRow:
    """The newest state of one key; a deleted row is remembered without its columns."""

    row: Row | None = None
    position: int | None = None
    after_delete: bool = False
    place: Place | None = None


class RowMerge:
    """The rules of one relation."""

    def __init__(self, relation: Relation, findings: Findings) -> None:
        self._append = relation.append
        self._logged = relation.logged
        self._names = tuple(column.name for column in relation.columns)
        self._values = values_reader(self._names)
        self._derived = [
            (each.name, guarded(each.expression, findings)) for each in relation.derived
        ]
        self._where = guarded(relation.where, findings) if relation.where else None

    def apply(self, standing: KeptRow, change: Change) -> str:
        """Apply the next change of the log and return the counter that tells of it."""
        if self._append and change.after is None:
            return "ignored_deletes"
        verdict = _verdict(change, standing)
        if verdict == "repeated":
            return verdict
        after_delete = standing.after_delete
        standing.after_delete = change.after is None and not change.tombstone
        if change.tombstone and after_delete:
            return "tombstones_ignored"
        if verdict == "stale":
            return verdict
        standing.row = None if change.after is None else self._merged(standing.row, change)
        if change.position is not None:
            standing.position = change.position
        standing.place = change.place
        return "applied"

    def first(self, change: Change) -> Row:
        """Return the row, with its derived columns, that an upsert makes of a new key."""
        return self.derived(self._merged(None, change))

    def columns_of(self, change: Change) -> Row:
        """Return the columns that an upsert tells, and the time of its log where that is one."""
        told = {**(change.after or {}), **change.key}
        if self._logged and change.logged_us is not None:
            told[LOG_TIME] = moment_of(change.logged_us)
        return told

    def row_alone(self, columns: Row) -> Row:
        """Return the row that columns make alone, those that they leave out being null."""
        return self.derived({name: columns.get(name) for name in self._names})

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
        if self._logged:
            return self._patched(row, change)
        try:
            whole = dict(zip(self._names, self._values(change.after), strict=True))
        except KeyError:
            return self._patched(row, change)
        whole.update(change.key)
        return whole

    def _patched(self, row: Row | None, change: Change) -> dict[str, Any]:
        stored, told = row or {}, self.columns_of(change)
        return {name: told[name] if name in told else stored.get(name) for name in self._names}


def _verdict(change: Change, standing: KeptRow) -> str:
    """Judge the log's next change: by position, then by place; without both it is the newest.

    A record that is put back comes late, at its first place.
    """
    position, stored = change.position, standing.position
    if position is not None and stored is not None and position != stored:
        return "applied" if position > stored else "stale"
    place, last = change.place, standing.place
    if place is None or last is None or place > last:
        return "applied"
    return "repeated" if place == last else "stale"
