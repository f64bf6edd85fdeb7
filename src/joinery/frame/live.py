"""A stream at work: its first events, its events as they come, its events as a DataFrame.

Spark is imported when one of them is asked for.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from joinery.errors import SpecError
from joinery.plan.nodes import Plan, Sink
from joinery.plan.stream import Stream
from joinery.spec.product import ProjectSpec


@dataclass(frozen=True, slots=True)
class Shown:
    """Events as a table: text anywhere, HTML in a notebook."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    dead: int = 0

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
        return [f"{self.dead} dead letters"] if self.dead else []


def shown_of(spec: ProjectSpec, stream: Stream, spark: Any, rows: int) -> Shown:
    """Return the first events of a stream, run over the beginning of its logs."""
    found = import_module("joinery.spark.preview").preview(spec, stream, spark, rows=rows)
    columns = tuple(each.name for each in stream.output.fields)
    return Shown(
        columns, tuple(tuple(row[name] for name in columns) for row in found.rows), found.dead
    )


def taken(
    spec: ProjectSpec, stream: Stream, spark: Any, rows: int, frames: dict[str, Any]
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


def show(spec: ProjectSpec, stream: Stream, spark: Any, seconds: float | None) -> None:
    """Print a stream's events as they come, until interrupted or so many seconds are over."""
    runtime = import_module("joinery.spark.run")
    with tempfile.TemporaryDirectory(prefix="joinery-show-") as folder:
        alone = replace(stream, sinks=(Sink("console"),), group=None)
        limits = replace(spec.run, checkpoint=str(Path(folder, "checkpoint")), real_time=False)
        options = runtime.RunOptions()
        run = runtime.Run(replace(spec, run=limits), Plan((), (alone,)), options)
        run.prepare()
        run.start(spark)
        try:
            run.await_termination(seconds)
        except KeyboardInterrupt:
            pass
        finally:
            run.stop()


def dataframe_of(spec: ProjectSpec, stream: Stream, spark: Any, frames: dict[str, Any]) -> Any:
    """Return a stream's events as a DataFrame of its columns.

    Args:
        spec: The project.
        stream: The plan of the stream.
        spark: The session.
        frames: Those that its relations were declared with; all of them or none.
    """
    door = import_module("joinery.spark.stream_frame")
    given = {each.name: frames[each.name] for each in stream.relations if each.name in frames}
    if given:
        return door.frame_of(stream, spark, given, spec.run)
    return door.source_frame_of(spec, stream, spark)


def _text(value: Any) -> str:
    return "null" if value is None else str(value)


def _html_row(cell: str, values: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{cell}>{escape(each)}</{cell}>" for each in values) + "</tr>"
