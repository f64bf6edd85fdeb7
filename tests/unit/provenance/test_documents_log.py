"""The documents of many keys are those that each key's own log tells, with the same last change."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from joinery.model.change import Change, Row
from joinery.plan.build import build_plan
from joinery.provenance.document_log import DocumentLog
from joinery.provenance.documents_log import DocumentsLog
from joinery.testing.conformance.project import load_text

PROJECT = """\
relations:
  customer: {key: [id], fields: {id: long, name: string, city_id: long}}
  city: {key: [id], fields: {id: long, name: string}}
  order:
    key: [id]
    fields: {id: long, customer_id: long, price: int}
    where: price < 90
products:
  profile:
    root: customer
    where: name <> 'n0'
    embed:
      city: {one: city, on: {id: city_id}, fields: [name]}
      orders: {many: order, on: {customer_id: id}, order: [-price], limit: 2, fields: [price]}
"""
MOST = 1 << 20
KEYS = [(number,) for number in range(6)]


def history(seed: int) -> Iterator[Change]:
    random = Random(seed)
    for place in range(400):
        id = random.randrange(6)
        rows: list[tuple[str, Row]] = [
            ("customer", {"id": id, "name": f"n{random.randrange(3)}", "city_id": id % 3}),
            ("city", {"id": id % 3, "name": f"c{random.randrange(3)}"}),
            ("order", {"id": id, "customer_id": id % 4, "price": random.randrange(100)}),
        ]
        relation, row = random.choice(rows)
        after = None if random.randrange(5) == 0 else row
        yield Change(relation, {"id": row["id"]}, after, place=(0, place))


def test_documents_of_many_keys_are_those_of_each() -> None:
    [product] = build_plan(load_text(PROJECT)).products
    changes = [*history(11)]
    altered: dict[tuple[int, ...], int] = dict.fromkeys(KEYS, 0)

    def count(key: tuple[int, ...], text: str | None, change: Change) -> None:
        altered[key] += 1

    many = DocumentsLog(product, KEYS, max_document_bytes=MOST, altered=count)
    many.tell(changes)

    alone = {key: DocumentLog(product, key, max_document_bytes=MOST) for key in KEYS}
    for each in alone.values():
        each.tell(changes)
    texts = {key: each.document.text if each.document else None for key, each in alone.items()}
    assert texts == many.texts
    assert {key: each.altered for key, each in alone.items()} == altered
    last = {key: each.last.change.place for key, each in alone.items() if each.last}
    assert last == {key: each.place for key, each in many.last.items()}
