"""Opens the raw stream of a query: one row per message, tagged with its topic.

A query may read several sources; their raw streams are united before anything is decoded,
in the order of the sources' names, which Spark's checkpoint holds on to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from joinery.model.warning import RunWarning
from joinery.project.product import ProjectSpec
from joinery.spark.source.files import open_files
from joinery.spark.source.kafka import open_kafka
from joinery.spark.source.kafka_memory import KafkaMemory
from joinery.spark.source.source import BatchRoom, RawStream, SourceRead, Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NOWHERE = "-"  # as Spark writes the position of a source that had nothing yet


@dataclass(frozen=True, slots=True)
class QueryStream:
    """The raw records of all sources of a query.

    Attributes:
        frame: As that of one source, all numbers distinct.
        topics: What each number stands for.
        lost: By relation, the records that a log lost before they were read.
        warnings: What someone should look at.
    """

    frame: DataFrame
    topics: tuple[tuple[Topic, ...], ...]
    lost: Mapping[str, int]
    warnings: tuple[RunWarning, ...]


def open_sources(
    spark: SparkSession,
    spec: ProjectSpec,
    reads: Sequence[SourceRead],
    begun: Sequence[str] = (),
    room: BatchRoom | None = None,
    memory: KafkaMemory | None = None,
) -> QueryStream:
    """Return the raw stream of all sources of a query.

    Args:
        spark: The session.
        spec: The project.
        reads: The sources.
        begun: Where the checkpoint stands in each, as Spark writes it; empty for a fresh one.
        room: What a batch of the query may count on; its sources have equal shares.
            Only a lone one rests.
        memory: Of the topics of Kafka that the query has read.
    """
    room = room or BatchRoom()
    alone = len(reads) == 1  # While one rests, no other is looked at.
    room = replace(
        room,
        memory_share=room.memory_share / max(1, len(reads)),
        rest_ms=room.rest_ms if alone else 0,
    )
    frames, topics, lost = [], list[tuple[Topic, ...]](), dict[str, int]()
    warnings: list[RunWarning] = []
    for read, at in zip(reads, begun or [_NOWHERE] * len(reads), strict=True):
        stream = _open_source(spark, spec, read, None if at == _NOWHERE else at, room, memory)
        number, frame = len(topics), stream.frame
        frames.append(frame.withColumn("topic", frame["topic"] + number) if number else frame)
        topics += [tuple(Topic(read.source.name, each) for each in one) for one in stream.topics]
        warnings += stream.warnings
        lost |= read.lost(stream.lost)
    frame = reduce(lambda one, more: one.union(more), frames)
    return QueryStream(frame, tuple(topics), lost, tuple(warnings))


def _open_source(
    spark: SparkSession,
    spec: ProjectSpec,
    read: SourceRead,
    begun: str | None,
    room: BatchRoom,
    memory: KafkaMemory | None,
) -> RawStream:
    """Return the raw stream of one source; `begun` tells where the checkpoint stands."""
    topics = tuple(read.relations)
    if read.source.kind == "files":
        return open_files(spark, spec, read.source, topics, room, read.in_order)
    return open_kafka(spark, spec, read.source, topics, begun, room, memory)
