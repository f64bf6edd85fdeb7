"""What the conformance cases send is what contracts promise; what is not as promised is refused."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from tests.conformance.contract_samples import Path, Recorder, Sample, places, problems_of_standard
from tests.conformance.reference_cases import CASES

from joinery.contract.contract import Object, Value
from joinery.contract.json_schema import read_schema, schema_of
from joinery.contract.odcs import odcs_of
from joinery.testing.conformance import (
    ReferenceRunner,
    ReferenceStreamRunner,
    examine,
    stream_cases,
)
from joinery.testing.conformance.stream_suite import examine_streams

TEXTS = ("name", "description")


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    products, streams = Recorder(ReferenceRunner()), Recorder(ReferenceStreamRunner())
    examine(products, CASES)
    examine_streams(streams, [each for each in stream_cases() if not each.timed])
    return [*products.samples, *streams.samples]


def test_every_key_and_document_fits(samples: list[Sample]) -> None:
    assert [] == [each for sample in samples for each in sample.problems()]
    assert 400 < len(samples)


def test_a_document_has_the_names_of_its_contract_in_their_order(samples: list[Sample]) -> None:
    for sample in samples:
        for path, value, found in every_place(sample):
            if isinstance(value.shape, Object) and found is not None:
                names = [each.name for each in value.shape.members]
                assert names == list(found), (sample.contract.name, path)


def test_a_value_of_another_type_is_refused(samples: list[Sample]) -> None:
    accepted = [
        (sample.contract.name, path)
        for sample in samples
        for path, _, found in first_places(sample)
        if found is not None and accepts(sample, path, another(found))
    ]

    assert [] == accepted


def test_null_is_refused_where_none_may_be_and_no_where_else(samples: list[Sample]) -> None:
    for sample in samples:
        for path, value, _ in first_places(sample):
            assert value.nullable == accepts(sample, path, None), (sample.contract.name, path)


def test_a_document_without_one_of_its_names_is_refused(samples: list[Sample]) -> None:
    for sample in samples:
        for path, value, found in first_places(sample):
            if isinstance(value.shape, Object) and found:
                less = dict(list(found.items())[1:])
                assert not accepts(sample, path, less), (sample.contract.name, path)


def test_a_document_with_one_more_name_is_accepted(samples: list[Sample]) -> None:
    for sample in samples:
        for document in sample.documents[:1]:
            assert sample.validator.is_valid({**document, "new since then": 1})


def test_a_schema_reads_back_as_its_contract(samples: list[Sample]) -> None:
    for sample in samples:
        assert sample.contract == read_schema(json.loads(json.dumps(schema_of(sample.contract))))


def test_the_contracts_fit_the_open_standard(samples: list[Sample]) -> None:
    """Its schema is slow, so each kind of part is shown to it once, with what is right below."""
    document = odcs_of("all", [each.contract for each in samples], version="1.0.0")
    tables = distinct(document["schema"])
    parts = distinct(each for table in document["schema"] for each in parts_below(table))
    every = {**tables[0], "name": "every", "properties": parts}

    assert [] == problems_of_standard({**document, "schema": [*tables, every]})
    assert 30 < len(parts)


def parts_below(told: Any) -> Iterator[Any]:
    """Yield the properties of a part of a contract, and theirs."""
    for each in told.get("properties", []):
        yield each
        yield from parts_below(each)
    if "items" in told:
        yield from parts_below(told["items"])


def distinct(told: Iterable[Any]) -> list[Any]:
    """Return the parts that differ in more than texts, each cut off two levels below it."""
    found = [cut(each, 2) for each in told]
    return list({json.dumps(wordless(each)): each for each in found}.values())


def cut(told: Any, levels: int) -> Any:
    """Return a part of a contract, and so many levels below it, each kind once."""
    kept = {key: each for key, each in told.items() if key not in ("properties", "items")}
    if levels and "properties" in told:
        below = [cut(each, levels - 1) for each in told["properties"]]
        kept["properties"] = list({json.dumps(wordless(each)): each for each in below}.values())
    if levels and "items" in told:
        kept["items"] = cut(told["items"], levels - 1)
    return kept


def wordless(told: Any) -> Any:
    """Return a part of a contract but for its names and descriptions, which may be any texts."""
    if isinstance(told, dict):
        texts = {each: "" for each in TEXTS if isinstance(told.get(each), str)}
        return {key: wordless(each) for key, each in (told | texts).items()}
    return [wordless(each) for each in told] if isinstance(told, list) else told


def every_place(sample: Sample) -> Iterator[tuple[Path, Value, Any]]:
    for document in sample.documents:
        yield from places(Value(sample.contract.value, nullable=False), document)


def first_places(sample: Sample) -> Iterator[tuple[Path, Value, Any]]:
    """Yield the places of a product's first document, but for the document itself."""
    for document in sample.documents[:1]:
        whole = Value(sample.contract.value, nullable=False)
        yield from (each for each in places(whole, document) if each[0])


def accepts(sample: Sample, path: Path, value: Any) -> bool:
    """Return whether the first document would fit with another value at a place."""
    changed = copy.deepcopy(sample.documents[0])
    inner = changed
    for each in path[:-1]:
        inner = inner[each]
    inner[path[-1]] = value
    return bool(sample.validator.is_valid(changed))


def another(value: Any) -> Any:
    """Return a value of another type in JSON than the one given."""
    match value:
        case bool() | int() | Decimal() | dict():
            return "another"
        case str():
            return 7
        case _:
            return {}
