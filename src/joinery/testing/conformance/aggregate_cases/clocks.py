"""Cases of times that three clocks tell: a device's, and that of what received its events."""

from __future__ import annotations

from joinery.testing.changes import RowChange, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert


def _taps(clocks: str, product: str) -> str:
    return f"""
relations:
  tap:
    key: [id]
    fields: {{id: long, made: timestamp, sent: timestamp, got: timestamp}}
    time: {{event: made, sent: sent, received: got{clocks}}}
products:
  p: {product}
"""


_FLAGS = "{root: tap, fields: [clock, event_time]}"
_HOURS = "{aggregate: tap, window: {tumbling: 1h}, values: {n: count(*)}}"


def _at(clock: str, day: str = "2026-03-01") -> str:
    return f"{day}T{clock}:00Z"


def _tap(id: int, made: str | None, sent: str | None, got: str | None) -> RowChange:
    return insert("tap", id=id, made=made, sent=sent, got=got)


def _hour(start: str, end: str, n: int) -> dict[str, object]:
    return {"window_start": _at(start), "window_end": _at(end), "n": n}


CASES = (
    case(
        "a device's clock is mended by what it shows when it sends",
        _taps("", _FLAGS),
        when(
            _tap(1, _at("10:00"), _at("10:01"), _at("10:02")),
            _tap(2, _at("08:00"), _at("08:30"), _at("10:30")),
            _tap(3, _at("12:00"), _at("12:01"), _at("10:31")),
            then=[
                upsert(1, {"clock": "ok", "event_time": _at("10:00")}),
                upsert(2, {"clock": "repaired", "event_time": _at("10:00")}),
                upsert(3, {"clock": "repaired", "event_time": _at("10:30")}),
            ],
        ),
    ),
    case(
        "a time is never above the one at which its event was received",
        _taps(", tolerance: 10m", _FLAGS),
        when(
            _tap(1, _at("10:05"), _at("10:06"), _at("10:00")),
            then=[upsert(1, {"clock": "ok", "event_time": _at("10:00")})],
        ),
    ),
    case(
        "clocks that cannot be are suspect, and their events have the time of their receipt",
        _taps(", max: 1d", _FLAGS),
        when(
            _tap(1, _at("10:05"), _at("10:00"), _at("10:10")),
            _tap(2, _at("10:00"), _at("10:01"), _at("10:02", "2026-03-03")),
            _tap(3, None, _at("10:01"), _at("10:03")),
            _tap(4, _at("10:00"), None, _at("10:04")),
            _tap(5, _at("10:00"), _at("10:01"), None),
            then=[
                upsert(1, {"clock": "suspect", "event_time": _at("10:10")}),
                upsert(2, {"clock": "suspect", "event_time": _at("10:02", "2026-03-03")}),
                upsert(3, {"clock": "suspect", "event_time": _at("10:03")}),
                upsert(4, {"clock": "suspect", "event_time": _at("10:04")}),
                upsert(5, {"clock": "suspect", "event_time": None}),
            ],
        ),
    ),
    case(
        "an event is in the window of its mended time",
        _taps("", _HOURS),
        when(
            _tap(1, _at("03:10"), _at("03:20"), _at("10:20")),
            _tap(2, _at("10:30"), _at("10:31"), _at("10:32")),
            then=[upsert(_at("10:00"), _hour("10:00", "11:00", 2))],
        ),
        when(
            update("tap", id=2, made=_at("10:30"), sent=_at("10:31"), got=_at("11:32")),
            then=[
                upsert(_at("10:00"), _hour("10:00", "11:00", 1)),
                upsert(_at("11:00"), _hour("11:00", "12:00", 1)),
            ],
        ),
    ),
    case(
        "an event whose clocks are suspect can be left out, and told as a dead letter",
        _taps(", suspect: dead_letter", _HOURS),
        when(
            _tap(1, _at("10:10"), _at("10:20"), _at("10:20")),
            _tap(2, _at("10:30"), _at("10:20"), _at("10:32")),
            _tap(3, None, _at("10:20"), _at("10:32")),
            then=[upsert(_at("10:00"), _hour("10:00", "11:00", 1))],
        ),
        when(
            _tap(1, _at("12:10"), _at("12:20"), _at("12:20")),
            _tap(1, _at("13:10"), _at("13:00"), _at("13:20")),
            then=[gone(_at("10:00")), upsert(_at("12:00"), _hour("12:00", "13:00", 1))],
        ),
    ),
)
