"""Reads topics again, from their first records up to a query's position.

A log that was compacted will do: of what it lacks, it has something newer, and if that is behind
the position it comes next. One that lost its beginning will not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from joinery.project.kafka import kafka_options, pattern_of
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.spark.source.kafka import client_options, records_of, subscription
from joinery.spark.source.kafka_client import KafkaClient
from joinery.spark.source.source import positions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Edges = Mapping[str, Mapping[int, tuple[int, int]]]
"""The first offset and the end of each partition, by topic."""
AskEdges = Callable[[SourceSpec, Collection[str]], Edges]


def edges_by_client(source: SourceSpec, topics: Collection[str]) -> Edges:
    """Return the edges of topics, without Spark.

    Raises:
        SinkUnavailableError: The brokers do not answer.
        SinkError: They refuse us, or the client is not installed.
    """
    from joinery.clients.kafka import Brokers
    from joinery.clients.kafka_reader import read_edges_of

    options = kafka_options(source)
    return read_edges_of(Brokers(options.bootstrap, dict(options.properties)), *topics)


def edges_in(spark: SparkSession) -> AskEdges:
    """Return what asks for the edges of topics in a session with the Kafka connector."""

    def ask(source: SourceSpec, topics: Collection[str]) -> Edges:
        found: dict[str, dict[int, tuple[int, int]]] = {}
        with KafkaClient(spark, source.name, kafka_options(source)) as client:
            for (topic, partition), (first, end) in client.edges_of(topics).items():
                found.setdefault(topic, {})[partition] = first, end
        return found

    return ask


def records_again(at: str, topics: Sequence[str]) -> int:
    """Return how many records of topics lie before a position, at most."""
    return sum(end for parts in _read(at, topics).values() for end in parts.values())


def topics_gone(source: SourceSpec, topics: Sequence[str], at: str, ask: AskEdges) -> Iterator[str]:
    """Yield why topics cannot be read again up to a position, in words.

    Args:
        source: Theirs.
        topics: As relations name them.
        at: Where a query stands in the source, as Spark writes it.
        ask: Asks the brokers.
    """
    if kafka_options(source).starting != "earliest":
        yield f'source "{source.name}" does not start at the earliest records of its topics'
        return
    read = _read(at, topics)
    edges = ask(source, {*read, *(each for each in topics if pattern_of(each) is None)})
    for topic, parts in sorted(edges.items()):
        for partition, (first, _) in sorted(parts.items()):
            if first > 0:
                yield f'topic "{topic}" partition {partition} begins at offset {first:,} by now'
    for topic, ends in sorted(read.items()):
        for number, end in sorted(ends.items()):
            _, there = edges.get(topic, {}).get(int(number), (0, 0))
            if there < end:
                yield f'topic "{topic}" partition {number} was deleted after it was read'


def kafka_again(
    spark: SparkSession, spec: ProjectSpec, source: SourceSpec, topics: Sequence[str], until: str
) -> DataFrame | None:
    """Return the raw records of topics up to a position; None where there are none."""
    read = _read(until, topics)
    if not read:
        return None
    starts = {topic: dict.fromkeys(parts, 0) for topic, parts in read.items()}
    options = {
        "assign": json.dumps({topic: [*map(int, parts)] for topic, parts in read.items()}),
        # Named, not "earliest": a beginning that goes meanwhile ends the batch.
        "startingOffsets": json.dumps(starts),
        "endingOffsets": json.dumps(read),
        "failOnDataLoss": "true",
        **client_options(kafka_options(source)),
    }
    frame = spark.read.format("kafka").options(**options).load()
    return records_of(frame, topics, spec.run.max_record_bytes)


def _read(at: str, topics: Sequence[str]) -> dict[str, dict[str, int]]:
    """Return what a position says of topics and of what replays them."""
    pattern = subscription(topics)
    return {
        topic: {partition: end for partition, end in parts.items() if end > 0}
        for topic, parts in positions(at).items()
        if re.fullmatch(pattern, topic) and any(end > 0 for end in parts.values())
    }
