"""One history under every allowed combination of `on_miss` and `on_change`, told literally.

The history: order 1 is of customer 10, who comes later; order 2 of customer 20, who is
there, is renamed, and goes. Two hours later it is time to correct.
"""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.stream_case import StreamCase, batch, stream_case
from joinery.testing.driver import Emission, upsert

_CHANGE = {
    "keep": "on_change: keep",
    "re_emit": "on_change: re_emit, for: 7d",
    "correct": "on_change: correct, for: 7d, every: 1h",
}
_MISS = {"null": "null", "drop": "drop", "dead_letter": "dead_letter", "wait": "'wait:1d'"}


def _first(number: int, name: str | None) -> Emission:
    return upsert(number, {"name": name, "again": False})


def _again(number: int, name: str | None) -> Emission:
    return upsert(number, {"name": name, "again": True})


_BOB = _first(2, "bob")
# What each batch sends: the orders; ann comes; bob is renamed; bob goes; two hours later.
_EXPECTED: dict[tuple[str, str], tuple[list[Emission], ...]] = {
    ("null", "keep"): ([_first(1, None), _BOB], [], [], [], []),
    ("drop", "keep"): ([_BOB], [], [], [], []),
    ("dead_letter", "keep"): ([_BOB], [], [], [], []),
    ("wait", "keep"): ([_BOB], [_first(1, "ann")], [], [], []),
    ("null", "re_emit"): (
        [_first(1, None), _BOB],
        [_again(1, "ann")],
        [_again(2, "bo")],
        [_again(2, None)],
        [],
    ),
    ("drop", "re_emit"): ([_BOB], [], [_again(2, "bo")], [], []),
    ("dead_letter", "re_emit"): ([_BOB], [], [_again(2, "bo")], [], []),
    ("wait", "re_emit"): (
        [_BOB],
        [_first(1, "ann")],
        [_again(2, "bo")],
        [_again(2, None)],
        [],
    ),
    ("null", "correct"): (
        [_first(1, None), _BOB],
        [],
        [],
        [],
        [_again(1, "ann"), _again(2, None)],
    ),
    ("drop", "correct"): ([_BOB], [], [], [], []),
    ("dead_letter", "correct"): ([_BOB], [], [], [], []),
    ("wait", "correct"): ([_BOB], [_first(1, "ann")], [], [], [_again(2, None)]),
}


def _case(on_miss: str, on_change: str) -> StreamCase:
    project = f"""
relations:
  orders: {{append: true, key: [id], fields: {{id: long, customer_id: long}}}}
  customers: {{key: [id], fields: {{id: long, name: string}}}}
streams:
  s:
    from: orders
    correction: again
    steps:
      - lookup: customers
        on: {{id: customer_id}}
        fields: [name]
        on_miss: {_MISS[on_miss]}
        {_CHANGE[on_change].replace(", ", chr(10) + "        ")}
      - select: [name]
"""
    sends = _EXPECTED[on_miss, on_change]
    return stream_case(
        f"one history under on_miss: {on_miss} and on_change: {on_change}",
        project,
        batch(
            insert("customers", id=20, name="bob"),
            insert("orders", id=1, customer_id=10),
            insert("orders", id=2, customer_id=20),
            sends=sends[0],
            dead=[1] if on_miss == "dead_letter" else [],
        ),
        batch(insert("customers", id=10, name="ann"), sends=sends[1]),
        batch(update("customers", id=20, name="bo"), sends=sends[2]),
        batch(delete("customers", id=20), sends=sends[3]),
        *([batch(sends=sends[4], after="2h")] if on_change == "correct" else [batch()]),
    )


CASES = tuple(_case(on_miss, on_change) for on_miss, on_change in _EXPECTED)
