"""Codes of keys, read back; the codes are those of the kernel's `KeyCodecTest`."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal as Number
from typing import Any

import pytest

from joinery.model.type import Array, Atomic, DataType, Decimal
from joinery.solutions.spark_state.key_code import KeyCodeError, read_key

CODES: list[tuple[DataType, str, Any]] = [
    (Atomic("boolean"), "0101", True),
    (Atomic("long"), "017ffffffffffffff9", -7),
    (Atomic("int"), "018000000000000100", 256),
    (Atomic("date"), "018000000000004e20", dt.date(2024, 10, 4)),
    (
        Atomic("timestamp"),
        "018000000000000001",
        dt.datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=dt.UTC),
    ),
    (Atomic("timestamp_ntz"), "017fffffffffffffff", dt.datetime(1969, 12, 31, 23, 59, 59, 999999)),
    (Atomic("double"), "01bff8000000000000", 1.5),
    (Atomic("double"), "014007ffffffffffff", -1.5),
    (Decimal(5, 2), "0180000000000000000000000000000004e2", Number("12.50")),
    (Decimal(5, 2), "017ffffffffffffffffffffffffffffffb1e", Number("-12.50")),
    (Atomic("string"), "016100ff62c3a90000", "a\0bé"),
    (Atomic("binary"), "010100ff0000", b"\1\0"),
    (Atomic("string"), "00", None),
]


@pytest.mark.parametrize(("type_", "code", "value"), CODES)
def test_a_code_is_read_back(type_: DataType, code: str, value: object) -> None:
    assert [value] == read_key(bytes.fromhex(code), [type_])


def test_columns_stand_one_after_the_other() -> None:
    codes = bytes.fromhex("".join(code for _, code, _ in CODES))

    assert [value for _, _, value in CODES] == read_key(codes, [type_ for type_, _, _ in CODES])


@pytest.mark.parametrize(
    ("code", "type_"),
    [
        ("", Atomic("long")),
        ("01", Atomic("long")),
        ("0101ff", Atomic("boolean")),
        ("016162", Atomic("string")),
        ("02", Atomic("string")),
        ("017fffffffffffffff", Array(Atomic("long"))),
        ("01ffffffffffffffff", Atomic("timestamp")),
    ],
)
def test_what_is_no_code_of_a_type_is_refused(code: str, type_: DataType) -> None:
    with pytest.raises(KeyCodeError):
        read_key(bytes.fromhex(code), [type_])


def test_of_a_code_that_is_cut_the_columns_before_are_read_and_the_text_so_far() -> None:
    types = [Atomic("long"), Atomic("string"), Atomic("long")]
    whole = bytes.fromhex("017ffffffffffffff90161626364")

    assert [-7, "abcd"] == read_key(whole, types, cut=True)
    assert [-7, "ab"] == read_key(whole[:-2], types, cut=True)
    assert [-7] == read_key(whole[:9], types, cut=True)
    assert [] == read_key(whole[:5], types, cut=True)
