"""Cases about the row that was valid at an event's time."""

from __future__ import annotations

from joinery.testing.changes import RowChange, delete, insert, update
from joinery.testing.conformance.stream_case import StreamCase, batch, stream_case
from joinery.testing.driver import Emission, upsert


def _project(switches: str = "", watermark: str = "{delay: 0s}") -> str:
    return f"""
relations:
  orders: {{append: true, key: [id], time: at, fields: {{id: long, sku: string, at: timestamp}}}}
  prices:
    key: [sku]
    time: since
    watermark: {watermark}
    where: price >= 0
    fields: {{sku: string, price: double, unit: string, since: timestamp}}
streams:
  s:
    from: orders
    correction: again
    steps:
      - {{lookup: prices, on: [sku], fields: [price], as_of: event{switches}}}
      - {{select: [price]}}
"""


def _at(minute: int) -> str:
    return f"2026-03-01T12:{minute:02d}:00Z"


def _version(minute: int, price: float, sku: str = "tea") -> RowChange:
    return insert("prices", sku=sku, price=price, since=_at(minute))


def _order(number: int, minute: int, sku: str = "tea") -> RowChange:
    return insert("orders", id=number, sku=sku, at=_at(minute))


def _sent(number: int, price: float | None, *, again: bool = False) -> Emission:
    return upsert(number, {"price": price, "again": again})


_CORRECT = _project(", late: correct")
_MANY = ("tea", "rye", "oat", "fig", "nut", "ale")

# The version of 20 and the other of 10 are below the watermark, which is 30 then.
_LATE_LOG = (
    _version(10, 1.0),
    _order(1, 25),
    _order(2, 30),
    _order(3, 35),
    _version(30, 9.0, "rye"),
    _version(20, 2.0),
    _version(20, 5.0),
    _version(59, 9.0, "rye"),
)
_LATE_ANSWERS = [_sent(1, 1.0), _sent(2, 5.0), _sent(3, 5.0)]


def _late_cases() -> list[StreamCase]:
    """Return cases of one log whose cuts and interleavings differ, and its answers never."""
    events = tuple(each for each in _LATE_LOG if each.relation == "orders")
    table = tuple(each for each in _LATE_LOG if each.relation == "prices")
    late = "hold: a version below the watermark is used from the watermark on"
    return [
        stream_case(f"{late}, in one batch", _project(), batch(*_LATE_LOG, sends=_LATE_ANSWERS)),
        stream_case(
            f"{late}, read in a later batch",
            _project(),
            batch(*_LATE_LOG[:5], sends=_LATE_ANSWERS[:1]),
            batch(*_LATE_LOG[5:], sends=_LATE_ANSWERS[1:]),
        ),
        stream_case(
            f"{late}, read before the events",
            _project(),
            batch(*table),
            batch(*events, sends=_LATE_ANSWERS),
        ),
        stream_case(
            f"{late}, read after the events, a change at a time",
            _project(),
            batch(*events),
            batch(table[0]),
            batch(table[1], sends=_LATE_ANSWERS[:1]),
            batch(table[2]),
            batch(table[3]),
            batch(table[4], sends=_LATE_ANSWERS[1:]),
        ),
        stream_case(
            "hold: of two versions of one time the late one is used from the watermark on",
            _project(),
            batch(_version(20, 1.0), _version(30, 9.0, "rye"), _version(20, 2.0)),
            batch(
                _order(1, 25),
                _order(2, 29),
                _order(3, 31),
                sends=[_sent(1, 1.0), _sent(2, 1.0)],
            ),
            batch(_version(40, 9.0, "rye"), sends=[_sent(3, 2.0)]),
        ),
        stream_case(
            "hold: what a late update leaves out is as in the version before its time",
            _project()
            .replace("fields: [price]", "fields: {price: price, unit: unit}")
            .replace("[price]}", "[price, unit]}"),
            batch(
                insert("prices", sku="tea", price=1.0, unit="kg", since=_at(10)),
                insert("prices", sku="tea", price=3.0, unit="lb", since=_at(30)),
                update("prices", sku="tea", price=2.0, since=_at(20)),
                update("prices", sku="tea", price=2.5, since=_at(25)),
                update("prices", sku="tea", price=4.0, since=_at(40)),
                _version(59, 9.0, "rye"),
            ),
            batch(
                _order(1, 25),
                _order(2, 30),
                _order(3, 40),
                sends=[
                    upsert(1, {"price": 1.0, "unit": "kg", "again": False}),
                    upsert(2, {"price": 3.0, "unit": "lb", "again": False}),
                    upsert(3, {"price": 4.0, "unit": "lb", "again": False}),
                ],
            ),
        ),
    ]


CASES = (
    stream_case(
        "hold: an event takes the version of its time, not the newest",
        _project(),
        batch(_version(10, 1.0), _version(20, 2.0), _version(30, 3.0)),
        batch(
            _order(1, 10),
            _order(2, 19),
            _order(3, 20),
            _order(4, 5),
            sends=[_sent(1, 1.0), _sent(2, 1.0), _sent(3, 2.0), _sent(4, None)],
        ),
    ),
    stream_case(
        "hold: an event waits until the table's watermark is past its time",
        _project(),
        batch(_version(10, 1.0), _order(1, 15)),
        batch(_version(15, 2.0)),
        batch(_version(16, 3.0), sends=[_sent(1, 2.0)]),
    ),
    stream_case(
        "hold: the versions of other keys move the watermark too",
        _project(),
        batch(_version(10, 1.0), _order(1, 15)),
        batch(_version(40, 9.0, "rye"), sends=[_sent(1, 1.0)]),
    ),
    stream_case(
        "hold: the watermark stays behind the newest version by the table's delay",
        _project(watermark="{delay: 10m}"),
        batch(_version(10, 1.0), _order(1, 15)),
        batch(_version(25, 3.0)),
        batch(_version(14, 2.0)),
        batch(_version(26, 4.0), sends=[_sent(1, 2.0)]),
    ),
    stream_case(
        "hold: a table that is quiet for its idle time holds nobody up",
        _project(watermark="{idle: 10m}"),
        batch(_version(10, 1.0), _order(1, 15)),
        batch(after="9m"),
        batch(_order(2, 40), after="1m", sends=[_sent(1, 1.0), _sent(2, 1.0)]),
        batch(_order(3, 50), after="1m", sends=[_sent(3, 1.0)]),
        batch(_version(20, 2.0), _order(4, 50), after="1m"),
        batch(_version(51, 3.0), after="1m", sends=[_sent(4, 2.0)]),
    ),
    stream_case(
        "hold: a table without any version is quiet from the first batch that brought anything",
        _project(watermark="{idle: 10m}"),
        batch(),
        batch(_order(1, 15), after="5m"),
        *(batch(_order(2, 40, sku), after="1m") for sku in ("rye", "oat", "tea")),
        batch(_order(3, 50, "oat"), after="7m", sends=[_sent(n, None) for n in (1, 2, 3)]),
        batch(_order(4, 50, "fig"), after="1m", sends=[_sent(4, None)]),
    ),
    stream_case(
        "hold: a version that comes too late changes no event that was sent",
        _project(),
        batch(_version(10, 1.0), _version(30, 3.0), _order(1, 25), sends=[_sent(1, 1.0)]),
        batch(_version(20, 2.0)),
        batch(_order(2, 25), sends=[_sent(2, 1.0)]),
    ),
    *_late_cases(),
    stream_case(
        "hold: of two versions of one time the later position stands",
        _project(),
        batch(
            _version(10, 1.0).at(5),
            _version(10, 2.0).at(4),
            _version(20, 3.0).at(6),
            _order(1, 15),
            sends=[_sent(1, 1.0)],
        ),
    ),
    stream_case(
        "hold: what an update leaves out is as in the version before it",
        _project()
        .replace("fields: [price]", "fields: {price: price, unit: unit}")
        .replace("[price]}", "[price, unit]}"),
        batch(insert("prices", sku="tea", price=1.0, unit="kg", since=_at(10))),
        batch(
            update("prices", sku="tea", price=2.0, since=_at(20)),
            _version(40, 0.0, "rye"),
            _order(1, 30),
            sends=[upsert(1, {"price": 2.0, "unit": "kg", "again": False})],
        ),
    ),
    stream_case(
        "hold: a version that the table's where keeps out ends the row",
        _project(),
        batch(_version(10, 1.0), _version(20, -1.0), _version(30, 3.0)),
        batch(
            _order(1, 15),
            _order(2, 25),
            sends=[_sent(1, 1.0), _sent(2, None)],
        ),
    ),
    stream_case(
        "hold: a delete tells no time, and leaves the history alone",
        _project(),
        batch(_version(10, 1.0), _version(30, 3.0), delete("prices", sku="tea")),
        batch(_order(1, 15), sends=[_sent(1, 1.0)]),
    ),
    stream_case(
        "hold: an event without a time is a dead letter",
        _project(),
        batch(insert("orders", id=1, sku="tea"), dead=[1]),
    ),
    stream_case(
        "hold: null can find no version, so an event with it does not wait",
        _project(),
        batch(insert("orders", id=1, at=_at(10)), sends=[_sent(1, None)]),
    ),
    stream_case(
        "hold with drop: an event with null in the join column is dropped at once",
        _project(", on_miss: drop"),
        batch(insert("orders", id=1, at=_at(10))),
        batch(_version(5, 1.0), _version(30, 3.0)),
    ),
    stream_case(
        "hold with dead_letter: an event with null in the join column is a dead letter at once",
        _project(", on_miss: dead_letter"),
        batch(insert("orders", id=1, at=_at(10)), dead=[1]),
        batch(_version(5, 1.0), _version(30, 3.0)),
    ),
    stream_case(
        "hold with drop: an event without a version at its time is not sent",
        _project(", on_miss: drop"),
        batch(
            _version(10, 1.0), _version(30, 3.0), _order(1, 5), _order(2, 15), sends=[_sent(2, 1.0)]
        ),
    ),
    stream_case(
        "hold with dead_letter: an event without a version at its time is a dead letter",
        _project(", on_miss: dead_letter"),
        batch(_order(1, 5), _order(2, 15)),
        batch(_version(10, 1.0), _version(30, 3.0), sends=[_sent(2, 1.0)], dead=[1]),
    ),
    stream_case(
        "hold: an event that is told again takes the place of the one that waits",
        _project(),
        batch(_version(10, 1.0), _order(1, 15)),
        batch(_order(1, 25)),
        batch(_version(20, 2.0)),
        batch(_version(30, 3.0), sends=[_sent(1, 2.0)]),
    ),
    stream_case(
        "hold: an event that is told again under another join value is answered once",
        _project(),
        batch(_version(10, 1.0), _version(10, 7.0, "rye"), _order(1, 15), _order(2, 15)),
        batch(_order(1, 15, "rye"), insert("orders", id=2, at=_at(15)), sends=[_sent(2, None)]),
        batch(_version(30, 3.0), sends=[_sent(1, 7.0)]),
    ),
    stream_case(
        "hold: an event that comes again for another row as the table passes its time is sent once",
        _project(),
        batch(
            *(_version(10, float(n), name) for n, name in enumerate(_MANY)),
            *(_order(n, 15, name) for n, name in enumerate(_MANY)),
        ),
        batch(
            *(_order(n, 15, name) for n, name in enumerate(reversed(_MANY))),
            _version(30, 3.0, "elm"),
            sends=[_sent(n, float(len(_MANY) - 1 - n)) for n in range(len(_MANY))],
        ),
    ),
    stream_case(
        "correct: an event that is told again under another join value is corrected by that alone",
        _CORRECT,
        batch(
            *(_version(10, float(n), name) for n, name in enumerate(_MANY)),
            *(_order(n, 25, name) for n, name in enumerate(_MANY)),
            sends=[_sent(n, float(n)) for n in range(len(_MANY))],
        ),
        batch(
            *(_order(n, 25, name) for n, name in enumerate(reversed(_MANY))),
            sends=[_sent(n, float(len(_MANY) - 1 - n)) for n in range(len(_MANY))],
        ),
        batch(_version(20, 9.0, _MANY[0]), sends=[_sent(len(_MANY) - 1, 9.0, again=True)]),
    ),
    stream_case(
        "for: an event that is no further behind the table takes the version of its time",
        _project(", for: 5m"),
        batch(_version(1, 1.0), _version(10, 2.0), _version(20, 3.0)),
        batch(_version(30, 4.0)),
        batch(_version(40, 5.0)),
        batch(
            _order(1, 35),
            _order(2, 39),
            _order(3, 34),
            sends=[_sent(1, 4.0), _sent(2, 4.0)],
            dead=[3],
        ),
        batch(_version(36, 9.0)),
        batch(_order(4, 37), sends=[_sent(4, 4.0)]),
        batch(_version(2, 8.0), _order(5, 35), sends=[_sent(5, 4.0)]),
    ),
    stream_case(
        "for: an event that waits is answered however far the table goes on at once",
        _project(", for: 5m"),
        batch(_version(10, 1.0), _order(1, 15)),
        batch(_version(14, 2.0), _version(50, 3.0), sends=[_sent(1, 2.0)]),
    ),
    stream_case(
        "correct: an event goes at once, and again when its version comes late",
        _CORRECT,
        batch(_version(10, 1.0), _order(1, 25), sends=[_sent(1, 1.0)]),
        batch(_version(20, 2.0), sends=[_sent(1, 2.0, again=True)]),
        batch(_version(24, 2.0)),
        batch(_version(25, 3.0), sends=[_sent(1, 3.0, again=True)]),
        batch(_version(30, 4.0)),
    ),
    stream_case(
        "correct: an event without a version goes with nulls, and again when there is one",
        _CORRECT,
        batch(_order(1, 25), sends=[_sent(1, None)]),
        batch(_version(10, 1.0), sends=[_sent(1, 1.0, again=True)]),
    ),
    stream_case(
        "correct: once the watermark is past its time an event is not corrected",
        _CORRECT,
        batch(_version(10, 1.0), _order(1, 25), sends=[_sent(1, 1.0)]),
        batch(_version(40, 4.0)),
        batch(_version(20, 2.0)),
        batch(_order(2, 25), sends=[_sent(2, 1.0)]),
    ),
    stream_case(
        "correct: a version below the watermark is used from the watermark on, in one batch too",
        _CORRECT,
        batch(
            *_LATE_LOG,
            sends=[_sent(1, 1.0), _sent(2, 5.0), _sent(3, 5.0)],
        ),
    ),
    stream_case(
        "correct: a version below the watermark ends in the same answers, a change at a time",
        _CORRECT,
        batch(_LATE_LOG[0]),
        batch(_LATE_LOG[1], sends=[_sent(1, 1.0)]),
        batch(_LATE_LOG[2], sends=[_sent(2, 1.0)]),
        batch(_LATE_LOG[3], sends=[_sent(3, 1.0)]),
        batch(_LATE_LOG[4]),
        batch(_LATE_LOG[5], sends=[_sent(2, 2.0, again=True), _sent(3, 2.0, again=True)]),
        batch(_LATE_LOG[6], sends=[_sent(2, 5.0, again=True), _sent(3, 5.0, again=True)]),
        batch(_LATE_LOG[7]),
    ),
    stream_case(
        "correct: the version that moves the watermark past an event still corrects it",
        _CORRECT,
        batch(_version(10, 1.0), _order(1, 25), sends=[_sent(1, 1.0)]),
        batch(_version(20, 2.0), _version(40, 4.0), sends=[_sent(1, 2.0, again=True)]),
        batch(_version(21, 5.0)),
    ),
)
