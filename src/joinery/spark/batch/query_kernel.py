"""Lowers and opens the kernel that one query needs: of documents, of an outbox, of streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from joinery.lookups.coherence import Coherence
from joinery.model.progress import Waiting
from joinery.plan.nodes import Product, Relation
from joinery.plan.stream import Stream, Union
from joinery.project.product import ProjectSpec, RunSpec
from joinery.solutions.spark_state.lower import lower
from joinery.solutions.spark_state.lower_stream import LoweredStreams, lower_streams
from joinery.solutions.spark_state.program import KernelProgram
from joinery.spark.batch.stores import is_store_backed
from joinery.spark.streams.asking import Asking

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from joinery.spark.batch.query import KernelLike


@dataclass(frozen=True, slots=True)
class LoweredQuery:
    """The products of one query, lowered: made once, then used by all that runs the query.

    Attributes:
        products: The members of the query.
        program: Their kernel program, with the limits of the run.
        streams: Their streams as lowered; None where they are documents.
    """

    products: tuple[Product, ...]
    program: KernelProgram
    streams: LoweredStreams | None = None


def lower_query(products: Sequence[Product], run: RunSpec) -> LoweredQuery:
    """Return one query lowered, with the limits of the run."""
    members, streams = tuple(products), streams_of(products)
    if streams:
        lowered = lowered_streams(streams, run)
        return LoweredQuery(members, lowered.program, lowered)
    program = lower(
        products,
        tombstone_retention_micros=run.tombstone_retention_ms * 1000,
        max_document_bytes=run.max_document_bytes,
    )
    return LoweredQuery(members, program)


def lowered_streams(streams: Sequence[Stream], run: RunSpec) -> LoweredStreams:
    """Return the streams of one query, with the limits of the run."""
    return lower_streams(
        streams,
        tombstone_retention_micros=run.tombstone_retention_ms * 1000,
        max_document_bytes=run.max_document_bytes,
    )


def streams_of(products: Sequence[Product]) -> list[Stream]:
    """Return the streams among the members of a query: all of them or none."""
    return [each.stream for each in products if each.stream is not None]


def asking_of(
    query: LoweredQuery,
    spec: ProjectSpec,
    ended: Callable[[], bool] = lambda: False,
    tell: Callable[[str, Waiting | None], None] = lambda target, waiting: None,
    coherence: Coherence | None = None,
) -> Asking | None:
    """Return what asks the stores of a query's streams; None where they have none."""
    lowered = query.streams
    if lowered is None or not lowered.asked:
        return None
    names = {node: lowered.program.nodes[node].name for node in lowered.asked}
    return Asking(
        lowered.asked,
        names,
        spec.path_of("."),
        ended=ended,
        tell=tell,
        coherence=coherence,
    )


def open_query_kernel(
    spark: SparkSession,
    query: LoweredQuery,
    spec: ProjectSpec,
    asking: Asking | None = None,
) -> KernelLike:
    """Open the kernel of one query in a session.

    Args:
        spark: The session.
        query: What is to run.
        spec: The project.
        asking: Of the stores of its streams, opened.
    """
    from joinery.spark.batch.relay import open_relay
    from joinery.spark.kernel import open_kernel
    from joinery.spark.source.feed import open_change_feed
    from joinery.spark.streams.kernel import open_stream_kernel

    products = query.products
    if query.streams is not None:
        relations = relations_of(streams_of(products))
        return open_stream_kernel(spark, query.streams, relations, spec.path_of("."), asking)
    if products[0].outbox:
        return open_relay(spark, query.program, products[0].root.relation)
    read = tuple(dict.fromkeys(each for one in products for each in one.relations))
    if is_store_backed(products):
        return open_change_feed(spark, read)
    return open_kernel(spark, query.program, read)


def relations_of(streams: Sequence[Stream]) -> tuple[Relation, ...]:
    """Return all relations of streams, tables of stores included, each once."""
    found: list[Relation] = []
    for stream in streams:
        found += [stream.relation, *(each.table for each in stream.lookups)]
        for step in stream.steps:
            if isinstance(step, Union):
                found += relations_of([step.other])
    return tuple(dict.fromkeys(found))
