"""What a query did, minute by minute: a file per day beside its status file, kept for a week.

A minute in which nothing was read, sent, left to read or waited for has no line.

Invariant: a line is written in one go, and one that was cut off is as if it had not been.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from joinery.files import append_line
from joinery.model.batch import BatchProgress
from joinery.model.moment import moment_text, seconds_of
from joinery.model.status import ProductTotals, QueryStatus
from joinery.model.typed import check_typed
from joinery.place.place import Place

KEPT_DAYS = 7
_EVERY_S = 60.0
_WAITS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """The batches of a query that ended in a minute or so.

    Attributes:
        count: How many there were; none in real-time mode, which reads rows without.
        last: The number of the last one; None where there was none.
        rows: Changes that they read.
        longest_s: How long the longest one took.
        writing_s: How much of that was for its sinks.
    """

    count: int = 0
    last: int | None = None
    rows: int = 0
    longest_s: float = 0.0
    writing_s: float = 0.0

    def plus(self, batch: BatchProgress) -> Batches:
        """Return them with one more."""
        if batch.live:
            return replace(self, rows=self.rows + batch.read)
        longest = batch.seconds > self.longest_s
        return Batches(
            count=self.count + 1,
            last=batch.batch_id,
            rows=self.rows + batch.read,
            longest_s=batch.seconds if longest else self.longest_s,
            writing_s=batch.durations_ms.get("sinks", 0) / 1000 if longest else self.writing_s,
        )

    def to_json(self) -> dict[str, object]:
        """Return them as one JSON object."""
        times = {"longest_s": round(self.longest_s, 3), "writing_s": round(self.writing_s, 3)}
        return {"count": self.count, "last": self.last, "rows": self.rows, **times}


@dataclass(frozen=True, slots=True, kw_only=True)
class Minute:
    """What one product did in a minute or so.

    Attributes:
        at: When it ended, in seconds since 1970.
        sent: Documents and tombstones since the minute before.
        fresh_s: How old what it did not show was then; None where nobody could tell.
        rows_left: Records that were left to read for its query.
        bytes_left: Bytes of files likewise.
        paused: Whether it stood still because somebody paused it.
        batches: Those of its query.
        waits: What was waited for, or silent, as the minute ended.
        ended: How the run ended then; empty while it went on.
    """

    at: float
    sent: int
    fresh_s: float | None
    rows_left: int
    bytes_left: int = 0
    paused: bool = False
    batches: Batches = Batches()
    waits: tuple[str, ...] = ()
    ended: str = ""

    def to_json(self) -> dict[str, object]:
        """Return the minute as one JSON object."""
        return {
            "at": moment_text(self.at),
            "sent": self.sent,
            "fresh_s": self.fresh_s,
            "rows_left": self.rows_left,
            "bytes_left": self.bytes_left,
            "paused": self.paused,
            "batches": self.batches.to_json(),
            "waits": list(self.waits),
            "ended": self.ended,
        }


class HistoryFile:
    """Writes the minutes of one query.

    Args:
        folder: Where its days stand.
    """

    def __init__(self, folder: Place) -> None:
        self._folder = folder
        self._due_at = 0.0
        self._sent: dict[str, int] = {}
        self._unwritten: deque[BatchProgress] = deque()  # which another thread may add to
        self._day = ""

    def count(self, batch: BatchProgress) -> None:
        """Count a batch that is through; nothing is written yet."""
        self._unwritten.append(batch)

    def note(self, status: QueryStatus, *, last: bool = False) -> None:
        """Write a line, if a minute has passed since the one before, and there is news.

        Args:
            status: How the query stands.
            last: Whether the run ends, so that no line will follow.

        Raises:
            OSError: It cannot be written.
        """
        now = status.written_at
        if now < self._due_at and not last:
            return
        self._due_at = now + _EVERY_S
        counted = {name: _sent(each) for name, each in status.products.items()}
        sent = {name: count - self._sent.get(name, 0) for name, count in counted.items()}
        self._sent = counted
        batches = Batches()
        while self._unwritten:
            batches = batches.plus(self._unwritten.popleft())
        silent = (each.target for each in status.silences)
        waits = (*(each.target for each in status.waiting), *silent)
        if any(sent.values()) or batches.rows or waits or last or not status.caught_up:
            self._write(status, sent, batches, waits)

    def _write(
        self,
        status: QueryStatus,
        sent: Mapping[str, int],
        batches: Batches,
        waits: tuple[str, ...],
    ) -> None:
        line = {
            "at": moment_text(status.written_at),
            "rows_left": sum(status.rows_left.values()),
            "bytes_left": sum(status.bytes_left.values()),
            "paused": status.paused,
            "batches": batches.to_json(),
            "waits": waits[:_WAITS],
            "ended": _ended(status),
            "products": {
                name: [sent[name], _fresh_ms(each, status)]
                for name, each in status.products.items()
            },
        }
        day = moment_text(status.written_at)[:10]
        self._folder.mkdir(parents=True, exist_ok=True)
        if day != self._day:
            self._forget(status.written_at)
            self._day = day
        append_line(self._folder / f"{day}.jsonl", json.dumps(line, separators=(",", ":")))

    def _forget(self, now: float) -> None:
        kept = set(_days(now, KEPT_DAYS))
        for file in self._folder.glob("????-??-??.jsonl"):
            if file.stem not in kept:
                file.unlink(missing_ok=True)


def history_folder(status_file: Place) -> Place:
    """Return where the minutes of a query stand, given its status file."""
    return status_file.with_suffix("")


def minutes_of(folder: Place, product: str, *, now: float, days: int = 2) -> Iterator[Minute]:
    """Yield the minutes of a product, the oldest first.

    Args:
        folder: As `history_folder` gives it.
        product: The product or stream.
        now: Seconds since 1970.
        days: How many days are read, with that of `now`.
    """
    for day in reversed(_days(now, days)):
        try:
            lines = (folder / f"{day}.jsonl").read_bytes().splitlines()
        except OSError:
            continue
        found = (_minute(line, product) for line in lines)
        yield from (each for each in found if each is not None)


def _minute(line: bytes, product: str) -> Minute | None:
    try:
        told: dict[str, Any] = json.loads(line)
        sent, fresh_ms = told["products"][product]
        batches = Batches(**told.get("batches", {}))  # a line of before they were told
        check_typed(batches, Batches)
        return Minute(
            at=seconds_of(told["at"]),
            sent=int(sent),
            fresh_s=None if fresh_ms is None else fresh_ms / 1000,
            rows_left=int(told["rows_left"]),
            bytes_left=int(told.get("bytes_left", 0)),
            paused=bool(told["paused"]),
            batches=batches,
            waits=tuple(map(str, told.get("waits", ()))),
            ended=str(told.get("ended", "")),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _ended(status: QueryStatus) -> str:
    match status.state:
        case "running":
            return ""
        case "ended":
            return "ended"
        case "failed":
            return f"failed: {status.code}" if status.code else "failed"


def _sent(totals: ProductTotals) -> int:
    return totals.documents + totals.tombstones


def _fresh_ms(totals: ProductTotals, status: QueryStatus) -> int | None:
    if status.caught_up:
        return totals.age_ms
    if status.caught_up_at is None:
        return None
    return max(round((status.written_at - status.caught_up_at) * 1000), totals.age_ms or 0)


def _days(now: float, count: int) -> list[str]:
    """Return the last days in UTC, the newest first.

    Example:
        >>> _days(86_400.0, 2)
        ['1970-01-02', '1970-01-01']
    """
    today = datetime.fromtimestamp(now, UTC).date()
    return [(today - timedelta(days=each)).isoformat() for each in range(count)]
