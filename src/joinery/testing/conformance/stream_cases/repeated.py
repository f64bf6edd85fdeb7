"""Cases about events that come twice in one batch: the last in the log counts.

Each does with several events what it does with one, since luck may order two.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from joinery.testing.changes import RowChange, insert
from joinery.testing.conformance.stream_case import batch, stream_case
from joinery.testing.driver import Emission, upsert

_IDS = range(1, 9)
_RELATIONS = """
relations:
  orders:
    append: true
    key: [id]
    time: at
    fields: {id: long, sku: string, n: int, at: timestamp}
  refunds: {append: true, key: [id], fields: {id: long, sku: string, n: int, at: timestamp}}
  prices: {key: [sku], fields: {sku: string, price: long}}
  titles: {key: [n], fields: {n: int, title: string}}
  rates: {key: [sku], time: since, fields: {sku: string, rate: long, since: timestamp}}
streams:
"""
_TEA, _RYE = insert("prices", sku="tea", price=1), insert("prices", sku="rye", price=7)


def _project(steps: str, more: str = "") -> str:
    return (
        f"{_RELATIONS}{more}  s:\n    from: orders\n    steps: [{steps}{{select: [id, n, %s]}}]\n"
    )


def _looked_up(switches: str, later: str = "") -> str:
    steps = f"{{lookup: prices, on: [sku], fields: [price], {switches}}}, {later}"
    return _project(steps) % "price"


def _as_of(late: str) -> str:
    steps = f"{{lookup: rates, on: [sku], fields: [rate], as_of: event, late: {late}}}, "
    return _project(steps) % "rate"


def _orders(sku: str, n: int, at: int = 0) -> list[RowChange]:
    time = f"2026-03-01T12:{at:02d}:00Z"
    return [insert("orders", id=each, sku=sku, n=n, at=time) for each in _IDS]


def _rate(rate: int, since: int, sku: str = "tea") -> RowChange:
    return insert("rates", sku=sku, rate=rate, since=f"2026-03-01T12:{since:02d}:00Z")


def _sent(**columns: Any) -> Iterable[Emission]:
    return [upsert(each, {"id": each, **columns}) for each in _IDS]


CASES = (
    stream_case(
        "an event that comes twice in a batch is sent once, as the last in the log has it",
        _project("") % "sku",
        batch(*_orders("tea", 1), *_orders("rye", 2), sends=_sent(n=2, sku="rye")),
        batch(*_orders("tea", 1), sends=_sent(n=1, sku="tea")),
    ),
    stream_case(
        "a repeat that a filter keeps out leaves what came before it",
        _project("{filter: n < 3}, ") % "sku",
        batch(
            *_orders("tea", 1), *_orders("rye", 2), *_orders("gin", 3), sends=_sent(n=2, sku="rye")
        ),
        batch(*_orders("rye", 3)),
    ),
    stream_case(
        "keep: an event that comes twice in a batch is sent once",
        _looked_up("on_change: keep"),
        batch(_TEA, *_orders("tea", 1), *_orders("tea", 2), sends=_sent(n=2, price=1)),
    ),
    stream_case(
        "keep: an event that comes twice under two join values has the row of the last",
        _looked_up("on_change: keep"),
        batch(
            _TEA,
            _RYE,
            *_orders("tea", 1),
            *_orders("rye", 2),
            *_orders("tea", 3),
            sends=_sent(n=3, price=1),
        ),
    ),
    stream_case(
        "keep: a repeat that is dropped leaves what came before it",
        _looked_up("on_miss: drop"),
        batch(_TEA, *_orders("tea", 1), *_orders("gin", 2), sends=_sent(n=1, price=1)),
    ),
    stream_case(
        "keep: a repeat that a later filter keeps out leaves what came before it",
        _looked_up("on_change: keep", "{filter: price < 5}, "),
        batch(_TEA, _RYE, *_orders("tea", 1), *_orders("rye", 2), sends=_sent(n=1, price=1)),
    ),
    stream_case(
        "keep: two lookups, and events that come twice under other values of both",
        _project(
            "{lookup: prices, on: [sku], fields: [price]},"
            " {lookup: titles, on: [n], fields: [title]}, "
        )
        % "price, title",
        batch(
            _TEA,
            _RYE,
            insert("titles", n=1, title="one"),
            insert("titles", n=2, title="two"),
            *_orders("rye", 1),
            *_orders("tea", 1),
            *_orders("tea", 2),
            sends=_sent(n=2, price=1, title="two"),
        ),
    ),
    stream_case(
        "re_emit: a repeat that is dropped leaves what came before it, which is forgotten",
        _looked_up("on_miss: drop, on_change: re_emit, for: 7d"),
        batch(_TEA, *_orders("tea", 1), *_orders("gin", 2), sends=_sent(n=1, price=1)),
        batch(insert("prices", sku="tea", price=3)),
    ),
    stream_case(
        "re_emit: what an event that comes twice was before is not corrected",
        _looked_up("on_change: re_emit, for: 7d"),
        batch(_TEA, _RYE, *_orders("tea", 1), *_orders("rye", 2), sends=_sent(n=2, price=7)),
        batch(insert("prices", sku="tea", price=3)),
        batch(insert("prices", sku="rye", price=8), sends=_sent(n=2, price=8)),
    ),
    stream_case(
        "wait: a repeat that waits leaves what came before it, and goes when its row comes",
        _looked_up("on_miss: 'wait:1d'"),
        batch(_TEA, *_orders("tea", 1), *_orders("rye", 2), sends=_sent(n=1, price=1)),
        batch(_RYE, sends=_sent(n=2, price=7)),
    ),
    stream_case(
        "wait: of an event that comes twice without a row the last waits",
        _looked_up("on_miss: 'wait:1d'"),
        batch(*_orders("tea", 1), *_orders("rye", 2)),
        batch(_TEA),
        batch(_RYE, sends=_sent(n=2, price=7)),
    ),
    stream_case(
        "wait: a repeat that finds its row is not followed by what waited before it",
        _looked_up("on_miss: 'wait:1d'"),
        batch(*_orders("tea", 1), *_orders("tea", 2)),
        batch(_RYE, *_orders("gin", 3), *_orders("rye", 4), sends=_sent(n=4, price=7)),
        batch(_TEA),
    ),
    stream_case(
        "hold: a repeat that is held leaves what came before it",
        _as_of("hold"),
        batch(
            _rate(1, 0),
            _rate(2, 30),
            *_orders("tea", 1, at=5),
            *_orders("tea", 2, at=40),
            sends=_sent(n=1, rate=1),
        ),
        batch(_rate(3, 50), sends=_sent(n=2, rate=2)),
    ),
    stream_case(
        "hold: of an event that comes twice and is held the last is answered",
        _as_of("hold"),
        batch(_rate(1, 0), _rate(9, 0, "rye"), *_orders("tea", 1, at=5), *_orders("rye", 2, at=5)),
        batch(_rate(3, 50), sends=_sent(n=2, rate=9)),
    ),
    stream_case(
        "late: correct sends an event that comes twice once, and corrects the last",
        _as_of("correct"),
        batch(
            _rate(1, 0),
            _rate(9, 0, "rye"),
            *_orders("tea", 1, at=5),
            *_orders("rye", 2, at=5),
            sends=_sent(n=2, rate=9),
        ),
        batch(_rate(4, 1)),
        batch(_rate(8, 2, "rye"), sends=_sent(n=2, rate=8)),
    ),
    stream_case(
        "a function sees an event as often as it comes, and the last is sent",
        _project(
            "{select: [id, n, {quantity: n}]},"
            " {map: {function: 'joinery.testing.conformance.stream_function:halve',"
            " output: {half: double}}}, "
        ).replace("[id, n, %s]", "[half]"),
        batch(
            *_orders("tea", 2),
            *_orders("tea", 4),
            sends=[upsert(each, {"half": 2.0}) for each in _IDS],
        ),
    ),
    stream_case(
        "of an event that two united logs have in one batch, the later by name is sent",
        _project("{union: others}, ", "  others: {from: refunds}\n") % "sku",
        batch(
            *[insert("refunds", id=each, sku="rye", n=2) for each in _IDS],
            *_orders("tea", 1),
            sends=_sent(n=2, sku="rye"),
        ),
        batch(*_orders("tea", 1), sends=_sent(n=1, sku="tea")),
    ),
)
