"""The parts of the timeline example that need no Spark: its people, its table, its page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from examples.log import FileLog
from examples.page import served
from examples.timeline.network import HOT_ABOVE, LIMIT, NAMES, Network
from examples.timeline.serving import Timelines
from tests.examples.browser import BROWSER, dumped
from tests.sqlite_file import sqlite_file

import joinery as jn
from joinery.testing.changes import insert
from joinery.testing.driver import Driver

ROOT = Path(__file__).parents[2] / "examples/timeline"


def test_the_project_keeps_what_a_plain_search_of_the_people_finds(tmp_path: Path) -> None:
    network = Network(FileLog(tmp_path))
    network.begin()
    network.act(300)
    driver = Driver(jn.load(ROOT / "joinery.yaml").products["timeline"])

    driver.send(
        insert(topic, **json.loads(line))
        for topic in ("user", "follow", "post")
        for file in sorted((tmp_path / topic).glob("*.jsonl"))
        for line in file.read_text().splitlines()
    )

    expected = {user: network.timeline(user) for user in range(1, len(NAMES) + 1)}
    assert expected == {int(str(key)): value for key, value in driver.documents().items()}
    assert HOT_ABOVE < max(network.followers().values())
    assert LIMIT == max(len(each["posts"]) for each in expected.values())


def test_there_is_nothing_to_show_before_the_first_batch(tmp_path: Path) -> None:
    shown = Timelines(tmp_path / "timelines.db").shown()

    assert {"users": 0, "hot": [], "timelines": []} == shown


def test_the_fullest_timelines_are_shown_with_names(tmp_path: Path) -> None:
    file = tmp_path / "timelines.db"
    with sqlite_file(file) as database:
        database.execute("create table timeline (id, document)")
        for user in range(1, 7):
            told = {"name": NAMES[user - 1], "posts": [], "posts_total": user, "posts_hot": [2]}
            database.execute("insert into timeline values (?, ?)", (user, json.dumps(told)))

    shown = Timelines(file).shown()

    assert ["Cy", "Dee", "Eli", "Fay"] == [each["name"] for each in shown["timelines"]]
    assert ["Bo"] == shown["hot"] == shown["timelines"][0]["posts_hot"]


@pytest.mark.services
@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here")
def test_a_browser_shows_the_posts(tmp_path: Path) -> None:
    post = {"id": 1, "text": "<i>rain</i>", "by": "Bo"}
    timeline = {"name": "Ada", "posts": [post], "posts_total": 3, "posts_hot": ["Zoe"]}
    shown = {"users": 40, "hot": ["Zoe"], "timelines": [timeline]}

    with served(ROOT / "page.html", lambda: shown) as address:
        dom = dumped(address, tmp_path)

    assert "<b>Bo</b>&lt;i&gt;rain&lt;/i&gt;" in dom
    assert "3 posts, 2 of them below; without Zoe" in dom
