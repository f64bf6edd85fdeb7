"""Cases of versions that tell from when until when they were known."""

from __future__ import annotations

from joinery.testing.changes import RowChange, delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import Emission, gone, upsert

_PRICES = """
relations:
  price:
    key: [id]
    fields: {id: long, cents: long, note: string, since: timestamp, booked: timestamp}
products:
  prices: {history: price, valid: since, track: [cents], known_at: booked}
"""


def _at(hour: int) -> str:
    return f"2026-03-01T{hour:02}:00:00Z"


def _price(hour: int, cents: int, booked: int, **more: object) -> RowChange:
    return insert("price", id=1, cents=cents, since=_at(hour), booked=_at(booked), **more)


def _row(
    hour: int, cents: int, known: int, to: int | None = None, *, until: int | None = None
) -> Emission:
    return upsert(
        (1, _at(hour), _at(known)),
        {
            "id": 1,
            "valid_from": _at(hour),
            "known_from": _at(known),
            "cents": cents,
            "valid_to": None if to is None else _at(to),
            "known_to": None if until is None else _at(until),
            "is_current": to is None and until is None,
        },
    )


def _gone(hour: int, known: int) -> Emission:
    return gone((1, _at(hour), _at(known)))


CASES = (
    case(
        "what was known before a version came stays, and tells until when",
        _PRICES,
        when(_price(1, 100, 10), then=[_row(1, 100, 10)]),
        when(
            _price(5, 120, 11),
            then=[_row(1, 100, 10, until=11), _row(1, 100, 11, 5), _row(5, 120, 11)],
        ),
    ),
    case(
        "a correction of the past leaves what it corrects, as it was known",
        _PRICES,
        when(_price(1, 100, 10), _price(5, 120, 10), then=[_row(1, 100, 10, 5), _row(5, 120, 10)]),
        when(_price(1, 90, 12), then=[_row(1, 100, 10, 5, until=12), _row(1, 90, 12, 5)]),
        when(_price(1, 95, 13), then=[_row(1, 90, 12, 5, until=13), _row(1, 95, 13, 5)]),
    ),
    case(
        "several times of knowing in one batch are kept apart",
        _PRICES,
        when(
            _price(1, 100, 10),
            _price(1, 90, 11),
            _price(1, 95, 12),
            then=[_row(1, 100, 10, until=11), _row(1, 90, 11, until=12), _row(1, 95, 12)],
        ),
    ),
    case(
        "what is taken back at the time it became known was never known",
        _PRICES,
        when(_price(1, 100, 10), then=[_row(1, 100, 10)]),
        when(_price(1, 90, 11), then=[_row(1, 100, 10, until=11), _row(1, 90, 11)]),
        when(_price(1, 100, 11), then=[_row(1, 100, 10), _gone(1, 11)]),
    ),
    case(
        "what tells an earlier time of knowing became known at the last",
        _PRICES,
        when(_price(5, 120, 12), then=[_row(5, 120, 12)]),
        when(_price(1, 100, 10), then=[_row(1, 100, 12, 5)]),
        when(
            _price(2, 110, 13),
            then=[
                _row(1, 100, 12, 5, until=13),
                _row(1, 100, 13, 2),
                _row(2, 110, 13, 5),
            ],
        ),
    ),
    case(
        "what no tracked column tells is not known anew",
        _PRICES,
        when(_price(1, 100, 10), then=[_row(1, 100, 10)]),
        when(update("price", id=1, note="n", since=_at(1), booked=_at(11))),
        when(_price(1, 80, 12), then=[_row(1, 100, 10, until=12), _row(1, 80, 12)]),
    ),
    case(
        "a delete ends a version from when it became known",
        _PRICES,
        when(_price(1, 100, 10), then=[_row(1, 100, 10)]),
        when(
            delete("price", id=1, since=_at(5), booked=_at(11)),
            then=[_row(1, 100, 10, until=11), _row(1, 100, 11, 5)],
        ),
        when(delete("price", id=1, since=_at(3))),
    ),
    case(
        "a change that tells no time of knowing is no version",
        _PRICES,
        when(insert("price", id=1, cents=5, since=_at(1))),
        when(_price(1, 90, 11), then=[_row(1, 90, 11)]),
    ),
)
