"""A stream in the middle of a Spark job: DataFrames of events and changes in, a DataFrame out.

Everything is planned in a clone of the user's session, as `documents` plans it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from joinery.plan.stream import Stream, product_of
from joinery.project.product import ProjectSpec, RunSpec
from joinery.spark.batch.query_kernel import lowered_streams, relations_of
from joinery.spark.frames.frame import FrameError, RawFrame, TypedFrame, read_frame, usable
from joinery.spark.kernel import Kernel, formats_json, require_classic, strings
from joinery.spark.session import STATE_SETTINGS, clone_session
from joinery.spark.source.open import open_sources
from joinery.spark.source.source import sources_of
from joinery.spark.streams.kernel import open_stream_kernel


def frame_of(
    stream: Stream, spark: SparkSession, frames: Mapping[str, DataFrame], run: RunSpec | None = None
) -> DataFrame:
    """Return a stream's events as a DataFrame of its columns, over frames of its relations.

    The result belongs to a clone of `spark`, as that of `documents` does. As a stream it is
    written in output mode `update`.

    Args:
        stream: The plan of the stream; without functions and stores.
        spark: The session; its settings are left alone.
        frames: By relation, all streaming or none; a table without one is empty.
        run: The limits of a run.

    Raises:
        FrameError: A frame does not fit, or the stream needs batches.
        SessionError: The session is of Spark Connect.
    """
    require_classic(spark)
    lowered = lowered_streams([stream], run or RunSpec())
    if lowered.maps or lowered.asked:
        raise FrameError(
            f'stream "{stream.name}" has steps outside the JVM, which need batches',
            hint="Run it into a sink, or leave its functions and stores to what follows.",
        )
    relations = {each.name: each for each in relations_of([stream])}
    for name in frames:
        if name not in relations:
            raise FrameError(
                f'stream "{stream.name}" reads no relation "{name}"',
                detail=f"It reads {', '.join(relations)}.",
            )
    programs = {each.name: each for each in lowered.program.relations}
    read = {
        name: read_frame(frame, relations[name], programs[name]) for name, frame in frames.items()
    }
    clone = clone_session(spark, STATE_SETTINGS)
    made = open_stream_kernel(clone, lowered, tuple(relations.values()), Path())
    return _events(_through(made.kernel, read))


def source_frame_of(spec: ProjectSpec, stream: Stream, spark: SparkSession) -> DataFrame:
    """Return a stream's events as a DataFrame of its columns, over the project's sources.

    Args:
        spec: The project, which names the sources.
        stream: The plan of the stream; without stores.
        spark: The session; its settings are left alone.

    Raises:
        FrameError: The stream asks a store.
        SessionError: The session is of Spark Connect.
    """
    require_classic(spark)
    lowered = lowered_streams([stream], spec.run)
    if lowered.asked:
        raise FrameError(
            f'stream "{stream.name}" queries a store, which needs batches',
            hint="Run it into a sink.",
        )
    clone = clone_session(spark, STATE_SETTINGS)
    made = open_stream_kernel(clone, lowered, relations_of([stream]), spec.path_of("."))
    raw = open_sources(clone, spec, sources_of(spec, [product_of(stream)]))
    chain = made.chain(raw.frame, raw.topics)
    return _events(DataFrame(made.kernel.streams().documents(chain._jdf), clone))


def _events(documents: DataFrame) -> DataFrame:
    return documents.select("value.*")


def _through(kernel: Kernel, frames: Mapping[str, TypedFrame | RawFrame]) -> DataFrame:
    door: Any = kernel.frames()
    for index, relation in enumerate(kernel.program.relations):
        match frames.get(relation.name):
            case TypedFrame(frame, absent):
                door.typed(frame._jdf, index, strings(kernel.session, absent))
            case RawFrame(frame):
                formats = formats_json(kernel.program, kernel.relations)
                sources = strings(kernel.session, [each.source for each in kernel.relations])
                topics = strings(kernel.session, [each.topic for each in kernel.relations])
                door.raw(frame._jdf, index, formats, sources, topics)
            case None:
                pass
    streaming = any(each.frame.isStreaming for each in frames.values())
    name = kernel.program.products[0].name
    return usable(door, kernel, name, streaming=streaming, json=False)
