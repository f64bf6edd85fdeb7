"""A stream at work: its first events, its events as they come, its events as a DataFrame.

Spark is imported when one of them is asked for.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from html import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.errors import SpecError
from joinery.plan.product import Plan, Sink
from joinery.plan.stream import Stream
from joinery.project.kind import SinkSpec
from joinery.project.product import ProjectSpec
from joinery.semantics.render import document_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MOST_READ = 10_000


@dataclass(frozen=True, slots=True)
class Shown:
    """Events as a table: text anywhere, HTML in a notebook.

    Attributes:
        columns: Their names.
        rows: The first events.
        dead: How many records and events became dead letters.
        waiting: How many events wait for a row, or for a watermark.
        filtered: How many events a filter kept out.
        unsent: How many events were not sent, where nobody can tell why: they wait, or a
            filter kept them out.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    dead: int = 0
    waiting: int = 0
    filtered: int = 0
    unsent: int = 0

    def __str__(self) -> str:
        """Return the table as text."""
        told = [self.columns, *([_text(value) for value in row] for row in self.rows)]
        widths = [max(len(row[place]) for row in told) for place in range(len(self.columns))]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in told]
        return "\n".join([*lines, *self._note()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it."""
        parts = ["<table>", _html_row("th", self.columns)]
        parts += [_html_row("td", [_text(value) for value in row]) for row in self.rows]
        return "\n".join([*parts, "</table>", *(f"<p>{escape(each)}</p>" for each in self._note())])

    def _note(self) -> list[str]:
        """Return what became of the events that are not shown, as one line or none."""
        told = {
            "waiting for a row": self.waiting,
            "filtered out": self.filtered,
            "not sent: waiting, or filtered out": self.unsent,
            "dead letters": self.dead,
        }
        line = ", ".join(f"{count} {text}" for text, count in told.items() if count)
        return [line] if line else []


def shown_of_files(spec: ProjectSpec, stream: Stream, rows: int) -> Shown | None:
    """Return the first events of a stream that reads change files alone; None of another.

    The reference solution computes them, so no session is needed.
    """
    from joinery.spark.frames.file_preview import preview_files, previewable

    if not previewable(spec, stream):
        return None
    found = preview_files(spec, stream, most=_MOST_READ)
    columns = tuple(each.name for each in stream.output.fields)
    events = (
        json.loads(_json(each.value, stream), parse_float=Decimal) for each in found.documents
    )
    return Shown(
        columns,
        tuple(tuple(each[name] for name in columns) for each in islice(events, rows)),
        dead=len(found.dead) + len(found.records.letters),
        waiting=found.waiting,
        filtered=found.filtered,
    )


def _json(value: Any, stream: Stream) -> str:
    return document_json(value, stream.output)


def shown_of(spec: ProjectSpec, stream: Stream, spark: SparkSession, rows: int) -> Shown:
    """Return the first events of a stream, run over the beginning of its logs."""
    from joinery.spark.frames.preview import preview

    found = preview(spec, stream, spark, rows=rows, read=_MOST_READ)
    columns = tuple(each.name for each in stream.output.fields)
    events = tuple(tuple(row[name] for name in columns) for row in found.rows)
    return Shown(columns, events, dead=found.dead, unsent=found.unsent)


def taken(
    spec: ProjectSpec,
    stream: Stream,
    spark: SparkSession,
    rows: int,
    frames: Mapping[str, DataFrame],
) -> Shown:
    """Return the first events of a stream whose relations were declared with DataFrames.

    Raises:
        SpecError: They are streams themselves, which have no first events.
    """
    found = dataframe_of(spec, stream, spark, frames)
    if found.isStreaming:
        raise SpecError(
            f'a preview of "{stream.name}" cannot read streaming DataFrames',
            code="SPEC_PREVIEW",
            hint="Declare it with batch DataFrames, or write .to_dataframe() to the console.",
        )
    columns = tuple(each.name for each in stream.output.fields)
    return Shown(
        columns, tuple(tuple(row[name] for name in columns) for row in found.limit(rows).collect())
    )


def show(spec: ProjectSpec, stream: Stream, spark: SparkSession, seconds: float | None) -> None:
    """Print a stream's events as they come, until interrupted or for a number of seconds.

    Nothing of the project's own is written, and its address of `run.http` is left alone.
    """
    from joinery.spark.batch.run import Run, RunOptions

    with tempfile.TemporaryDirectory(prefix="joinery-show-") as folder:
        alone = replace(stream, sinks=(Sink("console"),), group=None)
        limits = replace(
            spec.run,
            checkpoint=str(Path(folder, "checkpoint")),
            dead_letters=SinkSpec("files", (("path", str(Path(folder, "dead"))),)),
            real_time=False,
            http=None,
            lineage=None,
        )
        run = Run(replace(spec, run=limits), Plan((), (alone,)), RunOptions())
        run.prepare()
        run.start(spark)
        try:
            run.await_termination(seconds)
        except KeyboardInterrupt:
            pass
        finally:
            run.stop()


def dataframe_of(
    spec: ProjectSpec, stream: Stream, spark: SparkSession, frames: Mapping[str, DataFrame]
) -> DataFrame:
    """Return a stream's events as a DataFrame of its columns.

    Args:
        spec: The project.
        stream: The plan of the stream.
        spark: The session.
        frames: Those that its relations were declared with; all of them or none.

    Raises:
        FrameError: Some of its relations were declared with frames, and others were not.
    """
    from joinery.spark.frames.documents import frame_of, source_frame_of
    from joinery.spark.frames.frame import FrameError

    given = {each.name: frames[each.name] for each in stream.relations if each.name in frames}
    lacking = [each.name for each in stream.relations if each.name not in frames]
    if given and lacking:
        raise FrameError(
            f'stream "{stream.name}" reads "{lacking[0]}" from a source,'
            f' and "{next(iter(given))}" from a DataFrame',
            hint=f'Declare "{lacking[0]}" with frame=…, too, or all of them without.',
        )
    if given:
        return frame_of(stream, spark, given, spec.run)
    return source_frame_of(spec, stream, spark)


def show_taken(
    spec: ProjectSpec,
    stream: Stream,
    spark: SparkSession,
    seconds: float | None,
    frames: Mapping[str, DataFrame],
) -> None:
    """Print the events of a stream whose relations were declared with DataFrames."""
    from joinery.spark.frames.show import show_frame

    show_frame(dataframe_of(spec, stream, spark, frames), seconds)


def _text(value: Any) -> str:
    return "null" if value is None else str(value)


def _html_row(cell: str, values: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{cell}>{escape(each)}</{cell}>" for each in values) + "</tr>"
