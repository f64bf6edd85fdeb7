"""What docs/streams.md shows is what Joinery takes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import joinery as jn
from joinery.plan.check import check
from joinery.project.step import STEPS, AsOf, Late, Miss, OnChange, Read
from joinery.semantics.render import document_json
from joinery.testing import StreamDriver
from joinery.testing.changes import insert

PAGE = (Path(__file__).parents[2] / "docs" / "streams.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
YAML, PYTHON = (
    next(text for kind, text in BLOCK.findall(PAGE) if kind == wanted)
    for wanted in ("yaml", "python")
)
BLOCKS = dict(
    re.findall(
        r"```(yaml rolling|yaml seen|yaml join|json rows|json events|json join)\n(.*?)```",
        PAGE,
        re.DOTALL,
    )
)


def test_the_project_of_the_page_has_no_problem(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(YAML, encoding="utf-8")

    assert [] == check(file)


def test_the_app_of_the_page_declares_a_stream(tmp_path: Path) -> None:
    declared = PYTHON.partition("enriched.explain()")[0]
    names: dict[str, object] = {}

    exec(declared, names)

    app = names["app"]
    assert isinstance(app, jn.App)
    assert ["products", "customers"] == [
        each.table.name for each in app.streams["enriched_orders"].plan.lookups
    ]


def test_a_visit_of_the_page_is_told_once(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(BLOCKS["yaml seen"], encoding="utf-8")
    driver = StreamDriver(jn.load(file).plan.streams[0])
    times = ("10:00", "10:20", "10:45", "11:15")

    sent = driver.send(insert("view", visit="a", at=f"2026-03-01T{each}:00Z") for each in times)

    assert ["10:00", "11:15"] == [(each.value or {})["at"].strftime("%H:%M") for each in sent]


def test_the_payments_of_the_page_give_its_events(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(BLOCKS["yaml rolling"], encoding="utf-8")
    stream = jn.load(file).plan.streams[0]
    driver = StreamDriver(stream)
    rows = [insert("payment", **json.loads(line)) for line in BLOCKS["json rows"].splitlines()]

    sent = [*driver.send(rows[:3]), *driver.send(rows[3:])]

    assert [] == check(file)
    assert BLOCKS["json events"].splitlines() == [
        f'{{"key":{document_json({"id": each.key}, stream.key)}'
        f',"value":{document_json(each.value, stream.output)}}}'
        for each in sent
    ]


def test_a_click_of_the_page_waits_for_its_search(tmp_path: Path) -> None:
    file = tmp_path / "joinery.yaml"
    file.write_text(BLOCKS["yaml join"], encoding="utf-8")
    stream = jn.load(file).plan.streams[0]
    driver = StreamDriver(stream)
    click = {"search_id": 1, "page": "/a"}

    first = driver.send(
        [
            insert("click", id=7, at="2026-03-01T10:02:00Z", **click),
            insert("click", id=8, at="2026-03-01T10:32:00Z", **click),
        ]
    )
    [pair] = driver.send([insert("search", id=1, term="tea", at="2026-03-01T10:01:00Z")])

    assert [] == [*check(file), *first]
    search, other = pair.key
    key = document_json({"id": search, "click": other}, stream.key)
    assert BLOCKS["json join"] == (
        f'{{"key":{key},"value":{document_json(pair.value, stream.output)}}}\n'
    )


def test_the_page_tells_every_step_and_every_switch() -> None:
    words = set(re.findall(r"`([a-z_]+)", PAGE))

    assert STEPS.keys() <= words
    assert {*get_args(Read), *get_args(OnChange), *get_args(Miss)} <= words
    assert {*get_args(Late), *get_args(AsOf)} <= words
