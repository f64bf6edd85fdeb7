"""Values of every type come back from the store as they went in."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import orjson
import pytest

from joinery.model.type import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    Atomic,
    DataType,
    Field,
    Map,
    Struct,
)
from joinery.model.type import Decimal as DecimalType
from joinery.solutions.key_value.codec import KeyCodec, RowCodec, dump

NOON = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
INNER = Struct((Field("at", TIMESTAMP), Field("n", LONG)))
CASES: list[tuple[DataType, Any]] = [
    (LONG, -(2**63)),
    (BOOLEAN, True),
    (STRING, 'a"\n\0ü😀'),
    (STRING, ""),
    (DOUBLE, 0.1),
    (DOUBLE, -math.inf),
    (DOUBLE, 1e22),
    (Atomic("float"), 2.0),
    (DecimalType(38, 10), Decimal("1234567890123456789012345678.9012345678")),
    (DecimalType(6, 2), Decimal("1.50")),
    (BINARY, b"\x00\xff"),
    (DATE, date(1, 1, 1)),
    (TIMESTAMP, NOON),
    (TIMESTAMP, datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
    (Atomic("timestamp_ntz"), datetime(2026, 1, 1)),
    (Array(DATE), [date(2026, 1, 1), None]),
    (Array(LONG), [1, None]),
    (INNER, {"at": NOON, "n": None}),
    (Array(INNER), [{"at": None, "n": 1}, None]),
    (Map(STRING, DOUBLE), {"a": math.inf, "b": None}),
    (Map(DATE, BINARY), {date(2026, 1, 1): b"x"}),
    (Map(LONG, Array(DOUBLE)), {7: [0.5]}),
]


@pytest.mark.parametrize(("kind", "value"), CASES, ids=lambda each: str(each)[:40])
def test_a_value_comes_back_as_it_was(kind: DataType, value: Any) -> None:
    codec = RowCodec([Field("a", kind), Field("b", kind)])

    back = codec.typed(orjson.loads(dump(codec.plain({"a": value, "b": None}))))

    assert {"a": value, "b": None} == back
    assert type(value) is type(back["a"])


def test_nan_comes_back_as_nan() -> None:
    codec = RowCodec([Field("a", DOUBLE)])

    assert math.isnan(codec.typed(orjson.loads(dump(codec.plain({"a": math.nan}))))["a"])


def test_a_column_that_a_stored_row_lacks_is_null() -> None:
    old, new = RowCodec([Field("a", LONG)]), RowCodec([Field("a", LONG), Field("b", TIMESTAMP)])

    assert {"a": 1, "b": None} == new.typed(orjson.loads(dump(old.plain({"a": 1}))))


def test_a_row_reads_well_after_its_column_was_widened() -> None:
    old, new = RowCodec([Field("a", LONG)]), RowCodec([Field("a", DecimalType(20, 0))])

    assert {"a": Decimal(7)} == new.typed(orjson.loads(dump(old.plain({"a": 7}))))


@pytest.mark.parametrize("number", [math.inf, 0.5, "NaN"])
def test_a_key_comes_back_as_it_was(number: Any) -> None:
    codec = KeyCodec([STRING, TIMESTAMP, DOUBLE, BINARY])
    key = ("a", NOON, number, b"x")

    assert key == codec.typed(orjson.loads(dump(codec.plain(key))))
