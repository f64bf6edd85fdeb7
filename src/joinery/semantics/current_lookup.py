"""A lookup of the current row: a batch's changes of the table apply before its events.

It remembers the table's rows, the events that wait for a row, and those that a changed row
will correct.

Invariant: an event leaves once, and again only as a correction whose fields differ from
those it was last sent with.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from joinery.model.change import Change, Row
from joinery.plan.stream import Lookup
from joinery.semantics.event import DeadEvent, Event, Findings, Identity
from joinery.semantics.lookup_fields import Key, LookupFields
from joinery.semantics.merge import RowMerge, Standing
from joinery.semantics.rows import Findings as ExpressionFindings
from joinery.semantics.rows import Scope, guarded


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
        scope: The types of the event's columns before it.
        failed: Takes the expressions that fail.
    """

    def __init__(self, lookup: Lookup, scope: Scope, failed: ExpressionFindings):
        self._lookup = lookup
        self._merge = RowMerge(lookup.table, failed)
        self._fields = LookupFields(lookup, failed)
        wide = {**scope, **{each.name: each.expression.type for each in lookup.fields}}
        self._where = guarded(lookup.where, wide, failed) if lookup.where else None
        self._rows: dict[Key, Standing] = {}
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

    def _change(self, change: Change, found: Findings) -> None:
        key = tuple(change.key[column] for column in self._lookup.table.key)
        found.counters[self._merge.apply(self._rows.setdefault(key, Standing()), change)] += 1

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
