"""The parts of the web traffic that need no Spark: its site, its tables, its page."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest
from examples.log import FileLog
from examples.page import served
from examples.web_traffic.serving import Traffic
from examples.web_traffic.site import Site
from tests.examples.browser import BROWSER, dumped
from tests.sqlite_file import sqlite_file

ROOT = Path(__file__).parents[2] / "examples/web_traffic"


def test_the_site_writes_each_view_once_and_some_of_them_late(tmp_path: Path) -> None:
    site, stop = Site(FileLog(tmp_path), late=0.3), threading.Event()
    work = threading.Thread(target=site.work, args=(stop,), kwargs={"per_second": 400})
    work.start()
    time.sleep(1.2)
    stop.set()
    work.join()

    rows = [
        json.loads(line)
        for file in sorted((tmp_path / "view").glob("*.jsonl"))
        for line in file.read_text().splitlines()
    ]
    ids = [row["id"] for row in rows]

    assert sorted(ids) == list(range(1, site.written + 1))
    assert ids != sorted(ids)
    assert sum(site.views.values()) == site.written
    ahead = [row for row in rows if row["clock"] > row["received"]]
    assert len(ahead) == site.wrong_clocks


def test_there_is_nothing_to_show_before_the_first_view(tmp_path: Path) -> None:
    shown = Traffic(tmp_path / "traffic.db").shown()

    assert {"visits": 0, "views": None} == shown.pop("visits")
    assert not any(shown.values())


def test_a_second_is_shown_with_what_it_had_when_first_seen(tmp_path: Path) -> None:
    file = tmp_path / "traffic.db"
    with sqlite_file(file) as database:
        database.execute("create table seconds (window_start, requests, p50_ms, p99_ms, visitors)")
        for second in (1, 2, 3):
            at = f"2026-03-01T00:00:0{second}Z"
            database.execute("insert into seconds values (?, 5, 1.5, 9, 0)", (at,))
    traffic = Traffic(file)

    before = traffic.shown()["seconds"]
    with sqlite_file(file) as database:
        database.execute("update seconds set requests = 8")
    after = traffic.shown()["seconds"]

    assert [(5, 5), (5, 5), (5, 5)] == [(each["first"], each["requests"]) for each in before]
    assert [(5, 8), (8, 8), (8, 8)] == [(each["first"], each["requests"]) for each in after]


@pytest.mark.services
@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")
def test_a_browser_draws_the_seconds(tmp_path: Path) -> None:
    shown = {
        "seconds": [
            {
                "window_start": f"2026-03-01T00:00:0{second}Z",
                "requests": 5 + second,
                "first": 5,
                "p50_ms": 1.5,
                "p99_ms": 9.0,
                "visitors": 4,
            }
            for second in range(5)
        ],
        "pages": [{"page": "<b>home</b>", "views": 3, "p50_ms": 2.25, "p99_ms": 9.0}],
        "trend": [],
        "visits": {"visits": 2, "views": 1.5},
        "longest": [],
    }

    with served(ROOT / "page.html", lambda: shown) as address:
        dom = dumped(address, tmp_path)

    assert 'class="corrected"' in dom
    assert "<td>&lt;b&gt;home&lt;/b&gt;</td><td>3</td><td>2.3</td><td>9.0</td>" in dom
    assert "7 requests a second, p50 1.5 ms, p99 9.0 ms, 4 visitors (00:00:02 UTC)" in dom
