"""The parts of the fraud example that need no Spark: its world, what was sent, its page."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from examples.fraud.search import plain_search
from examples.fraud.serving import Troubles
from examples.fraud.world import TROUBLES, World
from examples.log import FileLog
from examples.page import served
from examples.sent import SentFiles
from tests.examples.browser import BROWSER, dumped

import joinery as jn
from joinery.testing.changes import insert
from joinery.testing.driver import Driver

ROOT = Path(__file__).parents[2] / "examples/fraud"
BATCH = 150
START_MS = 1_790_000_000_000
CARD = {"card": 3, "start": {"id": 1}, "tries": 2, "tried": 300, "cents": 45_000}


class Clock:
    """A time that goes on by a fifth of a second whenever things may happen."""

    def __init__(self) -> None:
        self.now_ms = START_MS

    def __call__(self) -> int:
        return self.now_ms


def lived(folder: Path, ticks: int) -> World:
    clock = Clock()
    world = World(FileLog(folder), clock=clock)
    for _ in range(ticks):
        clock.now_ms += 200
        world.act(2)
    clock.now_ms += 10_000
    world.rest()
    return world


@pytest.mark.parametrize("product", TROUBLES)
def test_the_project_finds_what_a_plain_search_finds(product: str, tmp_path: Path) -> None:
    world = lived(tmp_path, ticks=600)
    driver = Driver(jn.load(ROOT / "joinery.yaml").products[product])
    (relation,) = driver.product.relations

    files = sorted((tmp_path / relation.name).glob("*.jsonl"))
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    for at in range(0, len(rows), BATCH):
        driver.send(insert(relation.name, **row) for row in rows[at : at + BATCH])

    found = driver.documents().values()
    told = {(each["start"]["id"], each["at"]) for each in found}
    assert plain_search(world.rows)[product] == told
    assert len(told) > 5


def test_what_was_sent_is_told_as_entered_changed_and_left(tmp_path: Path) -> None:
    card = {**CARD, "at": "2026-09-21T14:13:20Z"}
    values = (card, {**card, "tries": 3}, None)
    key = {"card": 3, "start": {"id": 1}}
    troubles = Troubles({"stolen_card": SentFiles(tmp_path)})

    matches = []
    for version, value in enumerate(values, start=1):
        record = {"key": key, "value": value, "version": version}
        (tmp_path / f"{version}.jsonl").write_text(f"{json.dumps(record)}\n", encoding="utf-8")
        matches.append(troubles.matches()["stolen_card"])

    found = {(1, datetime(2026, 9, 21, 14, 13, 20, tzinfo=UTC))}
    assert [found, found, set()] == matches
    assert {"entered": 1, "changed": 1, "left": 1} == dict(troubles.counts())
    news = troubles.shown()["stolen_card"]["news"]
    assert [("left", 3), ("changed", 3), ("entered", 2)] == [
        (each["what"], each["tries"]) for each in news
    ]


@pytest.mark.services
@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")
def test_a_browser_shows_matches(tmp_path: Path) -> None:
    nothing = {"standing": 0, "news": []}
    person = {"what": "left", "person": "<b>Ada</b>", "tries": 3, "country": "BR"}
    shown = {
        "stolen_card": {"standing": 7, "news": [{"what": "entered", **CARD}]},
        "guessed_password": {"standing": 0, "news": [person]},
        "overheating": nothing,
    }

    with served(ROOT / "page.html", lambda: shown) as address:
        dom = dumped(address, tmp_path)

    assert "Stolen cards: 7" in dom
    assert '<li class="entered">card 3: 2 payments of 3.00 in all, then 450.00</li>' in dom
    assert "&lt;b&gt;Ada&lt;/b&gt;: 3 logins failed, then one from BR" in dom
