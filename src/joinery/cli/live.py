"""Shows a run while it goes on: a live table on a terminal, JSON lines elsewhere.

Invariant: the last line says how many changes were read, applied, stale and dead, and how
many documents were written.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from joinery.model.progress import BatchProgress, Progress, Totals, Waiting

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

_STEPS = (
    ("latestOffset", "look"),
    ("getBatch", "read"),
    ("queryPlanning", "plan"),
    ("walCommit", "log"),
    ("stage", "join"),
    ("sinks", "sinks"),
    ("commitOffsets", "commit"),
)
_REDRAWN_PER_S = 4


class Display(Protocol):
    """Shows a run."""

    def prepare(self, log: Path) -> None:
        """Spark is about to start; `log` takes its log."""

    def start(self, topics: tuple[str, ...], progress: Callable[[], Progress]) -> None:
        """Begin; `progress` tells how far the run is."""

    def batch(self, batch: BatchProgress) -> None:
        """One batch is through."""

    def wait(self, target: str, waiting: Waiting | None) -> None:
        """A sink has to be waited for, again, or is back (None)."""

    def end(self, totals: Totals) -> None:
        """The run is over; writes the last line."""


def display_for_output() -> Display:
    """Return the display that fits standard output."""
    return TerminalDisplay() if sys.stdout.isatty() else JsonDisplay()


class JsonDisplay:
    """A JSON line a batch, and one for the whole run."""

    def __init__(self) -> None:
        self._started_at = time.monotonic()
        self._waiting: set[str] = set()

    def prepare(self, log: Path) -> None:
        """Nothing to say yet."""

    def start(self, topics: tuple[str, ...], progress: Callable[[], Progress]) -> None:
        """Nothing to say yet."""

    def batch(self, batch: BatchProgress) -> None:
        """Write the batch as one line."""
        _write_json({"event": "batch", **batch.to_json()})

    def wait(self, target: str, waiting: Waiting | None) -> None:
        """Write one line when a wait begins, and one when it is over."""
        if waiting is None:
            self._waiting.discard(target)
            _write_json({"event": "back", "target": target})
        elif target not in self._waiting:
            self._waiting.add(target)
            _write_json({"event": "waiting", **waiting.to_json()})

    def end(self, totals: Totals) -> None:
        """Write the totals as the last line."""
        seconds = round(time.monotonic() - self._started_at, 3)
        _write_json({"event": "end", **totals.to_json(), "seconds": seconds})


def _write_json(facts: dict[str, object]) -> None:
    sys.stdout.write(f"{json.dumps(facts, ensure_ascii=False)}\n")
    sys.stdout.flush()


@dataclass(slots=True)
class _Pace:
    """What the last batches told of one topic."""

    rows_per_s: float = 0.0
    remaining_per_s: float = 0.0
    remaining: int | None = None
    in_rows: bool = False
    seen_at: float = 0.0


class TerminalDisplay:
    """A table with a line a topic, redrawn in place."""

    def __init__(self) -> None:
        self._started_at = time.monotonic()
        self._live: Live | None = None
        self._topics: tuple[str, ...] = ()
        self._paces: dict[str, _Pace] = {}
        self._progress: Callable[[], Progress] = Progress

    def prepare(self, log: Path) -> None:
        """Say why nothing is seen for some seconds."""
        sys.stdout.write(f"Starting Spark; its log is {log}\n")
        sys.stdout.flush()

    def start(self, topics: tuple[str, ...], progress: Callable[[], Progress]) -> None:
        """Show the table."""
        from rich.live import Live

        self._topics, self._progress = topics, progress
        self._live = Live(get_renderable=self._drawn, refresh_per_second=_REDRAWN_PER_S)
        self._live.start()

    def batch(self, batch: BatchProgress) -> None:
        """Note the pace of each topic."""
        for topic, counts in batch.relations.items():
            pace = self._paces.setdefault(topic, _Pace())
            if batch.seconds > 0:
                pace.rows_per_s = counts.get("read", 0) / batch.seconds
            pace.in_rows = topic in batch.remaining_rows
            left = batch.remaining_rows if pace.in_rows else batch.remaining
            self._note_remaining(pace, left.get(topic), batch.ended_at)

    def wait(self, target: str, waiting: Waiting | None) -> None:
        """Nothing to note: the table shows what the progress tells."""

    def end(self, totals: Totals) -> None:
        """Leave the table as it last was and write the last line."""
        if self._live is not None:
            self._live.refresh()
            self._live.stop()
        seconds = time.monotonic() - self._started_at
        sys.stdout.write(f"{summary_line(totals, seconds)}\n")

    def _note_remaining(self, pace: _Pace, remaining: int | None, now: float) -> None:
        if remaining is not None and pace.remaining is not None and now > pace.seen_at:
            fewer = pace.remaining - remaining
            pace.remaining_per_s = max(0.0, fewer / (now - pace.seen_at))
        pace.remaining, pace.seen_at = remaining, now

    def _drawn(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        progress = self._progress()
        table = Table(box=None, pad_edge=False)
        for title in ("topic", "rows", "rows/s", "remaining", "ETA", "stale", "dead"):
            table.add_column(title, justify="left" if title == "topic" else "right")
        for topic in self._topics:
            counts, pace = progress.relations.get(topic, {}), self._paces.get(topic, _Pace())
            table.add_row(topic, *_cells(counts, pace))
        lines = [Text(_product_line(name, each)) for name, each in progress.documents.items()]
        lines += [Text(_batch_line(each), style="dim") for each in progress.latest.values()]
        lines += [Text(waiting_line(each), style="yellow") for each in progress.waiting.values()]
        return Group(table, *lines)


def _cells(counts: object, pace: _Pace) -> tuple[str, ...]:
    read = counts if isinstance(counts, dict) else {}
    known = pace.remaining and pace.remaining_per_s
    eta = (pace.remaining or 0) / pace.remaining_per_s if known else None
    return (
        f"{read.get('read', 0):,}",
        f"{pace.rows_per_s:,.0f}",
        _remaining_text(pace),
        "" if eta is None else f"{eta:,.0f} s",
        f"{read.get('stale', 0):,}",
        f"{read.get('dead', 0):,}",
    )


def _remaining_text(pace: _Pace) -> str:
    if pace.remaining is None:
        return ""
    return f"{pace.remaining:,} rows" if pace.in_rows else size_text(pace.remaining)


def _product_line(name: str, counts: object) -> str:
    each = counts if isinstance(counts, dict) else {}
    return (
        f"{name}: {each.get('upserts', 0):,} documents written,"
        f" {each.get('tombstones', 0):,} tombstones"
    )


def waiting_line(waiting: Waiting) -> str:
    """Return what a run waits for, for people."""
    seconds = time.time() - waiting.since
    return f"waiting for {waiting.target} since {seconds:,.0f} s: {waiting.reason}"


def _batch_line(batch: BatchProgress) -> str:
    if batch.live:
        return f"{batch.query}: real time"
    steps = [
        f"{name} {batch.durations_ms[step] / 1000:.2f}"
        for step, name in _STEPS
        if batch.durations_ms.get(step)
    ]
    split = f" ({', '.join(steps)})" if steps else ""
    return f"batch {batch.batch_id} of {batch.query}: {batch.seconds:.2f} s{split}"


def summary_line(totals: Totals, seconds: float) -> str:
    """Return the last line of a run.

    Example:
        >>> summary_line(Totals(read=3, applied=2, dead=1, documents=2), 1.5)
        '3 changes read: 2 applied, 0 stale, 1 dead; 2 documents and 0 tombstones written in 1.5 s'
    """
    return (
        f"{totals.read:,} changes read: {totals.applied:,} applied, {totals.stale:,} stale,"
        f" {totals.dead:,} dead; {totals.documents:,} documents and"
        f" {totals.tombstones:,} tombstones written in {seconds:.1f} s"
    )


def size_text(size: float) -> str:
    """Return a number of bytes for people.

    Example:
        >>> size_text(3_500_000)
        '3.3 MiB'
    """
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"
