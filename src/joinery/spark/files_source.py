"""Opens a files source: the lines of change files, each with its place."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from joinery.spec.product import ProjectSpec, SourceSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES = "dev.joinery.kernel.files.FilesSource"


def open_files(
    spark: SparkSession, spec: ProjectSpec, source: SourceSpec, topics: Sequence[str]
) -> DataFrame:
    """Return the raw stream of some topics, numbered in their order."""
    folder = spec.path_of(str(dict(source.options)["path"]))
    return (
        spark.readStream.format(_FILES)
        .option("path", str(folder))
        .option("topics", json.dumps(list(topics)))
        .option("maxRowsPerBatch", spec.run.max_rows_per_batch)
        .option("maxRecordBytes", spec.run.max_record_bytes)
        .load()
    )
