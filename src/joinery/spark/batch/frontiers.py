"""Follows how far the queries of a run have come in their sources, beside them.

One thread looks at what the queries have committed; another asks brokers, which may not answer.

A place in a database's log is one up to which everything is in the logs that a query reads, as its
capture, its connector or a heartbeat tells. It is passed once the query has committed what was last
in those logs then.

Invariant: nothing that happens here ends a run, or holds up a batch or its end. A place is told
only once it is passed, and stays until the next is; one at a time is waited for, so it may be some
batches old.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from joinery.capture.place_log import captured_position, change_files, committed_at, place_text
from joinery.capture.spool import SpoolFolder
from joinery.capture.sql import lsn_text
from joinery.clients.kafka_reader import read_edges_of, read_ends, read_record
from joinery.dead_letters.open import source_brokers
from joinery.errors import JoineryError
from joinery.model.frontier import SourceFrontier, Sure
from joinery.observe.connector import ConnectorLog
from joinery.observe.frontier import Frontier, Position, kept
from joinery.place.place import Place, look_every_s
from joinery.project.captured import CAPTURED, spool_of
from joinery.project.kafka import PATTERN, kafka_options
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.spark.source.source import ERASURES, SourceRead

log = logging.getLogger("joinery.run")
_ASKED_EVERY_S = 5.0
_END_S = 1.0
_SHARE = 20  # of the time, one part is asked in at most
_RARELY_S = 60.0
_MOST = 16


@dataclass(frozen=True, slots=True)
class Told:
    """A place in a source, and what was last in its logs once everything up to there was.

    Attributes:
        place: As the database writes it; empty where only the time is known.
        committed_at: When the last change up to there was committed, in seconds since 1970.
    """

    place: str
    committed_at: float | None
    ends: Sequence[Position]


class Places(Protocol):
    """Tells places of one source; used by one thread, which closes it once."""

    @property
    def every_s(self) -> float:
        """How often it may be asked."""

    @property
    def sure(self) -> Sure:
        """What its places prove."""

    def newest(self) -> Told | None:
        """Return a place that was not told before; None where there is none."""

    def close(self) -> None:
        """Disconnect."""


class SpoolPlaces:
    """What the capture of a database tells.

    Args:
        source: The name of the source.
        spool: Its spool.
        topics: What a query reads of it.
    """

    every_s = 0.5
    sure: Sure = "exact"

    def __init__(self, source: str, spool: SpoolFolder, topics: Collection[str]) -> None:
        self._source, self._spool, self._topics = source, spool, topics
        self._last: int | None = None

    def newest(self) -> Told | None:
        """Return up to where the log is in files, and those."""
        position = captured_position(self._spool, self._topics)  # before the files are listed
        if position is None or position.lsn == self._last:
            return None
        self._last = position.lsn
        files = change_files(self._spool, self._topics)
        ends = [Position(self._source, topic, name, None) for topic, name in files]
        return Told(place_text(position), committed_at(position), ends)

    def close(self) -> None:
        """Hold nothing."""


class ConnectorPlaces:
    """What Kafka Connect keeps of a connector.

    Args:
        source: The source, which names the connector.
        topics: What a query reads of it.
    """

    every_s = _ASKED_EVERY_S
    sure: Sure = "sound"

    def __init__(self, source: SourceSpec, topics: Sequence[str]) -> None:
        self._source, self._topics = source, topics
        self._connector: ConnectorLog | None = None
        self._last: int | None = None

    def newest(self) -> Told | None:
        """Return up to which commit the connector has come, and the ends of the topics."""
        connector = self._connector = self._connector or ConnectorLog.of(self._source)
        committed = None if connector is None else connector.committed()  # before the ends
        if connector is None or committed is None or committed == self._last:
            return None
        ends = topic_ends(self._source, self._topics)
        self._last = committed
        return Told(lsn_text(committed), connector.committed_at, ends)

    def close(self) -> None:
        """Disconnect."""
        if self._connector is not None:
            self._connector.close()


class HeartbeatPlaces:
    """What the heartbeats of a source tell, which are in a topic of their own.

    Args:
        source: The source.
        heartbeat: That topic.
        topics: What a query reads of the source.
    """

    every_s = _ASKED_EVERY_S
    sure: Sure = "probable"

    def __init__(self, source: SourceSpec, heartbeat: str, topics: Sequence[str]) -> None:
        self._source, self._heartbeat, self._topics = source, heartbeat, topics
        self._ends: Mapping[int, int] = {}

    def newest(self) -> Told | None:
        """Return when the last heartbeat was written, and the ends of the topics."""
        brokers = source_brokers(self._source)
        ends = read_ends(brokers, self._heartbeat)
        if not ends or ends == self._ends:
            return None
        places = [(partition, end - 1) for partition, end in ends.items() if end > 0]
        last = [read_record(brokers, self._heartbeat, *each) for each in places]
        times = [each.logged_ms for each in last if each is not None and each.logged_ms >= 0]
        read = topic_ends(self._source, self._topics)
        self._ends = ends
        return Told("", max(times) / 1000, read) if times else None

    def close(self) -> None:
        """Hold nothing."""


def topic_ends(source: SourceSpec, topics: Sequence[str]) -> list[Position]:
    """Return the last record of each partition of some topics of a source.

    Raises:
        SinkUnavailableError: The brokers do not answer.
        SinkError: They refuse us.
    """
    return [
        Position(source.name, topic, str(partition), end - 1)
        for topic, edges in read_edges_of(source_brokers(source), *topics).items()
        for partition, (_, end) in edges.items()
    ]


class FollowedSource:
    """How far one query has come in one source; one thread asks, another may look.

    Args:
        read: What it reads of it.
        places: Tells places of it; None where nothing does.
    """

    def __init__(self, read: SourceRead, places: Places | None) -> None:
        self._read, self._places = read, places
        self._waited: Told | None = None
        self._left: list[Position] = []
        self._done: frozenset[Position] = frozenset()
        self._reached: Told | None = None
        self._ask_at = 0.0

    def ask(self, now: float) -> None:
        """Have a place told that is to be reached next, unless one is, or it is too early.

        Args:
            now: In seconds, by a clock that only rises.
        """
        if self._waited is None and self._places is not None and now >= self._ask_at:
            begun = time.monotonic()
            self._ask(self._places)
            took_s = time.monotonic() - begun
            self._ask_at = now + max(self._places.every_s, min(_RARELY_S, _SHARE * took_s))

    def look(self, frontier: Frontier) -> SourceFrontier:
        """Return how far the query has come; asks nobody.

        Args:
            frontier: Of the query.
        """
        if self._waited is not None:
            self._left = [each for each in self._left if not frontier.has(each)]
            if not self._left:
                self._reached, self._done = self._waited, frozenset(self._waited.ends)
                self._waited = None  # at last, since from now on another may be asked for
        read = self._by_relation(frontier)
        told = SourceFrontier(
            source=self._read.source.name,
            sure="read",
            read={name: tuple(map(str, each[:_MOST])) for name, each in read.items()},
            more={name: len(each) - _MOST for name, each in read.items() if len(each) > _MOST},
        )
        if self._reached is None or self._places is None:
            return told
        place, at = self._reached.place, self._reached.committed_at
        return replace(told, sure=self._places.sure, place=place, committed_at=at)

    def close(self) -> None:
        """Ask for no more places."""
        if self._places is not None:
            self._places.close()

    def _ask(self, places: Places) -> None:
        try:
            told = places.newest()
        except (JoineryError, OSError, ValueError) as error:  # it is asked again
            log.debug("no place of %s was told: %s", self._read.source.name, error)
            return
        if told is not None:
            self._left = [each for each in told.ends if each not in self._done]
            self._waited = told  # at last, since from now on it is looked at

    def _by_relation(self, frontier: Frontier) -> dict[str, list[Position]]:
        found: dict[str, list[Position]] = {}
        for topic, positions in frontier.last_read(self._read.source.name).items():
            for name in self._read.readers(topic):
                found.setdefault(name, []).extend(positions)
        return found


class Frontiers:
    """Follows the queries of a run.

    Args:
        checkpoints: By query.
        followed: Likewise, its sources; closed with this.
        tell: Given, by query, how far it has come in each.
    """

    def __init__(
        self,
        checkpoints: Mapping[str, Place],
        followed: Mapping[str, Sequence[FollowedSource]],
        tell: Callable[[Mapping[str, tuple[SourceFrontier, ...]]], None],
    ) -> None:
        self._checkpoints, self._followed, self._tell = checkpoints, followed, tell
        self._known: dict[str, tuple[int, Frontier]] = {}
        self._told: dict[str, tuple[SourceFrontier, ...]] = {}
        self._over = threading.Event()
        self._looking = threading.Thread(target=self._follow, name="joinery-frontier", daemon=True)
        self._asking = threading.Thread(target=self._ask_all, name="joinery-places", daemon=True)
        self._failed: set[str] = set()

    def open(self) -> None:
        """Begin."""
        self._looking.start()
        self._asking.start()

    def close(self) -> None:
        """Look once more, so that the last batch is in it; then end.

        Brokers that do not answer are not waited for.
        """
        self._over.set()
        if self._looking.ident is not None:
            self._looking.join()
        if self._asking.ident is not None:
            self._asking.join(_END_S)

    def _follow(self) -> None:
        every_s = self._look_every_s
        while not self._over.is_set():
            self._look()
            self._over.wait(every_s)
        self._look()

    def _look(self) -> None:
        for query, sources in self._followed.items():
            with self._going_on(query):
                frontier = self._frontier(query)
                self._told[query] = tuple(each.look(frontier) for each in sources)
        self._tell(dict(self._told))

    def _ask_all(self) -> None:
        every_s = self._look_every_s
        while not self._over.is_set():
            for query, each in self._every():
                if not self._over.is_set():
                    with self._going_on(query):
                        each.ask(time.monotonic())
            self._over.wait(every_s)
        for query, each in self._every():
            with self._going_on(query):
                each.close()

    @property
    def _look_every_s(self) -> float:
        return max(map(look_every_s, self._checkpoints.values()), default=1.0)

    @contextmanager
    def _going_on(self, query: str) -> Iterator[None]:
        """Go on after whatever fails for a query: a defect must not end this thread."""
        try:
            yield
        except (JoineryError, OSError) as error:
            log.debug("how far %s has come was not read: %s", query, error)
        except Exception:
            if query not in self._failed:  # which would be told with each look
                self._failed.add(query)
                log.exception("how far a query has come is not known", extra={"query": query})

    def _frontier(self, query: str) -> Frontier:
        """Return how far a query has come, read anew only after another batch."""
        checkpoint = self._checkpoints[query]
        last = max(kept(checkpoint), default=-1)
        if query not in self._known or self._known[query][0] != last:
            frontier = Frontier.read(checkpoint, last) if last >= 0 else Frontier({}, {})
            if last >= 0 and not frontier.told:  # cleaned up meanwhile
                return self._known.get(query, (last, frontier))[1]
            self._known[query] = last, frontier
        return self._known[query][1]

    def _every(self) -> Iterator[tuple[str, FollowedSource]]:
        for query, sources in self._followed.items():
            yield from ((query, each) for each in sources)


def followed_sources(spec: ProjectSpec, reads: Sequence[SourceRead]) -> list[FollowedSource]:
    """Return the sources that a query reads, with what tells places of them.

    Args:
        spec: The project.
        reads: What the query reads.
    """
    declared = {each.name: each for each in spec.sources}
    return [
        FollowedSource(each, _places(spec, declared[each.source.name], sorted(each.relations)))
        for each in reads
        if each.source.name != ERASURES
    ]


def _places(spec: ProjectSpec, source: SourceSpec, topics: Sequence[str]) -> Places | None:
    """Return what tells places of a source; None where nothing does."""
    if source.kind in CAPTURED:
        return SpoolPlaces(source.name, SpoolFolder(spool_of(spec, source)), topics)
    if source.kind != "kafka" or any(each.startswith(PATTERN) for each in topics):
        return None
    options = kafka_options(source)
    if options.connector:
        return ConnectorPlaces(source, topics)
    return HeartbeatPlaces(source, options.heartbeat, topics) if options.heartbeat else None
