"""What a line of state says of a document, and which rows a program keeps."""

from __future__ import annotations

import pytest

from joinery.plan.build import build_plan
from joinery.solutions.spark_state.lower import lower
from joinery.spark.recovery.state_reader import kept_relations, told
from joinery.testing.conformance.project import load_text

PROJECT = """\
relations:
  price: {key: [id], time: since, fields: {id: long, since: timestamp, amount: int}}
  sale:
    append: true
    key: [id]
    time: at
    fields: {id: long, price_id: long, at: timestamp, note: string}
products:
  sales:
    root: sale
    group: g
    fields: [id]
    embed: {price: {one: price, on: {id: price_id}, as_of: at, fields: [amount]}}
  counts: {aggregate: sale, group: g, by: [price_id], values: {n: count(*)}}
  prices:
    root: price
    group: g
    fields: [amount]
    embed: {counts: {one: counts, on: {price_id: id}, fields: [n]}}
"""


@pytest.mark.parametrize(
    ("line", "document", "refused"),
    [
        ("", None, ""),
        ('{"key":{"id":1},"value":{"n":1.50},"version":7}\n', '{"n":1.50}', ""),
        ('{"key":{"value":"},\\"value\\":"},"value":{"version":5}}\n', '{"version":5}', ""),
        ('{"key":{"refused":1},"value":{"a":"ö"},"version":7}\n', '{"a":"ö"}', ""),
        ('{"key":{},"refused":"document_too_large"}\n', None, "document_too_large"),
    ],
)
def test_a_line_has_a_document_or_why_it_is_refused(
    line: str, document: str | None, refused: str
) -> None:
    assert (document, refused) == told(line)


def test_a_program_keeps_rows_of_products_and_versions_beside_those_that_are_read() -> None:
    program = lower(build_plan(load_text(PROJECT)).products)

    kept = {each.name: each for each in kept_relations(program)}

    assert {"price", "sale", "counts", "versions of price"} == kept.keys()
    assert ("id",) == kept["price"].key
    assert ["id", "price_id", "at"] == [each.name for each in kept["sale"].columns]
