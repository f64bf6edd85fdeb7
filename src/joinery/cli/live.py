"""Shows a run while it goes on: a live table on a terminal, JSON lines elsewhere.

Invariant: the last line says how many changes were read, applied, stale and dead, and how
many documents were written.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from joinery.cli.project import write_warning
from joinery.model.batch import BatchLimit, BatchProgress, Counts
from joinery.model.phase import Phase
from joinery.model.progress import Progress, Silence, Totals, Waiting
from joinery.model.warning import RunWarning
from joinery.model.watermark import EventTimes
from joinery.text.figure import counted_text

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.table import Table

Targets = Mapping[str, Sequence[str]]
"""Where the documents of each product go."""

_REDRAWN_PER_S = 4
_TIME_COUNTERS = (
    *("late", "overtaken", "too_late", "event_without_time"),
    *("event_without_sequence", "sequence_gaps"),
)


class Display(Protocol):
    """Shows a run."""

    def prepare(self, log: Path) -> None:
        """Spark is about to start; `log` takes its log."""

    def start(
        self, topics: tuple[str, ...], targets: Targets, progress: Callable[[], Progress]
    ) -> None:
        """The queries have started.

        Args:
            topics: The relations that are read.
            targets: Where documents go, by product.
            progress: Tells how far the run is.
        """

    def phase(self, phase: Phase) -> None:
        """The run has caught up with its sources, is idle, or is behind again."""

    def batch(self, batch: BatchProgress) -> None:
        """One batch is through."""

    def wait(self, target: str, waiting: Waiting | Silence | None) -> None:
        """A sink has to be waited for, again, or is back (None)."""

    def warn(self, warning: RunWarning) -> None:
        """Something should be looked at; told once."""

    def end(self, totals: Totals) -> None:
        """The run is over; writes what it did, and where the documents are."""

    def close(self) -> None:
        """Nothing more is shown; called however the run ended."""


def display_for_output() -> Display:
    """Return the display that fits standard output."""
    return TerminalDisplay() if sys.stdout.isatty() else JsonDisplay()


class JsonDisplay:
    """A JSON line a phase and a batch, and one for the whole run."""

    def __init__(self) -> None:
        self._started_at = time.monotonic()
        self._progress: Callable[[], Progress] = Progress
        self._waiting: set[str] = set()
        self._targets: Targets = {}

    def prepare(self, log: Path) -> None:
        """Write one line, as Spark takes its seconds."""
        _write_json({"event": "starting", "log": str(log)})

    def start(
        self, topics: tuple[str, ...], targets: Targets, progress: Callable[[], Progress]
    ) -> None:
        """Write one line with what is read and where documents go."""
        self._progress = progress
        self._targets = {name: list(each) for name, each in targets.items()}
        told = {"relations": list(topics), "targets": self._targets}
        stands = progress()
        told |= {"partitions": dict(stands.partitions)}
        told |= {"building": {name: list(each) for name, each in stands.building.items()}}
        _write_json({"event": "started", **told})

    def phase(self, phase: Phase) -> None:
        """Write one line."""
        _write_json({"event": phase})

    def batch(self, batch: BatchProgress) -> None:
        """Write the batch as one line."""
        _write_json({"event": "batch", **batch.to_json()})

    def wait(self, target: str, waiting: Waiting | Silence | None) -> None:
        """Write one line when a wait begins, and one when it is over."""
        if waiting is None:
            self._waiting.discard(target)
            _write_json({"event": "back", "target": target})
        elif target not in self._waiting:
            self._waiting.add(target)
            _write_json({"event": "waiting", **waiting.to_json()})

    def warn(self, warning: RunWarning) -> None:
        """Write the warning as one line; for people to standard error, if that goes elsewhere."""
        _write_json({"event": "warning", **warning.to_json()})
        if not _is_read_along():
            write_warning(warning)

    def end(self, totals: Totals) -> None:
        """Write the totals, and where the documents are, as the last line."""
        seconds = round(time.monotonic() - self._started_at, 3)
        times = time_counts(self._progress().counters)
        told = {**totals.to_json(), "seconds": seconds, "targets": self._targets}
        told |= {"times": times} if times else {}
        _write_json({"event": "end", **told})

    def close(self) -> None:
        """Every line was written when it was known."""


def _is_read_along() -> bool:
    """Return whether who reads standard error reads standard output, too: a pipe, or the same."""
    try:
        output, error = (os.fstat(each.fileno()) for each in (sys.stdout, sys.stderr))
    except (OSError, ValueError):  # neither has to be a file
        return False
    return stat.S_ISFIFO(output.st_mode) or os.path.samestat(output, error)


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
    """What the run is at, and a table with a line per topic, redrawn in place."""

    def __init__(self) -> None:
        from rich.spinner import Spinner

        self._started_at = time.monotonic()
        self._spinner = Spinner("dots")
        self._live: Live | None = None
        self._topics: tuple[str, ...] = ()
        self._targets: Targets = {}
        self._waiting: set[str] = set()
        self._paces: dict[str, _Pace] = {}
        self._progress: Callable[[], Progress] = Progress
        self._now, self._since = "", self._started_at

    def prepare(self, log: Path) -> None:
        """Show that Spark is starting, and where its log is."""
        from rich.live import Live

        if self._live is None:
            self._live = Live(get_renderable=self._drawn, refresh_per_second=_REDRAWN_PER_S)
            self._say(f"starting Spark; its log is {shown_path(str(log))}")
            self._live.start()

    def start(
        self, topics: tuple[str, ...], targets: Targets, progress: Callable[[], Progress]
    ) -> None:
        """Show where documents go, and from now on the table."""
        self._topics, self._targets, self._progress = topics, targets, progress
        self._say("reading; the first batch takes some seconds more than the others")

    def phase(self, phase: Phase) -> None:
        """Show it in the last line."""
        match phase:
            case "reading":
                self._say("reading")
            case "caught up":
                self._say("caught up, waiting for changes; Ctrl-C ends the run")
            case "idle":
                self._say("caught up, no changes for a minute or more; Ctrl-C ends the run")

    def batch(self, batch: BatchProgress) -> None:
        """Note the pace of each topic."""
        for topic, counts in batch.relations.items():
            pace = self._paces.setdefault(topic, _Pace())
            if batch.seconds > 0:
                pace.rows_per_s = counts.get("read", 0) / batch.seconds
            pace.in_rows = topic in batch.remaining_rows
            left = batch.remaining_rows if pace.in_rows else batch.remaining
            self._note_remaining(pace, left.get(topic), batch.ended_at)

    def wait(self, target: str, waiting: Waiting | Silence | None) -> None:
        """Write a line where nothing is drawn yet; later the table shows what is waited for."""
        if waiting is None and target in self._waiting:
            self._waiting.discard(target)
            sys.stderr.write(f"{target} is back\n")
        elif waiting is not None and self._live is None and target not in self._waiting:
            self._waiting.add(target)
            sys.stderr.write(f"{waiting_line(waiting)}\n")

    def warn(self, warning: RunWarning) -> None:
        """Write the warning above the table."""
        write_warning(warning)

    def end(self, totals: Totals) -> None:
        """Leave the table as it last was; write what the run did, and where the documents are."""
        self.close()
        seconds = time.monotonic() - self._started_at
        sys.stdout.write(f"{summary_line(totals, seconds)}\n")
        times = time_counts(self._progress().counters)
        for line in (*time_lines(times), *target_lines(self._targets)):
            sys.stdout.write(f"{line}\n")

    def close(self) -> None:
        """Leave the table as it last was."""
        if self._live is not None:
            live, self._live, self._now = self._live, None, ""
            live.refresh()
            live.stop()

    def _say(self, now: str) -> None:
        self._now, self._since = now, time.monotonic()

    def _note_remaining(self, pace: _Pace, remaining: int | None, now: float) -> None:
        if remaining is not None and pace.remaining is not None and now > pace.seen_at:
            fewer = pace.remaining - remaining
            pace.remaining_per_s = max(0.0, fewer / (now - pace.seen_at))
        pace.remaining, pace.seen_at = remaining, now

    def _drawn(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        progress = self._progress()
        parts: list[RenderableType] = []
        if progress.latest:
            parts.append(self._table(progress))
            parts += [Text(_product_line(*each)) for each in progress.documents.items()]
            latest = progress.latest.values()
            parts += [Text(line) for each in latest for line in watermark_lines(each)]
            for batch in latest:
                lines = (batch_line(batch), *map(limit_line, batch.limits.values()))
                parts += [Text(each, style="dim") for each in lines if each]
        away: list[Waiting | Silence] = [*progress.waiting.values(), *progress.silences.values()]
        parts += [Text(waiting_line(each), style="yellow") for each in away]
        parts += [Text(f"building {', '.join(each)}") for each in progress.building.values()]
        if self._now:
            seconds = time.monotonic() - self._since
            self._spinner.update(text=Text(f"{self._now} ({seconds:,.0f} s)"))
            parts.append(self._spinner)
        return Group(*parts)

    def _table(self, progress: Progress) -> Table:
        from rich.table import Table

        table = Table(box=None, pad_edge=False)
        for title in ("topic", "rows", "rows/s", "remaining", "ETA", "stale", "dead"):
            table.add_column(title, justify="left" if title == "topic" else "right")
        for topic in self._topics:
            counts, pace = progress.relations.get(topic, {}), self._paces.get(topic, _Pace())
            table.add_row(topic, *_cells(counts, pace))
        return table


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
        f"{name}: {counted_text(each.get('upserts', 0), 'document')} written,"
        f" {counted_text(each.get('tombstones', 0), 'tombstone')}"
    )


def waiting_line(waiting: Waiting | Silence) -> str:
    """Return what a run waits for, or which source is silent, for people."""
    seconds = time.time() - waiting.since
    if isinstance(waiting, Silence):
        return f"{waiting.target} is silent for {seconds:,.0f} s: {waiting.reason}"
    return f"waiting for {waiting.target} for {seconds:,.0f} s: {waiting.reason}"


def batch_line(batch: BatchProgress) -> str:
    """Return a batch for people; the parts of its time add up.

    `process` decodes, joins and makes documents, `write` gives them to the sinks, `Spark` is
    its own work: finding new data, planning, its log of batches.
    """
    if batch.live:
        return f"{batch.query}: real time"
    rows = f"batch {batch.batch_id} of {batch.query}: {counted_text(batch.read, 'change')}"
    took = batch.durations_ms
    if "stage" not in took:
        return f"{rows} in {batch.seconds:.1f} s"
    process, write = took["stage"] / 1000, took.get("sinks", 0) / 1000
    rest = max(0.0, batch.seconds - process - write)
    return (
        f"{rows} in {batch.seconds:.1f} s"
        f" (process {process:.1f}, write {write:.1f}, Spark {rest:.1f})"
    )


def limit_line(limit: BatchLimit) -> str:
    """Return how large batches are and why, for people; empty where nothing is left behind.

    Example:
        >>> limit_line(BatchLimit(rows=500_000, bytes=256 << 20, bound="memory"))
        'behind: up to 500,000 rows or 256.0 MiB of input a batch, bound by memory'
    """
    match limit.bound:
        case "backlog":
            return ""
        case "time":
            why = "time"
        case "memory":
            why = "memory"
        case "setting":
            why = "run.max_bytes_per_batch"
    size = size_text(limit.bytes)
    return f"behind: up to {limit.rows:,} rows or {size} of input a batch, bound by {why}"


def watermark_lines(batch: BatchProgress) -> list[str]:
    """Return how far the event times of each relation have come, for people.

    Example:
        >>> from joinery.model.watermark import EventTimes
        >>> times = EventTimes({"0": 9_000_000, "1": 7_000_000}, {0: 98, 80: 2}, 1000)
        >>> none = {"relations": {}, "documents": {}, "counters": {}}
        >>> batch = BatchProgress(
        ...     query="q", batch_id=0, **none, dead=0, seconds=1, ended_at=0,
        ...     event_times={"views": times},
        ... )
        >>> watermark_lines(batch)
        ['views: watermark 1970-01-01T00:00:06Z, held back by partition 1 of 2; 99 % of rows \
at most 2.62 s behind, all at most 2.62 s']
    """
    return [_watermark_line(*each) for each in batch.event_times.items()]


def _watermark_line(relation: str, times: EventTimes) -> str:
    most, all_ = (f"{times.behind_us(share) / 1e6:,.3g} s" for share in (0.99, 1.0))
    count = len(times.newest_us)
    by = times.held_back_by
    held = f", held back by partition {by} of {count}" if count > 1 and by is not None else ""
    held += f", {len(times.idle)} of {count} partitions idle" if times.idle else ""
    return (
        f"{relation}: watermark {times.to_json()['watermark']}{held};"
        f" 99 % of rows at most {most} behind, all at most {all_}"
    )


def time_counts(counters: Mapping[str, Counts]) -> dict[str, dict[str, int]]:
    """Return, by product, the rows that were late or had no time; products without any are not.

    Example:
        >>> time_counts({"hours": {"late": 3, "refused": 1}, "days": {"refused": 2}})
        {'hours': {'late': 3}}
    """
    found = {
        product: {name: counts[name] for name in _TIME_COUNTERS if counts.get(name)}
        for product, counts in counters.items()
    }
    return {product: counts for product, counts in found.items() if counts}


def time_lines(counts: Mapping[str, Counts]) -> list[str]:
    """Return the same for people.

    Example:
        >>> time_lines({"hours": {"late": 3, "event_without_time": 1}})
        ['hours: 3 late, 1 event without time']
    """
    return [
        f"{product}: "
        + ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in each.items())
        for product, each in counts.items()
    ]


def target_lines(targets: Targets) -> list[str]:
    """Return where documents are, a line per product.

    Example:
        >>> target_lines({"profile": ["files /data/out/profile", "redis r:6379, keys p:*"]})
        ['profile is in files /data/out/profile; redis r:6379, keys p:*']
    """
    return [
        f"{name} is in {'; '.join(map(shown_path, each))}" for name, each in targets.items() if each
    ]


def shown_path(text: str) -> str:
    """Return a text with the paths below the current folder relative to it."""
    return text.replace(f"{Path.cwd()}/", "")


def summary_line(totals: Totals, seconds: float) -> str:
    """Return the last line of a run.

    Example:
        >>> summary_line(Totals(read=3, applied=2, dead=1, documents=2), 1.5)
        '3 changes read: 2 applied, 0 stale, 1 dead; 2 documents and 0 tombstones written in 1.5 s'
    """
    return f"{totals} in {seconds:.1f} s"


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
