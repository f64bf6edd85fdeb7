"""What is read beside a query is decoded as the query decodes it."""

from __future__ import annotations

import pytest

from joinery.plan.build import build_plan
from joinery.plan.product import Product
from joinery.plan.stream import Stream
from joinery.solutions.spark_state.decoded import as_decoded, decoded_relations
from joinery.testing.conformance.project import load_text

PROJECT = """
relations:
  person:
    key: [id]
    fields: {id: long, name: string, age: int, town: string, note: string}
    derive: {shown: upper(name)}
    where: town is not null
  visit: {append: true, key: [id], fields: {id: long, person: long, page: string, ms: int}}
products:
  names: {root: person, fields: [shown], OPTION sink: {files: {path: out}}}
  ages: {root: person, fields: [id, age], group: both, sink: {files: {path: out}}}
  notes: {root: person, fields: [id, note], group: both, sink: {files: {path: out}}}
streams:
  pages:
    from: visit
    steps:
      - {lookup: person, on: {id: person}, fields: [name]}
      - select: [page, name]
    sink: {files: {path: out}}
"""


def columns(name: str, option: str = "") -> dict[str, list[str]]:
    """Return the columns that are decoded for a product or stream, by relation."""
    spec = load_text(PROJECT.replace("OPTION", option))
    plan = build_plan(spec)
    readers: list[Product | Stream] = [*plan.products, *plan.streams]
    (reader,) = [each for each in readers if each.name == name]
    found = as_decoded(spec, reader.relations, reader)
    return {each.name: [column.name for column in each.columns] for each in found}


def test_a_column_that_no_product_of_the_query_reads_is_not_decoded() -> None:
    assert {"person": ["id", "name", "town"]} == columns("names")


def test_products_of_a_group_decode_what_one_of_them_reads() -> None:
    assert {"person": ["id", "age", "town", "note"]} == columns("ages")


def test_a_stream_decodes_what_its_steps_read() -> None:
    assert {
        "visit": ["id", "person", "page"],
        "person": ["id", "name", "town"],
    } == columns("pages")


@pytest.mark.parametrize("solution", ["rdbms-store", "kv", "dynamodb"])
def test_a_solution_with_a_store_decodes_the_same_columns(solution: str) -> None:
    assert columns("names") == columns("names", f"solution: {solution},")


def test_whole_rows_are_decoded_where_statements_of_the_user_may_read_them() -> None:
    whole = ["id", "name", "age", "town", "note"]

    assert {"person": whole} == columns("names", "solution: rdbms-trigger,")


@pytest.mark.parametrize(
    ("solution", "decoded"),
    [("kv", ["id", "name", "town"]), ("rdbms-trigger", ["id", "name", "age", "town", "note"])],
)
def test_the_query_itself_decodes_what_is_decoded_beside_it(
    solution: str, decoded: list[str]
) -> None:
    text = PROJECT.replace("OPTION", f"solution: {solution},")
    names = build_plan(load_text(text)).products[0]

    (found,) = decoded_relations([names])

    assert decoded == [each.name for each in found.columns]


def test_whole_rows_are_decoded_beside_a_product_that_only_spark_can_check() -> None:
    broken = PROJECT.replace("fields: [id, note]", "fields: {code: crc32(note)}")
    plan = build_plan(load_text(PROJECT.replace("OPTION", "")))
    ages = plan.products[1]

    (found,) = as_decoded(load_text(broken.replace("OPTION", "")), ages.relations, ages)

    assert ages.relations == (found,)
