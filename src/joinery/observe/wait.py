"""Waits until a product has come to some positions in the logs that it reads.

A place in the log of a database is waited for by records: those that are last in the topics, or in
the spool, once what reads that log is known to be past it.

Invariant: waiting changes nothing, but that such a place may be marked in the database's log. It
asks no store and no sink, no broker unless for such a place, and reads no change file unless to
see that it has the line that is waited for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Protocol

from joinery.delivery.query_paths import QueryPaths
from joinery.errors import RunError, SinkUnavailableError
from joinery.observe.connector import ConnectorLog, lsn_of
from joinery.observe.frontier import Frontier, Position, WaitError, seen_sizes
from joinery.observe.line_count import line_count
from joinery.observe.outline import known_products, queries_of
from joinery.observe.status import project_status
from joinery.place.place import Place
from joinery.plan.product import Product
from joinery.plan.stream import Stream
from joinery.project.kafka import PATTERN
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.project.quantity import given_duration_ms
from joinery.text.figure import counted_text

_LOOKED_S = 0.1


class WaitTimeoutError(RunError):
    """A product did not come to a position in time."""

    code = "WAIT_TIMEOUT"


class DatabaseLog(Protocol):
    """The log of a database, in which something reads on; used by one thread, closed once."""

    def last_past(self, lsn: int, topics: Collection[str]) -> Sequence[Position] | None:
        """Return the last of what is in some topics once all up to a place is; else None."""

    def close(self) -> None:
        """Disconnect."""


LogOf = Callable[[ProjectSpec, SourceSpec], DatabaseLog]


def wait_for(
    spec: ProjectSpec,
    planned: Sequence[Product | Stream],
    name: str,
    texts: Sequence[str],
    *,
    timeout: str,
    captured: LogOf,
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Return once a product or stream shows all up to some positions, in every sink.

    Args:
        spec: The project.
        planned: Its products and streams, or those that a run has.
        name: The product or stream.
        texts: The positions, see `Position.parse`; or places in the log of the database that the
            product reads, directly or through a connector.
        timeout: How long to wait at most: a duration.
        captured: Returns the log of a source that is a PostgreSQL database.
        clock: Tells seconds.
        pause: Waits for seconds.

    Raises:
        WaitError: There is no position, or one of no log that it reads, or a line that a file did
            not have when it was read, it holds documents back, or `timeout` is not a duration.
        WaitTimeoutError: It did not come so far in time.
    """
    limit_ms = given_duration_ms(timeout, WaitError)
    found = _target(planned, name, known_products(spec))
    if not texts:
        topic = found.relations[0].topic
        raise WaitError("there is no position to wait for", hint=f"Name one, such as {topic}/….")
    kinds = {each.name: each.kind for each in spec.sources}
    topics = tuple(f"{each.topic}/" for each in found.relations)
    places = [each for each in texts if lsn_of(each) is not None and not each.startswith(topics)]
    records = [Position.parse(each, found.relations, kinds) for each in texts if each not in places]
    root = spec.checkpoint
    checkpoint = QueryPaths.of(root, queries_of(spec)[name]).checkpoint
    until = clock() + limit_ms / 1000
    with ExitStack() as stack:
        waited = [Waited(str(each), [each]) for each in records]
        if places:
            log = stack.enter_context(closing(_log(spec, found, places[0], captured)))
            read = {each.topic for each in found.relations}
            waited += [Waited(each, partial(_last_past, log, each, read)) for each in places]
        while missing := _missing(checkpoint, waited):
            if clock() >= until:
                raise _too_late(spec, name, missing, timeout)
            pause(_LOOKED_S)
    for each in records:
        if kinds[each.source] == "files":
            _check_line(spec, checkpoint, each)


def _check_line(spec: ProjectSpec, checkpoint: Place, position: Position) -> None:
    """Refuse a line that a file did not have when it was read, which it is once.

    Of a file that is gone since, nobody knows.
    """
    if position.at is None:
        return
    options = next(dict(each.options) for each in spec.sources if each.name == position.source)
    file = spec.path_of(str(options["path"])) / position.topic / position.part
    seen = seen_sizes([checkpoint]).get(position.source, {})
    size = seen.get((position.topic, position.part))
    lines = None if size is None else line_count(file, size, position.at)
    if lines is not None and lines < position.at:
        raise WaitError(
            f'position "{position}" is not a line of {position.topic}/{position.part}, which is'
            f" read: it had {counted_text(lines, 'line')}",
            hint="A change file is read once; write what comes later to another one.",
        )


class Waited:
    """What is waited for: records, once it is known which.

    Args:
        shown: As it was asked for.
        positions: The records; or what returns them once they are known.
    """

    def __init__(
        self, shown: str, positions: Sequence[Position] | Callable[[], Sequence[Position] | None]
    ) -> None:
        self.shown, self._positions = shown, positions

    def is_in(self, frontier: Callable[[], Frontier]) -> bool:
        """Return whether all of it is applied and sent."""
        if callable(self._positions):
            known = self._positions()
            if known is None:
                return False
            self._positions = known
        told = frontier()
        return all(told.has(each) for each in self._positions)


def _missing(checkpoint: Place, waited: Sequence[Waited]) -> list[str]:
    return [each.shown for each in waited if not each.is_in(lambda: Frontier.read(checkpoint))]


def _log(spec: ProjectSpec, found: Product | Stream, place: str, captured: LogOf) -> DatabaseLog:
    """Return the log of the only database that a product reads.

    Raises:
        WaitError: It reads something else, too, or nothing tells how far its connector is.
    """
    names = {each.source for each in found.relations}
    sources = [each for each in spec.sources if each.name in names]
    patterns = any(each.topic.startswith(PATTERN) for each in found.relations)
    if len(sources) == 1 and sources[0].kind == "postgres":
        return captured(spec, sources[0])
    if len(sources) == 1 and sources[0].kind == "kafka" and not patterns:
        log = ConnectorLog.of(sources[0])
        if log is not None:
            return _TopicEnds(sources[0].name, log)
    raise WaitError(
        f'"{place}" is a place in a database\'s log, and it is not known when'
        f' "{found.name}" has reached it',
        detail="That is known where all its relations are tables of one postgres source, or topics"
        ' of one Kafka source that names its "connector".',
        hint="Name the connector, or wait for a record: TOPIC/PARTITION/OFFSET.",
    )


@dataclass(frozen=True, slots=True)
class _TopicEnds:
    """A database's log as a connector writes it into topics of a source."""

    source: str
    log: ConnectorLog

    def last_past(self, lsn: int, topics: Collection[str]) -> Sequence[Position] | None:
        """Return the last records of all topics, once the connector is past a place."""
        try:
            ends = self.log.ends_past(lsn, sorted(topics))
        except SinkUnavailableError:
            return None  # the brokers are asked again
        if ends is None:
            return None
        return [
            Position(self.source, topic, str(partition), end - 1)
            for (topic, partition), end in ends.items()
        ]

    def close(self) -> None:
        """Disconnect."""
        self.log.close()


def _last_past(log: DatabaseLog, place: str, topics: Collection[str]) -> Sequence[Position] | None:
    lsn = lsn_of(place)
    assert lsn is not None, "it was looked at before"
    return log.last_past(lsn, topics)


def _target(
    planned: Sequence[Product | Stream], name: str, known: Sequence[str]
) -> Product | Stream:
    found = next((each for each in planned if each.name == name), None)
    if found is None or name not in known:
        near = get_close_matches(name, known, 1)
        guess = f"Did you mean {near[0]}? " if near else ""
        message = f'there is no product or stream "{name}" to run'
        raise WaitError(message, hint=f"{guess}Known: {', '.join(known)}.")
    if isinstance(found, Product) and (found.settle_ms or found.ready):
        held = "settle" if found.settle_ms else "ready"
        raise WaitError(
            f'product "{name}" holds documents back ("{held}"), so they may not be sent even'
            " once its logs are read",
            hint="Wait for another product of the same relations.",
        )
    if any(each.spools for each in found.sinks):
        raise WaitError(
            f'a sink of "{name}" has a spool, so it may not yet have what was read',
            hint="Wait for a product whose sinks have none.",
        )
    return found


def _too_late(
    spec: ProjectSpec, name: str, missing: Sequence[str], timeout: str
) -> WaitTimeoutError:
    [status] = project_status(spec, [name]).products
    because = f": {status.because}" if status.because else ""
    return WaitTimeoutError(
        f'"{name}" has not reached {", ".join(missing)} within {timeout}',
        detail=f'Its status: "{status.state}"{because}.',
        hint=f"See joinery status {name}; allow more time with --timeout.",
    )
