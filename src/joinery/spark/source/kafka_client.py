"""Kafka's administrative client, in the JVM of a session: what topics hold, and have lost.

It is the client that Spark's connector brings, so it takes the same properties. Every call
is bounded in time. Records that a log lost before they were read, where its retention was
shorter than the pause, Spark finds one by one in the middle of a batch; here a run is told at
its start, with the exact range.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

from pyspark.sql import SparkSession

from joinery.errors import RunError
from joinery.model.warning import RunWarning
from joinery.project.kafka import KafkaOptions
from joinery.spark.jar import require_connector
from joinery.spark.jvm import class_of, elements, made_beside_jars
from joinery.spark.source.source import Positions

Answer = TypeVar("Answer")
Partition = tuple[str, int]
"""A topic and the number of a partition."""
Edges = Mapping[Partition, tuple[int, int]]
"""By partition, the first offset and the end."""
_TIMEOUT_MS = 20_000
_ADMIN = "org.apache.kafka.clients.admin"
_EDGES = "dev.joinery.kernel.kafka.TopicEdges"
_NO_ID = "A" * 22
_CONNECTIONS = "connection-creation-total"
_ANSWER, _REQUEST = "default.api.timeout.ms", "request.timeout.ms"
_SECURITY = ("AuthenticationException", "SslException", "SSL", "AuthorizationException")


class KafkaUnreachableError(RunError):
    """No broker of a Kafka source answers."""

    code = "RUN_KAFKA"


class _Classes:
    """The classes that a client needs, found once: to look for one takes the JVM milliseconds."""

    def __init__(self, spark: SparkSession) -> None:
        self.map = class_of(spark, "java.util.HashMap")
        self.list = class_of(spark, "java.util.ArrayList")
        self.duration = class_of(spark, "java.time.Duration")
        self.client = class_of(spark, f"{_ADMIN}.AdminClient")
        self.partition = class_of(spark, "org.apache.kafka.common.TopicPartition")
        self.position = class_of(spark, "org.apache.kafka.clients.consumer.OffsetAndMetadata")


def timeouts(properties: Mapping[str, str], most_ms: int) -> dict[str, str]:
    """Return the timeouts of a client whose answers take so long at most; a user's may be shorter.

    Example:
        >>> timeouts({}, 20_000)
        {'default.api.timeout.ms': '20000', 'request.timeout.ms': '10000'}
        >>> timeouts({"default.api.timeout.ms": "4000", "request.timeout.ms": "30000"}, 20_000)
        {'default.api.timeout.ms': '4000', 'request.timeout.ms': '4000'}
    """
    answer_ms = _shorter(properties, _ANSWER, most_ms)
    request_ms = _shorter(properties, _REQUEST, min(answer_ms, most_ms // 2))
    return {_ANSWER: str(answer_ms), _REQUEST: str(request_ms)}


def _shorter(properties: Mapping[str, str], name: str, most_ms: int) -> int:
    told = properties.get(name, "")
    return min(int(told), most_ms) if told.isdecimal() else most_ms


class KafkaClient:
    """Asks the brokers of one source.

    Args:
        spark: A session that has the Kafka connector.
        source: The source's name, for errors.
        options: How to reach the brokers.
        timeout_ms: How long an answer may take.

    Raises:
        ConnectorMissingError: The session has no Kafka connector.
        KafkaUnreachableError: The properties are not what Kafka's client takes.
    """

    def __init__(
        self,
        spark: SparkSession,
        source: str,
        options: KafkaOptions,
        *,
        timeout_ms: int = _TIMEOUT_MS,
    ) -> None:
        require_connector(spark)
        self._source, self._options = source, options
        self._java = _Classes(spark)
        self._counter: Any = None
        properties = self._java.map()
        for name, value in options.properties.items():
            properties.put(name, value)
        properties.put("bootstrap.servers", options.bootstrap)
        for name, limit in timeouts(options.properties, timeout_ms).items():
            properties.put(name, limit)
        try:
            self._admin = self._java.client.create(properties)
            self._java_edges = made_beside_jars(spark, _EDGES, self._admin)
        except Exception as error:
            raise self._failed("cannot make a client for", error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back."""
        self._admin.close(self._java.duration.ZERO)

    def check(self) -> None:
        """Reach a broker.

        Raises:
            KafkaUnreachableError: None answers, or it refuses us.
        """
        self._ask(lambda: self._admin.describeCluster().clusterId().get())

    def partitions(self, pattern: str) -> Sequence[tuple[str, tuple[int, ...]]]:
        """Return the topics whose whole name matches, with their partitions."""
        return self._described([each for each in self.names() if re.fullmatch(pattern, each)])

    def edges(self, pattern: str) -> list[tuple[Partition, int, int]]:
        """Return (topic, partition), first offset and end of all partitions that match."""
        found = self._edges([each for each in self.names() if re.fullmatch(pattern, each)])
        return [(place, low, high) for place, (low, high) in found.items()]

    def edges_of(self, topics: Collection[str]) -> dict[Partition, tuple[int, int]]:
        """Return where the partitions of the topics that are there begin and end."""
        return self._edges([each for each in self.names() if each in topics])

    def ids(self, pattern: str) -> dict[str, str]:
        """Return the ids of the topics that match; brokers before Kafka 2.8 give none."""
        found = self._topics([each for each in self.names() if re.fullmatch(pattern, each)])
        told = {name: str(each.topicId()) for name, each in found.items()}
        return {name: id_ for name, id_ in told.items() if id_ != _NO_ID}

    def committed_ends(self, topics: Collection[str]) -> dict[tuple[str, int], int]:
        """Return, by (topic, partition), where what is committed ends: at an open transaction."""
        there = [each for each in self.names() if each in topics]
        return {place: end for place, (_, end) in self._edges(there, committed=True).items()}

    def standing(self, topics: Collection[str]) -> tuple[int, float]:
        """Return what changes once other replicas lead or follow, or a broker was away.

        Whoever reads a partition on then may read another log.
        """
        return int(self._description(topics).hashCode()), self._connections()

    def _connections(self) -> float:
        """Return how often a broker was connected to."""
        metrics = self._admin.metrics()
        if self._counter is None:
            self._counter = next(
                each for each in elements(metrics.keySet()) if each.name() == _CONNECTIONS
            )
        return float(metrics.get(self._counter).metricValue())

    def names(self) -> list[str]:
        """Return the topics there are, without the brokers' own."""
        topics = self._ask(lambda: self._admin.listTopics().names().get())
        return [str(each) for each in elements(topics)]

    def _described(self, names: Iterable[str]) -> list[tuple[str, tuple[int, ...]]]:
        return [
            (name, tuple(int(each.partition()) for each in elements(topic.partitions())))
            for name, topic in self._topics(names).items()
        ]

    def _topics(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the descriptions of topics, by their names in order."""
        found = self._description(names)
        return {name: found.get(name) for name in sorted(map(str, elements(found.keySet())))}

    def _description(self, topics: Iterable[str]) -> Any:
        wanted = self._list(topics)
        return self._ask(lambda: self._admin.describeTopics(wanted).allTopicNames().get())

    def _list(self, names: Iterable[str]) -> Any:
        wanted = self._java.list()
        for each in names:
            wanted.add(each)
        return wanted

    def ends(self, pattern: str) -> dict[str, dict[str, int]]:
        """Return the next offset of each partition, by topic, of topics that match."""
        ends: dict[str, dict[str, int]] = {}
        for (topic, partition), _, end in self.edges(pattern):
            ends.setdefault(topic, {})[str(partition)] = end
        return ends

    def _edges(
        self, topics: Iterable[str], *, committed: bool = False
    ) -> dict[Partition, tuple[int, int]]:
        wanted = self._list(topics)
        told = json.loads(self._ask(lambda: self._java_edges.of(wanted, committed)))
        return {
            (topic, int(partition)): (low, high)
            for topic, partitions in told.items()
            for partition, (low, high) in partitions.items()
        }

    def tell_group(self, group: str, positions: Mapping[str, Mapping[str, int]]) -> None:
        """Note, for a consumer group, what was read.

        Args:
            group: A group without members.
            positions: By topic and partition, the next offset to be read.
        """
        offsets = self._java.map()
        for topic, partitions in positions.items():
            for partition, offset in partitions.items():
                place = self._java.partition(topic, int(partition))
                offsets.put(place, self._java.position(offset))
        self._ask(lambda: self._admin.alterConsumerGroupOffsets(group, offsets).all().get())

    def _ask(self, question: Callable[[], Answer]) -> Answer:
        try:
            return question()
        except Exception as error:
            raise self._failed("could not reach", error) from error

    def _failed(self, what: str, error: Exception) -> KafkaUnreachableError:
        why = reason_of(error)
        secured = any(word in why for word in _SECURITY)
        return KafkaUnreachableError(
            f'source "{self._source}" {what} Kafka at {self._options.bootstrap}',
            detail=why,
            hint="Check the security properties of the source."
            if secured
            else "Check that a broker listens there, and bootstrap and properties of the source.",
        )


def reason_of(error: Exception) -> str:
    """Return the innermost reason of a failure in the JVM, as one line."""
    java: Any = getattr(error, "java_exception", None)
    if java is None:
        return " ".join(str(error).split())[:300]
    while java.getCause() is not None:
        java = java.getCause()
    return " ".join(f"{java.getClass().getSimpleName()}: {java.getMessage()}".split())[:300]


COMMITTED = "read_committed"
"""How records are read where the project does not say."""
_TOLD = 3
_LOST = "KAFKA_DATA_LOSS"
_HINT = (
    "Start on a fresh checkpoint, or set fail_on_data_loss: false on the source to continue"
    " with what is there."
)


class OpenTransactionError(RunError):
    """A log was read further than its records are committed."""

    code = "RUN_OPEN_TRANSACTION"


class RecordsLostError(RunError):
    """A log lacks records that were not read yet, or has others than those that were read."""

    code = "RUN_RECORDS_LOST"


class Loss(Protocol):
    """What a partition lost; its text says it."""

    @property
    def topic(self) -> str:
        """The topic's name."""

    @property
    def partition(self) -> int:
        """The partition's number."""

    @property
    def count(self) -> int:
        """How many records are gone for sure."""


@dataclass(frozen=True, slots=True)
class Gap:
    """What is missing of one partition.

    Attributes:
        wanted: The next offset to be read.
        found: The first offset there is; None where the topic is gone, or was made anew.
    """

    topic: str
    partition: int
    wanted: int
    found: int | None

    @property
    def count(self) -> int:
        """How many records are gone for sure."""
        return max(0, (self.found or self.wanted) - self.wanted)

    def __str__(self) -> str:
        place = f'topic "{self.topic}" partition {self.partition}'
        if self.found is None:
            return f"{place} was deleted, or created again, after offset {self.wanted - 1} was read"
        return f"{place} lacks offsets {self.wanted} to {self.found - 1}"


def check_loss(source: str, options: KafkaOptions, begun: Positions, edges: Edges) -> list[Gap]:
    """Return which records are gone; with `fail_on_data_loss`, refuse that.

    Args:
        source: The source's name.
        options: Those of the source.
        begun: The next offset to be read, by topic and partition.
        edges: Where the partitions begin and end.

    Raises:
        RecordsLostError: Records are gone, and the source is to fail then.
    """
    gaps = list(_gaps(begun, edges))
    if gaps and options.fail_on_data_loss:
        raise lost_error(source, gaps)
    return gaps


def check_committed(
    client: KafkaClient, source: str, options: KafkaOptions, begun: Positions
) -> None:
    """Refuse to go on in an open transaction, into which an earlier run has read.

    One that read uncommitted records did, as earlier versions do; Spark would take the log, which
    ends before what was read, for one that has lost records.

    Args:
        client: Asks the brokers.
        source: The source's name.
        options: Those of the source.
        begun: The next offset to be read, by topic and partition.

    Raises:
        OpenTransactionError: What was read is not committed yet.
    """
    committed = options.properties.get("isolation.level", COMMITTED) == COMMITTED
    if not (committed and options.fail_on_data_loss):
        return
    for (topic, partition), end in sorted(client.committed_ends(begun).items()):
        wanted = begun[topic].get(str(partition), 0)
        if wanted > end:
            raise OpenTransactionError(
                f'source "{source}" was read into a transaction that is still open',
                detail=f'Topic "{topic}" partition {partition} was read to offset {wanted}, and'
                f" is committed to {end}.",
                hint="Start again once it is committed or aborted; the brokers abort one that is"
                " left, after its producer's transaction.timeout.ms.",
            )


def records_lost(losses: Iterable[Loss]) -> Mapping[str, int]:
    """Return, by topic, how many records are gone for sure."""
    lost: dict[str, int] = {}
    for each in losses:
        lost[each.topic] = lost.get(each.topic, 0) + each.count
    return lost


def partitions_of(losses: Iterable[Loss]) -> set[Partition]:
    """Return the partitions that lost something."""
    return {(each.topic, each.partition) for each in losses}


def gone(read: Positions, edges: Edges) -> list[Gap]:
    """Return the partitions that end before what was read: deleted, or made anew.

    Args:
        read: The next offset to be read, by topic and partition.
        edges: Where the partitions begin and end.
    """
    return [each for each in _gaps(read, edges) if each.found is None]


def lost_error(source: str, gaps: Sequence[Loss]) -> RecordsLostError:
    """Return the error that tells what a source lost."""
    return RecordsLostError(_message(source), detail=told_losses(gaps), hint=_HINT)


def lost_warning(source: str, gaps: Sequence[Loss]) -> RunWarning:
    """Return the warning that tells what a source lost that may go on without."""
    return RunWarning(
        code="WARN_RECORDS_LOST",
        about=f'source "{source}"',
        message=f"{_message(source)}, so documents may lack them",
        detail=told_losses(gaps),
        hint="Raise the topic's retention, and read the table again (an incremental snapshot"
        " does).",
    )


def _message(source: str) -> str:
    return f'source "{source}" lost records before they were read'


def told_losses(losses: Sequence[Loss]) -> str:
    """Return what was lost of each partition as one sentence, of a few where there are many."""
    more = f"; and {len(losses) - _TOLD} partitions more" if len(losses) > _TOLD else ""
    told = "; ".join(str(each) for each in losses[:_TOLD]) + more
    return f"{told[0].upper()}{told[1:]}."


def lost_midway(reasons: Iterable[str]) -> RecordsLostError | None:
    """Return what Spark found to be lost in the middle of a run, from why a query ended."""
    for reason in reasons:
        if _LOST in reason:
            _, _, why = reason.partition("Reason:")
            return RecordsLostError(
                "Kafka removed records before they were read",
                detail=why.split("SQLSTATE")[0].strip() or reason,
                hint=_HINT,
            )
    return None


def _gaps(begun: Positions, edges: Edges) -> Iterator[Gap]:
    for topic, partitions in begun.items():
        for partition, wanted in sorted((int(each), at) for each, at in partitions.items()):
            low, high = edges.get((topic, partition), (0, 0))
            if high < wanted:
                yield Gap(topic, partition, wanted, None)
            elif low > wanted:
                yield Gap(topic, partition, wanted, low)
