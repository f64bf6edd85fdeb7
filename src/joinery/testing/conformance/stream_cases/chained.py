"""Cases about several lookups of one event."""

from __future__ import annotations

from joinery.testing.changes import insert, update
from joinery.testing.conformance.stream_case import batch, stream_case
from joinery.testing.driver import Emission, upsert


def _project(first: str = "", second: str = "", between: str = "") -> str:
    return f"""
relations:
  orders: {{append: true, key: [id], fields: {{id: long, customer_id: long, sku: string}}}}
  customers: {{key: [id], fields: {{id: long, name: string, city_id: long}}}}
  products: {{key: [sku], fields: {{sku: string, price: double}}}}
  cities: {{key: [id], fields: {{id: long, city: string}}}}
streams:
  s:
    from: orders
    steps:
      - {{lookup: customers, on: {{id: customer_id}}, fields: [name, city_id]{first}}}
      {between}
      - {{lookup: products, on: [sku], fields: [price]{second}}}
      - {{select: [name, price]}}
"""


_DEEP = _project().replace(
    "- {lookup: products, on: [sku], fields: [price]}\n      - {select: [name, price]}",
    "- {lookup: cities, on: {id: city_id}}\n      - {select: [name, city]}",
)
_ADA = insert("customers", id=7, name="ada", city_id=1)
_TEA = insert("products", sku="tea", price=1.0)
_ORDER = insert("orders", id=1, customer_id=7, sku="tea")
_AGAIN = ", on_change: re_emit, for: 1d"
_WAIT = ", on_miss: 'wait:1h'"


def _sent(name: str | None, price: float | None) -> Emission:
    return upsert(1, {"name": name, "price": price})


CASES = (
    stream_case(
        "two lookups see the rows of one batch",
        _project(),
        batch(_ORDER, _TEA, _ADA, sends=[_sent("ada", 1.0)]),
    ),
    stream_case(
        "a column that is computed before a lookup and dropped or replaced after it",
        _project(between="- {with_columns: {city_id: city_id + 1}}").replace(
            "[name, price]", "[name, price, {city_id: id}]"
        ),
        batch(_ORDER, _TEA, _ADA, sends=[upsert(1, {"name": "ada", "price": 1.0, "city_id": 1})]),
    ),
    stream_case(
        "a lookup by a looked-up column",
        _DEEP,
        batch(
            insert("cities", id=1, city="rome"),
            _ADA,
            _ORDER,
            insert("orders", id=2, customer_id=8),
            sends=[
                upsert(1, {"name": "ada", "city": "rome"}),
                upsert(2, {"name": None, "city": None}),
            ],
        ),
    ),
    stream_case(
        "an event that waits twice goes when the second row comes",
        _project(_WAIT, _WAIT),
        batch(_ORDER),
        batch(_ADA),
        batch(_TEA, sends=[_sent("ada", 1.0)]),
    ),
    stream_case(
        "an event that waited in the first lookup takes the second row of then",
        _project(_WAIT),
        batch(_ORDER, _TEA),
        batch(update("products", sku="tea", price=2.0)),
        batch(_ADA, sends=[_sent("ada", 2.0)]),
    ),
    stream_case(
        "an event that both lookups correct in one batch is sent once",
        _project(_AGAIN, _AGAIN),
        batch(_ORDER, _TEA, _ADA, sends=[_sent("ada", 1.0)]),
        batch(
            update("customers", id=7, name="eve"),
            update("products", sku="tea", price=2.0),
            sends=[_sent("eve", 2.0)],
        ),
    ),
    stream_case(
        "a correction of the second lookup keeps the last correction of the first",
        _project(_AGAIN, _AGAIN),
        batch(_ORDER, _TEA, _ADA, sends=[_sent("ada", 1.0)]),
        batch(update("customers", id=7, name="eve"), sends=[_sent("eve", 1.0)]),
        batch(update("products", sku="tea", price=2.0), sends=[_sent("eve", 2.0)]),
        batch(update("customers", id=7, name="zoe"), sends=[_sent("zoe", 2.0)]),
    ),
    stream_case(
        "a correction takes the row that a later lookup has then",
        _project(_AGAIN),
        batch(_ORDER, _TEA, _ADA, sends=[_sent("ada", 1.0)]),
        batch(update("products", sku="tea", price=2.0)),
        batch(update("customers", id=7, name="eve"), sends=[_sent("eve", 2.0)]),
    ),
    stream_case(
        "a correction of an event that still waits later on changes what will be sent",
        _project(_AGAIN, _WAIT),
        batch(_ORDER, _ADA),
        batch(update("customers", id=7, name="eve")),
        batch(_TEA, sends=[_sent("eve", 1.0)]),
    ),
    stream_case(
        "a filter between two lookups spares the second",
        _project(second=", on_miss: dead_letter", between="- {filter: name is not null}"),
        batch(
            _ORDER,
            insert("orders", id=2, customer_id=8, sku="rye"),
            _ADA,
            _TEA,
            sends=[_sent("ada", 1.0)],
        ),
    ),
)
