"""Cases about joins of two logs: which events are pairs, when they are sent, what is too late."""

from __future__ import annotations

from typing import Any

from joinery.testing.changes import RowChange, insert
from joinery.testing.conformance.stream_case import batch, stream_case
from joinery.testing.driver import Emission, upsert

_LOGS = """
relations:
  searches:
    append: true
    key: [id]
    time: at
    watermark: {delay: 1m}
    fields: {id: long, visitor: long, q: string, at: timestamp}
  clicks:
    append: true
    key: [id]
    time: at
    watermark: {delay: 1m}
    fields: {id: long, who: int, item: string, price: "decimal(6,2)", at: timestamp}
streams:
"""
_JOIN = "{join: clicks, on: {who: visitor}, within: [0s, 30m], fields: {item: item}}"
_BACK = _JOIN.replace("[0s, 30m]", "[-10m, -1m]")


def _project(steps: str, more: str = "") -> str:
    return f"{_LOGS}{more}  s:\n    from: searches\n    steps: [{steps}]\n"


def _searched(number: int, at: str | None, visitor: int | None = 7, q: str = "tea") -> RowChange:
    return insert("searches", id=number, visitor=visitor, q=q, at=at and f"2026-03-01T{at}Z")


def _clicked(number: int, at: str | None, who: int | None = 7, item: str = "a") -> RowChange:
    day = at and f"2026-03-01T{at}Z"
    return insert("clicks", id=number, who=who, item=item, price="1.50", at=day)


def _pair(search: int, click: int, **columns: Any) -> Emission:
    return upsert((search, click), columns)


CASES = (
    stream_case(
        "two events are a pair where what is compared is equal and their times are near",
        _project(_JOIN + ", {select: [q, item]}"),
        batch(
            _searched(1, "10:00:00"),
            _clicked(1, "10:00:00"),
            _clicked(2, "10:30:00", item="b"),
            _clicked(3, "10:30:00.000001"),
            _clicked(4, "09:59:59.999999"),
            _clicked(5, "10:10:00", who=8),
            _clicked(6, "10:10:00", who=None),
            sends=[_pair(1, 1, q="tea", item="a"), _pair(1, 2, q="tea", item="b")],
        ),
    ),
    stream_case(
        "a pair is sent when the later of its two comes, whichever that is",
        _project(_JOIN + ", {select: [q, item]}"),
        batch(_clicked(1, "10:10:00")),
        batch(_searched(1, "10:00:00"), sends=[_pair(1, 1, q="tea", item="a")]),
        batch(_clicked(2, "10:20:00", item="b"), sends=[_pair(1, 2, q="tea", item="b")]),
        batch(),
    ),
    stream_case(
        "an interval may lie before the event",
        _project(_BACK + ", {select: [q, item]}"),
        batch(
            _searched(1, "10:10:00"),
            _clicked(1, "10:00:00"),
            _clicked(2, "10:09:00", item="b"),
            _clicked(3, "10:10:00"),
            sends=[_pair(1, 1, q="tea", item="a"), _pair(1, 2, q="tea", item="b")],
        ),
    ),
    stream_case(
        "without fields a pair has the columns of the other log that the event lacks",
        _project(_JOIN.replace(", fields: {item: item}", "")),
        batch(
            _searched(1, "10:00:00"),
            _clicked(2, "10:05:00"),
            sends=[
                _pair(
                    1,
                    2,
                    id=1,
                    visitor=7,
                    q="tea",
                    at="2026-03-01T10:00:00Z",
                    item="a",
                    price=1.5,
                )
            ],
        ),
    ),
    stream_case(
        "an event that is told again sends its pairs again, as corrections",
        _project(_JOIN + ", {select: [q, item]}").replace("from:", "correction: again\n    from:"),
        batch(
            _searched(1, "10:00:00"),
            _clicked(1, "10:01:00"),
            sends=[_pair(1, 1, q="tea", item="a", again=False)],
        ),
        batch(
            _searched(1, "10:00:30", q="rye"),
            _clicked(2, "10:02:00"),
            sends=[
                _pair(1, 1, q="rye", item="a", again=True),
                _pair(1, 2, q="rye", item="a", again=False),
            ],
        ),
    ),
    stream_case(
        "a filter and columns after a join see both sides",
        _project(
            _JOIN.replace("{item: item}", "{item: item, price: price}")
            + ", {filter: price > 1 and q <> 'rye'}, {with_columns: {all: \"concat(q, item)\"}},"
            " {select: [all]}"
        ),
        batch(
            _searched(1, "10:00:00"),
            _searched(2, "10:00:00", q="rye"),
            _clicked(1, "10:01:00"),
            sends=[_pair(1, 1, all="teaa")],
        ),
    ),
    stream_case(
        "steps before a join shape what it makes pairs of",
        _project(
            "{with_columns: {whose: visitor + 1}}, {filter: q = 'tea'}, "
            + _JOIN.replace("who: visitor", "who: whose")
            + ", {select: [item]}"
        ),
        batch(
            _searched(1, "10:00:00", visitor=6),
            _searched(2, "10:00:00", visitor=6, q="rye"),
            _clicked(1, "10:01:00"),
            sends=[_pair(1, 1, item="a")],
        ),
    ),
    stream_case(
        "events without a time, and far below the watermark, are dead letters",
        _project(_JOIN.replace("fields:", "retention: 10m, fields:") + ", {select: [q, item]}"),
        batch(
            _searched(1, "12:00:00"),
            _clicked(1, "12:01:00"),
            sends=[_pair(1, 1, q="tea", item="a")],
        ),
        batch(
            _searched(2, None),
            _searched(3, "11:48:59"),
            _searched(4, "11:49:00"),
            _clicked(9, "11:48:59"),
            sends=[_pair(4, 1, q="tea", item="a")],
            dead=[2, 3, 9],
        ),
    ),
    stream_case(
        "a log makes pairs with itself, and an event with itself where the interval holds nothing",
        _project(
            "{join: searches, on: [visitor], within: [0s, 5m], fields: {then: q}},"
            " {select: [q, then]}"
        ),
        batch(
            _searched(1, "10:00:00"),
            _searched(2, "10:01:00", q="rye"),
            sends=[
                _pair(1, 1, q="tea", then="tea"),
                _pair(1, 2, q="tea", then="rye"),
                _pair(2, 2, q="rye", then="rye"),
            ],
        ),
    ),
    stream_case(
        "two streams make pairs of the same logs, each in its own way",
        _project(
            _JOIN + ", {select: [q, item]}",
            more="  t:\n    from: searches\n    steps: ["
            + _JOIN.replace("30m", "1m")
            + ", {select: [item]}]\n",
        ),
        batch(
            _searched(1, "10:00:00"),
            _clicked(1, "10:20:00"),
            sends=[_pair(1, 1, q="tea", item="a")],
        ),
    ),
)
