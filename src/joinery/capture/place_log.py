"""The log of a captured PostgreSQL database, up to where its changes are in a spool.

Invariant: files that are told for a place have every change that was committed up to there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from joinery.capture.spool import CapturePosition, SpoolFolder
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
