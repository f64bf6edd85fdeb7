"""Opens a files source: the lines of change files, each with its place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.spark.source.source import (
    BatchRoom,
    RawStream,
    SourceNotThereError,
    batch_options,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES = "dev.joinery.kernel.files.FilesSource"


def open_files(
    spark: SparkSession,
    spec: ProjectSpec,
    source: SourceSpec,
    topics: Sequence[str],
    room: BatchRoom,
    in_order: Sequence[str] = (),
) -> RawStream:
    """Return the raw stream of some topics, numbered in their order; one task reads `in_order`.

    Raises:
        SourceNotThereError: Something else than a folder is in its place.
    """
    told = dict(source.options)
    folder = spec.path_of(str(told["path"]))
    for place in (folder, *(folder / each for each in topics)):
        if place.exists() and not place.is_dir():
            raise SourceNotThereError(
                f'source "{source.name}" reads a folder, and {place} is not one',
                hint="Name the folder that has a folder for each topic.",
            )
    stream = (
        spark.readStream.format(_FILES)
        .option("path", str(folder))
        .option("topics", json.dumps(list(topics)))
        .option("inOrder", json.dumps(list(in_order)))
        .option("tail", str(told.get("tail", "")))
        .options(**batch_options(spec.run, room))
        .option("maxRecordBytes", spec.run.max_record_bytes)
        .load()
    )
    return RawStream(_raw(stream), tuple((each,) for each in topics))


def files_again(
    spark: SparkSession,
    spec: ProjectSpec,
    source: SourceSpec,
    topics: Sequence[str],
    *,
    until: str,
    labels: str,
) -> DataFrame:
    """Return the raw records that a stream has read of some topics, numbered in their order.

    Args:
        spark: The session.
        spec: The project.
        source: The source.
        topics: Some that the stream reads.
        until: Where the stream stands, as Spark writes it.
        labels: Where it noted the files that it has seen.
    """
    records = (
        spark.read.format(_FILES)
        .option("path", str(spec.path_of(str(dict(source.options)["path"]))))
        .option("topics", json.dumps(list(topics)))
        .option("maxRecordBytes", spec.run.max_record_bytes)
        .option("until", until)
        .option("labels", labels)
        .load()
    )
    return _raw(records)


def _raw(frame: DataFrame) -> DataFrame:
    named = frame.withColumn("name", F.lit(None).cast("string"))
    return named.withColumn("logged", F.lit(None).cast("bigint"))
