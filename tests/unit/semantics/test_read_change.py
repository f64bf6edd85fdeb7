"""Changes as the kernel writes them, and as lines of a files source."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pytest

from joinery.model.change import Change
from joinery.model.type import DOUBLE, LONG, STRING, TIMESTAMP, Field, parse_type
from joinery.model.type import Decimal as DecimalType
from joinery.plan.relation import Relation
from joinery.semantics.read_change import change_line, read_changes, typed


def relation(name: str, /, **columns: str) -> Relation:
    fields = tuple(Field(column, parse_type(text)) for column, text in columns.items())
    return Relation(name, "changes", name, "json", ("id",), fields)


USER = relation("user", id="long", name="string")
_DIGITS = "9" * 38


def test_changes_come_in_the_order_of_their_log() -> None:
    lines = [
        b'[0,0,null,2,1,null,{"id":1,"name":"c"}]\n',
        b'[0,0,null,1,9,null,{"id":1,"name":"b"}]\n',
        b'[0,0,7,1,2,null,{"id":1,"name":"a"}]\n',
    ]

    changes = read_changes(lines, [USER])

    assert [
        Change("user", {"id": 1}, {"id": 1, "name": "a"}, 7, place=(1, 2)),
        Change("user", {"id": 1}, {"id": 1, "name": "b"}, None, place=(1, 9)),
        Change("user", {"id": 1}, {"id": 1, "name": "c"}, None, place=(2, 1)),
    ] == changes


def test_a_column_that_was_left_out_is_absent() -> None:
    (change,) = read_changes([b'[0,0,null,0,1,[1],{"id":1,"name":null}]'], [USER])

    assert {"id": 1} == change.after


def test_deletes_and_tombstones_have_a_key_alone() -> None:
    lines = [
        b'[0,1,5,0,1,null,{"id":1,"name":null}]',
        b'[0,2,null,0,2,null,{"id":1,"name":null}]',
    ]

    changes = read_changes(lines, [USER])

    assert [
        Change("user", {"id": 1}, None, 5, place=(0, 1)),
        Change("user", {"id": 1}, None, None, tombstone=True, place=(0, 2)),
    ] == changes


def test_a_flat_delete_may_tell_when_it_was() -> None:
    price = relation("price", id="long", since="timestamp", cents="long")

    (change,) = read_changes(
        [b'[0,1,5,0,1,null,{"id":1,"since":"2026-03-01T00:00:00Z","cents":null}]'], [price]
    )

    since = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    assert Change("price", {"id": 1}, None, 5, place=(0, 1), ended={"since": since}) == change


def test_a_row_of_a_snapshot_says_so() -> None:
    (change,) = read_changes([b'[0,0,5,0,1,null,{"id":1,"name":"a"},true]'], [USER])

    assert change.snapshot


def test_values_have_their_types() -> None:
    kinds = relation(
        "kinds",
        id="int",
        price="decimal(12,2)",
        weight="double",
        small="float",
        at="timestamp",
        day="date",
        raw="binary",
        tags="array<decimal(4,1)>",
        box="struct<a: date, b: string>",
        counts="map<int, double>",
    )
    row = (
        b'{"id":1,"price":1234567890.10,"weight":1.0E10,"small":0.1,'
        b'"at":"2026-01-02T03:04:05.000006Z","day":"2026-01-02","raw":"AQI=",'
        b'"tags":[1.5,null],"box":{"a":"2026-01-02","b":"x"},"counts":{"1":"NaN"}}'
    )

    (change,) = read_changes([b"[0,0,null,0,1,null," + row + b"]"], [kinds])

    after = dict(change.after or {})
    assert after.pop("counts")[1] != after["weight"]
    assert {
        "id": 1,
        "price": Decimal("1234567890.10"),
        "weight": 1e10,
        "small": 0.10000000149011612,
        "at": dt.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC),
        "day": dt.date(2026, 1, 2),
        "raw": b"\x01\x02",
        "tags": [Decimal("1.5"), None],
        "box": {"a": dt.date(2026, 1, 2), "b": "x"},
    } == after


COLUMNS = (Field("id", LONG), Field("name", STRING), Field("city", STRING))
FLAT = Relation("user", "changes", "user", "json", ("id",), COLUMNS)
DEBEZIUM = Relation("user", "changes", "user", "debezium-json", ("id",), COLUMNS)


def test_a_negative_zero_is_zero_as_where_a_record_is_decoded() -> None:
    assert ["0.0", "0.0"] == [str(typed(each, DOUBLE)) for each in (-0.0, "-0.0")]
    assert "0.00" == str(typed("-0.00", parse_type("decimal(12,2)")))


def test_a_time_of_another_zone_is_in_utc_so_its_date_is_that_of_a_run() -> None:
    there = dt.timezone(dt.timedelta(hours=-8))
    late = dt.datetime(2026, 3, 27, 16, 26, tzinfo=there)

    assert "2026-03-28T00:26:00+00:00" == typed(late, TIMESTAMP).isoformat()


def test_a_decimal_keeps_all_its_digits() -> None:
    digits = "-1234567890123456789012345678901234.5678"

    assert digits == str(typed(digits, parse_type("decimal(38,4)")))


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


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (_DIGITS, DecimalType(38, 0)),
        (int(_DIGITS), DecimalType(38, 0)),
        (f"-{_DIGITS[:20]}.{_DIGITS[20:]}", DecimalType(38, 18)),
    ],
)
def test_a_decimal_of_38_digits_is_exact(value: int | str, type_: DecimalType) -> None:
    assert typed(value, type_) == Decimal(value)
