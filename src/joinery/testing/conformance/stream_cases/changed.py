"""Cases about rows that change after their events were sent."""

from __future__ import annotations

from joinery.testing.changes import RowChange, delete, insert, update
from joinery.testing.conformance.stream_case import StreamStep, batch, stream_case
from joinery.testing.driver import Emission, upsert


def _project(switches: str, steps: str = "") -> str:
    return f"""
relations:
  orders: {{append: true, key: [id], fields: {{id: long, sku: string, quantity: int}}}}
  products: {{key: [sku], fields: {{sku: string, price: double, title: string}}}}
streams:
  s:
    from: orders
    correction: again
    steps:
      - {{lookup: products, on: [sku], fields: [price], {switches}}}
      {steps or "- {select: [price]}"}
"""


_AGAIN = "on_change: re_emit, for: 7d"
_TEA = insert("products", sku="tea", price=1.0, title="Tea")
_ORDER = insert("orders", id=1, sku="tea", quantity=5)


def _order(number: int) -> RowChange:
    return insert("orders", id=number, sku="tea", quantity=5)


def _price(price: float) -> RowChange:
    return update("products", sku="tea", price=price)


def _rye(price: float) -> RowChange:
    return insert("products", sku="rye", price=price, title="Rye")


def _sent(price: float | None, number: int = 1, *, again: bool = False) -> Emission:
    return upsert(number, {"price": price, "again": again})


_RYE = _rye(7.0)


def _first() -> StreamStep:
    return batch(_TEA, _ORDER, sends=[_sent(1.0)])


CASES = (
    stream_case(
        "re_emit: a changed row sends its events again, as corrections",
        _project(_AGAIN),
        batch(
            _TEA,
            _ORDER,
            insert("orders", id=2, sku="tea"),
            insert("orders", id=3, sku="rye"),
            sends=[_sent(1.0), _sent(1.0, 2), _sent(None, 3)],
        ),
        batch(_price(2.0), sends=[_sent(2.0, again=True), _sent(2.0, 2, again=True)]),
        batch(),
    ),
    stream_case(
        "re_emit: several changes in one batch send an event once",
        _project(_AGAIN),
        _first(),
        batch(_price(2.0), _price(3.0), sends=[_sent(3.0, again=True)]),
    ),
    stream_case(
        "re_emit: a change that the fields do not show sends nothing",
        _project(_AGAIN),
        _first(),
        batch(update("products", sku="tea", title="Green tea")),
        batch(_price(2.0), _price(1.0)),
    ),
    stream_case(
        "re_emit: a change that comes with the event sends it once, and not as a correction",
        _project(_AGAIN),
        batch(_TEA),
        batch(_price(2.0), _ORDER, sends=[_sent(2.0)]),
    ),
    stream_case(
        "re_emit: a change after the time for which events are remembered sends nothing",
        _project("on_change: re_emit, for: 1h"),
        _first(),
        batch(_price(2.0), after="59m", sends=[_sent(2.0, again=True)]),
        batch(_price(3.0), after="1m"),
    ),
    stream_case(
        "re_emit: a correction does not renew the time for which an event is remembered",
        _project("on_change: re_emit, for: 1h"),
        _first(),
        batch(_price(2.0), after="40m", sends=[_sent(2.0, again=True)]),
        batch(_price(3.0), after="40m"),
    ),
    stream_case(
        "re_emit: where says which events are sent again",
        _project(f"{_AGAIN}, where: quantity > 3"),
        batch(
            _TEA,
            _ORDER,
            insert("orders", id=2, sku="tea", quantity=1),
            sends=[_sent(1.0), _sent(1.0, 2)],
        ),
        batch(_price(2.0), sends=[_sent(2.0, again=True)]),
    ),
    stream_case(
        "re_emit: where sees the new fields, and what it kept back is compared with what was sent",
        _project(f"{_AGAIN}, where: price < 10"),
        _first(),
        batch(_price(50.0)),
        batch(_price(1.0)),
        batch(_price(2.0), sends=[_sent(2.0, again=True)]),
    ),
    stream_case(
        "re_emit with null: a row that comes, goes and comes back corrects its events",
        _project(_AGAIN),
        batch(_ORDER, sends=[_sent(None)]),
        batch(_TEA, sends=[_sent(1.0, again=True)]),
        batch(delete("products", sku="tea"), sends=[_sent(None, again=True)]),
        batch(_TEA, sends=[_sent(1.0, again=True)]),
    ),
    stream_case(
        "re_emit with drop: what was sent stands when the row goes",
        _project(f"{_AGAIN}, on_miss: drop"),
        _first(),
        batch(delete("products", sku="tea")),
        batch(_TEA),
        batch(_price(2.0), sends=[_sent(2.0, again=True)]),
    ),
    stream_case(
        "re_emit with drop: an event that was dropped is not remembered",
        _project(f"{_AGAIN}, on_miss: drop"),
        batch(_ORDER),
        batch(_TEA),
        batch(_price(2.0)),
    ),
    stream_case(
        "re_emit with wait: the first answer is no correction, the next one is",
        _project(f"{_AGAIN}, on_miss: 'wait:5m'"),
        batch(_ORDER),
        batch(_TEA, sends=[_sent(1.0)]),
        batch(_price(2.0), sends=[_sent(2.0, again=True)]),
    ),
    stream_case(
        "re_emit: an event that is told again is remembered as told last",
        _project(_AGAIN, "- {select: [{total: price * quantity}]}"),
        batch(_TEA, _ORDER, sends=[upsert(1, {"total": 5.0, "again": False})]),
        batch(
            insert("orders", id=1, sku="tea", quantity=7),
            sends=[upsert(1, {"total": 7.0, "again": False})],
        ),
        batch(_price(2.0), sends=[upsert(1, {"total": 14.0, "again": True})]),
    ),
    stream_case(
        "re_emit: an event that is told again under another join value is remembered there alone",
        _project(_AGAIN),
        batch(_TEA, _RYE, _ORDER, sends=[_sent(1.0)]),
        batch(insert("orders", id=1, sku="rye"), sends=[_sent(7.0)]),
        batch(_price(2.0)),
        batch(_rye(8.0), sends=[_sent(8.0, again=True)]),
        batch(_ORDER, sends=[_sent(2.0)]),
        batch(_rye(9.0), _price(3.0), sends=[_sent(3.0, again=True)]),
    ),
    stream_case(
        "re_emit: an event that is told again without a join value is not remembered",
        _project(_AGAIN),
        _first(),
        batch(insert("orders", id=1, sku=None), sends=[_sent(None)]),
        batch(_price(2.0)),
    ),
    stream_case(
        "re_emit: of an event that is told twice in a batch the last in the log stands",
        _project(_AGAIN),
        batch(_TEA, _RYE, insert("orders", id=1, sku="rye"), _ORDER, sends=[_sent(1.0)]),
        batch(_rye(8.0)),
        batch(_price(2.0), sends=[_sent(2.0, again=True)]),
    ),
    stream_case(
        "re_emit: an event that is told again while the row that it left changes is sent once",
        _project(_AGAIN),
        batch(_TEA, _RYE, _ORDER, sends=[_sent(1.0)]),
        batch(_price(2.0), insert("orders", id=1, sku="rye"), sends=[_sent(7.0)]),
    ),
    stream_case(
        "re_emit: a correction that a later filter keeps out is not sent",
        _project(_AGAIN, "- {filter: price < 10}\n      - {select: [price]}"),
        _first(),
        batch(_price(50.0)),
        batch(_price(2.0), sends=[_sent(2.0, again=True)]),
    ),
    stream_case(
        "re_emit: the first line of an event is a correction if a later filter kept it out before",
        _project(_AGAIN, "- {filter: price < 10}\n      - {select: [price]}"),
        batch(_rye(50.0), insert("orders", id=1, sku="rye")),
        batch(_rye(2.0), sends=[_sent(2.0, again=True)]),
    ),
    stream_case(
        "re_emit: an event that comes again is no correction, though it was sent again before",
        _project(_AGAIN),
        _first(),
        batch(_price(2.0), sends=[_sent(2.0, again=True)]),
        batch(_ORDER, sends=[_sent(2.0)]),
    ),
    stream_case(
        "re_emit: an event that comes again and a filter before keeps out leaves the first one",
        _project(_AGAIN).replace("steps:", "steps:\n      - {filter: quantity > 0}"),
        _first(),
        batch(insert("orders", id=1, sku="tea", quantity=0)),
        batch(_price(2.0), sends=[_sent(2.0, again=True)]),
    ),
    stream_case(
        "re_emit: later steps compute a correction anew",
        _project(_AGAIN, "- {select: [{total: price * quantity}]}"),
        batch(_TEA, _ORDER, sends=[upsert(1, {"total": 5.0, "again": False})]),
        batch(_price(2.0), sends=[upsert(1, {"total": 10.0, "again": True})]),
    ),
    stream_case(
        "correct: corrections are sent once in a while, with the row of then",
        _project("on_change: correct, for: 1d, every: 1h"),
        _first(),
        batch(_price(2.0), after="30m"),
        batch(_price(3.0), after="20m"),
        batch(after="20m", sends=[_sent(3.0, again=True)]),
        batch(after="2h"),
    ),
    stream_case(
        "correct: events that keep coming for a row do not put off the corrections of earlier ones",
        _project("on_change: correct, for: 1d, every: 1h"),
        _first(),
        batch(_price(2.0), _price(3.0), _order(2), after="59m", sends=[_sent(3.0, 2)]),
        batch(
            _price(4.0),
            _order(3),
            after="1m",
            sends=[_sent(4.0, again=True), _sent(4.0, 2, again=True), _sent(4.0, 3)],
        ),
        batch(_price(5.0), _order(4), after="30m", sends=[_sent(5.0, 4)]),
        batch(
            _price(6.0),
            after="30m",
            sends=[_sent(6.0, number, again=True) for number in (1, 2, 3, 4)],
        ),
    ),
    stream_case(
        "correct: an event is forgotten after the correction that follows its time",
        _project("on_change: correct, for: 90m, every: 1h"),
        _first(),
        batch(_price(2.0), after="89m", sends=[_sent(2.0, again=True)]),
        batch(_price(3.0), after="11m"),
        batch(after="30m", sends=[_sent(3.0, again=True)]),
        batch(_price(4.0), after="2h"),
    ),
    stream_case(
        "re_emit: an event that went long after its wait is remembered from the end of the wait",
        _project("on_miss: 'wait:10m', on_change: re_emit, for: 1h"),
        batch(_ORDER),
        batch(after="30m", sends=[_sent(None)]),
        batch(_TEA, after="39m", sends=[_sent(1.0, again=True)]),
        batch(_price(2.0), after="1m"),
    ),
    stream_case(
        "re_emit: an event that went when it was forgotten already is not remembered",
        _project("on_miss: 'wait:10m', on_change: re_emit, for: 1h"),
        batch(_ORDER),
        batch(_TEA, after="70m", sends=[_sent(1.0)]),
        batch(_price(2.0), after="1m"),
    ),
    stream_case(
        "correct: an event that went long after its wait is remembered from the end of the wait",
        _project("on_miss: 'wait:10m', on_change: correct, for: 30m, every: 1h"),
        batch(_ORDER),
        batch(after="50m", sends=[_sent(None)]),
        batch(_TEA, after="10m", sends=[_sent(1.0, again=True)]),
        batch(_price(2.0), after="1h"),
    ),
    stream_case(
        "correct: an event is forgotten at the full time that follows, though no batch ran before",
        _project("on_change: correct, for: 10m, every: 1h"),
        batch(_TEA, after="50m"),
        batch(_ORDER, after="5m", sends=[_sent(1.0)]),
        batch(_price(2.0), after="13m", sends=[_sent(2.0, again=True)]),
        batch(_price(3.0), after="52m", sends=[_sent(3.0, again=True)]),
        batch(_price(4.0), after="1h"),
    ),
)
