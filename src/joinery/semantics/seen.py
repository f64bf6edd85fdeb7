"""Which events were seen: one of the same value stands before it in the log, less than so far away.

Of a value's times runs are kept, whose neighbours are less than `for` apart: a time is that near
to one of them exactly where it is that near to a run. So what is kept of a value is small, and
tells without error.

A batch's events are asked in the order of their log, so the answers do not depend on how it was
cut into batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from joinery.expression.convert import micros_of
from joinery.model.change import Change
from joinery.plan.seen import SEEN
from joinery.plan.stream import SeenFilter
from joinery.semantics.event import DeadEvent, Event, Findings
from joinery.semantics.rolling import LogWatermark, equal_value
from joinery.semantics.rows import Findings as ExpressionFindings
from joinery.semantics.rows import guarded

Run = tuple[int, int]


class SeenTimes:
    """The state of one filter on `seen`.

    Args:
        step: The step.
        failed: Takes the expressions that fail.
    """

    def __init__(self, step: SeenFilter, failed: ExpressionFindings) -> None:
        self._step = step
        self._watermark = LogWatermark(step.logs, failed)
        self._where = guarded(step.where, failed)
        self._runs: dict[Any, list[Run]] = {}

    def process(
        self, changes: Iterable[Change], events: Iterable[Event], time_us: int, found: Findings
    ) -> list[Event]:
        """Return what one batch sends on; see `CurrentLookup.process`."""
        watermark_us = self._watermark.micros
        out: list[Event] = []
        for each in sorted(events, key=lambda each: each.place):
            at = each.row[self._step.time]
            if not isinstance(at, datetime):
                detail = f"Its column {self._step.time} is null."
                found.dead.append(DeadEvent(each, "event_without_time", detail))
            elif watermark_us is not None and micros_of(at) < watermark_us - self._step.for_us:
                detail = "It is further below the watermark than events still count."
                found.dead.append(DeadEvent(each, "event_too_late", detail))
            elif self._where({**each.row, SEEN: self._seen(each, micros_of(at))}) is True:
                out.append(each)
        self._watermark.take(changes)
        return out

    def _seen(self, event: Event, time_us: int) -> bool:
        """Return whether the event's value was near its time, and note that it was now."""
        value = equal_value(event.row[self._step.column])
        if value is None:
            return False
        runs, for_us = self._runs.get(value, []), self._step.for_us
        near = [each for each in runs if each[0] - for_us < time_us < each[1] + for_us]
        times = [time_us, *(bound for each in near for bound in each)]
        apart = [each for each in runs if each not in near]
        self._runs[value] = [*apart, (min(times), max(times))]
        return bool(near)
