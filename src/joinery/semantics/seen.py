"""Which events were seen: one of the same value stands before it in the log, less than so far away.

Of a value's times runs are kept, whose neighbours are less than `for` apart: a time is that near
to one of them exactly where it is that near to a run. So what is kept of a value is small, and
tells without error.

A batch's events are asked in the order of their log, so the answers do not depend on how it was
cut into batches.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from joinery.expression.convert import micros_of
from joinery.model.change import Change
from joinery.plan.seen import SEEN
from joinery.plan.timed_step import SeenFilter
from joinery.semantics.event import Event, Findings
from joinery.semantics.log_watermark import LogWatermark, still_counts
from joinery.semantics.rows import Findings as ExpressionFindings
from joinery.semantics.rows import equal_value, guarded

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
        time, watermark_us = self._step.time, self._watermark.micros
        horizon_us = None if watermark_us is None else watermark_us - self._step.for_us
        out: list[Event] = []
        for each in sorted(events, key=lambda each: each.place):
            if not still_counts(each, time, horizon_us, found):
                continue
            seen = self._seen(each, micros_of(each.row[time]))
            if self._where({**each.row, SEEN: seen}) is True:
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
