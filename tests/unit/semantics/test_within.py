"""When the reference decides documents of an interval, by clocks and by watermarks."""

from __future__ import annotations

from joinery.plan.build import build_plan
from joinery.testing.changes import insert, update
from joinery.testing.conformance.project import load_text
from joinery.testing.driver import Driver

PROJECT = """
relations:
  search: {key: [id], fields: {id: long, at: timestamp}, time: at}
  click:
    key: [id]
    fields: {id: long, search_id: long, at: timestamp}
    time: at
    watermark: {idle: 3s}
products:
  outcome:
    root: search
    fields: [id]
    embed: {clicks: {many: click, on: {search_id: id}, within: [0s, 30m], fields: [id]}}
    emit: {when: closed}
"""


def at(clock: str) -> str:
    return f"2026-03-01T{clock}:00Z"


def driver() -> Driver:
    return Driver(build_plan(load_text(PROJECT)).products[0])


def test_a_log_that_is_silent_as_a_whole_holds_no_root_up() -> None:
    outcomes = driver()

    outcomes.send(insert("search", id=1, at=at("10:00")), insert("search", id=2, at=at("11:00")))
    before = dict(outcomes.documents())
    for _ in range(4):
        outcomes.send()

    assert {} == before
    assert [1] == list(outcomes.documents())


def test_what_comes_after_the_silence_corrects() -> None:
    outcomes = driver()
    outcomes.send(insert("search", id=1, at=at("10:00")), insert("search", id=2, at=at("11:00")))
    for _ in range(4):
        outcomes.send()

    outcomes.send(insert("click", id=5, search_id=1, at=at("10:05")))

    assert {1: {"id": 1, "clicks": [{"id": 5}]}} == dict(outcomes.documents())


def test_an_update_that_tells_no_time_moves_no_watermark() -> None:
    outcomes = driver()
    outcomes.send(
        insert("search", id=1, at=at("10:00")),
        insert("click", id=5, at=at("12:00")),
        insert("click", id=6, at=at("10:01")).within(1),
    )

    outcomes.send(update("click", id=5, search_id=1).within(1))

    assert {} == dict(outcomes.documents()), "the newest time of the second partition is 10:01"


def test_all_are_decided_once_the_logs_have_ended() -> None:
    outcomes = driver()
    outcomes.send(insert("search", id=1, at=at("10:00")), insert("search", id=2, at=at("11:00")))

    outcomes.until_closed()

    assert [1, 2] == list(outcomes.documents())
