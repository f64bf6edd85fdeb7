"""A partition of a Kafka topic that falls silent holds nothing up, by the run's clock."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.services.captured import until
from tests.services.log import Log
from tests.services.page_counts import sent
from tests.session_run import going

from joinery.dev.service import Service

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]
PROJECT = """\
name: web
sources: {{log: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
relations:
  views:
    topic: {topic}
    format: json
    append: true
    time: at
    watermark: {{idle: 4s}}
    fields: {{page: string, at: timestamp}}
products:
  minutes:
    aggregate: views
    by: [page]
    window: {{tumbling: 1m}}
    values: {{n: count(*)}}
    emit: {{when: closed, late: drop}}
    sink: {{files: {{path: out}}}}
  last:
    aggregate: views
    by: [page]
    window: {{sliding: 1m}}
    values: {{n: count(*)}}
    emit: {{late: drop}}
    sink: {{files: {{path: out}}}}
"""


def view(clock: str, page: str = "home") -> Mapping[str, Any]:
    return {"page": page, "at": f"2026-03-01T{clock}Z"}


def test_a_silent_partition_holds_no_window_open_and_is_overtaken_when_it_speaks_again(
    kafka_spark: SparkSession, kafka: Service, tmp_path: Path
) -> None:
    topic, log = f"views-{uuid.uuid4().hex[:8]}", Log(kafka.address, {})
    log.create(topic, 2)
    text = PROJECT.format(bootstrap=log.bootstrap, topic=topic)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    log.put(topic, view("10:00:05"), view("10:00:06"), partition=0)
    log.put(topic, view("10:00:10"), partition=1)

    def closes() -> bool:
        """Keep one partition going until the other is not waited for, by either product."""
        log.put(topic, view("10:02:00", "other"), partition=0)
        return bool(sent(tmp_path, "minutes")) and ("home", None) in sent(tmp_path, "last")

    with going(kafka_spark, tmp_path) as run:

        def overtaken() -> int:
            return run.progress.counters.get("minutes", {}).get("overtaken", 0)

        until(closes)
        log.put(topic, view("10:00:30"), partition=1)
        until(overtaken)
        log.put(topic, view("10:03:00"), view("10:04:00"), partition=1)
        log.put(topic, view("10:04:00"), partition=0)
        until(lambda: len(sent(tmp_path, "minutes")) >= 3)

    assert [("home", 3)] == sent(tmp_path, "minutes")[:1]
    assert ("home", 1) in sent(tmp_path, "minutes")
    assert 1 == overtaken()


WITHIN = """\
name: web
sources: {{log: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
defaults: {{format: json}}
relations:
  search: {{topic: {topic}-search, key: [id], fields: {{id: long, at: timestamp}}, time: at}}
  click:
    topic: {topic}-click
    key: [id]
    fields: {{id: long, search_id: long, at: timestamp}}
    time: at
    watermark: {{idle: 4s}}
products:
  outcome:
    root: search
    fields: [id]
    embed: {{clicks: {{many: click, on: {{search_id: id}}, within: [0s, 30m], fields: [id]}}}}
    emit: {{when: closed}}
    sink: {{files: {{path: out}}}}
"""


def test_what_did_not_happen_is_told_by_the_partitions_that_go_on(
    kafka_spark: SparkSession, kafka: Service, tmp_path: Path
) -> None:
    topic, log = f"within-{uuid.uuid4().hex[:8]}", Log(kafka.address, {})
    log.create(f"{topic}-search", 1)
    log.create(f"{topic}-click", 2)
    text = WITHIN.format(bootstrap=log.bootstrap, topic=topic)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    ten = [{"id": each, "at": f"2026-03-01T10:{each:02}:00Z"} for each in range(10)]
    log.put(f"{topic}-search", *ten, partition=0)
    click = {"id": 1, "search_id": 77, "at": "2026-03-01T10:05:00Z"}
    log.put(f"{topic}-click", click, partition=1)

    def outcomes() -> list[tuple[int, Any]]:
        files = sorted((tmp_path / "out" / "outcome").glob("*.jsonl"))
        lines = [json.loads(line) for each in files for line in each.read_text().splitlines()]
        return [(each["key"]["id"], each["value"]["clicks"]) for each in lines]

    def told() -> bool:
        """Keep one partition going until the other is not waited for."""
        log.put(f"{topic}-click", {**click, "id": 2, "at": "2026-03-01T11:00:00Z"}, partition=0)
        return len(outcomes()) == 10

    with going(kafka_spark, tmp_path):
        until(told)

    assert [(each, []) for each in range(10)] == sorted(outcomes())
