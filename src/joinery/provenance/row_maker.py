"""What makes the rows of a product without a root, one for each form, as the reference does.

Each is given the records of one group, and of the others the times alone, which move the watermark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, assert_never

from joinery.expression.convert import micros_of
from joinery.model.change import Change, DocumentChange, Key
from joinery.plan.aggregate import AggregateForm
from joinery.plan.fold import FoldForm
from joinery.plan.history import VALID_FROM, VALID_TO, HistoryForm
from joinery.plan.pattern import PatternForm
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.provenance.grouping import identity_of
from joinery.provenance.live_rows import LiveRows
from joinery.semantics.aggregate_reference import AggregateReference
from joinery.semantics.fold_reference import FoldReference
from joinery.semantics.history_reference import HistoryReference
from joinery.semantics.lateness import Watermarks
from joinery.semantics.merge import RowMerge
from joinery.semantics.rows import Findings, time_of
from joinery.semantics.versions import VersionLog
from joinery.solutions.protocol import DeadDocument

RowForm = AggregateForm | FoldForm | HistoryForm | PatternForm
"""The forms whose rows are made of the records of one relation."""
Sending = tuple[list[DocumentChange], list[DeadDocument]]
_SHOWN = 5
_NOW_US = 0
"""The clock stands still: no partition falls silent while its log is read."""


class RowPart(NamedTuple):
    """A record that a row is made of.

    Attributes:
        role: What it is there: `row`, `event 3`, `valid from`, or a variable of a pattern.
    """

    role: str
    change: Change


class RowMaker(Protocol):
    """Makes the rows of one group."""

    def apply(self, record: Sequence[Change]) -> Mapping[str, int]:
        """Apply a record of the group, or of a relation beside; return what is counted of it."""

    def hear(self, change: Change) -> None:
        """Take the time of a record of another group."""

    def send(self) -> Sending:
        """Return what the sink receives now, and the dead letters."""

    def parts(self, key: Key) -> Iterator[RowPart]:
        """Yield what the row of a key is made of."""

    def notes(self, key: Key) -> Iterator[str]:
        """Yield what of its group is not in a row, and why."""


def row_maker(product: Product, form: RowForm, most_bytes: int | None) -> RowMaker:
    """Return what makes the rows of a product."""
    match form:
        case AggregateForm() | PatternForm():
            return _GroupMaker(product, form, most_bytes)
        case FoldForm():
            return _FoldMaker(product, form, most_bytes)
        case HistoryForm():
            return _HistoryMaker(product, form, most_bytes)
        case _:
            assert_never(form)


class _Hearing:
    """Takes the times of records that a reference is not given."""

    def __init__(self, relation: Relation, watermarks: Watermarks) -> None:
        self._time, self._watermarks = relation.time, watermarks
        self._clock = RowMerge(relation, Findings())

    def hear(self, change: Change) -> None:
        """Take the time of a record."""
        if self._time is not None and change.after is not None:
            told = time_of(self._clock.first(change), self._time)
            self._watermarks.note(change, told, _NOW_US)
            self._watermarks.end_batch(_NOW_US)


class _GroupMaker(_Hearing):
    """Makes groups, and the matches of a pattern."""

    def __init__(
        self, product: Product, form: AggregateForm | PatternForm, most_bytes: int | None
    ) -> None:
        self._form = form
        self._relation = form.relation
        self._reference = AggregateReference(product, form, most_bytes)
        super().__init__(form.relation, self._reference.watermarks)
        rules = form.rules if isinstance(form, PatternForm) else ()
        self._beside = LiveRows({each.relation for each in rules})
        self._besides = {each.relation.name for each in rules}
        self._by: dict[Any, Change] = {}
        self._behind: dict[Key, Sequence[tuple[str, Any]]] = {}
        self._counted = Counter[str]()

    def apply(self, record: Sequence[Change]) -> Mapping[str, int]:
        """Apply a record of the group, or of a rule."""
        for change in record:
            if change.relation in self._besides:
                self._beside.apply(change)
        self._reference.see(self._beside)
        own = [each for each in record if each.relation == self._relation.name]
        before = [self._reference.row_of(identity_of(self._relation, each)) for each in own]
        counted = self._reference.apply(own, _NOW_US)
        for change, row in zip(own, before, strict=True):
            identity = identity_of(self._relation, change)
            if self._reference.row_of(identity) is not row:
                self._by[identity] = change
        self._counted.update(counted)
        return counted

    def send(self) -> Sending:
        """Return what the sink receives now, and the dead letters."""
        documents, dead = self._reference.send(_NOW_US)
        for each in documents:
            key = tuple(each.key.values())
            self._behind[key] = tuple(self._reference.behind(key))
        return documents, dead

    def parts(self, key: Key) -> Iterator[RowPart]:
        """Yield the rows of a group, or of a match; of one that is forgotten, those it had."""
        for role, identity in tuple(self._reference.behind(key)) or self._behind.get(key, ()):
            if identity in self._by:
                yield RowPart(role, self._by[identity])

    def notes(self, key: Key) -> Iterator[str]:
        """Yield how many records of the group came too late, or tell no time that is needed."""
        if self._form.emit.late != "correct":
            yield from _told(self._counted, "late", "came late and did not count")
        yield from _told(self._counted, "too_late", "came after their window was forgotten")
        if isinstance(self._form, PatternForm) or self._form.window is not None:
            yield from _told(self._counted, "event_without_time", "came without a time")


class _FoldMaker(_Hearing):
    """Makes states."""

    def __init__(self, product: Product, form: FoldForm, most_bytes: int | None) -> None:
        self._reference = FoldReference(product, form, most_bytes)
        super().__init__(form.relation, self._reference.watermarks)
        self._by: dict[Any, Change] = {}
        self._counted = Counter[str]()

    def apply(self, record: Sequence[Change]) -> Mapping[str, int]:
        """Apply an event of the group."""
        counted = self._reference.apply(record, _NOW_US)
        self._by |= {each.place: each for each in record if each.place is not None}
        self._counted.update(counted)
        return counted

    def send(self) -> Sending:
        """Return what the sink receives now, and the dead letters."""
        return self._reference.send(_NOW_US)

    def parts(self, key: Key) -> Iterator[RowPart]:
        """Yield the events that apply, in the order of their numbers."""
        for number, place in self._reference.behind(key):
            if place in self._by:
                yield RowPart(f"event {number}", self._by[place])

    def notes(self, key: Key) -> Iterator[str]:
        """Yield which events wait for a number that is missing, and what did not count."""
        waiting = self._reference.waiting(key)
        if waiting:
            numbers = ", ".join(map(str, waiting[:_SHOWN])) + (", …" if waiting[_SHOWN:] else "")
            yield f"event {numbers}: waiting, since a number before is missing"
        yield from _told(self._counted, "repeated", "tell an event once more")
        yield from _told(self._counted, "event_without_sequence", "have no number")


class _HistoryMaker:
    """Makes versions."""

    def __init__(self, product: Product, form: HistoryForm, most_bytes: int | None) -> None:
        self._form = form
        self._reference = HistoryReference(product, form, most_bytes)
        self._log = VersionLog(form.relation, form.valid, Findings(), form.known)
        self._by: dict[int, Change] = {}
        self._ends: dict[Key, int | None] = {}

    def apply(self, record: Sequence[Change]) -> Mapping[str, int]:
        """Apply a record of the row."""
        for change in record:
            told = self._log.read(change)
            if not isinstance(told, str) and self._log.put(told, change) == "applied":
                self._by[told.valid_us] = change
        return self._reference.apply(record, _NOW_US)

    def hear(self, change: Change) -> None:
        """Nothing of another row has a part in its versions."""

    def send(self) -> Sending:
        """Return what the sink receives now, and the dead letters."""
        documents, dead = self._reference.send(_NOW_US)
        for each in documents:
            until = None if each.value is None else each.value[VALID_TO.name]
            self._ends[tuple(each.key.values())] = None if until is None else micros_of(until)
        return documents, dead

    def parts(self, key: Key) -> Iterator[RowPart]:
        """Yield the record a version begins with, those that changed nothing in it, and its end."""
        at = [each.name for each in self._form.key.fields].index(VALID_FROM.name)
        begin, end = micros_of(key[at]), self._ends.get(key)
        for time_us, change in sorted(self._by.items()):
            if time_us == begin:
                yield RowPart("valid from", change)
            elif time_us > begin and (end is None or time_us < end):
                yield RowPart("the same then", change)
            elif time_us == end:
                yield RowPart("valid to", change)

    def notes(self, key: Key) -> Iterator[str]:
        """Yield nothing: each record is a version."""
        yield from ()


def _told(counted: Mapping[str, int], name: str, what: str) -> Iterator[str]:
    """Yield how many records of the group something was counted of."""
    if count := counted.get(name, 0):
        yield f"{count:,} {'record' if count == 1 else 'records'} of its group {what}"
