"""An outbox is declared in one line, and checked."""

from __future__ import annotations

from pathlib import Path

import pytest

import joinery as jn
from joinery.plan.build import build_plan
from joinery.plan.check import check
from joinery.plan.explain.text import render_product
from joinery.project.form import OutboxSpec
from joinery.project.load import dump_spec, load_spec

PROJECT = """\
sources: {{changes: {{kafka: {{bootstrap: "h:1"}}}}}}
defaults: {{format: debezium-json}}
relations:
  event:
    key: [id]
    fields: {{id: string, aggregatetype: string, aggregateid: string, type: string,
      payload: string, more: "struct<a: int>"}}{relation}
products:
  events: {product}
"""
SHORT = '{outbox: event, sink: {kafka: {topic: "out.{aggregatetype}"}}}'
LONG = (
    "{outbox: {relation: event, key: id, value: type, headers: {h: more}},"
    ' sink: {kafka: {topic: "out.{nothing}"}}}'
)


def written(folder: Path, product: str = SHORT, relation: str = "") -> Path:
    file = folder / "joinery.yaml"
    file.write_text(PROJECT.format(product=product, relation=relation), encoding="utf-8")
    return file


def test_debeziums_columns_are_the_default(tmp_path: Path) -> None:
    (product,) = build_plan(load_spec(written(tmp_path))).products

    headers = (("id", "id"), ("eventType", "type"))
    assert OutboxSpec("aggregateid", "payload", headers) == product.outbox
    assert product.sinks[0].options[0] == ("bootstrap", "h:1")


def test_a_plan_tells_what_goes_where(tmp_path: Path) -> None:
    (product,) = build_plan(load_spec(written(tmp_path))).products

    assert render_product(product).splitlines()[0] == (
        "Relay payload of events by aggregateid to kafka out.{aggregatetype}"
    )


@pytest.mark.parametrize("product", [SHORT, LONG.replace("nothing", "id")])
def test_what_is_written_reads_back(tmp_path: Path, product: str) -> None:
    spec = load_spec(written(tmp_path, product))
    again = tmp_path / "again.yaml"

    again.write_text(dump_spec(spec), encoding="utf-8")

    assert load_spec(again).products == spec.products


def test_python_declares_the_same(tmp_path: Path) -> None:
    made = jn.outbox("events", "event", sink={"kafka": {"topic": "out.{aggregatetype}"}})

    assert (made.spec,) == load_spec(written(tmp_path)).products


@pytest.mark.parametrize(
    ("product", "relation", "message"),
    [
        (LONG, "", 'relation "event" has no field "nothing"'),
        (LONG, "", '"more" of relation "event" is struct<a: int>'),
        (SHORT[:-1] + ", root: event}", "", 'product "events" has both "outbox" and "root"'),
        (SHORT[:-1] + ", ready: [event]}", "", 'has both "outbox" and "ready"'),
        ("{outbox: event}", "", 'product "events" needs "sink"'),
        ("{outbox: event, sink: {files: {path: out}}}", "", "whose events go to Kafka"),
        ("{outbox: {key: id}, sink: {kafka: {topic: t}}}", "", 'needs "relation"'),
        (SHORT, "\n    where: id is not null", "which has neither derive nor where"),
        (SHORT, '\n    topic: "pattern:e.*"', "reads several topics"),
        ('{outbox: event, sink: {kafka: {topic: "a b"}}}', "", 'a topic cannot be named "a b"'),
    ],
)
def test_what_cannot_be_an_outbox_is_refused(
    tmp_path: Path, product: str, relation: str, message: str
) -> None:
    problems = check(written(tmp_path, product, relation))

    assert [each.message for each in problems if message in each.message] != []
