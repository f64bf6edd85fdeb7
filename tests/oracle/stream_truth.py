"""What a stream sends, worked out from the whole logs, for each event by itself.

Nothing is carried from batch to batch: a table as of a batch is all of its changes up to
there, and what becomes of an event is followed from its place in the log to where it comes
again. Of the lines of one event that a batch sends, the one of the last place counts. Only
expressions are evaluated as the reference does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any

from joinery.expression.convert import micros_of
from joinery.expression.group_aggregate import WINDOW_SECONDS
from joinery.model.change import Change, Row
from joinery.plan.relation import Relation
from joinery.plan.seen import SEEN
from joinery.plan.step import Filter, Lookup, MapRows, Select, Step, Union, WithColumns
from joinery.plan.stream import Stream
from joinery.plan.timed_step import Join, Rolling, SeenFilter
from joinery.semantics.assemble import Aggregating
from joinery.semantics.lookup import LookupFields
from joinery.semantics.merge import RowMerge
from joinery.semantics.rows import Findings, guarded
from joinery.testing.conformance.stream_suite import StreamBatch

Key = tuple[Any, ...]
_FAILED = Findings()


@dataclass(frozen=True, slots=True)
class Line:
    """An event on its way, or sent: in which batch, under which key, with which columns.

    `place` orders those of one key in a batch: what an earlier batch brought comes first.
    """

    batch: int
    key: Key
    row: Row = field(compare=False)
    place: tuple[bool, str, int]
    again: bool = False

    def sent(self, batch: int, row: Row, *, again: bool = False) -> Line:
        """Return the event as `batch` sends it on."""
        place = self.place if batch == self.batch else (False, self.place[1], 0)
        return Line(batch, self.key, row, place, self.again or again)


@dataclass(frozen=True, slots=True)
class Truth:
    """What a stream sends in all batches, and the dead letters: batch and key."""

    lines: list[Line]
    dead: list[tuple[int, Key]]


def truth(stream: Stream, batches: Sequence[StreamBatch]) -> Truth:
    """Return what `stream` sends over all of `batches`."""
    world = _World(batches)
    lines = _through(stream, world)
    names = [each.name for each in stream.columns]
    return Truth(
        [
            replace(each, row={name: each.row[name] for name in names})
            for each in _last(lines).values()
        ],
        world.dead,
    )


def _last(lines: list[Line]) -> dict[tuple[int, Key], Line]:
    """Return the last line of each event in each batch."""
    return {(each.batch, each.key): each for each in sorted(lines, key=lambda each: each.place)}


class _World:
    """The logs: each batch's changes and its time in microseconds."""

    def __init__(self, batches: Sequence[StreamBatch]) -> None:
        self.changes = [each.changes for each in batches]
        self.times: list[int] = []
        for each in batches:
            self.times.append((self.times[-1] if self.times else 0) + each.after_ms * 1000)
        self.dead: list[tuple[int, Key]] = []

    def of(self, relation: Relation, batch: int) -> list[Change]:
        """Return the changes of a relation up to the end of a batch."""
        upto = [change for each in self.changes[: batch + 1] for change in each]
        return [each for each in upto if each.relation == relation.name]


def _through(stream: Stream, world: _World) -> list[Line]:
    lines = list(_events(stream.relation, world))
    for step in stream.steps:
        lines = _step(step, lines, world)
    return lines


def _events(relation: Relation, world: _World) -> Iterator[Line]:
    """Yield the events of a log, as often as they are told."""
    seen = RowMerge(relation, _FAILED)
    names = [each.name for each in relation.columns]
    count = 0
    for batch, changes in enumerate(world.changes):
        for change in changes:
            if change.relation != relation.name or change.after is None:
                continue
            told = {**change.after, **change.key}
            row = seen.derived({name: told.get(name) for name in names})
            count += 1
            key = tuple(change.key[name] for name in relation.key) or (relation.name, count)
            if seen.visible(row):
                yield Line(batch, key, row, (True, relation.name, count))


def _step(step: Step, lines: list[Line], world: _World) -> list[Line]:
    match step:
        case Filter(where):
            holds = guarded(where, _FAILED)
            return [each for each in lines if holds(each.row) is True]
        case Select(fields) | WithColumns(fields):
            made = {each.name: guarded(each.expression, _FAILED) for each in fields}
            keeps = isinstance(step, WithColumns)
            return [replace(each, row=_computed(each.row, made, keeps)) for each in lines]
        case Union(other):
            return lines + _through(other, world)
        case Lookup(as_of="event"):
            return _followed(lines, _Versions(step, world).life, len(world.times))
        case Lookup():
            return _followed(lines, _Rows(step, world).life, len(world.times))
        case SeenFilter():
            return _unseen(step, lines, world)
        case Rolling():
            return _followed(lines, _Rolled(step, lines, world).life, len(world.times))
        case Join():
            raise AssertionError("pairs are compared with those that SQL makes")
        case MapRows():
            raise AssertionError("a function is the user's: it is no part of the semantics")


def _computed(row: Row, made: Mapping[str, Callable[[Row], Any]], keeps: bool) -> Row:
    return {**(row if keeps else {}), **{name: of(row) for name, of in made.items()}}


def _followed(
    lines: list[Line], life: Callable[[Line, int], Iterator[Line]], batches: int
) -> list[Line]:
    """Follow each event until it comes again, which may be in the same batch."""
    out: list[Line] = []
    for key in dict.fromkeys(each.key for each in lines):
        mine = [each for each in lines if each.key == key]
        mine.sort(key=lambda each: (each.batch, each.place))
        ends = [each.batch for each in mine[1:]] + [batches]
        for each, end in zip(mine, ends, strict=True):
            out += life(each, end)
    return out


class _Rows:
    """A lookup of the row of now."""

    def __init__(self, step: Lookup, world: _World) -> None:
        self.step, self.world, self.times = step, world, world.times
        self.fields = LookupFields(step, _FAILED)
        self.seen = RowMerge(step.table, _FAILED)
        self.where = guarded(step.where, _FAILED) if step.where else lambda row: True
        self.table = cache(self._table)

    def _table(self, batch: int) -> dict[Key, Row]:
        """Return all rows as of the end of a batch."""
        rows: dict[Key, Row] = {}
        for change in self.world.of(self.step.table, batch):
            key = tuple(change.key[name] for name in self.step.table.key)
            if change.after is None:
                rows.pop(key, None)
                continue
            told = {**rows.get(key, {}), **change.after, **change.key}
            rows[key] = {each.name: told.get(each.name) for each in self.step.table.columns}
        return rows

    def row(self, key: Key | None, batch: int) -> Row | None:
        found = self.table(batch).get(key) if key is not None else None
        whole = None if found is None else self.seen.derived(found)
        return whole if whole is not None and self.seen.visible(whole) else None

    def life(self, line: Line, end: int) -> Iterator[Line]:
        """Yield what is sent for an event up to the batch that brings it again."""
        key, batch, miss = self.fields.key(line.row), line.batch, self.step.on_miss
        since = self.times[batch]
        if self.row(key, batch) is None:
            if miss == "dead_letter":
                self.world.dead.append((batch, line.key))
            if miss in ("drop", "dead_letter"):
                return
            if miss == "wait" and key is not None:
                until = self.times[batch] + (self.step.wait_ms or 0) * 1000
                waited = (
                    each
                    for each in range(batch, end)
                    if self.row(key, each) is not None or self.times[each] >= until
                )
                batch = next(waited, end)
                if batch == end:
                    return
                since = min(self.times[batch], until)
        met = self.fields.of(self.row(key, batch))
        yield line.sent(batch, {**line.row, **met})
        if self.step.on_change != "keep" and key is not None:
            until = since + (self.step.for_ms or 0) * 1000
            yield from self.corrections(line, key, batch, self.looked(batch, end, until))

    def corrections(
        self, line: Line, key: Key, batch: int, looked: Iterator[int]
    ) -> Iterator[Line]:
        """Yield what is sent again of an event that `batch` sent, in the batches `looked`."""
        sent = self.fields.text(self.fields.of(self.row(key, batch)))
        for each in looked:
            row = self.row(key, each)
            if row is None and self.step.on_miss in ("drop", "dead_letter"):
                continue
            made = self.fields.of(row)
            whole = {**line.row, **made}
            if self.fields.text(made) != sent and self.where(whole) is True:
                sent = self.fields.text(made)
                yield line.sent(each, whole, again=True)

    def looked(self, batch: int, end: int, until: int) -> Iterator[int]:
        """Yield the batches after `batch` in which an event that it sent is compared."""
        after = range(batch + 1, end)
        if self.step.on_change == "re_emit":
            yield from (each for each in after if self.times[each] < until)
            return
        every = (self.step.every_ms or 1) * 1000
        for each in after:
            full = self.times[each - 1] // every * every
            if full + every <= self.times[each] and full < until:
                yield each


class _Versions:
    """A lookup of the row of the event's time."""

    def __init__(self, step: Lookup, world: _World) -> None:
        self.step, self.world, self.times = step, world, world.times
        self.fields = LookupFields(step, _FAILED)
        self.seen = RowMerge(step.table, _FAILED)
        self.versions = cache(self._versions)

    def _versions(self, batch: int) -> list[tuple[Key, int, Row, int]]:
        """Return all versions up to a batch, in the order of the log.

        The last number is the time from which on events use it: a late one is used from the
        watermark on that stood before it.
        """
        found: list[tuple[Key, int, Row, int]] = []
        newest: int | None = None
        for change in self.world.of(self.step.table, batch):
            if change.after is None:
                continue
            key = tuple(change.key[name] for name in self.step.table.key)
            told = {**change.after, **change.key}
            row = {each.name: told.get(each.name) for each in self.step.table.columns}
            since = self.seen.derived(row)[self.step.valid_from or ""]
            if since is not None:
                time = micros_of(since)
                before = time if newest is None else newest - self.step.max_delay_ms * 1000
                found.append((key, time, row, max(time, before)))
                newest = time if newest is None else max(newest, time)
        return found

    def row(self, key: Key | None, batch: int, time: int) -> Row | None:
        """Return the version of a time: the latest not after it, of one time the last told."""
        known = [each for each in self.versions(batch) if each[0] == key and each[3] <= time]
        if not known:
            return None
        whole = self.seen.derived(max(reversed(known), key=lambda each: each[1])[2])
        return whole if self.seen.visible(whole) else None

    def watermark(self, batch: int) -> int | None:
        times = [since for _, since, _, _ in self.versions(batch)]
        return max(times) - self.step.max_delay_ms * 1000 if times else None

    def is_final(self, batch: int, time: int) -> bool:
        watermark = self.watermark(batch)
        return self.is_idle(batch) or (watermark is not None and watermark > time)

    def is_idle(self, batch: int) -> bool:
        if self.step.idle_ms is None:
            return False
        told = [len(self.world.of(self.step.table, each)) for each in range(batch + 1)]
        stirred = [each for each, (a, b) in enumerate(pairwise(told), 1) if b > a]
        return self.times[batch] - self.times[max(stirred, default=0)] >= self.step.idle_ms * 1000

    def life(self, line: Line, end: int) -> Iterator[Line]:
        """Yield what is sent for an event up to the batch that brings it again."""
        at, batch = line.row[self.step.event_time or ""], line.batch
        time = None if at is None else micros_of(at)
        if time is None or self.is_forgotten(batch, time):
            self.world.dead.append((batch, line.key))
            return
        key = self.fields.key(line.row)
        if key is None or self.is_final(batch, time):
            yield from self.answer(line, key, batch, time)
        elif self.step.late == "hold":
            final = (each for each in range(batch, end) if self.is_final(each, time))
            settled = next(final, end)
            if settled < end:
                yield from self.answer(line, key, settled, time)
        else:
            yield from self.corrected(line, key, end, time)

    def is_forgotten(self, batch: int, time: int) -> bool:
        watermark, history = self.watermark(batch), self.step.history_ms
        if watermark is None or history is None:
            return False
        return time < watermark - history * 1000

    def answer(self, line: Line, key: Key | None, batch: int, time: int) -> Iterator[Line]:
        row = self.row(key, batch, time)
        if row is None and self.step.on_miss == "dead_letter":
            self.world.dead.append((batch, line.key))
        if row is not None or self.step.on_miss == "null":
            yield line.sent(batch, {**line.row, **self.fields.of(row)})

    def corrected(self, line: Line, key: Key, end: int, time: int) -> Iterator[Line]:
        sent = None
        for batch in range(line.batch, max(end, line.batch + 1)):
            made = self.fields.of(self.row(key, batch, time))
            if self.fields.text(made) != sent:
                again, sent = sent is not None, self.fields.text(made)
                yield line.sent(batch, {**line.row, **made}, again=again)
            if self.is_final(batch, time):
                return


def _unseen(step: SeenFilter, lines: list[Line], world: _World) -> list[Line]:
    """Return what passes a filter that asks what stood before it in the log, near its time."""
    holds, kept = guarded(step.where, _FAILED), list[Line]()
    counted: list[tuple[Any, int]] = []
    for each in sorted(lines, key=lambda each: (each.batch, each.place)):
        at, watermark = each.row[step.time], _watermark(step.logs, world, each.batch)
        time = None if at is None else micros_of(at)
        if time is None or (watermark is not None and time < watermark - step.for_us):
            world.dead.append((each.batch, each.key))
            continue
        value = each.row[step.column]
        seen = any(one == value and abs(time - then) < step.for_us for one, then in counted)
        if holds({**each.row, SEEN: seen}) is True:
            kept.append(each)
        if value is not None:
            counted.append((value, time))
    return kept


def _watermark(logs: Sequence[Relation], world: _World, batch: int) -> int | None:
    """Return the least watermark of logs before a batch, None before each has told a time."""
    least: list[int] = []
    for log in logs:
        rows = RowMerge(log, _FAILED)
        told = [
            rows.derived({each.name: one.after.get(each.name) for each in log.columns})
            for one in world.of(log, batch - 1)
            if one.after is not None
        ]
        times = [micros_of(each[log.time or ""]) for each in told if each[log.time or ""]]
        if not times:
            return None
        delay_ms = log.watermark.delay_ms if log.watermark else 0
        least.append(max(times) - delay_ms * 1000)
    return min(least)


class _Rolled:
    """Columns over the events of a key in the time up to each."""

    def __init__(self, step: Rolling, lines: list[Line], world: _World) -> None:
        self.step, self.lines, self.world = step, lines, world
        self.aggregates = [Aggregating(each, _FAILED) for each in step.aggregates]
        self.values = [(each.name, guarded(each.expression, _FAILED)) for each in step.values]
        self.horizon = cache(self._horizon)
        self.seen = cache(self._seen)

    def _horizon(self, batch: int) -> int | None:
        """Return the time below which nothing changes in a batch: the logs before it say."""
        watermark = _watermark(self.step.logs, self.world, batch)
        return None if watermark is None else watermark - self.step.retention_us

    def _seen(self, batch: int) -> list[Line]:
        """Return the events that others see in a batch: the last of each key, if it counts."""
        last: dict[Key, Line] = {}
        for each in sorted(self.lines, key=lambda each: (each.batch, each.place)):
            if each.batch <= batch:
                last[each.key] = each
        return [each for each in last.values() if self.counts(each)]

    def counts(self, line: Line) -> bool:
        time, horizon = self.time(line), self.horizon(line.batch)
        return time is not None and (horizon is None or time >= horizon)

    def time(self, line: Line) -> int | None:
        at = line.row[self.step.time]
        return None if at is None else micros_of(at)

    def life(self, line: Line, end: int) -> Iterator[Line]:
        """Yield what is sent for an event up to the batch that brings it again."""
        if not self.counts(line):
            self.world.dead.append((line.batch, line.key))
            return
        sent = None
        for batch in range(line.batch, max(end, line.batch + 1)):
            horizon, time = self.horizon(batch), self.time(line) or 0
            if batch > line.batch and horizon is not None and time < horizon:
                continue
            made = self.made(line, batch)
            if made != sent:
                yield line.sent(batch, {**line.row, **made}, again=sent is not None)
                sent = made

    def made(self, line: Line, batch: int) -> dict[str, Any]:
        until, key = self.time(line) or 0, [line.row[each] for each in self.step.by]
        seen = [line]
        for each in self.seen(batch):
            alike = [each.row[name] for name in self.step.by] == key
            within = until - self.step.over_us < (self.time(each) or 0) <= until
            if alike and within and each.key != line.key:
                seen.append(each)
        rows = [each.row for each in sorted(seen, key=lambda each: (self.time(each), each.key))]
        scope = {**line.row, WINDOW_SECONDS: self.step.over_us / 1e6}
        scope |= {each.name: each.over(rows) for each in self.aggregates}
        made: dict[str, Any] = {}
        for name, evaluate in self.values:
            made[name] = scope[name] = evaluate(scope)
        return made
