"""The rows of each group, in which windows they are, and what groups show of them.

It is slow and plain: nothing is kept but rows, and a group shows what follows from all it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, assert_never

from joinery.expression.convert import moment_of
from joinery.expression.order import row_key
from joinery.model.change import Key, Row
from joinery.plan.aggregate import FINAL, WINDOW_END, WINDOW_SECONDS, WINDOW_START, AggregateForm
from joinery.project.window import Cumulative, Hopping, Session, Sliding, Tumbling
from joinery.semantics.assemble import Aggregating
from joinery.semantics.rows import Findings, equal_value, guarded, time_of
from joinery.semantics.window import Bounds, windows_of


@dataclass(frozen=True, slots=True)
class Slot:
    """Where rows are kept: a group, with its window where the time alone tells it."""

    group: Key
    bounds: Bounds | None = None
    time_us: int | None = None
    """Where rows alone tell a window, or the watermark does: that of the row."""


@dataclass(frozen=True, slots=True)
class _Member:
    """A row in a group."""

    row: Row
    time_us: int | None


Members = dict[Any, _Member]
"""The rows of a group, by what identifies a row."""


class Groups:
    """The rows of each group, and what groups show.

    Args:
        form: What is grouped, and how.
        findings: Takes what is met over groups.
        placed: Takes what is met where a row is put into groups; `findings` by default.
    """

    def __init__(
        self, form: AggregateForm, findings: Findings, *, placed: Findings | None = None
    ) -> None:
        self._form = form
        placed = findings if placed is None else placed
        self._by = [(each.name, guarded(each.expression, placed)) for each in form.by]
        self._where = guarded(form.where, placed) if form.where else None
        self._aggregates = [Aggregating(each, findings) for each in form.aggregates]
        self._values = [(each.name, guarded(each.expression, findings)) for each in form.values]
        self.limited = False
        """Whether a value of the last group is null, as it counts too many different ones."""
        self._members: dict[Slot, Members] = {}
        kinds = [(form.relation.type_of(each), False) for each in form.relation.key]
        self._rank = row_key(kinds)

    def shown(
        self, watermark: int | None
    ) -> Iterator[tuple[Key, Bounds | None, Callable[[], dict[str, Any]]]]:
        """Yield the key, the window and the value of all that has rows."""
        for key, group, bounds, members in self.windows(watermark):
            yield key, bounds, partial(self.value, group, bounds, members)

    def time_of(self, row: Row) -> int | None:
        """Return the time of a row in microseconds; None also where it tells none."""
        return time_of(row, self._form.relation.time)

    def slots_of(self, row: Row) -> Sequence[Slot]:
        """Return where a visible row counts."""
        if self._where is not None and self._where(row) is not True:
            return ()
        group = self._group(row)
        time_us = self.time_of(row)
        window = self._form.window
        match window:
            case None:
                return (Slot(group),)
            case Session() | Sliding():
                return () if time_us is None else (Slot(group, time_us=time_us),)
            case Tumbling() | Hopping() | Cumulative():
                bounds = [] if time_us is None else windows_of(window, time_us)
                return [Slot(group, each) for each in bounds]
            case _:
                assert_never(window)

    def lifetimes(self, time_us: int) -> Sequence[Bounds]:
        """Return the windows of a time; of sessions the longest that need no other row."""
        window = self._form.window
        match window:
            case None | Sliding():
                return ()
            case Session(gap_us):
                return ((time_us - gap_us + 1, time_us + gap_us),)
            case Tumbling() | Hopping() | Cumulative():
                return windows_of(window, time_us)
            case _:
                assert_never(window)

    def key_of(self, slot: Slot) -> Key:
        """Return the key of what is shown of a slot; its window must not depend on other rows."""
        window = self._form.window
        match window:
            case None:
                return slot.group
            case Tumbling() | Hopping():
                assert slot.bounds is not None  # as `slots_of` gives it
                return (*slot.group, moment_of(slot.bounds[0]))
            case Cumulative():
                assert slot.bounds is not None  # as `slots_of` gives it
                return (*slot.group, *map(moment_of, slot.bounds))
            case Session() | Sliding():
                raise ValueError("a row alone does not determine the bounds of its window")
            case _:
                assert_never(window)

    def put(self, slot: Slot, identity: Any, row: Row) -> None:
        """Put a row into a group, or replace it there."""
        self._members.setdefault(slot, {})[identity] = _Member(row, self.time_of(row))

    def remove(self, slot: Slot, identity: Any) -> None:
        """Take a row out of a group."""
        members = self._members.get(slot, {})
        members.pop(identity, None)
        if not members:
            self._members.pop(slot, None)

    def forgotten(self, slot: Slot, watermark: int | None) -> bool:
        """Return whether what a row touches there can no longer change.

        A session may: but to each of its rows it is over when it would be without the others.
        """
        window, emit = self._form.window, self._form.emit
        if watermark is None:
            return False
        match window:
            case None:
                return False
            case Tumbling() | Hopping() | Cumulative():
                assert slot.bounds is not None  # as `slots_of` gives it
                return watermark >= slot.bounds[1] + emit.retention_us
            case Session(gap_us):
                assert slot.time_us is not None  # as `slots_of` gives it
                return watermark >= slot.time_us + gap_us + emit.retention_us
            case Sliding():
                assert slot.time_us is not None  # as `slots_of` gives it
                return slot.time_us < watermark - emit.allowed_us - emit.retention_us
            case _:
                assert_never(window)

    def windows(self, watermark: int | None) -> Iterator[tuple[Key, Key, Bounds | None, Members]]:
        """Yield the key, the group, the window and the rows of all that has rows."""
        window = self._form.window
        for slot, members in self._slots():
            match window:
                case None | Tumbling() | Hopping() | Cumulative():
                    yield self.key_of(slot), slot.group, slot.bounds, members
                case Session():
                    for bounds, inside in self._sessions(members, window):
                        yield (*slot.group, moment_of(bounds[0])), slot.group, bounds, inside
                case Sliding(size_us):
                    inside = _within(members, watermark, size_us)
                    if inside:
                        yield slot.group, slot.group, None, inside
                case _:
                    assert_never(window)

    def _slots(self) -> Iterator[tuple[Slot, Members]]:
        """Yield slots with their rows; those of one group as one, where they have a time."""
        if not isinstance(self._form.window, Session | Sliding):
            yield from self._members.items()
            return
        groups: dict[Key, Members] = {}
        for slot, members in self._members.items():
            inside = {(slot.time_us, each): member for each, member in members.items()}
            groups.setdefault(slot.group, {}).update(inside)
        for group, members in groups.items():
            yield Slot(group), members

    def _sessions(self, members: Members, window: Session) -> Iterator[tuple[Bounds, Members]]:
        """Yield the runs of a group's rows, cut where they are longer than the most."""
        rows = sorted(members.items(), key=lambda each: each[1].time_us or 0)
        run: Members = {}
        first = last = start = 0
        for identity, member in rows:
            time_us = member.time_us or 0
            cut = None if window.max_us is None else _cut(first, start, window.max_us)
            ended = time_us - last >= window.gap_us
            if run and (ended or (cut is not None and time_us >= cut)):
                end = last + window.gap_us
                yield (start, end if cut is None else min(end, cut)), run
                run, start = {}, time_us
                first = time_us if ended else first
            elif not run:
                first = start = time_us
            run[identity] = member
            last = time_us
        if run:
            cut = None if window.max_us is None else _cut(first, start, window.max_us)
            end = last + window.gap_us
            yield (start, end if cut is None else min(end, cut)), run

    def behind(self, key: Key, watermark: int | None) -> Sequence[Any]:
        """Return what identifies the rows of what is shown under a key, in their order."""
        for shown, _, _, members in self.windows(watermark):
            if shown == key:
                timed = isinstance(self._form.window, Session | Sliding)
                ranked = self._ranked(members)
                return [identity[1] if timed else identity for identity, _ in ranked]
        return ()

    def value(self, group: Key, bounds: Bounds | None, members: Members) -> dict[str, Any]:
        """Return what a group shows."""
        form = self._form
        rows = self._in_order(members)
        shown = dict(zip((name for name, _ in self._by), group, strict=True))
        if bounds is not None:
            shown |= {
                WINDOW_START.name: moment_of(bounds[0]),
                WINDOW_END.name: moment_of(bounds[1]),
            }
        scope = dict(shown)
        seconds = self._seconds(bounds)
        if seconds is not None:
            scope[WINDOW_SECONDS.name] = seconds
        for each in self._aggregates:
            scope[each.name] = each.over(rows)
        self.limited = any(each.limited for each in self._aggregates)
        for name, evaluate in self._values:
            shown[name] = scope[name] = evaluate(scope)
        return shown | ({FINAL.name: True} if form.emit.when == "closed" else {})

    def _seconds(self, bounds: Bounds | None) -> float | None:
        if isinstance(self._form.window, Sliding):
            return self._form.window.size_us / 1_000_000
        return None if bounds is None else (bounds[1] - bounds[0]) / 1_000_000

    def _in_order(self, members: Members) -> list[Row]:
        return [member.row for _, member in self._ranked(members)]

    def _ranked(self, members: Members) -> list[tuple[Any, _Member]]:
        """Return rows by time, those without one first, then by key or place."""
        key = self._form.relation.key

        def rank(entry: tuple[Any, _Member]) -> Any:
            identity, member = entry
            time = (member.time_us is not None, member.time_us or 0)
            return time, self._rank([member.row[each] for each in key]), identity

        return sorted(members.items(), key=rank)

    def _group(self, row: Row) -> Key:
        return tuple(equal_value(evaluate(row)) for _, evaluate in self._by)


def _within(members: Members, watermark: int | None, size_us: int) -> Members:
    """Return the rows of the last `size_us` up to the watermark."""
    if watermark is None:
        return {}
    return {
        identity: each
        for identity, each in members.items()
        if each.time_us is not None and watermark - size_us < each.time_us <= watermark
    }


def _cut(first: int, start: int, max_us: int) -> int:
    """Return where the piece of a run ends at most that begins at `start`."""
    return first + ((start - first) // max_us + 1) * max_us
