"""Opens the raw stream of a query: one row a message, tagged with its topic.

A query may read several sources; their raw streams are united before anything is decoded,
in the order of the sources' names, which Spark's checkpoint holds on to.

What a query reads of a source, and the raw stream that comes of it.

Which batch of which run is at hand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from joinery.errors import SpecError
from joinery.model.warning import RunWarning
from joinery.plan.nodes import Product, Relation
from joinery.project.kafka import is_named
from joinery.project.product import ProjectSpec, SourceSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic of a source, as its relations name it.

    Attributes:
        source: The source's name.
        name: The topic, or `pattern:` and a regular expression.
    """

    source: str
    name: str


@dataclass(frozen=True, slots=True)
class RawStream:
    """The raw records of one source.

    Attributes:
        frame: Columns topic (a number), major and minor (the place in the log), file, key,
            value, error (why the record is a dead letter, else null) and name (the topic's
            own, where the number does not tell it).
        topics: For each number, the topics it stands for, as relations name them.
        lost: By topic, the records that the log lost before they were read.
        warnings: What someone should look at.
    """

    frame: DataFrame
    topics: tuple[tuple[str, ...], ...]
    lost: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[RunWarning, ...] = ()


_NOWHERE = "-"  # as Spark writes the position of a source that had nothing yet


class SourceNotThereError(SpecError):
    """A source that this version cannot read."""

    code = "RUN_SOURCE"


class Opener(Protocol):
    """Opens the sources of one kind."""

    def __call__(
        self,
        spark: SparkSession,
        spec: ProjectSpec,
        source: SourceSpec,
        topics: Sequence[str],
        begun: str | None,
    ) -> RawStream:
        """Return the raw stream of `topics`; `begun` tells where the checkpoint stands."""


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


@dataclass(frozen=True, slots=True)
class SourceRead:
    """A source and what a query reads of it.

    Attributes:
        relations: The names of the relations that read each topic.
    """

    source: SourceSpec
    relations: Mapping[str, tuple[str, ...]]

    def readers(self, topic: str) -> tuple[str, ...]:
        """Return the relations that read a topic, by its name or by a pattern."""
        found = [each for named, each in self.relations.items() if is_named(named, topic)]
        return tuple(name for names in found for name in names)


def sources_of(spec: ProjectSpec, products: Sequence[Product]) -> tuple[SourceRead, ...]:
    """Return the sources that a query reads, by name.

    Raises:
        SourceNotThereError: A source is not there.
    """
    relations = tuple(dict.fromkeys(each for one in products for each in one.relations))
    names = sorted({each.source for each in relations})
    return tuple(_source_read(spec, name, relations) for name in names)


def _source_read(spec: ProjectSpec, name: str, relations: Sequence[Relation]) -> SourceRead:
    source = next((each for each in spec.sources if each.name == name), None)
    if source is None:
        raise SourceNotThereError(
            "the project has no source", hint="Add sources: {changes: {files: {path: data}}}."
        )
    if source.kind not in _OPENERS:
        raise SourceNotThereError(
            f'source "{source.name}" is of kind "{source.kind}", which is not there yet',
            hint=f"Use {' or '.join(_OPENERS)}.",
        )
    read: dict[str, tuple[str, ...]] = {}
    for relation in relations:
        if relation.source == name:
            read[relation.topic] = (*read.get(relation.topic, ()), relation.name)
    return SourceRead(source, read)


def open_sources(
    spark: SparkSession,
    spec: ProjectSpec,
    reads: Sequence[SourceRead],
    begun: Sequence[str] = (),
) -> QueryStream:
    """Return the raw stream of all sources of a query.

    Args:
        spark: The session.
        spec: The project.
        reads: The sources.
        begun: Where the checkpoint stands in each, as Spark writes it; empty for a fresh one.
    """
    frames, topics, lost = [], list[tuple[Topic, ...]](), dict[str, int]()
    warnings: list[RunWarning] = []
    for read, at in zip(reads, begun or [_NOWHERE] * len(reads), strict=True):
        opener, named = _OPENERS[read.source.kind], tuple(read.relations)
        stream = opener(spark, spec, read.source, named, None if at == _NOWHERE else at)
        number, frame = len(topics), stream.frame
        frames.append(frame.withColumn("topic", frame["topic"] + number) if number else frame)
        topics += [tuple(Topic(read.source.name, each) for each in one) for one in stream.topics]
        warnings += stream.warnings
        for topic, count in stream.lost.items():
            lost |= {name: lost.get(name, 0) + count for name in read.readers(topic)}
    frame = reduce(lambda one, more: one.union(more), frames)
    return QueryStream(frame, tuple(topics), lost, tuple(warnings))


def _open_files(
    spark: SparkSession,
    spec: ProjectSpec,
    source: SourceSpec,
    topics: Sequence[str],
    begun: str | None,
) -> RawStream:
    from joinery.spark.source.files import open_files

    return open_files(spark, spec, source, topics)


def _open_kafka(
    spark: SparkSession,
    spec: ProjectSpec,
    source: SourceSpec,
    topics: Sequence[str],
    begun: str | None,
) -> RawStream:
    from joinery.spark.source.kafka import open_kafka

    return open_kafka(spark, spec, source, topics, begun)


_OPENERS: Mapping[str, Opener] = {"files": _open_files, "kafka": _open_kafka}


_SETTINGS = 1  # the second line of an entry in Spark's offset log
_PER_MS = 1000


@dataclass(frozen=True, slots=True)
class BatchLabel:
    """What a batch is called.

    Attributes:
        query_id: Of Spark's checkpoint.
        number: Of the batch.
        epoch: Of the run that holds the lease.
    """

    query_id: str
    number: int
    epoch: int


def batch_time_us(checkpoint: Path, number: int) -> int:
    """Return the time of a batch in microseconds: the same when it runs again, and its own.

    Spark logs a batch with its time in milliseconds before it runs; the batch's number fills
    the rest, so that no two batches share a time.
    """
    text = (checkpoint / "offsets" / str(number)).read_text(encoding="utf-8")
    told = json.loads(text.splitlines()[_SETTINGS])
    return int(told["batchTimestampMs"]) * _PER_MS + number % _PER_MS
