"""Opens the raw stream of a query: one row a message, tagged with its topic."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.errors import SpecError
from joinery.plan.nodes import Product
from joinery.spec.product import ProjectSpec, SourceSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_FORMATS = ("debezium-json", "json")
_FILES = "dev.joinery.kernel.files.FilesSource"


class SourceNotThereError(SpecError):
    """A source or a format that this version cannot read."""

    code = "RUN_SOURCE"


def source_of(spec: ProjectSpec, products: Sequence[Product]) -> SourceSpec:
    """Return the one source that a query reads.

    Raises:
        SourceNotThereError: The products read several, or one of a kind that is not there yet.
    """
    relations = tuple(dict.fromkeys(each for one in products for each in one.relations))
    for relation in relations:
        if relation.format not in _FORMATS:
            raise SourceNotThereError(
                f'format "{relation.format}" of relation "{relation.name}" is not there yet',
                hint=f"Use {' or '.join(_FORMATS)}.",
            )
    names = tuple(dict.fromkeys(each.source for each in relations))
    if len(names) > 1:
        raise SourceNotThereError(
            f"the relations of one query come from several sources: {', '.join(names)}",
            hint="Give them one source; several in one query are not there yet.",
        )
    source = next((each for each in spec.sources if each.name == names[0]), None)
    if source is None:
        raise SourceNotThereError(
            "the project has no source", hint="Add sources: {changes: {files: {path: data}}}."
        )
    if source.kind != "files":
        raise SourceNotThereError(
            f'source "{source.name}" is of kind "{source.kind}", which is not there yet',
            hint="Use {files: {path: …}}.",
        )
    return source


def files_path(spec: ProjectSpec, source: SourceSpec) -> Path:
    """Return the folder of a files source."""
    return spec.path_of(str(dict(source.options)["path"]))


def open_source(
    spark: SparkSession, spec: ProjectSpec, source: SourceSpec, topics: Sequence[str]
) -> DataFrame:
    """Return the raw stream of some topics, numbered in their order."""
    folder = files_path(spec, source)
    return (
        spark.readStream.format(_FILES)
        .option("path", str(folder))
        .option("topics", json.dumps(list(topics)))
        .option("maxRowsPerBatch", spec.run.max_rows_per_batch)
        .option("maxRecordBytes", spec.run.max_record_bytes)
        .load()
    )
