"""The rows of each key of a pattern, the matches in them, and what a match shows.

It is slow and plain: nothing is kept but rows, and all matches are found again each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from joinery.expression.aggregate import aggregate
from joinery.expression.match_read import PREV, MatchRead
from joinery.expression.order import row_key
from joinery.expression.problem import EvaluationError
from joinery.model.change import Key, KeyObject, Row
from joinery.plan.pattern import START, PatternForm
from joinery.semantics.groups import Slot
from joinery.semantics.matcher import MatchRules, Taken, matches_in
from joinery.semantics.rows import Findings, equal_value, guarded, time_of
from joinery.semantics.window import Bounds

Shown = tuple[Key, Bounds | None, Callable[[], dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class _Member:
    """A row of a key, with its place in the order and what arguments of reads are over it."""

    row: Row
    time_us: int | None
    rank: Any


class Patterns:
    """The rows of each key, and the matches in them."""

    def __init__(self, form: PatternForm, findings: Findings) -> None:
        self._form, self._findings = form, findings
        self._by = [(each.name, guarded(each.expression, findings)) for each in form.by]
        order = [each.expression for each in form.order]
        self._order = [guarded(each, findings) for each in order]
        key = form.relation.key
        kinds = [(each.expression.type, each.descending) for each in form.order]
        kinds += [(form.relation.type_of(each), False) for each in key]
        self._rank = row_key(kinds)
        self._reading = _Reading(form, findings)
        self._fields = [(each.name, guarded(each.expression, findings)) for each in form.fields]
        self._members: dict[Slot, dict[Any, _Member]] = {}
        self._shown: dict[Key, Row] = {}
        self._rules = MatchRules(
            form.program, form.absent, form.within_us, form.after, form.follows_match
        )

    def time_of(self, row: Row) -> int | None:
        """Return the time of a row in microseconds; None also where it tells none."""
        return time_of(row, self._form.relation.time)

    def slots_of(self, row: Row) -> Sequence[Slot]:
        """Return where a visible row takes part: with a time, where its relation has one."""
        time_us = self.time_of(row)
        if self._form.relation.time is not None and time_us is None:
            return ()
        values = {name: evaluate(row) for name, evaluate in self._by}
        group = tuple(equal_value(each) for each in values.values())
        self._shown.setdefault(group, values)
        return (Slot(group, time_us=time_us),)

    def lifetimes(self, time_us: int) -> Sequence[Bounds]:
        """Return how long matches may wait that a row of a time takes part in."""
        within_us = self._form.within_us
        return () if within_us is None else ((time_us - within_us, time_us + within_us + 1),)

    def put(self, slot: Slot, identity: Any, row: Row) -> None:
        """Put a row into the rows of a key, or replace it there."""
        time_us = self.time_of(row)
        key = [row[each] for each in self._form.relation.key]
        rank = self._rank([*(each(row) for each in self._order), *key])
        first = time_us if self._form.by_time else 0
        member = _Member(row, time_us, (first, rank, identity))
        self._members.setdefault(slot, {})[identity] = member

    def remove(self, slot: Slot, identity: Any) -> None:
        """Take a row out of the rows of a key."""
        members = self._members.get(slot, {})
        members.pop(identity, None)
        if not members:
            self._members.pop(slot, None)

    def forgotten(self, slot: Slot, watermark: int | None) -> bool:
        """Return whether a row is too old to change anything."""
        if watermark is None or slot.time_us is None:
            return False
        emit = self._form.emit
        return slot.time_us < watermark - emit.allowed_us - emit.retention_us

    def shown(self, watermark: int | None) -> Iterator[Shown]:
        """Yield the key, the time that it waits for, and the value of each match.

        Of two with one key, as a log may have told its first row twice, the first stands.
        """
        known = set[Key]()
        groups: dict[Key, list[_Member]] = {}
        for slot, members in self._members.items():
            groups.setdefault(slot.group, []).extend(members.values())
        for group, unsorted in groups.items():
            rows = sorted(unsorted, key=lambda each: each.rank)
            for key, bounds, value in self._matches(group, rows):
                if key not in known:
                    known.add(key)
                    yield key, bounds, value

    def _matches(self, group: Key, rows: Sequence[_Member]) -> Iterator[Shown]:
        told = _Told(rows, self._reading)
        within_us = self._form.within_us
        for each in matches_in(told, self._rules):
            first = rows[each.start]
            start = self._start(first.row)
            if each.last is None:
                self._findings.limited.add((*group, start))
                continue
            bounds = None
            if within_us is not None and first.time_us is not None:
                bounds = first.time_us, first.time_us + within_us + 1
            yield (*group, start), bounds, partial(self._value, group, start, told, each.last)

    def _start(self, row: Row) -> KeyObject:
        return KeyObject((name, equal_value(row[name])) for name in self._form.relation.key)

    def _value(self, group: Key, start: KeyObject, told: _Told, last: Taken) -> dict[str, Any]:
        shown = dict(self._shown[group])
        scope = shown | self._reading.of(told, last)
        shown[START] = start
        return shown | {name: evaluate(scope) for name, evaluate in self._fields}


class _Reading:
    """What expressions read of matches."""

    def __init__(self, form: PatternForm, findings: Findings) -> None:
        self._form, self._findings = form, findings
        names = [each.name for each in form.variables]
        self._reads = [
            (each, names.index(each.variable) if each.variable else None) for each in form.reads
        ]
        self._arguments = {
            each.name: guarded(each.argument, findings)
            for each in form.reads
            if each.argument is not None
        }
        self._conditions = [
            None if each.condition is None else guarded(each.condition, findings)
            for each in form.variables
        ]
        self._read_by = [
            frozenset() if each.condition is None else each.condition.references
            for each in form.variables
        ]

    def tests(self, told: _Told, taken: Taken) -> bool:
        """Return whether the last row of `taken` may be its variable's."""
        condition = self._conditions[taken.variable]
        if condition is None:
            return True
        names = self._read_by[taken.variable]
        scope = told.rows[taken.at].row
        if any(read.name in names for read, _ in self._reads):
            scope = {**scope, **self.of(told, taken, names)}
        return condition(scope) is True

    def of(self, told: _Told, taken: Taken, names: frozenset[str] | None = None) -> dict[str, Any]:
        """Return what is read of a match, by placeholder; None for all but the row before."""
        found: dict[str, Any] = {}
        for read, variable in self._reads:
            if names is None and read.function == PREV:
                continue
            if names is not None and read.name not in names:
                continue
            found[read.name] = self._value(read, variable, told, taken)
        return found

    def _value(self, read: MatchRead, variable: int | None, told: _Told, taken: Taken) -> Any:
        if read.function == PREV:
            return self._argument(read, told, taken.at - 1) if taken.at else None
        rows = [at for each, at in taken.rows() if variable in (None, each)]
        if read.function in ("first", "last"):
            at = 0 if read.function == "first" else -1
            return self._argument(read, told, rows[at]) if rows else None
        if read.argument is None:
            return len(rows)
        try:
            values = [self._argument(read, told, at) for at in rows]
            return aggregate(read.function, read.type, values)
        except EvaluationError:
            self._findings.failures += 1
            return None

    def _argument(self, read: MatchRead, told: _Told, at: int) -> Any:
        return self._arguments[read.name](told.rows[at].row)


@dataclass(frozen=True, slots=True)
class _Told:
    """The rows of a key in their order."""

    rows: Sequence[_Member]
    reading: _Reading

    def __len__(self) -> int:
        return len(self.rows)

    def time_us(self, at: int) -> int:
        """Return the time of a row."""
        time_us = self.rows[at].time_us
        assert time_us is not None  # only rows with a time take part
        return time_us

    def tests(self, taken: Taken) -> bool:
        """Return whether the last row of `taken` may be its variable's."""
        return self.reading.tests(self, taken)
