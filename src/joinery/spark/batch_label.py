"""Which batch of which run is at hand."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

_SETTINGS = 1  # the second line of an entry in Spark's offset log
_PER_MS = 1000


@dataclass(frozen=True, slots=True)
class BatchLabel:
    """What a batch is called.

    Attributes:
        query_id: Of Spark's checkpoint.
        number: Of the batch.
        epoch: Of the run that holds the lease.
    """

    query_id: str
    number: int
    epoch: int


def batch_time_us(checkpoint: Path, number: int) -> int:
    """Return the time of a batch in microseconds: the same when it runs again, and its own.

    Spark logs a batch with its time in milliseconds before it runs; the batch's number fills
    the rest, so that no two batches share a time.
    """
    text = (checkpoint / "offsets" / str(number)).read_text(encoding="utf-8")
    told = json.loads(text.splitlines()[_SETTINGS])
    return int(told["batchTimestampMs"]) * _PER_MS + number % _PER_MS
