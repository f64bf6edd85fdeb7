"""Cases about the steps that look nothing up: filters, columns, functions, unions, branches."""

from __future__ import annotations

from typing import Any

from joinery.testing.changes import RowChange, delete, insert
from joinery.testing.conformance.stream_case import batch, stream_case
from joinery.testing.driver import Emission, upsert

_ORDERS = """
relations:
  orders:
    append: true
    key: [id]
    fields: {id: long, item: string, quantity: int, price: double}
streams:
"""


def _project(steps: str, more: str = "") -> str:
    return f"{_ORDERS}{more}  s:\n    from: orders\n    steps: [{steps}]\n"


def _order(number: int, **columns: Any) -> RowChange:
    return insert("orders", id=number, **columns)


def _whole(number: int, item: Any = None, quantity: Any = None, price: Any = None) -> Emission:
    return upsert(number, {"id": number, "item": item, "quantity": quantity, "price": price})


CASES = (
    stream_case(
        "an event is sent once, with all its columns",
        _project(""),
        batch(_order(1, item="tea", quantity=2, price=1.5), sends=[_whole(1, "tea", 2, 1.5)]),
        batch(_order(2), sends=[_whole(2)]),
        batch(),
    ),
    stream_case(
        "an event that is told again is sent again, under a higher version",
        _project(""),
        batch(_order(1, item="tea"), sends=[_whole(1, "tea")]),
        batch(_order(1, item="rye"), sends=[_whole(1, "rye")]),
    ),
    stream_case(
        "a delete in a log of events changes nothing",
        _project(""),
        batch(_order(1), sends=[_whole(1)]),
        batch(delete("orders", id=1)),
    ),
    stream_case(
        "a filter keeps the events for which it is true, not those for which it is null",
        _project("{filter: quantity > 1}"),
        batch(
            _order(1, quantity=1), _order(2, quantity=2), _order(3), sends=[_whole(2, quantity=2)]
        ),
    ),
    stream_case(
        "select replaces all columns, in its own order",
        _project("{select: [quantity, {name: upper(item)}]}"),
        batch(_order(1, item="tea", quantity=2), sends=[upsert(1, {"quantity": 2, "name": "TEA"})]),
    ),
    stream_case(
        "columns that are added come last, and one of a known name stays in its place",
        _project("{with_columns: {total: quantity * price, item: lower(item)}}"),
        batch(
            _order(1, item="TEA", quantity=2, price=1.5),
            sends=[upsert(1, {"id": 1, "item": "tea", "quantity": 2, "price": 1.5, "total": 3.0})],
        ),
    ),
    stream_case(
        "columns of one step do not see one another",
        _project("{select: [quantity]}, {with_columns: {quantity: quantity + 1, b: -quantity}}"),
        batch(_order(1, quantity=2), sends=[upsert(1, {"quantity": 3, "b": -2})]),
    ),
    stream_case(
        "a computed column may be replaced by one that does not read it",
        _project("{with_columns: {quantity: quantity + 1}}, {with_columns: {quantity: id}}"),
        batch(_order(1, quantity=2), sends=[_whole(1, quantity=1)]),
    ),
    stream_case(
        "an event may lose its key column, and is still sent under its key",
        _project("{select: [item]}"),
        batch(_order(1, item="tea"), sends=[upsert(1, {"item": "tea"})]),
    ),
    stream_case(
        "a function gives the columns anew, and drops an event by returning nothing",
        _project(
            "{map: {function: 'joinery.testing.conformance.stream_function:label',"
            " output: {label: string, dear: boolean}}}, {filter: not dear}"
        ),
        batch(
            _order(1, item="tea", price=1.5),
            _order(2, item=None),
            _order(3, item="gem", price=900.0),
            sends=[upsert(1, {"label": "tea!", "dear": False})],
        ),
    ),
    stream_case(
        "an event that a function fails on is a dead letter, and the others go on",
        _project(
            "{map: {function: 'joinery.testing.conformance.stream_function:halve',"
            " output: {half: double}}}"
        ),
        batch(
            _order(1, quantity=4),
            _order(2),
            sends=[upsert(1, {"half": 2.0})],
            dead=[2],
        ),
    ),
    stream_case(
        "a stream goes on from another",
        _project("{filter: quantity > 1}").replace("  s:", "  many:")
        + "  s: {from: many, steps: [{select: [item]}]}\n",
        batch(
            _order(1, quantity=1, item="tea"),
            _order(2, quantity=2, item="rye"),
            sends=[upsert(2, {"item": "rye"})],
        ),
    ),
    stream_case(
        "united streams send the events of both",
        """
relations:
  web: {append: true, key: [id], fields: {id: long, amount: int}}
  shop: {append: true, key: [id], fields: {id: long, amount: int, till: string}}
streams:
  from_shop: {from: shop, steps: [{select: [id, amount]}]}
  s: {from: web, steps: [{union: from_shop}, {filter: amount > 1}]}
""",
        batch(
            insert("web", id=1, amount=1),
            insert("web", id=2, amount=2),
            insert("shop", id=3, amount=3, till="a"),
            sends=[upsert(2, {"id": 2, "amount": 2}), upsert(3, {"id": 3, "amount": 3})],
        ),
    ),
    stream_case(
        "a relation's where and its derived columns hold for events",
        """
relations:
  orders:
    append: true
    key: [id]
    fields: {id: long, item: string}
    derive: {name: upper(item)}
    where: item is not null
streams:
  s: {from: orders}
""",
        batch(
            insert("orders", id=1, item="tea"),
            insert("orders", id=2),
            sends=[upsert(1, {"id": 1, "item": "tea", "name": "TEA"})],
        ),
    ),
    stream_case(
        "a key of several columns identifies an event",
        """
relations:
  views: {append: true, key: [page, at], fields: {page: string, at: long}}
streams:
  s: {from: views}
""",
        batch(
            insert("views", page="a", at=1),
            insert("views", page="a", at=2),
            sends=[
                upsert(("a", 1), {"page": "a", "at": 1}),
                upsert(("a", 2), {"page": "a", "at": 2}),
            ],
        ),
    ),
)
