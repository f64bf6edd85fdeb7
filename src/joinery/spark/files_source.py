"""Opens a files source: the lines of change files, each with its place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from joinery.spark.source import SourceNotThereError
from joinery.spark.topic import RawStream
from joinery.spec.product import ProjectSpec, SourceSpec

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FILES = "dev.joinery.kernel.files.FilesSource"
_NO_LIMIT = (1 << 63) - 1


def open_files(
    spark: SparkSession, spec: ProjectSpec, source: SourceSpec, topics: Sequence[str]
) -> RawStream:
    """Return the raw stream of some topics, numbered in their order.

    Raises:
        SourceNotThereError: Something else than a folder is in its place.
    """
    folder = spec.path_of(str(dict(source.options)["path"]))
    for place in (folder, *(folder / each for each in topics)):
        if place.exists() and not place.is_dir():
            raise SourceNotThereError(
                f'source "{source.name}" reads a folder, and {place} is none',
                hint="Name the folder that has a folder for each topic.",
            )
    frame = (
        spark.readStream.format(_FILES)
        .option("path", str(folder))
        .option("topics", json.dumps(list(topics)))
        .option("maxRowsPerBatch", spec.run.max_rows_per_batch)
        .option("maxBytesPerBatch", spec.run.max_bytes_per_batch or _NO_LIMIT)
        .option("maxRecordBytes", spec.run.max_record_bytes)
        .load()
    )
    named = frame.withColumn("name", F.lit(None).cast("string"))
    return RawStream(named, tuple((each,) for each in topics))
