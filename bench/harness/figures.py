"""What the batches of one run tell: rates and times, as its lines of progress have them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

WARM_UP = 2
Batch = Mapping[str, Any]


def steady_rate(batches: Sequence[Batch]) -> float | None:
    """Return rows a second from the end of the warm-up to the end of the last full batch."""
    full = max((batch["rows"] for batch in batches), default=0)
    measured = [batch for batch in batches[WARM_UP:] if batch["rows"] >= full * 0.9]
    if not measured:
        return None
    started = batches[WARM_UP - 1]["ended_at"]
    return float(sum(batch["rows"] for batch in measured) / (measured[-1]["ended_at"] - started))


def rate_between(batches: Sequence[Batch], first: int, last: int) -> float:
    """Return rows a second from the `first` row to the `last`; within a batch rows are even."""
    return (last - first) / (_time_of(batches, last) - _time_of(batches, first))


def _time_of(batches: Sequence[Batch], row: int) -> float:
    busy = [batch for batch in batches if batch["rows"]]
    times = [busy[0]["ended_at"] - busy[0]["seconds"], *(batch["ended_at"] for batch in busy)]
    read = [0, *accumulate(batch["rows"] for batch in busy)]
    for (begun, ended), (before, after) in zip(pairwise(times), pairwise(read), strict=True):
        if row <= after:
            return float(begun + (ended - begun) * (row - before) / (after - before))
    return float(times[-1])


def batches(batches: Sequence[Batch]) -> dict[str, Any]:
    """Return the time of a run's batches, the first ones apart, and its steady rate."""
    busy = [batch for batch in batches if batch["rows"]]
    warm = busy[WARM_UP:] or busy
    if not warm:
        return {"batches": 0}
    times = sorted(batch["seconds"] for batch in warm)
    told = {
        "batches": len(busy),
        "rows": sum(batch["rows"] for batch in busy),
        "batch_median_ms": round(1000 * statistics.median(times)),
        "batch_p90_ms": round(1000 * times[min(len(times) - 1, int(len(times) * 0.9))]),
        "duration_ms": warm[len(warm) // 2].get("duration_ms", {}),
    }
    if rate := steady_rate(busy):
        told["steady_rate"] = round(rate)
    return told
