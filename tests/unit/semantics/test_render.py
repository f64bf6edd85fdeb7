"""The text of documents."""

from __future__ import annotations

import datetime as dt
import decimal
import math

import pytest

from joinery.model.type import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    Atomic,
    DataType,
    Decimal,
    Field,
    Map,
    Struct,
)
from joinery.semantics.render import document_json, map_key_text

SECOND = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("value", "type_", "text"),
    [
        (None, LONG, "null"),
        (9223372036854775807, LONG, "9223372036854775807"),
        (True, BOOLEAN, "true"),
        (1.0, DOUBLE, "1.0"),
        (0.1, DOUBLE, "0.1"),
        (math.nan, DOUBLE, '"NaN"'),
        (math.inf, DOUBLE, '"Infinity"'),
        (-math.inf, DOUBLE, '"-Infinity"'),
        (0.10000000149011612, Atomic("float"), "0.1"),
        (decimal.Decimal("1.5"), Decimal(10, 3), "1.500"),
        (decimal.Decimal("1E+2"), Decimal(10, 0), "100"),
        (decimal.Decimal("0E-20"), Decimal(38, 20), "0.00000000000000000000"),
        ('ü "\\\n\u0001', STRING, '"ü \\"\\\\\\n\\u0001"'),
        (b"\x00\x01\xff", BINARY, '"AAH/"'),
        (dt.date(2026, 2, 28), DATE, '"2026-02-28"'),
        (SECOND, TIMESTAMP, '"2026-01-02T03:04:05Z"'),
        (SECOND.replace(microsecond=6), TIMESTAMP, '"2026-01-02T03:04:05.000006Z"'),
        (SECOND.replace(microsecond=500000), TIMESTAMP, '"2026-01-02T03:04:05.500000Z"'),
        (dt.datetime(2026, 1, 2), Atomic("timestamp_ntz"), '"2026-01-02T00:00:00"'),
        ([1, None], Array(INT), "[1,null]"),
        ({1: "a"}, Map(LONG, STRING), '{"1":"a"}'),
    ],
)
def test_a_value_has_one_text(value: object, type_: DataType, text: str) -> None:
    assert text == document_json(value, type_)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_a_decimal_that_json_has_no_number_for_is_never_written(word: str) -> None:
    with pytest.raises(ArithmeticError):
        document_json({"a": decimal.Decimal(word)}, Struct((Field("a", Decimal(10, 2)),)))


def test_an_object_writes_its_nulls_in_the_order_of_its_type() -> None:
    type_ = Struct((Field("b", LONG), Field("a", STRING)))

    assert '{"b":null,"a":"x"}' == document_json({"a": "x", "b": None}, type_)


def test_a_composite_key_is_the_text_of_an_array() -> None:
    assert '["a\\"b",7]' == map_key_text(['a"b', 7], [STRING, LONG])
