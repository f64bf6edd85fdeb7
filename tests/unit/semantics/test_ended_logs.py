"""Once all logs have ended, what waited then is sent; what comes later waits for itself."""

from __future__ import annotations

from joinery.plan.build import build_plan
from joinery.testing import Driver
from joinery.testing.changes import RowChange, insert
from joinery.testing.conformance.project import load_text
from joinery.testing.driver import gone

FOLD = """
relations:
  event:
    append: true
    fields: {account: long, number: long, type: string, amount: long, at: timestamp}
    time: at
products:
  p:
    fold: event
    by: [account]
    sequence: number
    state: {total: "long = 0"}
    when: {Added: {total: total + event.amount}}
    wait: 1h
"""
PATTERN = """
relations:
  event: {key: [id], fields: {id: long, celsius: long, at: timestamp}, time: at}
products:
  p:
    pattern: event
    define: {H: celsius > 80, C: celsius < 75}
    match: MATCH
    within: 6s
    emit: {when: closed}
"""


def driver_of(text: str) -> Driver:
    return Driver(build_plan(load_text(text)).products[0])


def added(number: int, amount: int) -> RowChange:
    at = "2026-03-01T00:00:00Z"
    return insert("event", account=1, number=number, type="Added", amount=amount, at=at)


def reading(number: int, celsius: int, at: str) -> RowChange:
    return insert("event", id=number, celsius=celsius, at=f"2026-03-01T10:{at}Z")


def test_an_event_of_the_time_of_one_whose_wait_was_ended_waits_itself() -> None:
    driver = driver_of(FOLD)
    driver.send(added(1, 10), added(3, 30))
    driver.until_closed()

    assert [] == driver.send(added(5, 50))
    driver.send(added(4, 40))
    assert [{"account": 1, "total": 130}] == [*driver.documents().values()]


def test_a_match_that_begins_when_an_ended_one_did_waits_itself() -> None:
    driver = driver_of(PATTERN.replace("MATCH", "H not C"))
    driver.send(reading(1, 90, "00:00"))

    (ended,) = driver.until_closed()
    assert [] == driver.send(reading(2, 95, "00:00"))
    assert [gone(ended.key)] == driver.send(reading(3, 20, "00:03"))


def test_a_match_is_sent_by_its_time_that_came_after_the_end_of_the_logs() -> None:
    driver = driver_of(PATTERN.replace("MATCH", "H -> C"))
    driver.send(reading(1, 90, "00:00"))

    assert [] == driver.until_closed()
    assert [] == driver.send(reading(2, 20, "00:05"))
    assert [1] == [each.key for each in driver.send(reading(3, 20, "01:00"))]


def test_what_the_end_of_the_logs_finds_is_counted() -> None:
    driver = driver_of(FOLD)
    driver.send(added(1, 10), added(3, 30))
    assert driver.counters["sequence_gaps"] == 0

    driver.until_closed()

    assert driver.counters["sequence_gaps"] == 1
