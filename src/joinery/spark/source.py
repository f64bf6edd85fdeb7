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
from joinery.plan.nodes import Product, Relation
from joinery.spark.topic import Topic
from joinery.spec.product import ProjectSpec, SourceSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMATS = ("debezium-json", "json")


class SourceNotThereError(SpecError):
    """A source or a format that this version cannot read."""

    code = "RUN_SOURCE"


class Opener(Protocol):
    """Opens the sources of one kind."""

    def __call__(
        self, spark: SparkSession, spec: ProjectSpec, source: SourceSpec, topics: Sequence[str]
    ) -> DataFrame:
        """Return the raw stream of `topics`, numbered in their order."""


@dataclass(frozen=True, slots=True)
class SourceRead:
    """A source and what a query reads of it.

    Attributes:
        relations: The names of the relations that read each topic.
    """

    source: SourceSpec
    relations: Mapping[str, tuple[str, ...]]

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The topics, as relations name them."""
        return tuple(Topic(self.source.name, each) for each in self.relations)


def sources_of(spec: ProjectSpec, products: Sequence[Product]) -> tuple[SourceRead, ...]:
    """Return the sources that a query reads, by name.

    Raises:
        SourceNotThereError: A source, or a format, is not there.
    """
    relations = tuple(dict.fromkeys(each for one in products for each in one.relations))
    for relation in relations:
        if relation.format not in _FORMATS:
            raise SourceNotThereError(
                f'format "{relation.format}" of relation "{relation.name}" is not there yet',
                hint=f"Use {' or '.join(_FORMATS)}.",
            )
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
    spark: SparkSession, spec: ProjectSpec, reads: Sequence[SourceRead]
) -> tuple[DataFrame, tuple[Topic, ...]]:
    """Return the raw stream of all sources of a query, and what its topics' numbers stand for.

    Columns: topic (a number), major and minor (the place in the log), file, key, value and
    error (why the record is a dead letter, else null).
    """
    frames, topics = [], list[Topic]()
    for read in reads:
        frame = _OPENERS[read.source.kind](spark, spec, read.source, tuple(read.relations))
        first = len(topics)
        frames.append(frame.withColumn("topic", frame["topic"] + first) if first else frame)
        topics += read.topics
    return reduce(lambda left, right: left.union(right), frames), tuple(topics)


def _open_files(
    spark: SparkSession, spec: ProjectSpec, source: SourceSpec, topics: Sequence[str]
) -> DataFrame:
    from joinery.spark.files_source import open_files

    return open_files(spark, spec, source, topics)


def _open_kafka(
    spark: SparkSession, spec: ProjectSpec, source: SourceSpec, topics: Sequence[str]
) -> DataFrame:
    from joinery.spark.kafka_source import open_kafka

    return open_kafka(spark, spec, source, topics)


_OPENERS: Mapping[str, Opener] = {"files": _open_files, "kafka": _open_kafka}
