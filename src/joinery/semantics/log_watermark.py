"""How far the logs of a step's events have come, and which events still count by that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from joinery.expression.convert import micros_of
from joinery.model.change import Change
from joinery.plan.relation import Relation
from joinery.semantics.event import DeadEvent, Event, Findings
from joinery.semantics.lateness import too_far_ahead
from joinery.semantics.merge import RowMerge
from joinery.semantics.rows import Findings as ExpressionFindings


class LogWatermark:
    """The least watermark of logs, of which each is one partition."""

    def __init__(self, logs: Sequence[Relation], failed: ExpressionFindings) -> None:
        self._logs = {each.name: (each, RowMerge(each, failed)) for each in logs}
        self._newest_us: dict[str, int] = {}

    @property
    def micros(self) -> int | None:
        """Before it nothing more is expected; None before each log has told a time."""
        if self._newest_us.keys() != self._logs.keys():
            return None
        return min(
            self._newest_us[name] - log.delay_ms * 1000 for name, (log, _) in self._logs.items()
        )

    def take(self, changes: Iterable[Change]) -> None:
        """Take what a batch tells of the time."""
        for change in changes:
            if change.relation not in self._logs or change.after is None:
                continue
            log, merge = self._logs[change.relation]
            at = merge.first(change)[log.time or ""]
            if not isinstance(at, datetime) or too_far_ahead(log.watermark, change, micros_of(at)):
                continue
            newest_us = self._newest_us.get(log.name, micros_of(at))
            self._newest_us[log.name] = max(newest_us, micros_of(at))


def still_counts(event: Event, time: str, horizon_us: int | None, found: Findings) -> bool:
    """Return whether an event has a time that is not below the horizon; else it is a dead letter.

    Args:
        event: As it comes to a step.
        time: The column with its time.
        horizon_us: Below it nothing changes any more; None where all still may.
        found: Takes the dead letter.
    """
    at = event.row[time]
    if not isinstance(at, datetime):
        found.dead.append(DeadEvent(event, "event_without_time", f"Its column {time} is null."))
        return False
    if horizon_us is not None and micros_of(at) < horizon_us:
        detail = "It is too far below the watermark to count."
        found.dead.append(DeadEvent(event, "event_too_late", detail))
        return False
    return True
