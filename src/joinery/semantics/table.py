"""The rows of one relation, as they stand after the changes that were applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from joinery.model.change import Change, Key, Row
from joinery.plan.relation import Relation
from joinery.semantics.lateness import Watermarks
from joinery.semantics.merge import KeptRow, RowMerge
from joinery.semantics.personal import without
from joinery.semantics.rows import Findings, join_value, time_of
from joinery.semantics.versions import VersionLog


class Table:
    """One relation: for each key its newest row by position.

    Args:
        relation: Whose rows they are.
        versioned: Whether all versions of its rows are kept.
        alone: Whether nothing but these is shown.

    Attributes:
        relation: Whose rows they are.
        merge: How its changes become rows.
        standing: By key, what is known of a row.
        log: All versions of its rows; None where nothing is embedded as of a time.
    """

    def __init__(self, relation: Relation, *, versioned: bool = False, alone: bool = False) -> None:
        self.relation, self._alone, self._timeless = relation, alone, 0
        self.log = VersionLog(relation, relation.time or "", Findings()) if versioned else None
        self._findings = Findings()
        self.merge = RowMerge(relation, self._findings)
        self.watermarks = Watermarks(relation.watermark)
        self._times = RowMerge(relation, Findings())  # what fails in it is found by the other
        self.standing: dict[Key, KeptRow] = {}
        self._existing: list[Row] | None = None
        self._violations = 0

    def apply(self, change: Change, now_us: int) -> str:
        """Apply the next change of the log and return the counter that tells of it."""
        standing = self.standing.setdefault(self.key_of(change), KeptRow())
        verdict = self.merge.apply(standing, change)
        self.note(change, now_us)
        if self.log is None:
            return verdict
        of_versions = self.log.apply(change)
        self._timeless += of_versions == "event_without_time"
        return of_versions if self._alone else verdict

    def key_of(self, change: Change) -> Key:
        """Return the key of the row that a change is about."""
        return tuple(change.key[column] for column in self.relation.key)

    def note(self, change: Change, now_us: int) -> None:
        """Take the time that a change tells."""
        if self.relation.time is not None and change.after is not None:
            told = time_of(self._times.first(change), self.relation.time)
            self.watermarks.note(change, told, now_us)

    def time_of(self, row: Row) -> int | None:
        """Return the time of a row without its derived columns, in microseconds; None for none."""
        return time_of(self._times.derived(row), self.relation.time)

    def taken_timeless(self) -> int:
        """Return how many changes since the last call gave no version for want of a time."""
        taken, self._timeless = self._timeless, 0
        return taken

    def begin(self) -> None:
        """Begin to show the rows of another batch."""
        self._existing = None

    def erase(self, subject: object) -> None:
        """Take what is personal of a subject out of the rows."""
        personal = self.relation.personal
        if personal is None:
            return
        for standing in self.standing.values():
            if standing.row is not None:
                standing.row = without(standing.row, personal, subject)
        if self.log is not None:
            self.log.erase(subject)
        self._existing = None

    def existing(self) -> list[Row]:
        """Return the rows that products see, with their derived columns.

        They are evaluated once a batch, when all of its changes have been applied.
        """
        if self._existing is None:
            rows = (each.row for each in self.standing.values())
            whole = [self.merge.derived(row) for row in rows if row is not None]
            self._existing = [row for row in whole if self.merge.visible(row)]
        return self._existing

    def roots(self) -> list[Row]:
        """Return those that documents are made of, one a key."""
        return self.existing()

    def leave(self, keys: Iterable[Key]) -> None:
        """Forget rows, and what was found over them."""
        for key in keys:
            del self.standing[key]
        self.begin()
        self.existing()
        self._findings.end_batch()
        self.begin()

    def news(self) -> Counter[str]:
        """Return what the last batch was the first to find."""
        return self._findings.news()

    def new_violations(self) -> int:
        """Return how many more rows than before repeat a `unique` value."""
        before, existing = self._violations, self.existing()
        self._violations = sum(_repeats(existing, columns) for columns in self.relation.unique)
        return max(0, self._violations - before)


def _repeats(rows: Iterable[Row], columns: tuple[str, ...]) -> int:
    values = [value for row in rows if (value := join_value(row, columns)) is not None]
    return len(values) - len(set(values))
