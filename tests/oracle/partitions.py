"""A source of records with a partition, an offset and the time of the log, without a broker.

A batch is a file of records for each partition, as a broker would give them; Spark reads it as the
raw stream of a source, so all behind it is what runs on Kafka.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from joinery.files import write_whole
from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.plan.product import Plan
from joinery.plan.stream import outputs_of
from joinery.project.kind import SourceSpec
from joinery.project.product import ProjectSpec
from joinery.semantics.read_change import change_line
from joinery.spark import testing
from joinery.spark.source import open as opening
from joinery.spark.source.source import BatchRoom, RawStream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_COLUMNS = """topic int, major bigint, minor bigint, file string, key binary, value string,
    error string, name string, logged bigint"""
_RECORDS = "records"


@contextmanager
def partitioned() -> Iterator[None]:
    """Have `SparkRunner` write records and read them, in place of change files."""
    offsets: Counter[tuple[str, int]] = Counter()

    def write(folder: Path, plan: Plan, batch: Sequence[Change], number: int) -> None:
        if number == 0:
            offsets.clear()
        _write(folder, plan, batch, number, offsets)

    with patch.object(testing, "write_batch", write), patch.object(opening, "open_files", _open):
        yield


def plan_of_records(spec: ProjectSpec) -> Plan:
    """Return the plan of a project as if its source were a broker."""
    return build_plan(of_records(spec))


def of_records(spec: ProjectSpec) -> ProjectSpec:
    """Return a project as if its source were a broker."""
    brokers = (SourceSpec(each.name, "kafka", (("bootstrap", "-"),)) for each in spec.sources)
    return replace(spec, sources=tuple(brokers))


def _write(
    folder: Path,
    plan: Plan,
    batch: Sequence[Change],
    number: int,
    offsets: Counter[tuple[str, int]],
) -> None:
    relations = {each.name: each for one in outputs_of(plan) for each in one.relations}
    topics = list(dict.fromkeys(each.topic for each in relations.values()))
    lines: dict[int, list[str]] = {}
    for change in batch:
        if change.relation in relations:
            relation = relations[change.relation]
            place = relation.topic, change.partition
            record = {
                "topic": topics.index(relation.topic),
                "major": change.partition,
                "minor": offsets[place],
                "value": change_line(change, relation),
                "logged": change.logged_us,
            }
            lines.setdefault(change.partition, []).append(json.dumps(record))
            offsets[place] += 1
    for partition, told in lines.items():
        content = "".join(f"{each}\n" for each in told)
        write_whole(folder / _RECORDS / f"{number:06d}-{partition}.json", content, synced=False)


def _open(
    spark: SparkSession,
    spec: ProjectSpec,
    source: SourceSpec,
    topics: Sequence[str],
    room: BatchRoom,
    in_order: Sequence[str] = (),
) -> RawStream:
    folder = spec.path_of(str(dict(source.options)["path"])) / _RECORDS
    frame = spark.readStream.schema(_COLUMNS).json(str(folder))
    value = frame["value"].cast("binary")
    return RawStream(frame.withColumn("value", value), tuple((each,) for each in topics))
