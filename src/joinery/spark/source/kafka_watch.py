"""Looks, while a run goes on, whether its brokers answer and its topics are those it reads.

Spark asks for the ends of the topics that are there, so a topic that is gone looks like one
that is quiet, and it asks for minutes before it gives a broker up, so one that is gone looks
like that, too. Here a broker that does not answer is known within seconds, and the ends of
topics are held against what was read: an end below it cannot be.

A topic to which nobody writes looks like one that has nothing new, too; a source that names the
topic of its connector's heartbeats is silent once none come.

A log is compared with what was read of it where another replica may hold it by now: one leads that
did not, or a broker was connected to anew.

Invariant: looking never holds up a batch.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from joinery.errors import RunError
from joinery.model.batch import Counts
from joinery.model.progress import Silence
from joinery.model.warning import RunWarning
from joinery.place.place import Place
from joinery.project.kafka import KafkaOptions, kafka_options
from joinery.project.product import ProjectSpec
from joinery.spark.recovery.checkpoint import committed_positions
from joinery.spark.source.kafka import subscription
from joinery.spark.source.kafka_client import (
    Edges,
    Gap,
    KafkaClient,
    KafkaUnreachableError,
    RecordsLostError,
    gone,
    lost_error,
    lost_warning,
    partitions_of,
    records_lost,
)
from joinery.spark.source.kafka_memory import KafkaMemory
from joinery.spark.source.kafka_records import RecordReader, replaced_in_any
from joinery.spark.source.last_read import Signs, replaced_error, replaced_warning
from joinery.spark.source.silence import SourceSilence
from joinery.spark.source.source import SourceRead, positions
from joinery.spark.source.warning import TopicNames

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EACH_S = 5.0
_ANSWER_MS = 8_000
_CLOSING_S = 30.0
log = logging.getLogger(__name__)


def heartbeat_sign(edges: Edges) -> object:
    """Return what each heartbeat changes, of the edges of its topic: the ends.

    Where a topic begins is changed by its retention, though nobody writes to it.
    """
    return tuple((place, end) for place, (_, end) in edges.items())


class KafkaWatch:
    """Watches the Kafka sources of a run's queries, in a thread of its own.

    Args:
        spark: A session with the Kafka connector, where a source is one of Kafka's.
        spec: The project.
        reads: By query, what it reads, in the order of its streams.
        checkpoints: By query, where its positions are kept.
        memories: By query, what it remembers of topics.
        warn: Takes what someone should look at.
        wait: Called by target with a source that is silent, and with None once it is heard again.
        lose: Called with records that a log lost, by relation, where the run goes on.
    """

    def __init__(
        self,
        spark: SparkSession,
        spec: ProjectSpec,
        reads: Mapping[str, Sequence[SourceRead]],
        checkpoints: Mapping[str, Place],
        memories: Mapping[str, KafkaMemory],
        warn: Callable[[RunWarning], None],
        wait: Callable[[str, Silence | None], None],
        lose: Callable[[Counts], None],
    ) -> None:
        self._wait, self._lose = wait, lose
        self._spark = spark
        self._warn = warn
        self._checkpoints, self._memories = checkpoints, memories
        self._patterns = {
            (query, place): subscription(tuple(read.relations))
            for query, every in reads.items()
            for place, read in enumerate(every)
            if read.source.kind == "kafka"
        }
        self._reads = reads
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
        self._standing: dict[tuple[str, str], tuple[int, float]] = {}
        self._suspected: dict[tuple[str, str], Sequence[Gap]] = {}
        self._silences: dict[str, SourceSilence] = {}
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
                self._listen(source, options)
            self._look_at_queries()
        for client in self._clients.values():
            client.close()

    def _look_at_queries(self) -> None:
        for query, sources in self._sources.items():
            try:
                self._look(query)
            except KafkaUnreachableError as error:
                log.debug("the topics of %s could not be looked at: %s", query, error)
                for source, options in sources.values():  # else the next query waits for it, too
                    self._reach(source, options)
            except (RunError, OSError) as error:
                log.debug("the topics of %s were not looked at: %s", query, error)

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

    def _listen(self, source: str, options: KafkaOptions) -> None:
        """Note whether a source that has heartbeats gave one since the last look."""
        if not options.heartbeat:
            return
        silence = self._silence(source, options)
        if source in self._away:
            silence.forgive()
            return
        try:
            edges = self._client(source, options).edges_of([options.heartbeat])
        except (RunError, OSError) as error:
            log.debug("the heartbeats of %s were not looked at: %s", source, error)
            return
        silence.look(heartbeat_sign(edges))

    def _silence(self, source: str, options: KafkaOptions) -> SourceSilence:
        if source not in self._silences:
            missing = f'no heartbeat in topic "{options.heartbeat}" (is its connector running?)'
            after_s = options.silent_after / 1000
            self._silences[source] = SourceSilence(source, missing, after_s, self._wait)
        return self._silences[source]

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
            client, at = self._client(source, options), positions(read[place])
            unproven = self._memories[query].last.unproven(source)  # Read before what follows.
            again = self._memories[query].ids.compare(
                source,
                client.ids(self._patterns[query, place]),
                at,
                goes_on=not options.fail_on_data_loss,
            )
            if again:
                self._note(query, source, options, again)
                self._memories[query].last.forget(source, partitions_of(again))
            edges = client.edges_of(at)
            gaps = gone(at, edges)
            # Twice the same, since a broker that starts may not know all its topics yet.
            sure = self._suspected.get((query, source)) == gaps
            if gaps and sure:
                self._note(query, source, options, gaps)
            self._suspected[query, source] = gaps
            # A log that is too short to be compared may have grown by the next look.
            if not again and (sure or not gaps):
                standing = client.standing({topic for topic, _ in edges})
                if self._standing.get((query, source)) != standing:
                    self._compare(query, place, options, unproven, edges)
                self._standing[query, source] = standing
                self._memories[query].last.prove(source, len(unproven))

    def _compare(
        self,
        query: str,
        place: int,
        options: KafkaOptions,
        unproven: Sequence[Signs],
        edges: Edges,
    ) -> None:
        """Note whether a log has other records than those that a query has read."""
        read = self._reads[query][place]
        source = read.source.name
        with RecordReader(self._spark, source, options) as reader:
            replaced = replaced_in_any(reader, unproven, edges)
        if not replaced:
            return
        if options.fail_on_data_loss:
            self._found[query] = replaced_error(source, replaced)
            self._memories[query].last.hold(source, replaced)
            return
        self._warn(replaced_warning(source, replaced))
        self._lose(read.lost(records_lost(replaced)))
        # What differs is told once.
        self._memories[query].last.forget(source, partitions_of(replaced))

    def _note(self, query: str, source: str, options: KafkaOptions, gaps: Sequence[Gap]) -> None:
        if options.fail_on_data_loss:
            self._found[query] = lost_error(source, gaps)
        else:
            self._warn(lost_warning(source, gaps))
