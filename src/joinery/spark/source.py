"""Opens the raw stream of a query: one row a message, tagged with its topic.

A query may read several sources; their raw streams are united before anything is decoded,
in the order of the sources' names, which Spark's checkpoint holds on to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Protocol

from joinery.errors import SpecError
from joinery.model.warning import RunWarning
from joinery.plan.nodes import Product, Relation
from joinery.spark.topic import RawStream, Topic
from joinery.spec.kafka import is_named
from joinery.spec.product import ProjectSpec, SourceSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
    from joinery.spark.files_source import open_files

    return open_files(spark, spec, source, topics)


def _open_kafka(
    spark: SparkSession,
    spec: ProjectSpec,
    source: SourceSpec,
    topics: Sequence[str],
    begun: str | None,
) -> RawStream:
    from joinery.spark.kafka_source import open_kafka

    return open_kafka(spark, spec, source, topics, begun)


_OPENERS: Mapping[str, Opener] = {"files": _open_files, "kafka": _open_kafka}
