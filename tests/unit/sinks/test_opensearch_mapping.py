"""An index is mapped by the type of its documents."""

from __future__ import annotations

from typing import Any

from joinery.model.type import Struct, parse_type
from joinery.sinks.opensearch_mapping import mapping_of, merged


def parse_struct(ddl: str) -> Struct:
    parsed = parse_type(f"struct<{ddl}>")
    assert isinstance(parsed, Struct)
    return parsed


TEXT = {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 8191}}}
DATE = {"type": "date", "ignore_malformed": True}


def properties(ddl: str, **options: Any) -> dict[str, Any]:
    mapping = mapping_of(parse_struct(ddl), **{"map_type": "flat_object", **options})
    found: dict[str, Any] = mapping["properties"]
    return found


def test_simple_types_become_the_fields_of_their_kind() -> None:
    ddl = (
        "a: string, b: boolean, c: tinyint, d: smallint, e: int, f: bigint, g: float, h: double,"
        " i: decimal(20,2), j: date, k: timestamp, l: binary"
    )

    kinds = {name: field["type"] for name, field in properties(ddl).items()}

    assert {
        "a": "text",
        "b": "boolean",
        "c": "byte",
        "d": "short",
        "e": "integer",
        "f": "long",
        "g": "float",
        "h": "double",
        "i": "double",
        "j": "date",
        "k": "date",
        "l": "binary",
    } == kinds


def test_a_text_is_searched_by_its_words_and_matched_whole() -> None:
    assert {"title": TEXT} == properties("title: string")


def test_a_list_of_values_is_mapped_as_one_of_them() -> None:
    assert {"days": DATE, "words": TEXT} == properties("days: array<date>, words: array<string>")


def test_a_list_of_objects_is_nested() -> None:
    expected = {"stars": {"type": "nested", "properties": {"repo": TEXT}}}

    assert expected == properties("stars: array<struct<repo: string>>")


def test_a_list_of_objects_can_be_searched_together() -> None:
    expected = {"stars": {"type": "object", "properties": {"repo": TEXT}}}

    assert expected == properties("stars: array<struct<repo: string>>", nested=False)


def test_an_object_keeps_its_fields_and_a_map_is_one_field() -> None:
    expected = {
        "payment": {"type": "object", "properties": {"verified": {"type": "boolean"}}},
        "settings": {"type": "flat_object"},
    }

    assert expected == properties("payment: struct<verified: boolean>, settings: map<string,int>")


def test_a_field_that_the_document_type_does_not_have_is_not_indexed() -> None:
    assert mapping_of(parse_struct("id: bigint"), map_type="flattened")["dynamic"] is False


def test_what_the_user_maps_replaces_a_field_and_leaves_the_others() -> None:
    derived = mapping_of(parse_struct("id: bigint, a: struct<b: string, c: int>"), map_type="x")
    chosen = {"properties": {"a": {"properties": {"b": {"type": "keyword"}}}}, "dynamic": True}

    mapping = merged(derived, chosen)

    assert {
        "dynamic": True,
        "properties": {
            "id": {"type": "long"},
            "a": {
                "type": "object",
                "properties": {"b": {"type": "keyword"}, "c": {"type": "integer"}},
            },
        },
    } == mapping
