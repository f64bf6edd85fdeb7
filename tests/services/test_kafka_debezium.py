"""Debezium's own records, as PostgreSQL's connector wrote them, read from a real broker."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.services.log import Log
from tests.services.project_folder import ProjectFolder

from joinery.dev.service import Service
from joinery.model.batch import BatchProgress
from joinery.sinks.line import read_rows
from joinery.spark.batch.run import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]

RECORDS = Path(__file__).parents[2] / "kernel/src/test/resources/debezium"
TABLES = ("fix.public.t_def", "fix.public.t_full", "sch.public.t_full")
PROJECT = """\
sources: {{log: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
defaults: {{source: log, format: debezium-json}}
relations:
  t_def:
    topic: {at}.fix.public.t_def
    key: [id]
    fields: {{id: int, name: string, big: string}}
  t_full:
    topic: {at}.fix.public.t_full
    key: [id]
    fields: {{id: int, name: string, big: string}}
  t_sch:
    topic: "pattern:{at}.sch.*"
    key: [id]
    fields: {{id: int, name: string, amt: "decimal(12,2)", d: date, big: string}}
products:
  of_def: {{root: t_def, group: tables, fields: [id, name, {{size: length(big)}}], {sink}}}
  of_full: {{root: t_full, group: tables, fields: [id, name, {{size: length(big)}}], {sink}}}
  of_sch: {{root: t_sch, group: tables, fields: [id, amt, d, {{size: length(big)}}], {sink}}}
"""


@dataclass(frozen=True, slots=True)
class Tables(ProjectFolder):
    """The project of the three captured tables."""

    log: Log
    at: str

    def replay(self, *steps: str) -> int:
        """Append what Debezium wrote for some steps, each record to its partition, in order."""
        files = [each for each in RECORDS.glob("*.json") if each.name.split(".")[0] in steps]
        for file in sorted(files, key=_offset):
            _, *topic, partition, _, _ = file.name.split(".")
            told = json.loads(file.read_text())
            self.log.put(
                f"{self.at}.{'.'.join(topic)}",
                told["value_raw"],
                key=told["key_raw"],
                partition=int(partition.removeprefix("p")),
            )
        return len(files)

    def once(self, spark: SparkSession) -> list[BatchProgress]:
        """Run to the end of what there is."""
        batches: list[BatchProgress] = []
        assert run(spark, self, once=True, on_batch=batches.append).await_termination(300)
        return batches

    def documents(self) -> Mapping[str, Mapping[int, Any]]:
        """Return the newest documents of each product, by id."""
        found: dict[str, dict[int, Any]] = {}
        for folder in sorted((self.folder / "out").iterdir()):
            newest = found.setdefault(folder.name, {})
            for row in read_rows(sorted(folder.glob("*.jsonl"))):
                number = json.loads(row.key)["id"]
                newest.pop(number, None)
                if row.value:
                    newest[number] = json.loads(row.value)
        return found


def _offset(file: Path) -> tuple[str, int]:
    *_, partition, offset, _ = file.name.split(".")
    return partition, int(offset)


@pytest.fixture
def tables(kafka: Service, tmp_path: Path) -> Tables:
    """The project, with topics of three partitions of its own."""
    made = Tables(tmp_path, Log(kafka.address, {}), f"t{uuid.uuid4().hex[:8]}")
    sink = "sink: {files: {path: out}}"
    text = PROJECT.format(bootstrap=kafka.address, at=made.at, sink=sink)
    (tmp_path / "joinery.yaml").write_text(text)
    for topic in TABLES:
        made.log.create(f"{made.at}.{topic}", partitions=3)
    return made


def test_tables_are_followed_through_updates_changes_of_key_and_deletes(
    kafka_spark: SparkSession, tables: Tables
) -> None:
    inserted = tables.replay("insert", "update_toast_kept")
    first = tables.once(kafka_spark)

    row = {"id": 50, "name": "upd", "size": 9000}
    typed = {"id": 50, "amt": 12.5, "d": "2026-01-02", "size": 9000}
    assert {"of_def": {50: row}, "of_full": {50: row}, "of_sch": {50: typed}} == tables.documents()
    assert inserted == sum(each.read for each in first)

    tables.replay("update_pk")
    (moved,) = tables.once(kafka_spark)

    row, typed = {**row, "id": 51}, {**typed, "id": 51}
    bare = {**row, "size": None}
    assert {"of_def": {51: bare}, "of_full": {51: row}, "of_sch": {51: typed}} == tables.documents()
    assert 1 == moved.relations["t_def"]["unavailable_values"]
    assert "unavailable_values" not in moved.relations["t_full"]

    tables.replay("delete")
    (gone,) = tables.once(kafka_spark)

    assert {"of_def": {}, "of_full": {}, "of_sch": {}} == tables.documents()
    assert {each: {"tombstones": 1} for each in gone.documents} == {
        name: {"tombstones": counts["tombstones"]} for name, counts in gone.documents.items()
    }
    assert 0 == gone.dead


def test_what_debezium_tells_of_itself_is_not_read(
    kafka_spark: SparkSession, tables: Tables
) -> None:
    own: dict[str, dict[str, object]] = {
        f"{tables.at}.fix": {"databaseName": "shop", "ddl": "CREATE TABLE t (id int)"},
        f"__debezium-heartbeat.{tables.at}.fix": {"ts_ms": 1795250392962},
        f"{tables.at}.fix.transaction": {"status": "BEGIN", "id": "571:53195829"},
    }
    for topic, value in own.items():
        tables.log.put(topic, value)
    count = tables.replay("insert")

    batches = tables.once(kafka_spark)

    assert count == sum(each.read for each in batches)
    assert 0 == sum(each.dead for each in batches)
