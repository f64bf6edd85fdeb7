"""Streams from Kafka to Kafka, on a real broker: in batches and in real time."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from tests.services.live_run import Topic, live_run
from tests.services.log import Log

from joinery.dev.service import Service

pytestmark = [pytest.mark.services, pytest.mark.spark]
PROJECT = """\
name: shop
sources: {{log: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
defaults: {{format: json}}
relations:
  orders:
    topic: {at}.orders
    append: true
    key: [id]
    fields: {{id: long, customer_id: long, quantity: int}}
  customers: {{topic: {at}.customers, key: [id], fields: {{id: long, name: string}}}}
streams:
  enriched:
    from: orders
    steps:
      - {{filter: quantity > 0}}
      - {{lookup: customers, on: {{id: customer_id}}, fields: [name]}}
      - {{select: [id, name]}}
    sink: {{kafka: {{topic: {at}.enriched}}}}
run:
  checkpoint_interval: 10s
  dead_letters: {{kafka: {{topic: {at}.dead}}}}
"""


@pytest.fixture
def log(kafka: Service) -> Log:
    return Log(kafka.address, {})


@pytest.fixture
def at(log: Log) -> str:
    """The prefix of the topics of one test."""
    prefix = f"st-{uuid.uuid4().hex[:8]}"
    for name in ("orders", "customers", "dead", "enriched"):
        log.create(f"{prefix}.{name}")
    return prefix


@pytest.fixture
def project(tmp_path: Path, log: Log, at: str) -> Path:
    text = PROJECT.format(bootstrap=log.bootstrap, at=at)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def order(log: Log, at: str, number: int, customer: int, quantity: int = 1) -> None:
    row: dict[str, Any] = {"id": number, "customer_id": customer, "quantity": quantity}
    log.put(f"{at}.orders", row)


def named(events: Topic) -> dict[int, Any]:
    return {each["id"]: each["name"] for each in events.newest().values()}


def test_an_event_is_enriched_as_it_comes(project: Path, log: Log, at: str) -> None:
    events = Topic(log.bootstrap, f"{at}.enriched")
    log.put(f"{at}.customers", {"id": 7, "name": "Ada"})
    order(log, at, 1, 7)
    with live_run(project, "--real-time") as run:
        run.until(run.is_live, "real time")
        run.until(lambda: named(events) == {1: "Ada"}, "the backlog")

        order(log, at, 2, 7, quantity=0)
        order(log, at, 3, 8)
        order(log, at, 4, 7)
        run.until(lambda: named(events) == {1: "Ada", 3: None, 4: "Ada"}, "events")
        log.put(f"{at}.customers", {"id": 8, "name": "Eve"})
        order(log, at, 5, 8)
        run.until(lambda: 5 in named(events), "an event after its row")

        assert 0 == run.stop(), run.said()
    assert {1: "Ada", 3: None, 4: "Ada"} == {
        number: name for number, name in named(events).items() if number != 5
    }
