"""Figures from runs: medians of whole runs, and what the batches of one run tell."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from contenders import Run

WARM_UP = 2
Batch = Mapping[str, Any]


def whole_run(changes: int, runs: Sequence[Run]) -> dict[str, Any]:
    """Return the medians over whole runs, start-up included; empty where there is none."""
    if not runs:
        return {}
    seconds = statistics.median(run.facts["seconds"] for run in runs)
    told: dict[str, Any] = {
        "rounds": len(runs),
        "seconds": round(seconds, 2),
        "all_seconds": [run.facts["seconds"] for run in runs],
        "rate": round(changes / seconds),
        "cpu_seconds": round(statistics.median(run.measured.cpu_seconds for run in runs), 1),
        "peak_gib": round(max(run.measured.peak_bytes for run in runs) / 2**30, 2),
    }
    steady = [rate for run in runs if (rate := steady_rate(run.batches))]
    if steady:
        told["steady_rate"] = round(statistics.median(steady))
    return told


def steady_rate(batches: Sequence[Batch]) -> float | None:
    """Return rows a second from the end of the warm-up to the end of the last full batch."""
    full = max((batch["rows"] for batch in batches), default=0)
    measured = [batch for batch in batches[WARM_UP:] if batch["rows"] >= full * 0.9]
    if not measured:
        return None
    started = batches[WARM_UP - 1]["ended_at"]
    return float(sum(batch["rows"] for batch in measured) / (measured[-1]["ended_at"] - started))


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
