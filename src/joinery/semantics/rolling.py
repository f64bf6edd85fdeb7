"""What rolling columns give events: values over the events of the same key in the time before each.

An event of time t sees those of times in (t - over, t], whichever batch brought them. Rows of
one time see one another. A batch's events are put in place before any is answered, so a batch
sends each at most once, and what is sent last does not depend on how the log was cut.

Nothing below the horizon changes any more: the watermark before the batch, less the retention.
The watermark is the least of the logs that events come from.

Invariant: an event is sent when it comes, and again only where its values differ from those
that it was last sent with.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from joinery.expression.convert import micros_of
from joinery.expression.group_aggregate import MOST_VALUES, WINDOW_SECONDS
from joinery.expression.order import row_key
from joinery.model.change import Change, Row
from joinery.model.type import Field, Struct
from joinery.plan.timed_step import Rolling
from joinery.semantics.assemble import Aggregating
from joinery.semantics.event import DeadEvent, Event, Findings, Identity
from joinery.semantics.log_watermark import LogWatermark, still_counts
from joinery.semantics.render import document_json
from joinery.semantics.rows import Findings as ExpressionFindings
from joinery.semantics.rows import equal_value, guarded

Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Member:
    """An event that others see; `text` is of the values that it was last sent with."""

    event: Event
    key: Key
    time_us: int
    text: str = ""


class RollingColumns:
    """The state of one step `rolling`.

    Args:
        step: The step.
        failed: Takes the expressions that fail.
    """

    def __init__(self, step: Rolling, failed: ExpressionFindings) -> None:
        self._step = step
        self._watermark = LogWatermark(step.logs, failed)
        self._aggregates = [Aggregating(each, failed) for each in step.aggregates]
        self._values = [(each.name, guarded(each.expression, failed)) for each in step.values]
        self._type = Struct(tuple(Field(e.name, e.expression.type) for e in step.values))
        self._members: dict[Identity, _Member] = {}

    def process(
        self, changes: Iterable[Change], events: Iterable[Event], time_us: int, found: Findings
    ) -> list[Event]:
        """Return what one batch sends on; see `CurrentLookup.process`."""
        horizon_us = self._horizon_us()
        self._forget(horizon_us)
        arrived = sorted(events, key=lambda each: each.place)
        last = {each.identity: each for each in arrived}
        for identity in last:
            self._members.pop(identity, None)
        time = self._step.time
        told = [each for each in arrived if still_counts(each, time, horizon_us, found)]
        for each in told:
            if last[each.identity] is each:
                self._members[each.identity] = self._member(each)
        out = [self._answer(each, last[each.identity] is each, found) for each in told]
        out += self._corrections(last, horizon_us, found)
        self._watermark.take(changes)
        return out

    def _horizon_us(self) -> int | None:
        watermark_us = self._watermark.micros
        return None if watermark_us is None else watermark_us - self._step.retention_us

    def _forget(self, horizon_us: int | None) -> None:
        if horizon_us is None:
            return
        oldest = horizon_us - self._step.over_us
        over = [name for name, each in self._members.items() if each.time_us <= oldest]
        for name in over:
            del self._members[name]

    def _member(self, event: Event) -> _Member:
        key = tuple(equal_value(event.row[name]) for name in self._step.by)
        return _Member(event.kept(), key, micros_of(event.row[self._step.time]))

    def _answer(self, event: Event, last: bool, found: Findings) -> Event:
        """Send an event that came; one that comes again in its batch is not remembered for it."""
        mine = self._member(event)
        values = self._values_of(mine)
        if last:
            self._members[event.identity] = replace(mine, text=self._text(values))
        self._tell_limit(event, found)
        return event.with_row({**event.row, **values})

    def _corrections(
        self, arrived: Iterable[Identity], horizon_us: int | None, found: Findings
    ) -> list[Event]:
        out: list[Event] = []
        for identity, each in list(self._members.items()):
            if identity in arrived or (horizon_us is not None and each.time_us < horizon_us):
                continue
            values = self._values_of(each)
            text = self._text(values)
            if text != each.text:
                self._members[identity] = replace(each, text=text)
                self._tell_limit(each.event, found)
                out.append(each.event.corrected().with_row({**each.event.row, **values}))
        return out

    def _values_of(self, mine: _Member) -> Row:
        """Return the values of an event over those that it sees, itself among them."""
        since_us = mine.time_us - self._step.over_us
        seen = [
            each
            for identity, each in self._members.items()
            if identity != mine.event.identity
            and each.key == mine.key
            and since_us < each.time_us <= mine.time_us
        ]
        rows = [each.event.row for each in self._in_order([*seen, mine])]
        scope: dict[str, Any] = {**mine.event.row, WINDOW_SECONDS: self._step.over_us / 1_000_000}
        for aggregate in self._aggregates:
            scope[aggregate.name] = aggregate.over(rows)
        values: dict[str, Any] = {}
        for name, evaluate in self._values:
            values[name] = scope[name] = evaluate(scope)
        return values

    def _in_order(self, members: Sequence[_Member]) -> list[_Member]:
        """Return events by time, then by key or place."""
        names = self._step.logs[0].key
        kinds = [(self._step.logs[0].type_of(each), False) for each in names]
        rank = row_key(kinds) if kinds else _place_rank
        return sorted(members, key=lambda each: (each.time_us, rank(each.event.identity)))

    def _text(self, values: Row) -> str:
        return document_json(values, self._type)

    def _tell_limit(self, event: Event, found: Findings) -> None:
        """Tell that a value of an event is null for the many different ones it would count."""
        if any(each.limited for each in self._aggregates):
            found.counters["instance_limit"] += 1
            detail = f"A value counts more than {MOST_VALUES} different ones, and is null."
            found.dead.append(DeadEvent(event, "instance_limit", detail))


def _place_rank(identity: Sequence[Any]) -> tuple[object, ...]:
    """Return what places sort by: `topic/partition/offset`, or `topic/file/line`."""
    (text,) = identity
    topic, log, number = (["", "", *str(text).rsplit("/", 2)])[-3:]
    if not (topic and number.isdecimal()):
        return str(text), False, 0, "", 0
    partition = int(log) if log.isdecimal() else 0
    return topic, log.isdecimal(), partition, log, int(number)
