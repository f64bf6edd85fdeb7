"""Documents in Avro."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_reader

from joinery.model.type import Field, Struct, parse_type
from joinery.onboarding.registry_subject import columns_of
from joinery.sinks.avro_schema import AvroNameError
from joinery.sinks.avro_writer import RecordWriter


def written(type_: str, text: str) -> Any:
    """Write a value as the only field of a document, and read it back by the schema."""
    writer = RecordWriter(Struct((Field("v", parse_type(type_)),)), "p")
    data = writer.write(f'{{"v":{text}}}', b"head")
    assert data[:4] == b"head"
    parsed = parse_schema(json.loads(json.dumps(writer.schema)))
    told = schemaless_reader(io.BytesIO(data[4:]), parsed, None)
    assert isinstance(told, dict)
    return told["v"]


@pytest.mark.parametrize(
    ("type_", "text", "expected"),
    [
        ("long", "9223372036854775807", 9223372036854775807),
        ("string", '"ä\\n"', "ä\n"),
        ("boolean", "true", True),
        ("double", "0.1", 0.1),
        ("double", "3", 3.0),
        ("decimal(12,2)", "12.50", Decimal("12.50")),
        ("decimal(38,3)", "-0.001", Decimal("-0.001")),
        (
            "decimal(38,0)",
            "12345678901234567890123456789012345678",
            Decimal("12345678901234567890123456789012345678"),
        ),
        ("binary", '"YWI="', b"ab"),
        ("date", '"1969-12-31"', date(1969, 12, 31)),
        (
            "timestamp",
            '"2026-01-02T03:04:05.000001Z"',
            datetime(2026, 1, 2, 3, 4, 5, 1, tzinfo=UTC),
        ),
        ("array<int>", "[1,null,2]", [1, None, 2]),
        ("map<string, int>", '{"a":1}', {"a": 1}),
        ("map<int, string>", '{"7":"a"}', [{"key": 7, "value": "a"}]),
        (
            "array<struct<a: int, b: struct<c: string>>>",
            '[{"a":1,"b":{"c":"x"}}]',
            [{"a": 1, "b": {"c": "x"}}],
        ),
        ("struct<a: int>", "null", None),
    ],
)
def test_a_value_comes_back_as_it_was(type_: str, text: str, expected: Any) -> None:
    assert written(type_, text) == expected


@pytest.mark.parametrize(
    "type_",
    [
        "long",
        "decimal(12,2)",
        "timestamp",
        "timestamp_ntz",
        "date",
        "map<int, string>",
        "array<struct<a: int, b: array<struct<a: string>>>>",
    ],
)
def test_a_schema_becomes_the_type_it_was_made_of(type_: str) -> None:
    struct = Struct((Field("v", parse_type(type_)),))

    assert columns_of(RecordWriter(struct, "p").schema) == struct


def test_the_fields_of_a_key_are_never_null() -> None:
    writer = RecordWriter(Struct((Field("id", parse_type("long")),)), "p-key", filled={"id"})

    assert writer.schema["fields"] == [{"name": "id", "type": "long"}]
    assert writer.schema["name"] == "p_key"
    assert writer.write('{"id":1}') == b"\x02"


def test_a_name_that_avro_has_no_place_for_is_refused() -> None:
    with pytest.raises(AvroNameError, match=r"^v\.a b$"):
        RecordWriter(Struct((Field("v", parse_type("struct<`a b`: int>")),)), "p")


def test_a_time_that_avro_has_no_place_for_is_refused() -> None:
    with pytest.raises(ValueError, match="isoformat"):
        written("date", '"+12026-01-02"')
