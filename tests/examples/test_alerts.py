"""The parts of the alerts example that need no Spark: its market, what was sent, its page."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from examples.alerts.market import YOU, Market
from examples.alerts.serving import Alerts
from examples.log import FileLog
from examples.page import served
from examples.sent import SentFiles
from tests.examples.browser import BROWSER, dumped

import joinery as jn
from joinery.testing.changes import insert
from joinery.testing.driver import Driver

ROOT = Path(__file__).parents[2] / "examples/alerts"
HOME = {"person": "Ada", "city": "Ulm", "kind": "<i>flat</i>", "price": 800, "rooms": 2}
SEARCH = {"id": 3, "person": "Ada", "condition": "price < 900", "at": "2026-01-02T03:04:05.5Z"}


def lines(folder: Path, topic: str) -> Iterator[dict[str, Any]]:
    for file in sorted((folder / topic).glob("*.jsonl")):
        yield from map(json.loads, file.read_text().splitlines())


def write(folder: Path, name: str, *told: Mapping[str, Any]) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("".join(f"{json.dumps(each)}\n" for each in told))


def record(search: int, listing: int, value: Mapping[str, Any] | None, version: int) -> Any:
    key = {"query": {"id": search}, "document": {"id": listing}}
    return {"key": key, "value": value, "version": version}


def test_the_project_keeps_what_trying_each_search_on_each_listing_finds(tmp_path: Path) -> None:
    market = Market(FileLog(tmp_path))
    market.begin()
    market.act(400)
    driver = Driver(jn.load(ROOT / "joinery.yaml").products["alert"])

    driver.send(
        [
            insert(topic, **row)
            for topic in ("listing", "saved_search")
            for row in lines(tmp_path, topic)
        ]
    )

    found = {(each["query"]["id"], each["document"]["id"]) for each in driver.documents().values()}
    assert market.matches() == found
    assert len(found) > 100
    assert any(row["gone"] for row in lines(tmp_path, "saved_search"))
    assert {"query_broken"} == {each.reason for each in driver.dead_letters}


def test_a_search_of_yours_stands_until_you_give_it_up(tmp_path: Path) -> None:
    market = Market(FileLog(tmp_path))

    id = market.save("price < 900")
    market.save("prise < 900")
    market.give_up(id)
    market.give_up(id)

    assert [False, False, True] == [each["gone"] for each in lines(tmp_path, "saved_search")]
    assert [("prise < 900", YOU)] == [
        (each["condition"], each["person"]) for each in market.standing().values()
    ]


def test_what_was_sent_is_told_as_entered_changed_and_left(tmp_path: Path) -> None:
    alerts = Alerts(SentFiles(tmp_path), tmp_path / "letters")

    assert {} == alerts.matches()
    write(tmp_path, "1.jsonl", record(3, 7, HOME, 1), record(3, 8, HOME, 1))
    write(tmp_path, "2.jsonl", record(3, 7, {**HOME, "price": 700}, 2), record(3, 8, None, 2))
    write(tmp_path, "3.jsonl", record(3, 8, HOME, 1))

    assert {(3, 7): {**HOME, "price": 700}} == alerts.matches()
    assert {"entered": 2, "changed": 1, "left": 1} == dict(alerts.counts)
    shown = alerts.shown({3: SEARCH})
    assert ["left", "changed", "entered", "entered"] == [each["what"] for each in shown["news"]]
    assert [1] == [each["matches"] for each in shown["searches"]]


def test_a_search_shows_why_it_cannot_be_read_until_it_is_mended(tmp_path: Path) -> None:
    letter = {"reason": "query_broken", "detail": "no", "time": "2026-01-02T03:04:06.000Z"}
    letter["key"] = json.dumps({"query": {"id": 3}, "document": None})
    write(tmp_path, "1.jsonl", letter)
    alerts = Alerts(SentFiles(tmp_path / "out"), tmp_path)

    (before,) = alerts.shown({3: SEARCH})["searches"]
    (after,) = alerts.shown({3: {**SEARCH, "at": "2026-01-02T03:04:06.5Z"}})["searches"]

    assert ("no", None) == (before["broken"], after["broken"])


def test_the_page_tells_what_its_reader_saves_and_takes_no_form_of_another_page() -> None:
    told: list[Mapping[str, Any]] = []

    def posted(kind: str, body: str) -> int:
        connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)
        connection.request("POST", "/", body, {"Content-Type": kind})
        return connection.getresponse().status

    with served(ROOT / "page.html", dict, told=told.append) as address:
        answers = [
            posted("application/json", '{"save": "price < 900"}'),
            posted("application/json", "[1]"),
            posted("text/plain", '{"save": "true"}'),
        ]

    assert [200, 400, 404] == answers
    assert [{"save": "price < 900"}] == told


@pytest.mark.services
@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")
def test_a_browser_shows_searches_and_notifications(tmp_path: Path) -> None:
    searches = [
        {**SEARCH, "matches": 1, "broken": None},
        {**SEARCH, "person": YOU, "condition": "prise < <b>", "matches": 0, "broken": "no column"},
    ]
    news = [{"what": "left", "search": 3, "listing": 7, **HOME}]
    shown = {"searches": searches, "standing": 2, "matches": 1, "news": news}

    with served(ROOT / "page.html", lambda: shown) as address:
        dom = dumped(address, tmp_path)

    assert "<code>prise &lt; &lt;b&gt;</code>" in dom
    assert "cannot be read: no column" in dom
    assert "no longer for Ada: &lt;i&gt;flat&lt;/i&gt; in Ulm, 2 rooms, 800" in dom
    assert dom.count("Give up</button>") == 1
