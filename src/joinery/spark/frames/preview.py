"""What a stream makes of the beginning of its logs: one batch of its own, whose traces vanish.

Invariant: nothing of the project's own is written: checkpoint, sinks and dead letters stand
in a folder that is removed.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinery.model.progress import Progress
from joinery.plan.product import Plan, Sink
from joinery.plan.stream import Stream
from joinery.project.kind import SinkSpec
from joinery.project.product import ProjectSpec
from joinery.spark.batch.run import Run, RunOptions
from joinery.spark.frames.frame import refuse_personal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Preview:
    """The first events of a stream, and how many events became dead letters.

    Attributes:
        rows: By column.
        dead: Of the batch that was read.
        unsent: Events of the batch that were not sent: they wait, or a filter kept them out.
    """

    rows: tuple[dict[str, Any], ...]
    dead: int
    unsent: int


def preview(
    spec: ProjectSpec,
    stream: Stream,
    spark: SparkSession,
    *,
    rows: int = 20,
    read: int = 10_000,
) -> Preview:
    """Run one batch of a stream over the beginning of its logs.

    Args:
        spec: The project.
        stream: The plan of the stream; its sinks are left alone.
        spark: The session.
        rows: The most events that are returned.
        read: The most records that are read, of all relations together.

    Raises:
        FrameError: The stream has personal columns: a run makes keys, and a preview may not.
    """
    refuse_personal(
        f'stream "{stream.name}"',
        stream.named_relations,
        hint="Remove spark if it reads change files, or run the project: joinery run.",
    )
    with tempfile.TemporaryDirectory(prefix="joinery-preview-") as name:
        folder = Path(name)
        alone = replace(
            stream, sinks=(Sink("files", (("path", str(folder / "out")),)),), group=None
        )
        limits = replace(
            spec.run,
            checkpoint=str(folder / "checkpoint"),
            dead_letters=SinkSpec("files", (("path", str(folder / "dead")),)),
            max_rows_per_batch=read,
            real_time=False,
            http=None,
            lineage=None,
        )
        run = Run(
            replace(spec, run=limits),
            Plan((), (alone,)),
            RunOptions(once=True, on_batch=lambda batch: run.request_stop()),
        )
        run.prepare()
        run.start(spark)
        run.await_termination()
        found = tuple(row for row, _ in zip(_rows(folder / "out"), range(rows), strict=False))
        return Preview(found, run.progress.totals.dead, _unsent(stream, run.progress))


def _unsent(stream: Stream, progress: Progress) -> int:
    """Return how many of the events that were read neither left nor became dead letters."""
    counts = progress.relations.get(stream.relation.name, {})
    counted = progress.counters.get(stream.name, {}).get("events_dropped", 0)
    sent = progress.documents.get(stream.name, {}).get("upserts", 0)
    return max(0, counts.get("read", 0) - progress.totals.dead - counted - sent)


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.rglob("*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                value = json.loads(line, parse_float=Decimal)["value"]
                if value is not None:
                    yield value
