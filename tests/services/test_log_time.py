"""The time at which Kafka took a record tells how far clocks are off, and bounds watermarks."""

from __future__ import annotations

import json
import uuid
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.services.log import Log

import joinery as jn
from joinery.dev.service import Service

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.services, pytest.mark.spark]
PROJECT = """\
name: phones
sources: {{log: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
defaults: {{format: json}}
relations:
  taps:
    topic: {topic}
    append: true
    fields: {{id: long, tapped: timestamp, sent: timestamp, log_at: string}}
    time: {{event: tapped, sent: sent, received: $log, tolerance: 5m, max: 2d}}
  views:
    topic: {topic}
    append: true
    fields: {{id: long, tapped: timestamp}}
    time: tapped
    watermark: {{ahead: 10m}}
products:
  clocks:
    aggregate: taps
    by: [clock]
    values: {{ids: "collect(id, 9)", last: max(event_time), logged: max(log_time)}}
    group: phones
    sink: {{files: {{path: out}}}}
  hours:
    aggregate: views
    window: {{tumbling: 1h}}
    values: {{n: count(*)}}
    emit: {{when: closed, late: drop}}
    group: phones
    sink: {{files: {{path: out}}}}
"""


PRICES = """\
name: prices
sources: {{log: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
defaults: {{format: json}}
relations:
  price: {{topic: {topic}, key: [id], fields: {{id: long, cents: long, since: timestamp}}}}
products:
  prices: {{history: price, valid: since, known_at: true, sink: {{files: {{path: out}}}}}}
"""


def at_ms(clock: str) -> int:
    return round(datetime.fromisoformat(f"2026-03-01T{clock}:00Z").timestamp() * 1000)


def tap(id: int, tapped: str, sent: str) -> dict[str, Any]:
    """Return what a device tells; `log_at` and `log_time` are its own words, and no times."""
    at = {"tapped": tapped, "sent": sent}
    times = {name: f"2026-03-01T{clock}:00Z" for name, clock in at.items()}
    return {"id": id, **times, "log_at": "noon", "log_time": "midnight"}


def held(folder: Path, product: str) -> dict[str, Any]:
    """Return the newest value of each key of a product, by what stands first in the key."""
    files = sorted((folder / "out" / product).glob("*.jsonl"))
    lines = [json.loads(line) for each in files for line in each.read_text().splitlines()]
    return {next(iter(each["key"].values())): each["value"] for each in lines}


def test_clocks_and_watermarks_go_by_the_time_at_which_kafka_took_a_record(
    kafka: Service, kafka_spark: SparkSession, tmp_path: Path
) -> None:
    topic, log = f"taps-{uuid.uuid4().hex[:8]}", Log(kafka.address, {})
    log.create(topic)
    text = PROJECT.format(bootstrap=log.bootstrap, topic=topic)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")

    log.put(topic, tap(1, "10:00", "10:01"), at_ms=at_ms("10:02"))
    log.put(topic, tap(2, "18:00", "18:01"), at_ms=at_ms("10:05"))  # its clock is eight hours fast
    log.put(topic, tap(3, "10:30", "10:31"), at_ms=at_ms("10:31"))
    log.put(topic, tap(4, "11:05", "11:05"), at_ms=at_ms("11:06"))
    log.put(topic, tap(5, "10:40", "10:41"), at_ms=at_ms("11:07"))
    run = jn.run(kafka_spark, jn.load(tmp_path / "joinery.yaml"), once=True)
    run.await_termination()

    clocks = held(tmp_path, "clocks")
    assert [1, 3, 4] == clocks["ok"]["ids"]
    assert [2, 5] == clocks["repaired"]["ids"]
    assert "2026-03-01T11:06:00Z" == clocks["repaired"]["last"]
    assert "2026-03-01T11:07:00Z" == clocks["repaired"]["logged"]
    # The fast clock closes no hour: what came at 11:05 does, and what is older then is late.
    hours = held(tmp_path, "hours")
    assert [("2026-03-01T10:00:00Z", 2)] == [(start, each["n"]) for start, each in hours.items()]
    assert 1 == run.progress.counters["hours"]["late"]
    assert 1 == run.progress.relations["views"]["time_ahead"]


def test_versions_are_known_from_when_kafka_took_their_records(
    kafka: Service, kafka_spark: SparkSession, tmp_path: Path
) -> None:
    topic, log = f"price-{uuid.uuid4().hex[:8]}", Log(kafka.address, {})
    log.create(topic)
    text = PRICES.format(bootstrap=log.bootstrap, topic=topic)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    price = {"id": 1, "since": "2026-03-01T08:00:00Z"}

    log.put(topic, {**price, "cents": 100, "log_time": "noon"}, at_ms=at_ms("10:00"))
    log.put(topic, {**price, "cents": 90}, at_ms=at_ms("11:00"))
    ended = {**price, "since": "2026-03-01T09:00:00Z", "__deleted": True}
    log.put(topic, ended, at_ms=at_ms("12:00"))
    jn.run(kafka_spark, jn.load(tmp_path / "joinery.yaml"), once=True).await_termination()

    files = sorted((tmp_path / "out" / "prices").glob("*.jsonl"))
    rows = [json.loads(line)["value"] for each in files for line in each.read_text().splitlines()]
    names = ("known_from", "known_to", "valid_to")
    shown = [[(each[name] or "")[11:16] for name in names] for each in rows]
    assert [[100, False], [90, False], [90, False]] == [
        [each["cents"], each["is_current"]] for each in rows
    ]
    assert [["10:00", "11:00", ""], ["11:00", "12:00", ""], ["12:00", "", "09:00"]] == shown
