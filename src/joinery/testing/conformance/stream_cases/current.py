"""Cases about lookups of the current row."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.stream_case import batch, stream_case
from joinery.testing.driver import Emission, upsert

_RELATIONS = """
relations:
  orders: {append: true, key: [id], fields: {id: long, customer_id: int}}
  customers: {key: [id], fields: {id: long, name: string, city: string}, where: "city <> 'gone'"}
streams:
"""
_NAMED = (
    _RELATIONS
    + "  s: {from: orders, steps: [{lookup: customers, on: {id: customer_id}, fields: [name]}]}\n"
)
_EXPRESSION = (
    _RELATIONS
    + """
  s:
    from: orders
    steps:
      - {select: [customer_id]}
      - lookup: customers
        on: {id: customer_id}
        fields: {who: "concat(name, ' of ', coalesce(city, '?'))", customer_id: id}
"""
)
_PAIR = """
relations:
  lines: {append: true, key: [id], fields: {id: long, shop: string, sku: string}}
  stock: {key: [sku, shop], fields: {sku: string, shop: string, left: int}}
streams:
  s: {from: lines, steps: [{lookup: stock, on: [shop, sku]}]}
"""


def _sent(number: int, customer: int | None, name: str | None) -> Emission:
    return upsert(number, {"id": number, "customer_id": customer, "name": name})


CASES = (
    stream_case(
        "an event takes the row that came before it",
        _NAMED,
        batch(insert("customers", id=7, name="ada", city="x")),
        batch(insert("orders", id=1, customer_id=7), sends=[_sent(1, 7, "ada")]),
    ),
    stream_case(
        "a batch's rows apply before its events, in whatever order they came",
        _NAMED,
        batch(
            insert("orders", id=1, customer_id=7),
            insert("customers", id=7, name="ada", city="x"),
            update("customers", id=7, name="eve"),
            sends=[_sent(1, 7, "eve")],
        ),
    ),
    stream_case(
        "an event that was sent keeps the row it was sent with",
        _NAMED,
        batch(
            insert("customers", id=7, name="ada", city="x"),
            insert("orders", id=1, customer_id=7),
            sends=[_sent(1, 7, "ada")],
        ),
        batch(update("customers", id=7, name="eve")),
        batch(insert("orders", id=2, customer_id=7), sends=[_sent(2, 7, "eve")]),
    ),
    stream_case(
        "a deleted row is not found, and one that came back is",
        _NAMED,
        batch(insert("customers", id=7, name="ada", city="x")),
        batch(
            delete("customers", id=7),
            insert("orders", id=1, customer_id=7),
            sends=[_sent(1, 7, None)],
        ),
        batch(
            insert("customers", id=7, name="eve", city="x"),
            insert("orders", id=2, customer_id=7),
            sends=[_sent(2, 7, "eve")],
        ),
    ),
    stream_case(
        "an older change of a row is ignored, and an update keeps what it leaves out",
        _NAMED,
        batch(
            insert("customers", id=7, name="ada", city="x").at(5),
            update("customers", id=7, name="old").at(4),
            update("customers", id=7, city="y").at(6),
            insert("orders", id=1, customer_id=7),
            sends=[_sent(1, 7, "ada")],
        ),
    ),
    stream_case(
        "a row that the table's where keeps out is not found",
        _NAMED,
        batch(
            insert("customers", id=7, name="ada", city="gone"),
            insert("orders", id=1, customer_id=7),
            sends=[_sent(1, 7, None)],
        ),
    ),
    stream_case(
        "null finds no row",
        _NAMED,
        batch(
            insert("customers", id=7, name="ada", city="x"),
            insert("orders", id=1, customer_id=None),
            sends=[_sent(1, None, None)],
        ),
    ),
    stream_case(
        "fields are expressions over the row, null where there is none",
        _EXPRESSION,
        batch(
            insert("customers", id=7, name="ada", city="x"),
            insert("orders", id=1, customer_id=7),
            insert("orders", id=2, customer_id=8),
            sends=[
                upsert(1, {"customer_id": 7, "who": "ada of x"}),
                upsert(2, {"customer_id": None, "who": None}),
            ],
        ),
    ),
    stream_case(
        "a key of several columns is compared as a whole",
        _PAIR,
        batch(
            insert("stock", sku="a", shop="s", left=3),
            insert("stock", sku="a", shop="t", left=4),
            insert("lines", id=1, shop="t", sku="a"),
            insert("lines", id=2, shop="s", sku="b"),
            sends=[
                upsert(1, {"id": 1, "shop": "t", "sku": "a", "left": 4}),
                upsert(2, {"id": 2, "shop": "s", "sku": "b", "left": None}),
            ],
        ),
    ),
    stream_case(
        "fields that the event has already stay as they are",
        """
relations:
  orders: {append: true, key: [id], fields: {id: long, customer_id: long, name: string}}
  customers: {key: [id], fields: {id: long, name: string}}
streams:
  s:
    from: orders
    steps: [{lookup: customers, on: {id: customer_id}, fields: [name], read: event}]
""",
        batch(
            insert("customers", id=7, name="ada"),
            insert("orders", id=1, customer_id=7, name="as told"),
            sends=[upsert(1, {"id": 1, "customer_id": 7, "name": "as told"})],
        ),
    ),
)
