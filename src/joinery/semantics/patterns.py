"""The rows of each key of a pattern, the matches in them, and what a match shows.

It is slow and plain: nothing is kept but rows, and all matches are found again each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from joinery.expression.aggregate import aggregate
from joinery.expression.match_read import PREV, MatchRead
from joinery.expression.order import row_key
from joinery.expression.problem import EvaluationError
from joinery.expression.typed import Expression
from joinery.model.change import Key, KeyObject, Row
from joinery.plan.pattern import START, PatternForm, Rule
from joinery.semantics.groups import Slot
from joinery.semantics.matcher import MatchRules, Taken, matches_in
from joinery.semantics.row_condition import row_condition
from joinery.semantics.rows import (
    Findings,
    Matching,
    Rows,
    equal_value,
    guarded,
    join_value,
    time_of,
)
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
        self._reached: int | None = None
        self._looked_up: Matching = Rows({})
        self._from: dict[Key, tuple[Any, ...]] = {}
        self._over = set[tuple[Key, int | None]]()
        self.settled: list[Key] = []
        """The keys of matches that were found to be over since this was emptied last."""
        self._rules = MatchRules(
            form.program,
            form.absent,
            form.within_us,
            form.after,
            form.follow,
            form.by_time,
            form.searched_rows,
        )

    def time_of(self, row: Row) -> int | None:
        """Return the time of a row in microseconds; None also where it tells none."""
        return time_of(row, self._form.relation.time)

    def slots_of(self, row: Row) -> Sequence[Slot]:
        """Return where a visible row takes part: with a time, where its relation has one."""
        time_us = self.time_of(row)
        if self._form.relation.time is not None and time_us is None:
            return ()
        group = tuple(equal_value(evaluate(row)) for _, evaluate in self._by)
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

    def see(self, rows: Matching) -> None:
        """Take the rows that rules are looked up in."""
        self._looked_up = rows

    def begin(self, watermark: int | None) -> None:
        """Begin a batch; the watermark before it tells which matches are over."""
        self._reached = watermark
        if self._form.rules and self._cut is not None:
            for group, rows in self._groups():
                self._leave(group, rows, self._cut)

    def _leave(self, group: Key, rows: Sequence[_Member], cut: int) -> None:
        """Leave the matches of a key that begin before a time, whatever rules become."""
        after: tuple[Any, ...] = (cut,)
        told = self._reading.told(rows)
        for each in matches_in(told, self._rules, self._first(group, rows)):
            first = rows[each.start]
            if first.rank >= (cut,):
                break
            if each.last is None:
                continue
            self.settled.append((*group, self._start(first.row)))
            if self._form.after == "past_last":
                after = max(after, (*rows[each.last.at].rank, 0))
        self._from[group] = max(after, self._from.get(group, after))

    def _first(self, group: Key, rows: Sequence[_Member]) -> int:
        """Return the place of the first row that a match may still begin with."""
        after = self._from.get(group, ())
        return sum(each.rank < after for each in rows)

    @property
    def settles(self) -> bool:
        """Whether a match may be over by now."""
        return self._cut is not None

    @property
    def _cut(self) -> int | None:
        """Before what time a match begins that no row which still counts can change."""
        form = self._form
        ends = form.within_us is not None and form.by_time and form.relation.product is None
        if not ends or self._reached is None:
            return None
        kept_us = form.emit.allowed_us + form.emit.retention_us + (form.within_us or 0)
        return self._reached - kept_us

    def _is_over(self, first: _Member) -> bool:
        """Return whether no row that still counts can change a match."""
        if self._cut is None or first.time_us is None:
            return False
        return first.time_us < self._cut

    def behind(self, key: Key) -> Sequence[tuple[str, Any]]:
        """Return the variable, and what identifies the row, of each row of a match."""
        names = [each.name for each in self._form.variables]
        for group, rows in self._groups():
            for each in matches_in(self._reading.told(rows), self._rules, 0):
                own = (*group, self._start(rows[each.start].row))
                if own == key and each.last is not None:
                    taken = each.last.rows()
                    return [(names[variable], rows[at].rank[-1]) for variable, at in taken]
        return ()

    def shown(self, watermark: int | None) -> Iterator[Shown]:
        """Yield the key, the time that it waits for, and the value of each match.

        A log may have told a first row twice: of two with one key that are sent, the last stands.
        """
        for group, rows in self._groups():
            yield from self._matches(group, rows)

    def _groups(self) -> Iterator[tuple[Key, list[_Member]]]:
        """Yield the rows of each key in their order, with what they see of rules."""
        groups: dict[Key, list[_Member]] = {}
        for slot, members in self._members.items():
            groups.setdefault(slot.group, []).extend(members.values())
        for group, unsorted in groups.items():
            rows = sorted(unsorted, key=lambda each: each.rank)
            yield group, [self._with_rules(each) for each in rows] if self._form.rules else rows

    def _with_rules(self, member: _Member) -> _Member:
        seen = {each.name: self._rule_of(each, member.row) for each in self._form.rules}
        return replace(member, row={**member.row, **seen})

    def _rule_of(self, rule: Rule, row: Row) -> Row | None:
        """Return the row that one sees of a rule, of which there is one at most."""
        value = join_value(row, (pair.parent for pair in rule.on))
        columns = tuple(pair.child for pair in rule.on)
        found = self._looked_up.matching(rule.relation.name, columns, value)
        return None if not found else {e.name: found[0][e.name] for e in rule.type.fields}

    def _matches(self, group: Key, rows: Sequence[_Member]) -> Iterator[Shown]:
        told = self._reading.told(rows)
        within_us = self._form.within_us
        for each in matches_in(told, self._rules, self._first(group, rows)):
            first = rows[each.start]
            start = self._start(first.row)
            if each.last is None:
                self._findings.limited.add((*group, start))
                continue
            if self._is_over(first):
                if ((*group, start), first.time_us) not in self._over:
                    self._over.add(((*group, start), first.time_us))
                    self.settled.append((*group, start))
                continue
            bounds = None
            if within_us is not None and first.time_us is not None:
                bounds = first.time_us, first.time_us + within_us + 1
            yield (*group, start), bounds, partial(self._value, group, start, told, each.last)

    def _start(self, row: Row) -> KeyObject:
        return KeyObject((name, equal_value(row[name])) for name in self._form.relation.key)

    def _value(self, group: Key, start: KeyObject, told: _Told, last: Taken) -> dict[str, Any]:
        shown = dict(zip((name for name, _ in self._by), group, strict=True))
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
        self._computed = {each: guarded(each, findings) for each in form.computed}
        self._conditions = [
            None if each.condition is None else guarded(each.condition, findings)
            for each in form.variables
        ]
        follow = [each.name for each in form.reads if each.follows_match]
        self._row_conditions = [
            None if each.condition is None else row_condition(each.condition, follow)
            for each in form.variables
        ]
        self._read_by = [
            []
            if each.condition is None
            else [read for read in self._reads if read[0].name in each.condition.references]
            for each in form.variables
        ]

    def told(self, rows: Sequence[_Member]) -> _Told:
        """Return the rows of a key with what is computed of each."""
        computed = [
            {each: evaluate(member.row) for each, evaluate in self._computed.items()}
            for member in rows
        ]
        return _Told(rows, computed, self)

    def tests(self, told: _Told, taken: Taken) -> bool:
        """Return whether the last row of `taken` may be its variable's."""
        condition, variable = self._conditions[taken.variable], self._form.variables[taken.variable]
        if condition is None or variable.condition is None:
            return True
        if variable.condition in self._computed:
            return told.computed[taken.at][variable.condition] is True
        scope = told.rows[taken.at].row
        if reads := self._read_by[taken.variable]:
            read = {each.name: self._value(each, of, told, taken) for each, of in reads}
            scope = {**scope, **read}
        return condition(scope) is True

    def may_be(self, told: _Told, variable: int, at: int) -> bool:
        """Return whether a row may be a variable's, after some rows or other."""
        alone = Taken(variable, at)
        if variable not in self._form.follow:
            return self.tests(told, alone)
        may_be = self._row_conditions[variable]
        if may_be is None:
            return True
        reads = [each for each in self._read_by[variable] if each[0].function == PREV]
        before = {each.name: self._value(each, of, told, alone) for each, of in reads}
        return may_be({**told.rows[at].row, **before})

    def of(self, told: _Told, taken: Taken) -> dict[str, Any]:
        """Return what is read of a match, by placeholder, but for the row before."""
        return {
            each.name: self._value(each, of, told, taken)
            for each, of in self._reads
            if each.function != PREV
        }

    def _value(self, read: MatchRead, variable: int | None, told: _Told, taken: Taken) -> Any:
        if read.function == PREV:
            return self._argument(read, told, taken.at - 1) if taken.at else None
        rows = taken.places(variable)
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
        assert read.argument is not None  # one that is counted has no value
        return told.computed[at][read.argument]


@dataclass(frozen=True, slots=True)
class _Told:
    """The rows of a key in their order, with what is computed of each."""

    rows: Sequence[_Member]
    computed: Sequence[Mapping[Expression, Any]]
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

    def may_be(self, variable: int, at: int) -> bool:
        """Return whether a row may be a variable's, after some rows or other."""
        return self.reading.may_be(self, variable, at)
