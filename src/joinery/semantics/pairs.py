"""The pairs that a stream makes of its events and those of another log whose times are near.

Events of both sides are kept, whichever batch brought them, so a pair is sent when the later of
its two comes. One that is told again with the same join value takes the place of the former, and
its pairs are sent again; with another value it is one of its own.

Nothing below the horizon counts any more: the watermark before the batch, less the retention.
The watermark is the least of the logs of both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from joinery.expression.convert import micros_of
from joinery.model.change import Change
from joinery.plan.timed_step import Join
from joinery.semantics.event import Event, Findings
from joinery.semantics.log_watermark import LogWatermark, still_counts
from joinery.semantics.rows import Findings as ExpressionFindings
from joinery.semantics.rows import JoinValue, guarded, join_value

Place = tuple[JoinValue, Any]
Kept = dict[Place, tuple[int, Event]]
"""The events of one side with their times, by join value and identity."""


class EventPairs:
    """The state of one step `join`.

    Args:
        step: The step.
        failed: Takes the expressions that fail.
        others: Returns a batch's events of the other log.
    """

    def __init__(
        self,
        step: Join,
        failed: ExpressionFindings,
        others: Callable[[Sequence[Change], Findings], list[Event]],
    ) -> None:
        self._step, self._others = step, others
        self._watermark = LogWatermark(step.logs, failed)
        self._fields = [(each.name, guarded(each.expression, failed)) for each in step.fields]
        self._own_columns = [pair.parent for pair in step.on]
        self._other_columns = [pair.child for pair in step.on]
        self._own: Kept = {}
        self._other: Kept = {}

    def process(
        self, changes: Sequence[Change], events: Iterable[Event], time_us: int, found: Findings
    ) -> list[Event]:
        """Return the pairs that one batch makes; see `CurrentLookup.process`."""
        step, watermark_us = self._step, self._watermark.micros
        horizon_us = None if watermark_us is None else watermark_us - step.retention_us
        self._forget(horizon_us)
        others = self._others(changes, found)
        own = self._kept(events, step.time, self._own_columns, horizon_us, found)
        other = self._kept(others, step.other_time, self._other_columns, horizon_us, found)
        before = dict(self._own), dict(self._other)
        self._own |= own
        self._other |= other
        self._watermark.take(changes)
        out: list[Event] = []
        for place, (_, each) in self._own.items():
            for near, (_, one) in self._other.items():
                comes = place in own or near in other
                if comes and self._met(self._own, self._other, place, near):
                    again = self._met(*before, place, near)
                    out.append(self._pair(each, one, again=again))
        return out

    def _kept(
        self,
        events: Iterable[Event],
        time: str,
        columns: Sequence[str],
        horizon_us: int | None,
        found: Findings,
    ) -> Kept:
        """Return the events of a batch that count, and can meet anything."""
        kept: Kept = {}
        for each in sorted(events, key=lambda each: each.place):
            if still_counts(each, time, horizon_us, found):
                value = join_value(each.row, columns)
                if value is not None:
                    kept[value, each.identity] = micros_of(each.row[time]), each
        return kept

    def _forget(self, horizon_us: int | None) -> None:
        """Forget what no event meets any more that still counts."""
        if horizon_us is None:
            return
        within = self._step.within
        for place in [k for k, (at, _) in self._own.items() if at < horizon_us - within.to_us]:
            del self._own[place]
        for place in [k for k, (at, _) in self._other.items() if at < horizon_us + within.from_us]:
            del self._other[place]

    def _met(self, own: Kept, other: Kept, place: Place, near: Place) -> bool:
        """Return whether two events that are there make a pair."""
        if place[0] != near[0] or place not in own or near not in other:
            return False
        return other[near][0] - own[place][0] in self._step.within

    def _pair(self, own: Event, other: Event, *, again: bool) -> Event:
        added = {name: evaluate(other.row) for name, evaluate in self._fields}
        key = {**own.key, self._step.other.name: other.key}
        return Event(key, {**own.row, **added}, own.place, correction=again)
