"""What a lookup gives events: fields over the current row, or over the row valid at their time.

`CurrentLookup`: a batch's changes of the table apply before its events. It remembers the
table's rows, the events that wait for a row, and those that a changed row will correct.

`VersionedLookup`: a version is a row from its time on, until the next of its key. One that
the table's `where` keeps out ends the row. Deletes tell no time, so they leave the history
alone. A version that stands in the log behind the watermark of its partition is late, one that is
behind the table's before the batch is overtaken: either is used only from that watermark on, by
whichever events have such times, so it alters no answer that was final.

Invariant: an event leaves once, and again only as a correction whose fields differ from those
it was last sent with. Once the table's watermark is past an event's time, its answer is final,
and depends neither on how the logs were cut into batches nor on how they were mixed.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from joinery.expression.convert import micros_of
from joinery.model.change import Change, Row
from joinery.model.type import Field, Struct
from joinery.plan.step import Lookup
from joinery.semantics.event import DeadEvent, Event, Findings, Identity
from joinery.semantics.lateness import Watermarks
from joinery.semantics.merge import KeptRow, RowMerge
from joinery.semantics.personal import without
from joinery.semantics.render import document_json
from joinery.semantics.rows import Findings as ExpressionFindings
from joinery.semantics.rows import guarded, join_value

Key = tuple[Any, ...]


class LookupFields:
    """The fields of one lookup."""

    def __init__(self, lookup: Lookup, findings: ExpressionFindings) -> None:
        self._on = [pair.parent for pair in lookup.on]
        self._fields = [(each.name, guarded(each.expression, findings)) for each in lookup.fields]
        self._type = Struct(tuple(Field(e.name, e.expression.type) for e in lookup.fields))

    def key(self, event: Row) -> Key | None:
        """Return the table's key that an event asks for, None where a column is null."""
        return join_value(event, self._on)

    def of(self, row: Row | None) -> dict[str, Any]:
        """Return the fields over a table's row; all null where there is none."""
        if row is None:
            return {name: None for name, _ in self._fields}
        return {name: evaluate(row) for name, evaluate in self._fields}

    def text(self, fields: Mapping[str, Any]) -> str:
        """Return the text by which two results are equal."""
        return document_json(fields, self._type)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """An event without its row; `until_us` is when it goes without."""

    event: Event
    key: Key
    until_us: int


@dataclass(frozen=True, slots=True)
class _Sent:
    """An event that a changed row corrects; `text` is of the fields it was last sent with."""

    event: Event
    key: Key
    text: str
    until_us: int


class CurrentLookup:
    """The state of one lookup under `as_of: processing`.

    Args:
        lookup: The step.
        failed: Takes the expressions that fail.
    """

    def __init__(self, lookup: Lookup, failed: ExpressionFindings) -> None:
        self._lookup = lookup
        self._merge = RowMerge(lookup.table, failed)
        self._fields = LookupFields(lookup, failed)
        self._where = guarded(lookup.where, failed) if lookup.where else None
        self._rows: dict[Key, KeptRow] = {}
        self._waiting: dict[Identity, _Waiting] = {}
        self._sent: dict[Identity, _Sent] = {}
        self._ticked_us = 0

    @property
    def waiting(self) -> int:
        """How many events wait for a row."""
        return len(self._waiting)

    def process(
        self, changes: Iterable[Change], events: Iterable[Event], time_us: int, found: Findings
    ) -> list[Event]:
        """Return what one batch sends on.

        Args:
            changes: Of any relation, in log order.
            events: Those of the batch, after the steps before this one.
            time_us: The batch's time.
            found: Takes dead letters and counters.
        """
        for change in changes:
            if change.relation == self._lookup.table.name:
                self._change(change, found)
        out = [made for event in events for made in self._arrive(event, time_us, found)]
        out += self._released(time_us, found)
        return out + self._corrections(time_us)

    def erase(self, relation: str, subject: object) -> None:
        """Take out of the rows what was sealed for a subject, where they are of its relation."""
        table = self._lookup.table
        for standing in self._rows.values() if table.name == relation else ():
            if standing.row is not None and table.personal is not None:
                standing.row = without(standing.row, table.personal, subject)

    def _change(self, change: Change, found: Findings) -> None:
        key = tuple(change.key[column] for column in self._lookup.table.key)
        found.counters[self._merge.apply(self._rows.setdefault(key, KeptRow()), change)] += 1

    def _row(self, key: Key | None) -> Row | None:
        standing = self._rows.get(key) if key is not None else None
        if standing is None or standing.row is None:
            return None
        whole = self._merge.derived(standing.row)
        return whole if self._merge.visible(whole) else None

    def _arrive(self, event: Event, time_us: int, found: Findings) -> list[Event]:
        """Answer an event; it takes the place of one remembered under its identity."""
        key = self._fields.key(event.row)
        row = self._row(key)
        found.counters["superseded"] += self._waiting.pop(event.identity, None) is not None
        self._sent.pop(event.identity, None)
        if row is None:
            found.counters["lookup_misses"] += 1
            return self._missed(event, key, time_us, found)
        return [self._send(event, key, row, since_us=time_us)]

    def _missed(self, event: Event, key: Key | None, time_us: int, found: Findings) -> list[Event]:
        match self._lookup.on_miss:
            case "drop":
                found.counters["events_dropped"] += 1
                return []
            case "dead_letter":
                detail = f"There is no row of {self._lookup.table.name} for it."
                found.dead.append(DeadEvent(event, "lookup_miss", detail))
                return []
            case "wait" if key is not None:
                until_us = time_us + (self._lookup.wait_ms or 0) * 1000
                self._waiting[event.identity] = _Waiting(event.kept(), key, until_us)
                return []
        return [self._send(event, key, None, since_us=time_us)]

    def _send(self, event: Event, key: Key | None, row: Row | None, *, since_us: int) -> Event:
        """Answer an event, and remember it where it may be sent again: `for` counts from then."""
        fields = self._fields.of(row)
        if self._lookup.on_change != "keep" and key is not None:
            text = self._fields.text(fields)
            self._sent[event.identity] = _Sent(event.kept(), key, text, self._until_us(since_us))
        return event.with_row({**event.row, **fields})

    def _until_us(self, since_us: int) -> int:
        """Return when an event is forgotten; periodic corrections go on to a full `every`."""
        until_us = since_us + (self._lookup.for_ms or 0) * 1000
        if self._lookup.on_change != "correct":
            return until_us
        return -(-until_us // self._every_us) * self._every_us

    def _released(self, time_us: int, found: Findings) -> list[Event]:
        """Return the events whose row came, and those that waited long enough."""
        out: list[Event] = []
        for identity, each in list(self._waiting.items()):
            row = self._row(each.key)
            if row is None and time_us < each.until_us:
                continue
            if row is None:
                found.counters["waits_over"] += 1
            del self._waiting[identity]
            since_us = min(time_us, each.until_us)
            out.append(self._send(each.event, each.key, row, since_us=since_us))
        return out

    def _corrections(self, time_us: int) -> list[Event]:
        """Return the remembered events that changed rows alter, and forget the old ones."""
        periodic = self._lookup.on_change == "correct"
        if periodic and not self._ticks(time_us):
            return []
        out: list[Event] = []
        for identity, each in list(self._sent.items()):
            over = time_us >= each.until_us
            if periodic or not over:
                out += self._correction(each)
            if over:
                del self._sent[identity]
        return out

    def _correction(self, sent: _Sent) -> list[Event]:
        row = self._row(sent.key)
        if row is None and self._lookup.on_miss in ("drop", "dead_letter"):
            return []
        fields = self._fields.of(row)
        text, whole = self._fields.text(fields), {**sent.event.row, **fields}
        if text == sent.text or (self._where is not None and self._where(whole) is not True):
            return []
        self._sent[sent.event.identity] = _Sent(sent.event, sent.key, text, sent.until_us)
        return [sent.event.corrected().with_row(whole)]

    def _ticks(self, time_us: int) -> bool:
        """Say whether a multiple of `every` lies between the last batch and this one."""
        before, self._ticked_us = self._ticked_us, time_us
        return before // self._every_us < time_us // self._every_us

    @property
    def _every_us(self) -> int:
        return (self._lookup.every_ms or 1) * 1000


@dataclass(order=True, slots=True)
class _Version:
    """A row from `since_us` on; of one time the later position stands.

    Attributes:
        used_from_us: Its time, or the watermark before it, of its partition or of the table, if
            that is later.
    """

    since_us: int
    position: int
    used_from_us: int = field(compare=False)
    row: Row = field(compare=False)


@dataclass(frozen=True, slots=True)
class _Open:
    """An event without its last answer; `text` is of the fields it was sent with, if it was."""

    event: Event
    key: Key
    time_us: int
    text: str | None = None


class VersionedLookup:
    """The state of one lookup under `as_of: event`.

    Args:
        lookup: The step.
        failed: Takes the expressions that fail.
    """

    def __init__(self, lookup: Lookup, failed: ExpressionFindings) -> None:
        self._lookup = lookup
        self._merge = RowMerge(lookup.table, failed)
        self._fields = LookupFields(lookup, failed)
        self._versions: dict[Key, list[_Version]] = {}
        self._open: dict[Identity, _Open] = {}
        self._watermarks = Watermarks(lookup.table.watermark)
        self._began_us: int | None = None

    @property
    def waiting(self) -> int:
        """How many events wait for the table's watermark, and were not sent yet."""
        return sum(each.text is None for each in self._open.values())

    def process(
        self, changes: Iterable[Change], events: Iterable[Event], time_us: int, found: Findings
    ) -> list[Event]:
        """Return what one batch sends on; see `CurrentLookup.process`."""
        batch = list(changes)
        for change in batch:
            if change.relation == self._lookup.table.name:
                self._change(change, time_us, found)
        if batch and self._began_us is None:
            self._began_us = time_us
        self._watermarks.end_batch(time_us)
        idle = self._idle(time_us)
        arrived = [made for event in events for made in self._arrive(event, idle, found)]
        return arrived + self._settled(idle, found)

    def _idle(self, time_us: int) -> bool:
        """Return whether nothing came of any partition for so long that nobody waits."""
        heard_us = self._watermarks.heard_us
        since_us = self._began_us if heard_us is None else heard_us
        return self._watermarks.silent(time_us if since_us is None else since_us, time_us)

    def _final(self, event_us: int, idle: bool) -> bool:
        watermark_us = self._watermarks.relation
        return idle or (watermark_us is not None and watermark_us > event_us)

    def _forgotten(self, event_us: int) -> bool:
        """Whether versions of this time need not be there any more."""
        history_ms, watermark_us = self._lookup.history_ms, self._watermarks.relation
        if history_ms is None or watermark_us is None:
            return False
        return event_us < watermark_us - history_ms * 1000

    def _change(self, change: Change, now_us: int, found: Findings) -> None:
        if change.after is None:
            found.counters["ignored_deletes"] += 1
            self._watermarks.take(change, None, now_us)
            return
        told = self._merge.columns_of(change)
        since = self._merge.row_alone(told)[self._lookup.valid_from or ""]
        if since is None:
            found.counters["versions_without_time"] += 1
            self._watermarks.take(change, None, now_us)
            return
        since_us = micros_of(since)
        used_from_us = self._used_from_us(change, since_us, found)
        self._watermarks.take(change, since_us, now_us)
        key = tuple(change.key[column] for column in self._lookup.table.key)
        versions = self._versions.setdefault(key, [])
        row = self._completed(told, versions, since_us)
        insort(versions, _Version(since_us, change.position or 0, used_from_us, row))
        found.counters["applied"] += 1

    def _used_from_us(self, change: Change, since_us: int, found: Findings) -> int:
        """Return from which time on a version is used: one below a watermark from that on."""
        own_us, all_us = self._watermarks.of(change), self._watermarks.relation
        late = own_us is not None and since_us < own_us
        overtaken = all_us is not None and since_us < all_us
        found.counters["late_versions"] += late
        found.counters["overtaken_versions"] += overtaken and not late
        return max(each for each in (since_us, own_us, all_us) if each is not None)

    def _completed(self, told: Row, versions: list[_Version], since_us: int) -> Row:
        """Return a version's row; what it leaves out is as in the version before its time."""
        before = [each.row for each in versions if each.since_us <= since_us]
        stored = before[-1] if before else {}
        names = [column.name for column in self._lookup.table.columns]
        return {name: told[name] if name in told else stored.get(name) for name in names}

    @staticmethod
    def _at(versions: list[_Version], time_us: int) -> _Version | None:
        used = [each for each in versions if each.used_from_us <= time_us]
        return used[-1] if used else None

    def _row(self, key: Key, time_us: int) -> Row | None:
        version = self._at(self._versions.get(key, []), time_us)
        if version is None:
            return None
        whole = self._merge.derived(version.row)
        return whole if self._merge.visible(whole) else None

    def _arrive(self, event: Event, idle: bool, found: Findings) -> list[Event]:
        """Answer an event, or keep it until its answer is final; forget what was told before."""
        before = self._open.pop(event.identity, None)
        found.counters["superseded"] += before is not None and before.text is None
        at = event.row[self._lookup.event_time or ""]
        if not isinstance(at, datetime):
            column = self._lookup.event_time
            found.dead.append(
                DeadEvent(event, "event_without_time", f"Its column {column} is null.")
            )
            return []
        key, time_us = self._fields.key(event.row), micros_of(at)
        if self._forgotten(time_us):
            detail = f"It is further behind {self._lookup.table.name} than its versions are kept."
            found.dead.append(DeadEvent(event, "event_too_late", detail))
            return []
        if key is None or self._final(time_us, idle):
            return self._answer(event, key, time_us, found)
        if self._lookup.late == "hold":
            self._open[event.identity] = _Open(event.kept(), key, time_us)
            return []
        fields = self._fields.of(self._row(key, time_us))
        self._open[event.identity] = _Open(event.kept(), key, time_us, self._fields.text(fields))
        return [event.with_row({**event.row, **fields})]

    def _answer(self, event: Event, key: Key | None, time_us: int, found: Findings) -> list[Event]:
        row = None if key is None else self._row(key, time_us)
        if row is None:
            found.counters["lookup_misses"] += 1
        if row is None and self._lookup.on_miss == "drop":
            found.counters["events_dropped"] += 1
            return []
        if row is None and self._lookup.on_miss == "dead_letter":
            detail = f"No row of {self._lookup.table.name} was valid at its time."
            found.dead.append(DeadEvent(event, "lookup_miss", detail))
            return []
        return [event.with_row({**event.row, **self._fields.of(row)})]

    def _settled(self, idle: bool, found: Findings) -> list[Event]:
        """Return the open events that are answered now, or whose answer is another."""
        out: list[Event] = []
        for identity, each in list(self._open.items()):
            final = self._final(each.time_us, idle)
            if each.text is not None:
                out += self._correction(each)
            elif final:
                out += self._answer(each.event, each.key, each.time_us, found)
            if final:
                del self._open[identity]
        return out

    def _correction(self, sent: _Open) -> list[Event]:
        fields = self._fields.of(self._row(sent.key, sent.time_us))
        text = self._fields.text(fields)
        if text == sent.text:
            return []
        self._open[sent.event.identity] = _Open(sent.event, sent.key, sent.time_us, text)
        return [sent.event.corrected().with_row({**sent.event.row, **fields})]
