"""Texts of keys and join values are equal exactly when a join finds the values equal."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from joinery.semantics.rows import join_value
from joinery.solutions.key_value.key_text import key_bytes

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
VALUES: list[Any] = [
    0,
    1,
    -1,
    2**63 - 1,
    2**63,
    2**64 - 1,
    2**64,
    0.0,
    -0.0,
    1.0,
    0.5,
    0.1,
    1e300,
    float("inf"),
    float("nan"),
    Decimal("1.00"),
    Decimal("0.1"),
    Decimal("0.50"),
    Decimal("1E+3"),
    1000,
    Decimal("12345678901234567890123456789012345678"),
    Decimal("1234567890123456789012345678.9012345678"),
    "1",
    "",
    "a b",
    "a\nb\0c",
    "ü",
    date(2026, 1, 1),
    NOON,
    NOON.astimezone(timezone(timedelta(hours=2))),
    NOON + timedelta(microseconds=1),
    b"a",
    b"",
]


@pytest.mark.parametrize("one", VALUES, ids=repr)
def test_texts_are_equal_exactly_when_values_are(one: Any) -> None:
    equal = [join_value({"a": one}, ["a"]) == join_value({"a": two}, ["a"]) for two in VALUES]

    assert equal == [key_bytes((one,)) == key_bytes((two,)) for two in VALUES]


def test_values_of_several_columns_do_not_run_together() -> None:
    assert key_bytes(("a", "b")) != key_bytes(("a,b",))
    assert key_bytes(("a", '","b')) != key_bytes(('a","', "b"))


def test_no_text_has_a_nul() -> None:
    assert b"\0" not in key_bytes(("a\0b", b"\0"))
