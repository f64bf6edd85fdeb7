"""Cases about events without a row."""

from __future__ import annotations

from joinery.testing.changes import delete, insert
from joinery.testing.conformance.stream_case import batch, stream_case
from joinery.testing.driver import Emission, upsert


def _project(on_miss: str, more: str = "") -> str:
    return f"""
relations:
  orders: {{append: true, key: [id], fields: {{id: long, customer_id: long}}}}
  customers: {{key: [id], fields: {{id: long, name: string}}}}
streams:
  s:
    from: orders
    correction: again
    steps:
      - {{lookup: customers, on: {{id: customer_id}}, fields: [name], on_miss: {on_miss}{more}}}
      - {{select: [name]}}
"""


_ADA = insert("customers", id=7, name="ada")
_ORDER = insert("orders", id=1, customer_id=7)
_WAIT = _project("'wait:5m'")


def _sent(name: str | None, number: int = 1, *, again: bool = False) -> Emission:
    return upsert(number, {"name": name, "again": again})


CASES = (
    stream_case(
        "null: an event without a row goes at once, with nulls",
        _project("null"),
        batch(_ORDER, sends=[_sent(None)]),
        batch(_ADA),
    ),
    stream_case(
        "drop: an event without a row is not sent, not even when the row comes",
        _project("drop"),
        batch(_ORDER),
        batch(_ADA),
    ),
    stream_case(
        "dead_letter: an event without a row is a dead letter",
        _project("dead_letter"),
        batch(_ORDER, dead=[1]),
        batch(_ADA, insert("orders", id=2, customer_id=7), sends=[_sent("ada", 2)]),
    ),
    stream_case(
        "wait: an event goes when its row comes, and is no correction",
        _WAIT,
        batch(_ORDER),
        batch(),
        batch(_ADA, sends=[_sent("ada")]),
        batch(),
    ),
    stream_case(
        "wait: the row of another does not send an event",
        _WAIT,
        batch(_ORDER),
        batch(insert("customers", id=8, name="bob")),
        batch(_ADA, sends=[_sent("ada")]),
    ),
    stream_case(
        "wait: all events that wait for a row go when it comes",
        _WAIT,
        batch(_ORDER, insert("orders", id=2, customer_id=7)),
        batch(_ADA, sends=[_sent("ada"), _sent("ada", 2)]),
    ),
    stream_case(
        "wait: an event that waited long enough goes with nulls, and once",
        _WAIT,
        batch(_ORDER),
        batch(after="4m"),
        batch(after="1m", sends=[_sent(None)]),
        batch(_ADA, after="1m"),
    ),
    stream_case(
        "wait: a row that comes in the last batch in time is taken",
        _WAIT,
        batch(_ORDER),
        batch(_ADA, after="5m", sends=[_sent("ada")]),
    ),
    stream_case(
        "wait: a row that went again before the batch's end sends nothing",
        _WAIT,
        batch(_ORDER),
        batch(_ADA, delete("customers", id=7)),
        batch(_ADA, sends=[_sent("ada")]),
    ),
    stream_case(
        "wait: null can find no row, so an event with it does not wait",
        _WAIT,
        batch(insert("orders", id=1, customer_id=None), sends=[_sent(None)]),
    ),
    stream_case(
        "wait: an event that is told again takes the place of the one that waits",
        _WAIT,
        batch(_ORDER),
        batch(_ORDER),
        batch(_ADA, sends=[_sent("ada")]),
        batch(),
    ),
    stream_case(
        "wait: an event that is told again under another join value waits for that row alone",
        _WAIT,
        batch(_ORDER),
        batch(insert("orders", id=1, customer_id=8)),
        batch(_ADA),
        batch(insert("customers", id=8, name="bob"), sends=[_sent("bob")]),
        batch(after="1h"),
    ),
    stream_case(
        "wait: an event that is told again and finds its row no longer waits for another",
        _WAIT,
        batch(_ORDER, insert("customers", id=8, name="bob")),
        batch(insert("orders", id=1, customer_id=8), sends=[_sent("bob")]),
        batch(_ADA),
    ),
    stream_case(
        "wait: later steps see an event when it goes",
        _project("'wait:5m'").replace("- {select", "- {filter: name <> 'bob'}\n      - {select"),
        batch(_ORDER, insert("orders", id=2, customer_id=8)),
        batch(_ADA, insert("customers", id=8, name="bob"), sends=[_sent("ada")]),
    ),
)
