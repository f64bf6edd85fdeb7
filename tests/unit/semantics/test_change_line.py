"""Changes as lines of a files source."""

from __future__ import annotations

import json

from joinery.model.change import Change
from joinery.model.type import LONG, STRING, Field
from joinery.plan.nodes import Relation
from joinery.semantics.change_line import change_line

COLUMNS = (Field("id", LONG), Field("name", STRING), Field("city", STRING))
FLAT = Relation("user", "changes", "user", "json", ("id",), COLUMNS)
DEBEZIUM = Relation("user", "changes", "user", "debezium-json", ("id",), COLUMNS)


def test_a_flat_delete_has_its_key_and_its_position() -> None:
    line = change_line(Change("user", {"id": 1}, None, 5), FLAT)

    assert '{"id":1,"__deleted":true,"__position":5}' == line


def test_a_flat_row_leaves_out_what_the_change_leaves_out() -> None:
    line = change_line(Change("user", {"id": 1}, {"id": 1, "name": None}), FLAT)

    assert '{"id":1,"name":null}' == line


def test_a_partial_change_is_an_update_in_debezium() -> None:
    line = change_line(Change("user", {"id": 1}, {"name": "a"}, 5), DEBEZIUM)

    assert {
        "key": {"id": 1},
        "value": {
            "before": None,
            "after": {"id": 1, "name": "a"},
            "source": {"connector": "postgresql", "lsn": 5},
            "op": "u",
        },
    } == json.loads(line)


def test_a_debezium_delete_has_no_after() -> None:
    line = change_line(Change("user", {"id": 1}, None, 5), DEBEZIUM)

    assert {
        "before": {"id": 1},
        "after": None,
        "source": {"connector": "postgresql", "lsn": 5},
        "op": "d",
    } == json.loads(line)["value"]


def test_a_tombstone_has_a_key_and_no_value() -> None:
    line = change_line(Change("user", {"id": 1}, None, tombstone=True), DEBEZIUM)

    assert '{"key":{"id":1},"value":null}' == line
