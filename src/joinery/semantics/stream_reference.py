"""The reference solution of streams: dictionaries, one event after the other, a batch at a time.

It is what the runtime is compared with, so it is slow and plain. A batch's changes of the
tables apply first, then its events go through the steps in order, each time that one is
told; of what is left of one identity in the end, the last in the log is sent. So what was
sent last of an event does not depend on how its log was cut. A store that is queried is
taken to hold the table's current rows.

Limits: nothing that identifies an event is forgotten. Only portable expressions can be
evaluated.

Invariant: a batch sends an event at most once, under a version above the event's last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any, Protocol

from joinery.model.change import Change, DocumentChange, Row
from joinery.plan.relation import Computed, Relation
from joinery.plan.step import Filter, Lookup, MapRows, Select, Step, Union, WithColumns
from joinery.plan.stream import PLACE, Stream
from joinery.plan.timed_step import Join, Rolling, SeenFilter
from joinery.semantics.event import DeadEvent, Event, Findings, Identity, Place
from joinery.semantics.lookup import CurrentLookup, VersionedLookup
from joinery.semantics.map_row import MapFailure, RowMapper, function_of
from joinery.semantics.merge import RowMerge
from joinery.semantics.pairs import EventPairs
from joinery.semantics.personal import Seals, hidden, indexed
from joinery.semantics.rolling import RollingColumns
from joinery.semantics.rows import Findings as ExpressionFindings
from joinery.semantics.rows import guarded
from joinery.semantics.seen import SeenTimes
from joinery.solutions.protocol import DeadDocument, Emissions

Work = Callable[[Sequence[Change], list[Event], int, Findings], list[Event]]
PlaceOf = Callable[[Change], str]


class Waits(Protocol):
    """Where events may wait."""

    @property
    def waiting(self) -> int:
        """How many do."""


class StreamReference:
    """Runs `streams`, by computing every event in Python.

    Args:
        streams: One stream, or several that share their relations.
        sealed: Whether changes come as a run decodes them, with personal columns sealed.
        place_of: Returns a change's place in its log, which identifies an event without a key;
            by default each batch counts as a file of the topic.
    """

    def __init__(
        self,
        streams: Stream | Sequence[Stream],
        *,
        sealed: bool = False,
        place_of: PlaceOf | None = None,
    ) -> None:
        many = [streams] if isinstance(streams, Stream) else list(streams)
        self._pipelines = [_Pipeline(each, place_of) for each in many]
        read = [] if sealed else [one for each in many for one in each.named_relations]
        self._seals = Seals(read, indexed)
        self._versions: dict[tuple[str, Identity], int] = {}

    def apply(self, batch: Sequence[Change], timestamp_us: int) -> Emissions:
        """Apply `batch`, whose changes are in log order, and return what it sends."""
        found = Findings()
        documents: list[DocumentChange] = []
        dead: list[DeadDocument] = []
        seen = [self._seals.seen(each) for each in batch]
        found.counters += self._seals.news()
        for pipeline in self._pipelines:
            mine = Findings(counters=found.counters)
            sent = pipeline.run(seen, timestamp_us, mine)
            documents += [self._emission(pipeline.stream, each, timestamp_us) for each in sent]
            dead += [_dead(pipeline.stream, each) for each in mine.dead]
        return Emissions(tuple(documents), tuple(dead), dict(+found.counters))

    def erase(self, relation: str, subject: object, timestamp_us: int) -> Emissions:
        """Erase a subject of a relation, now and forever, and return what is sent again."""
        self._seals.erase(relation, subject)
        for pipeline in self._pipelines:
            pipeline.erase(relation, subject)
        return self.apply((), timestamp_us)

    @property
    def waiting(self) -> int:
        """How many events wait in a lookup."""
        return sum(pipeline.waiting for pipeline in self._pipelines)

    def _emission(self, stream: Stream, event: Event, timestamp_us: int) -> DocumentChange:
        named = (stream.name, event.identity)
        self._versions[named] = max(timestamp_us, self._versions.get(named, 0) + 1)
        value = {field.name: hidden(event.row[field.name], field.type) for field in stream.columns}
        if stream.correction:
            value[stream.correction] = event.correction
        return DocumentChange(stream.name, event.key, value, self._versions[named])


def _dead(stream: Stream, each: DeadEvent) -> DeadDocument:
    return DeadDocument(stream.name, each.event.key, each.reason, each.detail)


class _Pipeline:
    """The steps of one stream, with the state of its lookups."""

    def __init__(self, stream: Stream, place_of: PlaceOf | None) -> None:
        self.stream, self._place_of = stream, place_of
        self._failed = ExpressionFindings()
        self._log = _Log(stream.relation, self._failed, place_of)
        self._steps: list[Work] = []
        self._waits: list[Waits] = []
        self._tables: list[CurrentLookup] = []
        for step in stream.steps:
            self._steps.append(self._work(step))

    def run(self, batch: Sequence[Change], time_us: int, found: Findings) -> list[Event]:
        """Return the events that leave after the last step, each identity once."""
        events = self.passed(batch, time_us, found)
        last: dict[Identity, Event] = {}
        for each in sorted(events, key=_place):
            last[each.identity] = each
        found.counters["superseded"] += len(events) - len(last)
        return [each for each in events if each is last[each.identity]]

    def passed(self, batch: Sequence[Change], time_us: int, found: Findings) -> list[Event]:
        """Return the events that leave after the last step, as often as they are told."""
        failures = self._failed.failures
        events = self._log.events(batch, found)
        for step in self._steps:
            events = step(batch, events, time_us, found)
        found.counters["expression_errors"] += self._failed.failures - failures
        return events

    def erase(self, relation: str, subject: object) -> None:
        """Take out of the rows of tables what was sealed for a subject of a relation."""
        for each in self._tables:
            each.erase(relation, subject)

    @property
    def waiting(self) -> int:
        """How many events wait in a lookup, those of united streams included."""
        return sum(each.waiting for each in self._waits)

    def _work(self, step: Step) -> Work:
        match step:
            case Lookup(read="event"):
                return _unchanged
            case Lookup(as_of="event"):
                versioned = VersionedLookup(step, self._failed)
                self._waits.append(versioned)
                return versioned.process
            case Lookup():
                current = CurrentLookup(step, self._failed)
                self._waits.append(current)
                self._tables.append(current)
                return current.process
            case Filter(where):
                return partial(_filtered, guarded(where, self._failed))
            case Select(fields):
                return partial(_computed, self._evaluators(fields), False)
            case WithColumns(fields):
                return partial(_computed, self._evaluators(fields), True)
            case MapRows():
                return partial(_mapped, step, function_of(step))
            case SeenFilter():
                return SeenTimes(step, self._failed).process
            case Rolling():
                return RollingColumns(step, self._failed).process
            case Join(other):
                log = _Log(other, self._failed, self._place_of)
                return EventPairs(step, self._failed, log.events).process
            case Union(other):
                united = _Pipeline(other, self._place_of)
                self._waits.append(united)
                return partial(_united, united)

    def _evaluators(self, fields: Sequence[Computed]) -> dict[str, Any]:
        return {each.name: guarded(each.expression, self._failed) for each in fields}


class _Log:
    """The events of an append-only relation."""

    def __init__(
        self, relation: Relation, failed: ExpressionFindings, place_of: PlaceOf | None
    ) -> None:
        self._relation, self._place_of = relation, place_of
        self._merge = RowMerge(relation, failed)
        self._files = 0

    def events(self, batch: Sequence[Change], found: Findings) -> list[Event]:
        """Return a batch's events in the order of the log."""
        events: list[Event] = []
        mine = [change for change in batch if change.relation == self._relation.name]
        for line, change in enumerate(mine, 1):
            if change.after is None:
                found.counters["ignored_deletes"] += 1
            else:
                events += self._event(change, line)
        self._files += 1
        return events

    def _event(self, change: Change, line: int) -> list[Event]:
        """Return the event of a line, unless the relation's `where` keeps it out."""
        row = self._merge.first(change)
        key: Row = {name: change.key[name] for name in self._relation.key}
        if not key:
            batch = f"{self._relation.topic}/{self._files:06d}.jsonl/{line}"
            key = {PLACE.name: batch if self._place_of is None else self._place_of(change)}
        place = Place(arrived=True, log=self._relation.name, number=line)
        return [Event(key, row, place)] if self._merge.visible(row) else []


def _place(event: Event) -> Place:
    return event.place


def _unchanged(
    batch: Sequence[Change], events: list[Event], time_us: int, found: Findings
) -> list[Event]:
    return events


def _filtered(
    where: Callable[[Row], Any],
    batch: Sequence[Change],
    events: list[Event],
    time_us: int,
    found: Findings,
) -> list[Event]:
    return [event for event in events if where(event.row) is True]


def _computed(
    evaluators: Mapping[str, Callable[[Row], Any]],
    added: bool,
    batch: Sequence[Change],
    events: list[Event],
    time_us: int,
    found: Findings,
) -> list[Event]:
    return [
        event.with_row(
            {
                **(event.row if added else {}),
                **{name: evaluate(event.row) for name, evaluate in evaluators.items()},
            }
        )
        for event in events
    ]


def _mapped(
    step: MapRows,
    function: Callable[[Row], object],
    batch: Sequence[Change],
    events: list[Event],
    time_us: int,
    found: Findings,
) -> list[Event]:
    """Give each event to the user's function; one that it fails on is a dead letter."""
    out: list[Event] = []
    mapper = RowMapper(step, function)
    for event in events:
        made = mapper.mapped(deepcopy(dict(event.row)))
        if made is None:
            found.counters["events_dropped"] += 1
        elif isinstance(made, MapFailure):
            found.dead.append(DeadEvent(event, "map_failed", made.detail))
        else:
            out.append(event.with_row(made))
    return out


def _united(
    other: _Pipeline, batch: Sequence[Change], events: list[Event], time_us: int, found: Findings
) -> list[Event]:
    """Add the other stream's events, in the order in which those of one identity stand."""
    return sorted(events + other.passed(batch, time_us, found), key=_place)
