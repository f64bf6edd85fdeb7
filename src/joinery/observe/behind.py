"""Why a product is behind, in words: what it waits for, or where the time of its batches goes."""

from __future__ import annotations

from collections.abc import Sequence

from joinery.model.progress import Silence, Waiting
from joinery.model.status import LastBatch, QueryStatus

BEHIND_S = 10.0
"""So long something may be left to read before a product counts as behind."""
_MOST = 0.5


def since(each: Waiting | Silence, now: float) -> str:
    """Return what is waited for, and how long it has been."""
    return f"{_named(each)}, for {now - each.since:.0f} s"


def _named(each: Waiting | Silence) -> str:
    """Return why something is waited for, with its name once: most reasons have it."""
    reason = each.reason.rstrip(".")
    return reason if each.target in reason else f"{each.target}: {reason}"


def waits_for(held_up: Sequence[Waiting]) -> str:
    """Return what is waited for, though not for long yet; empty where nothing is."""
    away = next(iter(held_up), None)
    if away is None:
        return ""
    return f"it waits{':' if away.target in away.reason else ' for'} {_named(away)}"


def why_behind(told: QueryStatus, now: float, held_up: Sequence[Waiting]) -> str:
    """Return where the time goes, in words."""
    batch = told.batch
    if held_up:
        return waits_for(held_up)
    if batch is None:
        return f"its first batch has been running for {now - told.began_at:.0f} s"
    if (lasts := now - batch.ended_at) > 2 * batch.seconds + BEHIND_S:
        return f"the batch after {batch.number} has been running for {lasts:.0f} s"
    sinks_ms = batch.durations_ms.get("sinks", 0)
    if batch.seconds and sinks_ms / 1000 > _MOST * batch.seconds:
        slowest = max(batch.sinks_ms, key=lambda each: batch.sinks_ms[each], default="")
        if slowest and batch.sinks_ms[slowest] > _MOST * sinks_ms:
            return f"{slowest} takes {_of_batch(batch.sinks_ms[slowest], batch)}"
        return f"its sinks take {_of_batch(sinks_ms, batch)}"
    rate = batch.rows / batch.seconds if batch.seconds else 0.0
    return f"it reads {rate:,.0f} rows per second and has not caught up yet"


def _of_batch(spent_ms: int, batch: LastBatch) -> str:
    share = min(1.0, spent_ms / 1000 / batch.seconds)
    return f"{spent_ms:,} ms per batch ({share:.0%} of the batch)"
