"""What a column of PostgreSQL becomes."""

from __future__ import annotations

import pytest

from joinery.clients.postgres import shown
from joinery.model.type import parse_type
from joinery.onboarding.postgres_catalog import spark_type, timestamp_unit


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("smallint", "short"),
        ("numeric(12,2)", "decimal(12,2)"),
        ("numeric", "string"),
        ("numeric(50,2)", "string"),
        ("numeric(3,-2)", "string"),
        ("character varying(80)", "string"),
        ("timestamp(3) with time zone", "timestamp"),
        ("timestamp without time zone", "timestamp_ntz"),
        ("time(3) without time zone", "long"),
        ("bit(1)", "boolean"),
        ("bit(5)", "binary"),
        ("bit varying(5)", "binary"),
        ("integer[]", "array<int>"),
        ("numeric(4,1)[]", "array<decimal(4,1)>"),
        ("jsonb", "string"),
        ("point", "struct<x: double, y: double>"),
        ("polygon", None),
        ("polygon[]", None),
    ],
)
def test_a_column_becomes_what_debezium_sends(type_: str, expected: str | None) -> None:
    assert spark_type(type_) == expected
    if expected:
        parse_type(expected)


def test_an_enumeration_is_a_text() -> None:
    assert spark_type("mood", enum=True) == "string"
    assert spark_type("mood") is None


def test_the_precision_of_a_timestamp_tells_what_its_number_counts() -> None:
    assert timestamp_unit("timestamp(3) without time zone") == "millis"
    assert timestamp_unit("timestamp(4) without time zone") == "micros"
    assert timestamp_unit("timestamp without time zone") == "micros"
    assert timestamp_unit("timestamp with time zone") is None


def test_a_url_is_shown_without_its_secrets() -> None:
    assert shown("postgresql://ada:engine@db/shop?password=x") == "db:5432/shop"
    assert shown("postgresql://db:port/x") == "that was named"
