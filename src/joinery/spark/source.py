"""Opens the raw stream of a query: one row a message, tagged with its topic."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.errors import RunError
from joinery.plan.nodes import Product
from joinery.spec.product import ProjectSpec, SourceSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FILES = "dev.joinery.kernel.files.FilesSource"


class SourceNotThereError(RunError):
    """A source that this version cannot read."""

    code = "RUN_SOURCE"


def topics_of(products: Sequence[Product]) -> tuple[str, ...]:
    """Return the topics of some products, each once, in the order of their relations."""
    return tuple(dict.fromkeys(each.topic for one in products for each in one.relations))


def source_of(spec: ProjectSpec, products: Sequence[Product]) -> SourceSpec:
    """Return the one source that a query reads.

    Raises:
        SourceNotThereError: The products read several, or one of a kind that is not there yet.
    """
    names = tuple(dict.fromkeys(each.source for one in products for each in one.relations))
    if len(names) > 1:
        raise SourceNotThereError(
            f"the relations of one query come from several sources: {', '.join(names)}",
            hint="Give them one source; several in one query are not there yet.",
        )
    source = next(each for each in spec.sources if each.name == names[0])
    if source.kind != "files":
        raise SourceNotThereError(
            f'source "{source.name}" is of kind "{source.kind}", which is not there yet',
            hint="Use {files: {path: …}}.",
        )
    return source


def files_path(spec: ProjectSpec, source: SourceSpec) -> Path:
    """Return the folder of a files source."""
    return spec.path_of(str(dict(source.options)["path"]))


def open_source(spark: SparkSession, spec: ProjectSpec, products: Sequence[Product]) -> DataFrame:
    """Return the raw stream of some products' relations."""
    folder = files_path(spec, source_of(spec, products))
    return (
        spark.readStream.format(_FILES)
        .option("path", str(folder))
        .option("topics", json.dumps(topics_of(products)))
        .option("maxRowsPerBatch", spec.run.max_rows_per_batch)
        .option("maxRecordBytes", spec.run.max_record_bytes)
        .load()
    )
