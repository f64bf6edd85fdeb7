"""Puts the rows of an export in Parquet into the spool of the database that they are of.

Spark reads the files, and writes of each row the line that the capture would have read of it.
What the log tells of no row is in none: columns of other types than a relation declares are
refused where one is read, and left out where none is.

Invariant: a table that lacks a column, or has a key twice or without a value, leaves all tables
waiting.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import functions as F
from pyspark.sql import types as T

from joinery.capture.bulk_row import Place, line_frame
from joinery.capture.export import (
    ExportError,
    TableExport,
    Taking,
    add_rows,
    begin_taking,
    end_taking,
)
from joinery.capture.server import ServerAwayError
from joinery.capture.spool import CaptureError
from joinery.model.progress import Waiting
from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct, parse_type, quoted
from joinery.project.relation import RelationSpec
from joinery.retry import Retry
from joinery.spark.batch.exports import SourceExport
from joinery.spark.recovery.attempt import cause_of
from joinery.spark.session import clone_session

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_FILE_ROWS = 50_000
_WRITING = ".writing"
_ROWS = "rows of a key"
_JSON = {
    "ignoreNullFields": "false",
    "timeZone": "UTC",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
# A time is written as text, which is in the session's zone.
_SESSION = {"spark.sql.session.timeZone": "UTC"}
# Other tools than old Sparks count days as we do; columns may differ from file to file; and a file
# that cannot be read is not left out, whatever the session's own settings are.
_PARQUET = {
    "ignoreCorruptFiles": "false",
    "ignoreMissingFiles": "false",
    "mergeSchema": "true",
    "datetimeRebaseMode": "CORRECTED",
    "int96RebaseMode": "CORRECTED",
}
_WHOLE = ("byte", "short", "integer", "long")
_TIMES = ("timestamp", "timestamp_ntz")
# By declared type, the types in Parquet whose JSON is read as one.
_FITS = {
    "boolean": ("boolean",),
    **dict.fromkeys(("byte", "short", "int", "long"), _WHOLE),
    **dict.fromkeys(("float", "double"), (*_WHOLE, "float", "double")),
    "string": ("string",),
    "binary": ("binary",),
    "date": ("date", "string"),
    **dict.fromkeys(_TIMES, (*_TIMES, "string")),
}
# These are written as texts: with all digits, and years of more than four.
_TEXTS = (*_TIMES, "date", "decimal")
_TOLD = frozenset((*_WHOLE, *_TEXTS, "boolean", "float", "double", "string", "binary"))


def take_export(
    spark: SparkSession,
    export: SourceExport,
    *,
    ended: Callable[[], bool],
    tell: Callable[[str], None],
    on_wait: Callable[[str, Waiting | None], None] = lambda target, waiting: None,
) -> bool:
    """Put the rows of a source's tables into its spool.

    Args:
        spark: The session; nothing depends on its settings.
        export: Of the source.
        ended: The taking is to be broken off, and the session's jobs with it.
        tell: Takes, for people, what was taken.
        on_wait: Called by target with what is waited for, and None once that is over.

    Returns:
        Whether it was not broken off.

    Raises:
        CaptureError: A table cannot be taken.
    """
    with export.spool.taking() as alone:
        if not alone:
            raise ExportError(f"another process loads an export into {export.spool.path}")
        own, server = clone_session(spark, _SESSION), _server(export.source.name, ended, on_wait)
        rows = {}
        for each in export.tables:
            try:
                rows[each.table] = _Table(own, export, each, server).take()
            except CaptureError:
                if ended():
                    return False
                raise
            if ended():
                return False
            tell(f"{rows[each.table]:,} rows of {each.table} taken from {len(each.files):,} files")
        end_taking(export.spool, rows)
    return True


def _server(
    source: str, ended: Callable[[], bool], on_wait: Callable[[str, Waiting | None], None]
) -> Retry:
    """Return what waits for the server of a source."""
    target = f"the database of source {source}, to take its export"
    return Retry(
        "database",
        {"source": source},
        lambda: target,
        outage=ServerAwayError,
        ended=ended,
        tell=lambda waiting: on_wait(target, waiting),
    )


class _Table:
    """One table of an export."""

    def __init__(
        self, spark: SparkSession, export: SourceExport, table: TableExport, server: Retry
    ) -> None:
        self._spark, self._export, self._server = spark, export, server
        self._table, self._files = table.table, table.files
        self._relations = export.relations[table.table]

    def take(self) -> int:
        """Take its rows; return how many there are."""
        spool = self._export.spool
        begin = partial(begin_taking, self._export.database, spool, self._table)
        taking = self._server.until_done(begin, f"table {self._table} was not loaded")
        with self._read():
            frame = self._frame()
            for each in self._relations:
                self._check_columns(each, frame.schema, taking)
            rows = max(self._check_key(frame, key) for key in {e.key for e in self._relations})
            folder = spool.rows(self._table) / _WRITING
            self._write(frame, taking, folder)
        parts = sorted(folder.glob("part-*.txt"))
        add_rows(spool, self._table, [each for each in parts if each.stat().st_size])
        shutil.rmtree(folder)
        return rows

    @contextmanager
    def _read(self) -> Iterator[None]:
        try:
            yield
        except (PySparkException, Py4JJavaError) as error:
            raise ExportError(
                f"the Parquet files of table {self._table} could not be read",
                detail=cause_of(error),
                hint="Export columns of types that Spark does not read as text, or not at all; the"
                f" first file is {self._files[0]}.",
            ) from error

    def _frame(self) -> DataFrame:
        files = [_url(each) for each in self._files]
        return self._spark.read.options(**_PARQUET).parquet(*files)

    def _check_columns(self, relation: RelationSpec, found: T.StructType, taking: Taking) -> None:
        for name, ddl in relation.fields:
            if name in taking.columns and not taking.columns[name]:
                raise ExportError(
                    f'column "{name}" of {self._table} has a type that cannot be loaded from an'
                    " export",
                    hint="Run joinery source read-again, which reads the tables without an export.",
                )
            if name not in found.names:
                if name in taking.columns or name in relation.key:
                    raise self._lacking(name, found)
            elif not _fits(parse_type(ddl), found[name].dataType):
                raise ExportError(
                    f'column "{name}" of {self._table} is {found[name].dataType.simpleString()} in'
                    f' Parquet, which relation "{relation.name}" cannot read as {ddl}',
                    hint="Export it as that type, or declare another.",
                )

    def _lacking(self, name: str, found: T.StructType) -> ExportError:
        return ExportError(
            f'the Parquet files of table {self._table} have no column "{name}"',
            detail=f"Their columns are {', '.join(found.names)}.",
            hint="Export it, too, under its own name.",
        )

    def _check_key(self, frame: DataFrame, key: Sequence[str]) -> int:
        """Refuse a key without a value, or of several rows; return how many rows there are."""
        columns = [F.col(quoted(each)) for each in key]
        null = reduce(or_, (each.isNull() for each in columns))
        rows = F.col(quoted(_ROWS))
        counted = (
            frame.groupBy(*columns)
            .agg(F.count(F.lit(1)).alias(_ROWS))
            .agg(
                F.coalesce(F.sum(rows), F.lit(0)),
                F.coalesce(F.sum(F.when(null, rows)), F.lit(0)),
                F.count(F.when(~null & (rows > 1), rows)),
            )
        )
        found = counted.first()
        assert found is not None  # sums without groups give one row
        shown = ", ".join(key)
        if found[1]:
            raise ExportError(
                f"{found[1]:,} rows of table {self._table} have no value in their key ({shown})",
                hint="Export the table again, or declare the key that it has.",
            )
        if found[2]:
            raise ExportError(
                f"{found[2]:,} keys of table {self._table} ({shown}) have several rows",
                detail="Nothing says which of them is newer.",
                hint="Keep only the files of one export in its folder.",
            )
        return int(found[0])

    def _write(self, frame: DataFrame, taking: Taking, folder: Path) -> None:
        """Write a line per row."""
        before, after = line_frame(self._table, Place(taking.place, int(time.time() * 1000)))
        told = [
            _value(each)
            for each in frame.schema
            if taking.columns.get(each.name, False) and _is_told(each.dataType)
        ]
        row = F.to_json(F.struct(*told), _JSON)
        lines = frame.select(F.concat(F.lit(before), row, F.lit(after)))
        writer = lines.write.mode("overwrite").option("maxRecordsPerFile", _FILE_ROWS)
        writer.option("compression", "none").text(_url(folder))


def _url(file: Path) -> str:
    """Return a file of this machine as Spark names it, which takes no escapes."""
    return f"file://{file.absolute()}"


def _value(field: T.StructField) -> Column:
    column = F.col(quoted(field.name))
    if field.dataType.typeName() in _TEXTS:
        column = column.cast("string")
    return column.alias(field.name)


def _is_told(found: T.DataType) -> bool:
    """Return whether a column that no relation reads is in a line."""
    match found:
        case T.ArrayType():
            return _is_told(found.elementType)
        case _:
            return found.typeName() in _TOLD


def _fits(declared: DataType, found: T.DataType) -> bool:
    """Return whether a column that is declared so can be read of what Parquet has."""
    match declared:
        case Atomic(name):
            return found.typeName() in _FITS.get(name, ())
        case Decimal():
            return found.typeName() in (*_WHOLE, "decimal", "string")
        case Array(element):
            return isinstance(found, T.ArrayType) and _fits(element, found.elementType)
        case Map() | Struct():
            return False  # no column of a table becomes one
