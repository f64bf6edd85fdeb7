"""Streams that remember events in real-time mode: rolling columns, pairs, and what was seen."""

from __future__ import annotations

import json
import random
import uuid
from pathlib import Path
from typing import Any

import pytest
from tests.services.live_run import Topic, live_run
from tests.services.live_truth import record
from tests.services.log import Log

from joinery.dev.service import Service
from joinery.plan.build import build_plan
from joinery.project.load import load_spec
from joinery.testing.changes import RowChange, insert
from joinery.testing.stream_driver import StreamDriver

pytestmark = [pytest.mark.services, pytest.mark.spark]

PROJECT = """\
name: {at}
sources: {{changes: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
defaults: {{format: json}}
relations:
  payment:
    topic: {at}.payment
    append: true
    key: [id]
    fields: {{id: long, card: string, amount: long, at: timestamp}}
    time: at
  click:
    topic: {at}.click
    append: true
    key: [id]
    fields: {{id: long, card: string, at: timestamp}}
    time: at
streams:
  scored:
    from: payment
    steps:
      - rolling: {{by: [card], over: 10m, values: {{n: count(*), most: max(amount)}}}}
      - select: [card, n, most]
    sink: {{kafka: {{topic: {at}.scored}}}}
  first:
    from: payment
    steps:
      - filter: "not seen(card, for => '5m')"
      - select: [card]
    sink: {{kafka: {{topic: {at}.first}}}}
  pairs:
    from: payment
    steps:
      - {{join: click, on: {{card: card}}, within: [-5m, 5m], fields: {{clicked: at}}}}
      - select: [card, clicked]
    sink: {{kafka: {{topic: {at}.pairs}}}}
run:
  checkpoint_interval: 10s
"""
STREAMS = ("scored", "first", "pairs")


class Shop:
    """Draws payments and clicks, some of them late; keeps what streams must send of them."""

    def __init__(self, folder: Path, log: Log) -> None:
        spec = load_spec(folder / "joinery.yaml")
        self._streams = {each.name: each for each in build_plan(spec).streams}
        self._relations = {r.name: r for s in self._streams.values() for r in s.named_relations}
        self._log, self._pick = log, random.Random(6)
        self._told: list[RowChange] = []
        self._sent: dict[str, tuple[int, dict[str, Any]]] = {}
        self.topics = {
            name: Topic(log.bootstrap, str(dict(each.sinks[0].options)["topic"]))
            for name, each in self._streams.items()
        }
        for relation in self._relations.values():
            log.create(relation.topic)

    def some(self, count: int) -> None:
        made = [self._one(len(self._told) + number) for number in range(count)]
        self._told += made
        changes = [each.change(self._relations[each.relation]) for each in made]
        self._log.put_all(record(each, self._relations[each.relation]) for each in changes)

    def _one(self, number: int) -> RowChange:
        minute = max(0, number // 2 - self._pick.choice([0, 0, 0, 3, 12]))
        at = f"2026-01-01T{minute // 60:02}:{minute % 60:02}:00Z"
        event = {"id": number, "card": self._pick.choice("abcd"), "at": at}
        if self._pick.random() < 0.3:
            return insert("click", **event)
        return insert("payment", **event, amount=self._pick.randrange(50))

    def expected(self, name: str) -> dict[str, Any]:
        """Return what a stream must have sent, worked out once for so many events."""
        if self._sent.get(name, (0, {}))[0] != len(self._told):
            self._sent[name] = len(self._told), self._worked_out(name)
        return self._sent[name][1]

    def _worked_out(self, name: str) -> dict[str, Any]:
        driver = StreamDriver(self._streams[name])
        known = {each.name for each in self._streams[name].named_relations}
        sent = driver.send(*(each for each in self._told if each.relation in known))
        return {_text(each.key): plain(each.value) for each in sent}

    def stands(self, name: str) -> dict[str, Any]:
        newest = self.topics[name].newest().items()
        return {_text(_flat(json.loads(key))): plain(value) for key, value in newest}

    def count(self) -> int:
        return sum(len(each.read()) for each in self.topics.values())

    def settled(self) -> bool:
        return all(self.stands(each) == self.expected(each) for each in STREAMS)

    def missing(self) -> str:
        return "\n".join(
            f"{name} {key}: {stands.get(key)} instead of {wanted.get(key)}"
            for name in STREAMS
            for wanted, stands in [(self.expected(name), self.stands(name))]
            for key in {*wanted, *stands}
            if wanted.get(key) != stands.get(key)
        )


def plain(value: Any) -> dict[str, Any]:
    """Return what is compared: times are written in another way than they are held."""
    return {name: each for name, each in value.items() if name != "clicked"}


def _flat(key: dict[str, Any]) -> Any:
    values = tuple(key.values())
    return values[0] if len(values) == 1 else values


def _text(key: Any) -> str:
    return json.dumps(key)


@pytest.fixture
def shop(tmp_path: Path, kafka: Service) -> Shop:
    log = Log(kafka.address, {})
    text = PROJECT.format(bootstrap=log.bootstrap, at=f"rw-{uuid.uuid4().hex[:8]}")
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    return Shop(tmp_path, log)


def test_events_are_told_with_what_is_remembered_also_after_a_kill(
    shop: Shop, tmp_path: Path
) -> None:
    shop.some(40)
    with live_run(tmp_path, "--real-time") as run:
        run.until(lambda: live(run.lines()) == {*STREAMS}, "real time")
        for _ in range(20):
            shop.some(2)
        run.until(shop.settled, shop.missing)
        enough = shop.count() + 10
        shop.some(60)
        run.until(lambda: shop.count() >= enough, "some events")
        run.kill()
    shop.some(5)
    with live_run(tmp_path, "--real-time") as run:
        shop.some(20)
        run.until(shop.settled, shop.missing)
        assert 0 == run.stop(), run.said()

    assert len(shop.expected("first")) < len(shop.expected("scored")), "some were seen before"
    for each in shop.topics.values():
        each.check_versions()


def live(lines: Any) -> set[str]:
    return {str(each["query"]) for each in lines if each.get("live")}
