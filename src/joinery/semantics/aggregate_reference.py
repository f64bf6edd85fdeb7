"""The reference of products that aggregate: every group computed again after each batch.

It is what solutions are compared with, so it is slow and plain: each group keeps its rows, and
each batch builds all groups anew and sends those whose text differs from what was last sent.

What a batch does with a record of the product's relation, in this order:
- judge it by the watermark of its partition before it: late, or in time;
- merge it into its row, unless it is left out as late;
- take the row out of the groups it was in, and put it into those of its new columns, but for
  windows that are forgotten, which stay as they were sent.

Invariant: what stands in the sink depends on the records of each partition and their order
there, never on how they were cut into batches, nor on how partitions were mixed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, assert_never

from joinery.expression.order import row_key
from joinery.model.change import Change, DocumentChange, Key, Row
from joinery.plan.aggregate import FINAL, WINDOW_END, WINDOW_SECONDS, WINDOW_START, AggregateForm
from joinery.plan.nodes import Product
from joinery.project.window import (
    Cumulative,
    Hopping,
    Session,
    Sliding,
    Tumbling,
)
from joinery.semantics.document import (
    NEVER_SENT,
    Aggregating,
    Built,
    SentDocument,
    judged,
    next_sent,
)
from joinery.semantics.lateness import Watermarks, in_log_order
from joinery.semantics.merge import RowMerge, Standing
from joinery.semantics.render import renderer
from joinery.semantics.rows import Findings, guarded
from joinery.semantics.window import Bounds, windows_of
from joinery.solutions.protocol import DeadDocument

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
_YEARS = range(1001, 9000)
"""Years whose times tell when a row happened: others stand for something, such as never; and so no
window leaves the years that documents can show. The kernel has them in `EventTime`."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where rows are kept: a group, with its window where the time alone tells it."""

    group: Key
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True)
class _Member:
    """A row in a group."""

    row: Row
    time_us: int | None


Members = dict[Any, _Member]
"""The rows of a group, by what identifies a row."""


@dataclass(slots=True)
class _Seen:
    """What is known of one row: what it is, and where it counts."""

    standing: Standing = field(default_factory=Standing)
    slots: set[Slot] = field(default_factory=set)


class AggregateReference:
    """Keeps the groups of one product.

    Args:
        product: Its name.
        form: What it aggregates.
        max_bytes: Above it a group's document is a dead letter; None sets no bound.
    """

    def __init__(self, product: Product, form: AggregateForm, max_bytes: int | None) -> None:
        self._name, self._form, self._max_bytes = product.name, form, max_bytes
        self._findings, self._before = Findings(), Findings()
        self._merge = RowMerge(form.relation, self._findings)
        self._clock = RowMerge(form.relation, Findings())
        self._groups = _Groups(form, self._findings)
        self.watermarks = Watermarks(form.relation.watermark)
        self._rows: dict[Any, _Seen] = {}
        self._letters: list[DeadDocument] = []
        self._sent: dict[Key, tuple[Row, SentDocument]] = {}
        self._ended: set[Key] = set()
        self._text = renderer(form.output)
        self._rank = row_key([(each.type, False) for each in form.key.fields])

    def apply(self, batch: Sequence[Change], now_us: int) -> Counter[str]:
        """Apply the changes of the product's relation; return what is counted of them."""
        counters: Counter[str] = Counter()
        changes = [each for each in batch if each.relation == self._form.relation.name]
        for number, change in enumerate(in_log_order(changes)):
            identity = self._identity(change, (now_us, number))
            self._change(identity, change, now_us, counters)
        if self._form.relation.product is None:
            self.watermarks.end_batch(now_us)
        return counters

    def send(
        self, timestamp_us: int, *, until_closed: bool = False
    ) -> tuple[list[DocumentChange], list[DeadDocument]]:
        """Return what the sink receives now, in the order of the keys, and the dead letters.

        Args:
            timestamp_us: The batch's time.
            until_closed: Whether every partition counts as ended.
        """
        built = dict(self._built(until_closed=until_closed))
        documents: list[DocumentChange] = []
        dead, self._letters = self._letters, []
        for key in sorted(built.keys() | self._sent.keys(), key=lambda each: self._rank(each)):
            value = built.get(key)
            key_row, before = self._sent.get(key, (self._key_row(key, value), NEVER_SENT))
            document = self._document(value)
            sent, step = next_sent(before, document, timestamp_us)
            self._sent[key] = key_row, sent
            if step == "send":
                documents.append(DocumentChange(self._name, key_row, value, sent.version))
            elif step == "dead" and document is not None:
                reason = document.reason or ""
                dead.append(DeadDocument(self._name, key_row, reason, document.detail))
        return documents, dead

    def _document(self, value: dict[str, Any] | None) -> Built | None:
        if value is None:
            return None
        return judged(self._text(value), value, max_bytes=self._max_bytes)

    def news(self) -> Counter[str]:
        """Return what the last batch was the first to find."""
        before, self._before = self._before, self._findings.taken()
        return self._before.since(before)

    # One change

    def _identity(self, change: Change, arrived: tuple[int, int]) -> Any:
        """Return what identifies the row of a change: its key, or in a log its place."""
        if not self._form.relation.append:
            return tuple(change.key[column] for column in self._form.relation.key)
        return (change.partition, change.place) if change.place is not None else arrived

    def _change(self, identity: Any, change: Change, now_us: int, counters: Counter[str]) -> None:
        relation = self._form.relation
        if relation.append and change.after is None:
            counters["deletes_ignored"] += 1
            return
        seen = self._rows.get(identity) or _Seen()
        standing = copy(seen.standing)
        verdict = self._merge.apply(standing, change)
        row = None if standing.row is None else self._merge.derived(standing.row)
        watermark = self.watermarks.of(change)
        if change.after is not None and relation.time is not None:
            told = self._groups.time_of(self._clock.first(change))
            self.watermarks.note(change, told, now_us)
        counters[verdict] += 1
        if verdict != "applied":
            seen.standing = standing
            self._rows[identity] = seen
            return
        if change.after is not None and not change.snapshot and relation.time is not None:
            time_us = None if row is None else self._groups.time_of(row)
            if time_us is None:
                counters["event_without_time"] += 1
            elif self._left_out(change, time_us, watermark, counters):
                return
        seen.standing = standing
        self._rows[identity] = seen
        if self._move(identity, seen, row, None if change.snapshot else self._highest(watermark)):
            counters["too_late"] += 1

    def _highest(self, watermark: int | None) -> int | None:
        """Return by what windows are forgotten: what all others reached may be higher."""
        both = (watermark, self.watermarks.relation)
        return max((each for each in both if each is not None), default=None)

    def _left_out(
        self, change: Change, time_us: int, watermark: int | None, counters: Counter[str]
    ) -> bool:
        """Count a record that is late or overtaken; return whether it is as if not in the log."""
        emit = self._form.emit
        if watermark is not None and time_us < watermark - emit.allowed_us:
            reason, bound = "late", watermark
        elif self._overtaken(time_us):
            reason, bound = "overtaken", self.watermarks.relation or 0
        else:
            return False
        counters[reason] += 1
        if reason == "overtaken" and self._in_ended(time_us):
            return False
        if emit.late == "dead_letter":
            behind = (bound - emit.allowed_us - time_us) / 1_000_000
            detail = f"Its time is {behind:g} s below what the watermark allows."
            self._letters.append(DeadDocument(self._name, dict(change.key), reason, detail))
        return emit.late != "correct"

    def _overtaken(self, time_us: int) -> bool:
        """Return whether a record in time for its partition meets what others have closed."""
        bound = self.watermarks.relation
        below = bound is not None and time_us < bound - self._form.emit.allowed_us
        return below or self._in_ended(time_us)

    def _in_ended(self, time_us: int) -> bool:
        return bool(self._ended) and any(
            start <= time_us < end for start, end in self._groups.ended_bounds
        )

    def _move(self, identity: Any, seen: _Seen, row: Row | None, watermark: int | None) -> bool:
        """Take a row from where it counts to where it should; return whether it is too late."""
        visible = row is not None and self._merge.visible(row)
        wanted = self._groups.slots_of(row) if visible and row is not None else ()
        time_us = self._groups.time_of(row) if row is not None else None
        old = seen.slots
        if not old and not wanted:
            return False
        member = _Member(row or {}, time_us)
        open_old = {each for each in old if not self._groups.forgotten(each, identity, watermark)}
        for slot in open_old:
            self._groups.remove(slot, identity)
        put = set()
        for slot in wanted:
            if slot in old - open_old:
                continue
            self._groups.put(slot, identity, member)
            if self._groups.forgotten(slot, identity, watermark):
                self._groups.remove(slot, identity)
            else:
                put.add(slot)
        seen.slots = (old - open_old) | put
        return not open_old and not put

    # All groups

    def _built(self, *, until_closed: bool) -> Iterator[tuple[Key, dict[str, Any]]]:
        """Yield the key and the value of each group that the sink should have now."""
        closed = self._form.emit.when == "closed"
        watermark, allowed_us = self.watermarks.relation, self._form.emit.allowed_us
        for key, group, bounds, members in self._groups.windows(watermark):
            if closed and bounds is not None:
                due = watermark is not None and watermark >= bounds[1] + allowed_us
                if until_closed and not due:
                    self._ended.add(key)
                    self._groups.ended_bounds.add(bounds)
                if not due and key not in self._ended:
                    continue
            yield key, self._groups.value(group, bounds, members)

    def _key_row(self, key: Key, value: Row | None) -> Row:
        names = [each.name for each in self._form.key.fields]
        return dict(zip(names, key, strict=True)) if value is None else {n: value[n] for n in names}


class _Groups:
    """The rows of each group, and what groups show."""

    def __init__(self, form: AggregateForm, findings: Findings) -> None:
        self._form = form
        self._by = [(each.name, guarded(each.expression, findings)) for each in form.by]
        self._where = guarded(form.where, findings) if form.where else None
        self._aggregates = [Aggregating(each, findings) for each in form.aggregates]
        self._values = [(each.name, guarded(each.expression, findings)) for each in form.values]
        self._members: dict[Slot, Members] = {}
        self._shown: dict[Key, Row] = {}
        kinds = [(form.relation.type_of(each), False) for each in form.relation.key]
        self._rank = row_key(kinds)
        self.ended_bounds: set[Bounds] = set()

    def time_of(self, row: Row) -> int | None:
        """Return the time of a row in microseconds; None also where it tells none."""
        name = self._form.relation.time
        moment = None if name is None else row[name]
        return None if moment is None or moment.year not in _YEARS else micros_of(moment)

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
                return () if time_us is None else (Slot(group),)
            case Tumbling() | Hopping() | Cumulative():
                bounds = [] if time_us is None else windows_of(window, time_us)
                return [Slot(group, each) for each in bounds]
            case _:
                assert_never(window)

    def put(self, slot: Slot, identity: Any, member: _Member) -> None:
        """Put a row into a group, or replace it there."""
        self._members.setdefault(slot, {})[identity] = member

    def remove(self, slot: Slot, identity: Any) -> None:
        """Take a row out of a group."""
        members = self._members.get(slot, {})
        members.pop(identity, None)
        if not members:
            self._members.pop(slot, None)

    def forgotten(self, slot: Slot, identity: Any, watermark: int | None) -> bool:
        """Return whether what a row touches in a group can no longer change."""
        window, emit = self._form.window, self._form.emit
        if watermark is None:
            return False
        match window:
            case None:
                return False
            case Tumbling() | Hopping() | Cumulative():
                assert slot.bounds is not None  # as `slots_of` gives it
                end = slot.bounds[1]
            case Session():
                end = self._session_end(slot, identity)
            case Sliding():
                member = self._members.get(slot, {}).get(identity)
                time_us = member.time_us if member else None
                return time_us is not None and time_us < (
                    watermark - emit.allowed_us - emit.retention_us
                )
            case _:
                assert_never(window)
        return watermark >= end + emit.retention_us

    def _session_end(self, slot: Slot, identity: Any) -> int:
        assert isinstance(self._form.window, Session)  # as `forgotten` asks
        members = self._members.get(slot, {})
        for (_, end), inside in self._sessions(members, self._form.window):
            if identity in inside:
                return end
        raise AssertionError("a row of a session group is in one of its sessions")

    def windows(self, watermark: int | None) -> Iterator[tuple[Key, Key, Bounds | None, Members]]:
        """Yield the key, the group, the window and the rows of all that has rows."""
        window = self._form.window
        for slot, members in self._members.items():
            match window:
                case None:
                    yield slot.group, slot.group, None, members
                case Tumbling() | Hopping():
                    assert slot.bounds is not None  # as `slots_of` gives it
                    start = _moment(slot.bounds[0])
                    yield (*slot.group, start), slot.group, slot.bounds, members
                case Cumulative():
                    assert slot.bounds is not None  # as `slots_of` gives it
                    both = tuple(map(_moment, slot.bounds))
                    yield (*slot.group, *both), slot.group, slot.bounds, members
                case Session():
                    for bounds, inside in self._sessions(members, window):
                        yield (*slot.group, _moment(bounds[0])), slot.group, bounds, inside
                case Sliding(size_us):
                    inside = _within(members, watermark, size_us)
                    if inside:
                        yield slot.group, slot.group, None, inside
                case _:
                    assert_never(window)

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

    def value(self, group: Key, bounds: Bounds | None, members: Members) -> dict[str, Any]:
        """Return what a group shows."""
        form = self._form
        rows = self._in_order(members)
        shown = dict(self._shown[group])
        if bounds is not None:
            shown |= {WINDOW_START.name: _moment(bounds[0]), WINDOW_END.name: _moment(bounds[1])}
        scope = dict(shown)
        seconds = self._seconds(bounds)
        if seconds is not None:
            scope[WINDOW_SECONDS.name] = seconds
        for each in self._aggregates:
            scope[each.name] = each.over(rows)
        for name, evaluate in self._values:
            shown[name] = scope[name] = evaluate(scope)
        return shown | ({FINAL.name: True} if form.emit.when == "closed" else {})

    def _seconds(self, bounds: Bounds | None) -> float | None:
        if isinstance(self._form.window, Sliding):
            return self._form.window.size_us / 1_000_000
        return None if bounds is None else (bounds[1] - bounds[0]) / 1_000_000

    def _in_order(self, members: Members) -> list[Row]:
        """Return rows by time, those without one first, then by key or place."""
        key = self._form.relation.key

        def rank(entry: tuple[Any, _Member]) -> Any:
            identity, member = entry
            time = (member.time_us is not None, member.time_us or 0)
            return time, self._rank([member.row[each] for each in key]), identity

        return [member.row for _, member in sorted(members.items(), key=rank)]

    def _group(self, row: Row) -> Key:
        values = {name: evaluate(row) for name, evaluate in self._by}
        group = tuple(_equal(each) for each in values.values())
        self._shown.setdefault(group, values)
        return group


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


def _equal(value: Any) -> Any:
    """Return one value for all that are one group: NaN is the same object, zero has no sign."""
    if isinstance(value, float):
        return math.nan if math.isnan(value) else value + 0.0
    return value


def micros_of(moment: datetime | None) -> int | None:
    """Return a time in microseconds since 1970."""
    return None if moment is None else (moment - _EPOCH) // _MICRO


def _moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)
