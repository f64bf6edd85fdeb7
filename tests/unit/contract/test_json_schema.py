"""A type becomes the schema of its JSON, and a schema becomes a contract again."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.conformance.contract_samples import validator_of
from tests.unit.contract.declared import contract, contracts

from joinery.contract.json_schema import (
    ContractFileError,
    bundle_of,
    read_schemas,
    schema_of,
)
from joinery.model.type import parse_type
from joinery.semantics.render import document_json

SINK = "sink: {files: {path: out}}"
USER = f"{{root: user, {SINK}}}"


def schema_of_type(kind: str) -> Any:
    """Return the schema of a column of a type."""
    relations = f"relations: {{user: {{key: [id], fields: {{id: long, x: '{kind}'}}}}}}\n"
    return schema_of(contract(USER, relations))["properties"]["x"]


@pytest.mark.parametrize(
    ("kind", "text", "wrong"),
    [
        ("boolean", "true", ["1", '"true"']),
        ("byte", "-128", ["128", "1.5", '"1"']),
        ("short", "32767", ["32768"]),
        ("int", "-2147483648", ["-2147483649"]),
        ("long", "9223372036854775807", ["9223372036854775808"]),
        ("double", "1.5", ['"1.5"', "true"]),
        ("double", '"NaN"', ['"nan"']),
        ("float", '"-Infinity"', ['"Inf"']),
        ("decimal(4,2)", "99.99", ["100", '"1.00"']),
        ("decimal(4,0)", "9999", ["10000", "1.5"]),
        ("string", '"a"', ["1"]),
        ("binary", '"AP8="', ['"AP8"', '"é"']),
        ("date", '"2026-11-30"', ['"30.11.2026"', "20422"]),
        ("timestamp", '"2026-11-30T18:25:00Z"', ['"2026-11-30T18:25:00"']),
        ("timestamp", '"2026-11-30T18:25:00.000001Z"', ['"2026-11-30 18:25:00.000001Z"']),
        ("timestamp_ntz", '"2026-11-30T18:25:00"', ['"2026-11-30T18:25:00Z"']),
        ("array<int>", "[1,null]", ['["a"]', "{}"]),
        ("map<int,boolean>", '{"1":null}', ['{"1":2}', "[]"]),
        ("struct<a: int>", '{"a":null}', ["{}", '{"a":"b"}']),
    ],
)
def test_values_of_a_type_fit_and_others_do_not(kind: str, text: str, wrong: list[str]) -> None:
    validator = validator_of(schema_of_type(kind))

    assert [True, True] == [validator.is_valid(json.loads(each)) for each in (text, "null")]
    assert [] == [each for each in wrong if validator.is_valid(json.loads(each))]


def test_a_schema_says_which_type_was_declared() -> None:
    kinds = ["decimal(10,2)", "long", "timestamp_ntz", "string"]

    assert kinds == [schema_of_type(each)["x-type"] for each in kinds]


def test_a_bundle_reads_back_as_its_contracts() -> None:
    found = contracts(f"{{p: {USER}, q: {{root: order, expect: {{fresh: 5s}}, {SINK}}}}}")

    bundle = json.loads(json.dumps(bundle_of("shop", found)))

    validator_of(bundle)
    assert {"p", "q"} == bundle["$defs"].keys()
    assert found == read_schemas(bundle, "contract.json")
    assert [None, 5000] == [each.fresh_ms for each in read_schemas(bundle, "contract.json")]


def test_a_field_may_be_named_as_a_word_of_json_schema() -> None:
    relations = "relations: {a: {key: [type], fields: {type: long, properties: string}}}\n"
    found = contract("{root: a, sink: {files: {path: out}}}", relations)

    assert found == contract_of(schema_of(found))


@pytest.mark.parametrize(
    "data",
    [
        [],
        None,
        {"$defs": {"p": {}}},
        {"title": "p", "properties": {}},
        {"title": "p", "x-key": {"properties": {"a": {"type": "string", "x-type": "?"}}}},
        {"title": "p", "x-key": {"properties": {"a": {"type": []}}}, "properties": {}},
        {"title": "p", "x-key": {"properties": {}}, "properties": {}, "x-fresh-ms": "5s"},
    ],
)
def test_what_is_no_contract_is_refused(data: object) -> None:
    with pytest.raises(ContractFileError, match=r'"other\.json" is no contract'):
        read_schemas(data, "other.json")


def test_the_reference_writes_what_schemas_of_text_describe() -> None:
    kind = parse_type("struct<a: array<double>, b: map<string, decimal(3,1)>>")
    value = {"a": [float("inf"), 0.1], "b": {"x": None}}

    assert validator_of(schema_of_type(str(kind))).is_valid(json.loads(document_json(value, kind)))


def contract_of(schema: Any) -> object:
    (found,) = read_schemas(schema, "contract.json")
    return found
