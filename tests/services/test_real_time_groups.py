"""Groups in real-time mode: every change corrects what was sent, also after a kill."""

from __future__ import annotations

import json
import random
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.services.live_run import LiveRun, Topic, live_run
from tests.services.log import Log

from joinery.dev.service import Service

pytestmark = [pytest.mark.services, pytest.mark.spark]

PROJECT = """\
name: {at}
sources: {{changes: {{kafka: {{bootstrap: "{bootstrap}"}}}}}}
defaults: {{format: json}}
relations:
  order: {{topic: {at}.order, key: [id], fields: {{id: long, shop: string, amount: long}}}}
  view: {{topic: {at}.view, append: true, fields: {{page: string, at: timestamp}}, time: at}}
products:
  shops:
    aggregate: order
    by: [shop]
    values: {{orders: count(*), spent: sum(amount), dearest: max(amount)}}
    group: all
    sink: {{kafka: {{topic: {at}.shops}}}}
  hours:
    aggregate: view
    by: [page]
    window: {{tumbling: 1h}}
    values: {{views: count(*)}}
    group: all
    sink: {{kafka: {{topic: {at}.hours}}}}
  visits:
    aggregate: view
    by: [page]
    window: {{session: 70m}}
    values: {{views: count(*)}}
    group: all
    sink: {{kafka: {{topic: {at}.visits}}}}
run:
  checkpoint_interval: 10s
"""


@pytest.fixture
def log(kafka: Service) -> Log:
    return Log(kafka.address, {})


@pytest.fixture
def at(log: Log) -> str:
    prefix = f"rg-{uuid.uuid4().hex[:8]}"
    log.create(f"{prefix}.order")
    log.create(f"{prefix}.view", 2)
    return prefix


@pytest.fixture
def project(tmp_path: Path, log: Log, at: str) -> Path:
    text = PROJECT.format(bootstrap=log.bootstrap, at=at)
    (tmp_path / "joinery.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def shops(topic: Topic) -> dict[str, tuple[int, int, int]]:
    rows = topic.newest().values()
    return {each["shop"]: (each["orders"], each["spent"], each["dearest"]) for each in rows}


def hours(topic: Topic) -> dict[tuple[str, str], int]:
    rows = topic.newest().values()
    return {(each["page"], each["window_start"][11:13]): each["views"] for each in rows}


def visits(topic: Topic) -> dict[tuple[str, str], int]:
    rows = topic.newest().values()
    return {(each["page"], each["window_start"][11:16]): each["views"] for each in rows}


def sessions(views: Counter[Any]) -> dict[tuple[str, str], int]:
    """Return how many views each session has, of views at half past each hour."""
    found: dict[tuple[str, str], int] = {}
    for page in {page for page, _ in views}:
        start = ""
        for hour in range(24):
            here = views[page, f"{hour:02}"]
            start = "" if not here else start or f"{hour:02}:30"
            if here:
                found[page, start] = found.get((page, start), 0) + here
    return found


def go_live(run: LiveRun) -> None:
    run.until(run.is_live, "real time")


@pytest.mark.exhaustive
def test_groups_follow_single_changes(project: Path, log: Log, at: str) -> None:
    names = ("shops", "hours", "visits")
    sold, viewed, visited = (Topic(log.bootstrap, f"{at}.{each}") for each in names)

    def order(number: int, shop: str, amount: int) -> None:
        log.put(f"{at}.order", {"id": number, "shop": shop, "amount": amount}, key={"id": number})

    order(1, "north", 5)
    with live_run(project, "--real-time") as run:
        go_live(run)
        run.until(lambda: shops(sold) == {"north": (1, 5, 5)}, "the backlog")
        order(2, "north", 7)
        run.until(lambda: shops(sold) == {"north": (2, 12, 7)}, "an order")
        order(2, "south", 7)
        both = {"north": (1, 5, 5), "south": (1, 7, 7)}
        run.until(lambda: shops(sold) == both, "an order that moved")
        log.put(f"{at}.order", None, key={"id": 1})
        run.until(lambda: shops(sold) == {"south": (1, 7, 7)}, "a group that went")
        for moment in ("10:59:59", "12:00:00", "10:00:00"):
            log.put(f"{at}.view", {"page": "/", "at": f"2026-01-01T{moment}Z"})
        run.until(lambda: hours(viewed) == {("/", "10"): 2, ("/", "12"): 1}, "a late view")
        run.until(lambda: visits(visited) == {("/", "10:00"): 3}, "sessions that are one now")
        assert 0 == run.stop(), run.said()
    sold.check_versions()
    viewed.check_versions()
    visited.check_versions()


@pytest.mark.exhaustive
@pytest.mark.parametrize("kills", [1, 4])
def test_groups_are_right_after_a_kill(kills: int, project: Path, log: Log, at: str) -> None:
    viewed, visited = (Topic(log.bootstrap, f"{at}.{each}") for each in ("hours", "visits"))
    chance, expected = random.Random(7), Counter[Any]()

    def view(count: int) -> None:
        for _ in range(count):
            page, hour = chance.choice("abc"), chance.randrange(24)
            expected[page, f"{hour:02}"] += 1
            log.put(f"{at}.view", {"page": page, "at": f"2026-01-01T{hour:02}:30:00Z"})

    def some() -> Callable[[], bool]:
        enough = len(viewed.read()) + 20
        return lambda: len(viewed.read()) >= enough

    for _ in range(kills):
        with live_run(project, "--real-time") as run:
            go_live(run)
            seen = some()
            view(60)
            run.until(seen, "some counts")
            run.kill()
    with live_run(project, "--real-time") as run:
        go_live(run)
        view(10)
        run.until(
            lambda: hours(viewed) == expected,
            lambda: json.dumps([str(hours(viewed)), str(dict(expected))]),
        )
        run.until(
            lambda: visits(visited) == sessions(expected),
            lambda: json.dumps([str(visits(visited)), str(sessions(expected))]),
        )
        assert 0 == run.stop(), run.said()
    viewed.check_versions()
    visited.check_versions()
