"""A late record that changes a key, on the reference: a delete and an upsert at one place."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from joinery.model.change import Change
from joinery.plan.build import build_plan
from joinery.testing.conformance.project import load_text
from joinery.testing.driver import Driver

RELATIONS = """
relations:
  account: {key: [email], fields: {email: string, owner: long, at: timestamp}, time: at}
  person: {key: [id], fields: {id: long, at: timestamp}, time: at}
"""
HOURS = """
products:
  p: {aggregate: account, window: {tumbling: 1h}, values: {n: count(*)}, emit: {late: LATE}}
"""
PEOPLE = """
products:
  p:
    root: person
    embed: {accounts: {many: account, on: {owner: id}, within: [-1d, 1d], fields: [email]}}
    emit: {late: LATE}
"""


def moment(hour: int) -> datetime:
    return datetime(2026, 3, 1, hour, 5, tzinfo=UTC)


def put(email: str, hour: int, line: int) -> Change:
    row = {"email": email, "owner": 1, "at": moment(hour)}
    return Change("account", {"email": email}, row, place=(0, line))


def gone(email: str, line: int) -> Change:
    return Change("account", {"email": email}, None, place=(0, line))


LOG = [put("a@x", 10, 1), put("c@x", 12, 2), gone("a@x", 3), put("b@x", 10, 3), gone("c@x", 4)]


def driver(text: str, late: str) -> Driver:
    made = Driver(build_plan(load_text(RELATIONS + text.replace("LATE", late))).products[0])
    if text == PEOPLE:
        made.send(Change("person", {"id": 1}, {"id": 1, "at": moment(10)}, place=(0, 1)))
    return made


@pytest.mark.parametrize(("late", "hours"), [("drop", {10: 1}), ("correct", {10: 1})])
def test_a_group_keeps_one_row_whichever_of_the_two_it_is(late: str, hours: dict[int, int]) -> None:
    made = driver(HOURS, late)

    made.send(*LOG)

    assert hours == {key.hour: value["n"] for key, value in made.documents().items()}
    assert 1 == made.counters["late"]


@pytest.mark.parametrize(("late", "email"), [("drop", "a@x"), ("correct", "b@x")])
def test_an_interval_has_the_row_under_the_key_that_counts(late: str, email: str) -> None:
    made = driver(PEOPLE, late)

    made.send(*LOG)

    assert [email] == [each["email"] for each in made.documents()[1]["accounts"]]
    assert 1 == made.counters["late"]


def test_a_delete_of_its_own_is_never_late() -> None:
    made = driver(HOURS, "drop")

    made.send(put("a@x", 10, 1), put("c@x", 12, 2), gone("a@x", 3))

    assert [12] == [key.hour for key in made.documents()]
