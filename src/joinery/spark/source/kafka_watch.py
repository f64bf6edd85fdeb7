"""Looks, while a run goes on, whether its brokers answer and its topics are those it reads.

Spark asks for the ends of the topics that are there, so a topic that is gone looks like one
that is quiet, and it asks for minutes before it gives a broker up, so one that is gone looks
like that, too. Here a broker that does not answer is known within seconds, and the ends of
topics are held against what was read: an end below it cannot be.

Invariant: looking never holds up a batch.

Tells consumer groups what was read, so that ordinary tools see how far a run is.

It is information only: Spark's checkpoint decides where reading goes on. Where several
queries read a topic, the group is told the position of the slowest.

Invariant: telling a group never holds up a batch, and never fails a run.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from joinery.errors import RunError
from joinery.model.warning import RunWarning
from joinery.place.place import Place
from joinery.project.kafka import KafkaOptions, kafka_options
from joinery.project.product import ProjectSpec
from joinery.spark.recovery.checkpoint import committed_positions
from joinery.spark.source.kafka_client import (
    Gap,
    KafkaClient,
    KafkaUnreachableError,
    RecordsLostError,
    gone,
    lost_error,
    lost_warning,
)
from joinery.spark.source.source import Positions, SourceRead, positions
from joinery.spark.source.warning import TopicNames

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EACH_S = 5.0
_ANSWER_MS = 8_000
_CLOSING_S = 30.0
log = logging.getLogger(__name__)


class KafkaWatch:
    """Watches the Kafka sources of a run's queries, in a thread of its own.

    Args:
        spark: A session with the Kafka connector, where a source is one of Kafka's.
        spec: The project.
        reads: By query, what it reads, in the order of its streams.
        checkpoints: By query, where its positions are kept.
        warn: Takes what someone should look at.
    """

    def __init__(
        self,
        spark: SparkSession,
        spec: ProjectSpec,
        reads: Mapping[str, Sequence[SourceRead]],
        checkpoints: Mapping[str, Place],
        warn: Callable[[RunWarning], None],
    ) -> None:
        self._spark = spark
        self._warn = warn
        self._checkpoints = checkpoints
        self._sources: Mapping[str, Mapping[int, tuple[str, KafkaOptions]]] = {
            query: {
                place: (read.source.name, kafka_options(read.source))
                for place, read in enumerate(every)
                if read.source.kind == "kafka"
            }
            for query, every in reads.items()
        }
        every = [read for each in reads.values() for read in each]
        self._names = {
            source: TopicNames(spec, [each for each in every if each.source.name == source])
            for source in {name for each in self._sources.values() for name, _ in each.values()}
        }
        self._clients: dict[str, KafkaClient] = {}
        self._suspected: dict[tuple[str, str], Sequence[Gap]] = {}
        self._away: dict[str, KafkaUnreachableError] = {}
        self._reached_at: dict[str, float] = {}
        self._found: dict[str, RecordsLostError] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="joinery-kafka-watch", daemon=True)
        if any(self._sources.values()):
            self._thread.start()

    def found(self, query: str) -> RecordsLostError | None:
        """Return what a query has lost, where it is to fail then."""
        return self._found.get(query)

    def unreachable(self, query: str) -> KafkaUnreachableError | None:
        """Return why the brokers of a source of a query do not answer now; None where they do."""
        names = (name for name, _ in self._sources.get(query, {}).values())
        return next((self._away[each] for each in names if each in self._away), None)

    def reached(self, query: str) -> None:
        """Note that the brokers of a query answered somebody else; an older look is void."""
        for name, _ in self._sources.get(query, {}).values():
            self._reached_at[name] = time.monotonic()
            self._away.pop(name, None)

    def close(self) -> None:
        """Look no more."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join(_CLOSING_S)

    def _watch(self) -> None:
        sources = {name: each for every in self._sources.values() for name, each in every.values()}
        for source, options in sources.items():
            self._look_for_names(source, options)
        while not self._closing.wait(_EACH_S):
            for source, options in sources.items():
                self._reach(source, options)
                self._look_for_names(source, options)
            for query in self._sources:
                try:
                    self._look(query)
                except (RunError, OSError) as error:
                    log.debug("the topics of %s were not looked at: %s", query, error)
        for client in self._clients.values():
            client.close()

    def _reach(self, source: str, options: KafkaOptions) -> None:
        """Note whether a broker of a source answers."""
        began_at = time.monotonic()
        try:
            self._client(source, options).check()
        except KafkaUnreachableError as error:
            if self._reached_at.get(source, 0.0) < began_at and not self._closing.is_set():
                self._away[source] = error
        except (RunError, OSError) as error:
            log.debug("the brokers of %s could not be queried: %s", source, error)
        else:
            self._away.pop(source, None)

    def _look_for_names(self, source: str, options: KafkaOptions) -> None:
        """Warn of topics that nobody writes while one like them is not read."""
        if source in self._away:
            return
        try:
            for warning in self._names[source].warnings(self._client(source, options).names()):
                self._warn(warning)
        except (RunError, OSError) as error:
            log.debug("the topics of %s were not listed: %s", source, error)

    def _client(self, source: str, options: KafkaOptions) -> KafkaClient:
        if source not in self._clients:
            client = KafkaClient(self._spark, source, options, timeout_ms=_ANSWER_MS)
            self._clients[source] = client
        return self._clients[source]

    def _look(self, query: str) -> None:
        read = committed_positions(self._checkpoints[query])
        for place, (source, options) in self._sources[query].items():
            if place >= len(read) or source in self._away:
                continue
            gaps = gone(self._client(source, options), positions(read[place]))
            # Twice the same, since a broker that starts may not know all its topics yet.
            if gaps and self._suspected.get((query, source)) == gaps:
                self._note(query, source, options, gaps)
            self._suspected[query, source] = gaps

    def _note(self, query: str, source: str, options: KafkaOptions, gaps: Sequence[Gap]) -> None:
        if options.fail_on_data_loss:
            self._found[query] = lost_error(source, gaps)
        else:
            self._warn(lost_warning(source, gaps))


class KafkaGroups:
    """The groups that the Kafka sources of a run name; told in a thread of their own.

    Args:
        spark: A session with the Kafka connector, where a source names a group.
        reads: What the run reads.
    """

    def __init__(self, spark: SparkSession, reads: Iterable[SourceRead]) -> None:
        self._spark = spark
        self._named: dict[str, KafkaOptions] = {}
        for read in reads:
            options = kafka_options(read.source) if read.source.kind == "kafka" else None
            if options is not None and options.group is not None:
                self._named[read.source.name] = options
        self._read: dict[str, dict[str, Positions]] = {name: {} for name in self._named}
        self._changed = threading.Condition()
        self._waiting: set[str] = set()
        self._closing = False
        self._thread: threading.Thread | None = None
        if self._named:
            self._thread = threading.Thread(
                target=self._tell, name="joinery-kafka-groups", daemon=True
            )
            self._thread.start()

    def note(self, query: str, source: str, told: str | None) -> None:
        """Note where a batch of a query ended in a source, as Spark writes it."""
        if source in self._named:
            with self._changed:
                self._read[source][query] = positions(told)
                self._waiting.add(source)
                self._changed.notify()

    def close(self) -> None:
        """Tell what is still to be told, and end."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(_CLOSING_S)

    def _tell(self) -> None:
        clients: dict[str, KafkaClient] = {}
        failed: set[str] = set()
        while (found := self._next()) is not None:
            source, slowest = found
            options = self._named[source]
            try:
                if source not in clients:
                    clients[source] = KafkaClient(self._spark, source, options)
                clients[source].tell_group(options.group or "", slowest)
                failed.discard(source)
            except RunError as error:
                if source not in failed:
                    failed.add(source)
                    why = f"{error.message}: {error.detail}"
                    log.warning(
                        'positions of group "%s" could not be committed: %s', options.group, why
                    )
        for client in clients.values():
            client.close()

    def _next(self) -> tuple[str, Positions] | None:
        """Wait for positions that are to be told; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closing)
            if not self._waiting:
                return None
            source = self._waiting.pop()
            return source, slowest_of(self._read[source].values())


def slowest_of(read: Iterable[Positions]) -> Positions:
    """Return the lowest position of each partition.

    Example:
        >>> slowest_of([{"user": {"0": 7}}, {"user": {"0": 5}, "star": {"0": 1}}])
        {'user': {'0': 5}, 'star': {'0': 1}}
    """
    slowest: dict[str, dict[str, int]] = {}
    for each in read:
        for topic, partitions in each.items():
            _lower(slowest.setdefault(topic, {}), partitions)
    return slowest


def _lower(known: dict[str, int], partitions: Mapping[str, int]) -> None:
    for partition, offset in partitions.items():
        known[partition] = min(offset, known.get(partition, offset))
