"""Cases about rows that are queried from a store: with the same rows, the same results."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.stream_case import StreamCase, batch, stream_case
from joinery.testing.driver import Emission, upsert

_CITIES = "- {lookup: cities, on: {id: customer_id}, on_change: re_emit, for: 1d}"


def _project(cache: str, on_miss: str = "null", before: str = "", more: str = "") -> str:
    return f"""
relations:
  orders: {{append: true, key: [id], fields: {{id: long, customer_id: long}}}}
  customers: {{key: [id], fields: {{id: long, name: string}}}}
  cities: {{key: [id], fields: {{id: long, city: string}}}}
streams:
  s:
    from: orders
    steps:
      {before}
      - lookup: customers
        on: {{id: customer_id}}
        fields: [name]
        on_miss: {on_miss}
        read: database
        store: {{sqlite: {{path: store.db}}}}
        cache: {{ttl: {cache}, negative: {cache}}}
{more}"""


def _sent(number: int, customer: int | None, name: str | None, **more: object) -> Emission:
    return upsert(number, {"id": number, "customer_id": customer, "name": name, **more})


_ADA = insert("customers", id=7, name="ada")


def _cases(how: str, cache: str) -> tuple[StreamCase, ...]:
    return (
        stream_case(
            f"database{how}: an event takes the row that the store has",
            _project(cache),
            batch(_ADA, insert("orders", id=1, customer_id=7), sends=[_sent(1, 7, "ada")]),
            batch(
                update("customers", id=7, name="eve"),
                insert("orders", id=2, customer_id=7),
                insert("orders", id=3, customer_id=7),
                sends=[_sent(2, 7, "eve"), _sent(3, 7, "eve")],
            ),
            batch(
                delete("customers", id=7),
                insert("orders", id=4, customer_id=7),
                sends=[_sent(4, 7, None)],
            ),
        ),
        stream_case(
            f"database{how}: null is not asked for",
            _project(cache),
            batch(insert("orders", id=1, customer_id=None), sends=[_sent(1, None, None)]),
        ),
        stream_case(
            f"database{how} with drop: an event without a row is not sent",
            _project(cache, "drop"),
            batch(
                _ADA,
                insert("orders", id=1, customer_id=8),
                insert("orders", id=2, customer_id=7),
                sends=[_sent(2, 7, "ada")],
            ),
        ),
        stream_case(
            f"database{how} with dead_letter: an event without a row is a dead letter",
            _project(cache, "dead_letter"),
            batch(_ADA, insert("orders", id=1, customer_id=8), dead=[1]),
        ),
        stream_case(
            f"database{how}: a lookup in state behind it gives the same as before it",
            _project(cache, more="      - {lookup: cities, on: {id: customer_id}}\n"),
            batch(
                _ADA,
                insert("cities", id=7, city="rome"),
                insert("orders", id=1, customer_id=7),
                sends=[_sent(1, 7, "ada", city="rome")],
            ),
        ),
        stream_case(
            f"database{how}: a correction of a lookup in state before it asks the store again",
            _project(cache, before=_CITIES),
            batch(
                _ADA,
                insert("orders", id=1, customer_id=7),
                sends=[upsert(1, {"id": 1, "customer_id": 7, "city": None, "name": "ada"})],
            ),
            batch(
                insert("cities", id=7, city="rome"),
                update("customers", id=7, name="eve"),
                sends=[upsert(1, {"id": 1, "customer_id": 7, "city": "rome", "name": "eve"})],
            ),
        ),
    )


# An answer that is not kept is asked for by its key; one that is, be it for a moment, may come
# with the whole table.
CASES = _cases("", "0s") + _cases(", read whole", "1ms")
