"""What stores hold becomes values of the declared types, or is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from joinery.lookups.protocol import Unfit
from joinery.lookups.value import RowReader, json_value
from joinery.model.type import Field, parse_type

MOMENT = datetime(2026, 2, 3, 4, 5, 6, 7, tzinfo=UTC)


class Wrapped:
    """Bytes as boto3 gives them."""

    def __bytes__(self) -> bytes:
        return b"\x00\xff"


def read(type: str, value: Any) -> Any:
    found = RowReader([Field("x", parse_type(type))]).ordered([value])
    return found.detail if isinstance(found, Unfit) else found[0]


@pytest.mark.parametrize(
    ("type", "value", "expected"),
    [
        ("boolean", True, True),
        ("boolean", 0, False),
        ("int", 7, 7),
        ("int", Decimal(7), 7),
        ("bigint", 2**62 + 1, 2**62 + 1),
        ("double", 1, 1.0),
        ("double", Decimal("0.1"), 0.1),
        ("decimal(6,2)", "12.5", Decimal("12.50")),
        ("decimal(6,2)", 12.5, Decimal("12.50")),
        ("decimal(20,0)", 2**62 + 1, Decimal(2**62 + 1)),
        ("string", "naïve", "naïve"),
        ("string", UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        ("binary", b"\x00\xff", b"\x00\xff"),
        ("binary", memoryview(b"ab"), b"ab"),
        ("binary", "AP8=", b"\x00\xff"),
        ("binary", Wrapped(), b"\x00\xff"),
        ("date", "2026-02-03", date(2026, 2, 3)),
        ("date", date(2026, 2, 3), date(2026, 2, 3)),
        ("timestamp", "2026-02-03T04:05:06.000007Z", MOMENT),
        ("timestamp", MOMENT.replace(tzinfo=None), MOMENT),
        ("timestamp", MOMENT.astimezone(timezone(timedelta(hours=5))), MOMENT),
        ("timestamp_ntz", MOMENT, MOMENT.replace(tzinfo=None)),
        ("array<int>", [1, None], [1, None]),
        ("array<int>", "[1, null]", [1, None]),
        ("map<string,double>", {"a": 1}, {"a": 1.0}),
        ("struct<a:int,b:string>", '{"a": 1, "c": 2}', {"a": 1, "b": None}),
    ],
)
def test_a_value_is_read_by_its_declared_type(type: str, value: Any, expected: Any) -> None:
    assert expected == read(type, value)


@pytest.mark.parametrize(
    ("type", "value", "detail"),
    [
        ("boolean", "true", 'column "x" holds a text, which is not of type boolean'),
        ("boolean", 2, 'column "x" holds a number, which is not of type boolean'),
        ("int", 2**31, 'column "x" holds a number, which is not of type int'),
        ("int", 1.5, 'column "x" holds a number, which is not of type int'),
        ("int", float("nan"), 'column "x" holds a number, which is not of type int'),
        ("int", "7", 'column "x" holds a text, which is not of type int'),
        ("int", True, 'column "x" holds a flag, which is not of type int'),
        ("double", "x", 'column "x" holds a text, which is not of type double'),
        ("decimal(4,2)", "123.45", 'column "x" holds a text, which is not of type decimal(4,2)'),
        ("decimal(4,2)", "1.234", 'column "x" holds a text, which is not of type decimal(4,2)'),
        ("decimal(4,2)", "x", 'column "x" holds a text, which is not of type decimal(4,2)'),
        ("string", 7, 'column "x" holds a number, which is not of type string'),
        ("string", {"a": 1}, 'column "x" holds an object, which is not of type string'),
        ("date", "yesterday", 'column "x" holds a text, which is not of type date'),
        ("date", MOMENT, 'column "x" holds a datetime, which is not of type date'),
        ("timestamp", 5, 'column "x" holds a number, which is not of type timestamp'),
        ("array<int>", '["a"]', 'column "x" holds a text, which is not of type array<int>'),
        ("array<int>", "[", 'column "x" holds a text, which is not of type array<int>'),
        ("struct<a:int>", "[]", 'column "x" holds a text, which is not of type struct<a: int>'),
    ],
)
def test_a_value_of_another_type_is_told_without_its_content(
    type: str, value: Any, detail: str
) -> None:
    assert detail == read(type, value)


def test_a_column_that_is_not_there_is_null() -> None:
    columns = [Field("a", parse_type("int")), Field("b", parse_type("string"))]

    assert (1, None) == RowReader(columns).named({"a": 1, "c": 2})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (MOMENT, "2026-02-03T04:05:06.000007Z"),
        (MOMENT.replace(tzinfo=None), "2026-02-03T04:05:06.000007"),
        (date(2026, 2, 3), "2026-02-03"),
        (b"a", "YQ=="),
    ],
)
def test_a_key_is_asked_as_documents_show_it(value: object, expected: object) -> None:
    assert expected == json_value(value)
