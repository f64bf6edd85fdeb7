"""The log of a captured PostgreSQL database, up to where its changes are in a spool.

Invariant: files that are told for a place have every change that was committed up to there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from joinery.capture.spool import CapturePosition, SpoolFolder
from joinery.capture.sql import lsn_text
from joinery.clients.postgres import DatabaseError, database_errors, open_link
from joinery.observe.frontier import Position
from joinery.project.captured import spool_of
from joinery.project.kind import SourceSpec
from joinery.project.postgres import postgres_options
from joinery.project.product import ProjectSpec

_SUFFIX = ".jsonl"

MARK = "SELECT pg_logical_emit_message(true, 'joinery', '')"
"""Writes a mark into PostgreSQL's log, which alters no table."""


def captured_position(spool: SpoolFolder, topics: Collection[str]) -> CapturePosition | None:
    """Return up to where the log of some tables is in files; None before their rows were read.

    Changes of a table whose rows are not in place yet are held, and in no file.
    """
    position, known = spool.position, spool.identity
    held = known is not None and not {*topics}.isdisjoint(known.unread)
    return None if held else position


def place_text(position: CapturePosition) -> str:
    """Return up to where a log is in files as its database writes it.

    Example:
        >>> place_text(CapturePosition(23803720, 0, 1))
        '0/16B3748'
        >>> place_text(CapturePosition(0, 0, 1, offset={"file": "binlog.000012", "pos": 157}))
        'binlog.000012:157'
    """
    file, at = position.offset.get("file"), position.offset.get("pos")
    return lsn_text(position.lsn) if file is None or at is None else f"{file}:{at}"


def committed_at(position: CapturePosition) -> float | None:
    """Return when the last change up to a position was committed; None where it is not told.

    Example:
        >>> committed_at(CapturePosition(1, 0, 1, offset={"ts_usec": 1_500_000}))
        1.5
    """
    micros, seconds = position.offset.get("ts_usec"), position.offset.get("ts_sec")
    if isinstance(micros, int):
        return micros / 1e6
    return float(seconds) if isinstance(seconds, int) and seconds > 0 else None


def change_files(spool: SpoolFolder, topics: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the complete change files of some tables: topic and name."""
    for topic in topics:
        folder = spool.path / "files" / topic
        if folder.is_dir():
            names = (each.name for each in folder.iterdir())
            yield from ((topic, each) for each in names if each.endswith(_SUFFIX))


@dataclass(slots=True)
class SpoolLog:
    """What a spool has of a database's log; used by one thread.

    Attributes:
        source: The name of its source.
        spool: The source's.
        mark: Writes a mark into the log, so that a capture hears of the places before it at once,
            not only with its next heartbeat; where we may not, nothing is done.
    """

    source: str
    spool: SpoolFolder
    mark: Callable[[], None]
    _marked: bool = False

    def last_past(self, lsn: int, topics: Collection[str]) -> Sequence[Position] | None:
        """Return the files that have all up to a place; None while the capture is before it."""
        position = captured_position(self.spool, topics)
        if position is None or position.lsn < lsn:
            if not self._marked:
                self._marked = True
                self.mark()
            return None
        files = sorted(change_files(self.spool, topics), key=lambda each: each[1], reverse=True)
        return [Position(self.source, topic, name, None) for topic, name in files]

    def close(self) -> None:
        """Hold nothing."""


def spool_log(spec: ProjectSpec, source: SourceSpec) -> SpoolLog:
    """Return the log of a source that is a PostgreSQL database."""
    mark = partial(_mark, postgres_options(source).url)
    return SpoolLog(source.name, SpoolFolder(spool_of(spec, source)), mark)


def _mark(url: str) -> None:
    with suppress(DatabaseError), open_link(url) as link, suppress(*database_errors()):
        link.execute(MARK)
