"""`joinery why` and `joinery preview` read topics in Kafka as they read change files."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from tests.services.log import Log

import joinery as jn
from joinery.dev.service import Service
from joinery.plan.build import build_plan
from joinery.spark.frames.file_preview import preview_files

pytestmark = pytest.mark.services
PROJECT = """\
name: shop
sources: {{log: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
defaults: {{source: log, format: json}}
relations:
  customer: {{topic: {topic}-customer, key: [id], fields: {{id: long, name: string}}}}
  orders: {{topic: {topic}-orders, key: [id], fields: {{id: long, customer_id: long}}}}
products:
  profile:
    root: customer
    fields: [name]
    embed: {{orders: {{many: orders, on: {{customer_id: id}}, fields: [id]}}}}
    sink: {{files: {{path: out}}}}
"""


def test_a_document_is_told_from_its_topics(kafka: Service, tmp_path: Path) -> None:
    topic, log = f"why-{uuid.uuid4().hex[:8]}", Log(kafka.address, {})
    log.create(f"{topic}-customer")
    log.create(f"{topic}-orders", partitions=2)
    log.put(f"{topic}-customer", {"id": 7, "name": "Ada"}, at_ms=2_000)
    log.put(f"{topic}-orders", {"id": 1, "customer_id": 7}, partition=0, at_ms=3_000)
    log.put(f"{topic}-orders", {"id": 2, "customer_id": 7}, partition=1, at_ms=1_000)
    log.put(f"{topic}-orders", None, key={"id": 2}, partition=1, at_ms=4_000)
    (tmp_path / "joinery.yaml").write_text(
        PROJECT.format(bootstrap=log.bootstrap, topic=topic), encoding="utf-8"
    )

    found = jn.why(tmp_path, "profile", 7, absent="orders:2")
    assert str(found) == repr(found)

    assert [
        ("(root)", f"{topic}-customer/0/0"),
        ("orders[0]", f"{topic}-orders/0/0"),
    ] == [(each.path, each.place) for each in found.parts]
    assert found.last is not None
    assert ("delete", f"{topic}-orders/1/1") == (found.last.does, found.last.place)
    assert 3 == found.altered
    assert [f"orders 2 was deleted at {topic}-orders/1/1"] == [*found.absent]

    spec = jn.load(tmp_path).spec
    plan = build_plan(spec).products[0]
    orders = [
        [each["id"] for each in shown.value["orders"]]
        for as_of in ("", f"{topic}-orders/0/0")
        for shown in preview_files(spec, plan, as_of=as_of).documents
        if shown.value is not None
    ]
    assert [[1], [1, 2]] == orders
