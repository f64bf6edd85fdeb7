"""What an Avro schema becomes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from joinery.onboarding.registry_subject import columns_of, is_event, whole_of

REAL = Path(__file__).parents[3] / "kernel/src/test/resources/debezium-avro"


def column(schema: Any) -> str:
    record = {"type": "record", "name": "t", "fields": [{"name": "v", "type": schema}]}
    return str(columns_of(record).fields[0].type)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("long", "long"),
        (["null", "string"], "string"),
        (["null", "string", "int"], "string"),
        ({"type": "int", "logicalType": "date"}, "date"),
        ({"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}, "timestamp_ntz"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "timestamp"),
        ({"type": "string", "connect.name": "io.debezium.time.ZonedTimestamp"}, "timestamp"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}, "decimal(12,2)"),
        ({"type": "array", "items": ["null", "double"]}, "array<double>"),
        ({"type": "map", "values": "int"}, "map<string, int>"),
        ({"type": "enum", "name": "e", "symbols": ["A"]}, "string"),
        ({"type": "fixed", "name": "f", "size": 4}, "binary"),
        (
            {"type": "record", "name": "r", "fields": [{"name": "a", "type": "float"}]},
            "struct<a: float>",
        ),
    ],
)
def test_a_schema_becomes_a_type(schema: Any, expected: str) -> None:
    assert column(schema) == expected


def test_a_map_with_keys_that_are_no_texts_is_a_list_of_entries() -> None:
    fields = [{"name": "key", "type": "int"}, {"name": "value", "type": "string"}]
    entry = {"type": "record", "name": "MapEntry", "fields": fields}

    assert column({"type": "array", "items": entry}) == "map<int, string>"


def test_debeziums_event_is_its_row() -> None:
    message = json.loads((REAL / "insert.sch.public.t_full.p0.16.json").read_text())
    schema = json.loads(message["value"]["schema"])

    assert is_event(whole_of(schema))
    assert str(columns_of(schema)) == (
        "struct<id: int, name: string, amt: string, ts: timestamp, d: date, big: string,"
        " extra: int>"
    )


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(ValueError, match="not of a record"):
        columns_of("string")
