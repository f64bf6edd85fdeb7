"""Cases about filters on `seen`: near-duplicates, told by the order of the log and by time."""

from __future__ import annotations

from typing import Any

from joinery.testing.changes import RowChange, insert
from joinery.testing.conformance.stream_case import batch, stream_case
from joinery.testing.driver import Emission, upsert

_VIEWS = """
relations:
  views:
    append: true
    key: [id]
    time: at
    watermark: {delay: 1h}
    fields: {id: long, visit: string, page: string, at: timestamp}
streams:
"""
_NEW = "{filter: \"not seen(visit, for => '10m')\"}, {select: [id]}"


def _project(steps: str) -> str:
    return f"{_VIEWS}  s:\n    from: views\n    steps: [{steps}]\n"


def _view(number: int, at: str | None, visit: str | None = "a", **columns: Any) -> RowChange:
    day = None if at is None else f"2026-03-01T{at}Z"
    return insert("views", id=number, visit=visit, at=day, **columns)


def _sent(number: int) -> Emission:
    return upsert(number, {"id": number})


CASES = (
    stream_case(
        "of events of one value that are near one another the first in the log is sent",
        _project(_NEW),
        batch(
            _view(1, "10:00:00"),
            _view(2, "10:00:00"),
            _view(3, "10:00:00", "b"),
            sends=[_sent(1), _sent(3)],
        ),
        batch(_view(4, "10:09:59"), _view(5, "09:50:01")),
        batch(_view(6, "10:20:00"), sends=[_sent(6)]),
    ),
    stream_case(
        "what was kept out was seen as well",
        _project(_NEW),
        batch(_view(1, "10:00:00"), sends=[_sent(1)]),
        batch(_view(2, "10:08:00")),
        batch(_view(3, "10:16:00"), _view(4, "10:30:00"), sends=[_sent(4)]),
    ),
    stream_case(
        "what is as far away as the time that is asked for was not seen",
        _project(_NEW),
        batch(_view(1, "10:00:00"), _view(2, "10:10:00"), sends=[_sent(1), _sent(2)]),
        batch(_view(3, "09:50:00"), sends=[_sent(3)]),
        batch(_view(4, "09:59:59")),
    ),
    stream_case(
        "an event that comes again was seen",
        _project(_NEW),
        batch(_view(1, "10:00:00"), sends=[_sent(1)]),
        batch(_view(1, "10:00:00")),
    ),
    stream_case(
        "null was never seen, and an event without a time is a dead letter",
        _project(_NEW),
        batch(
            _view(1, "10:00:00", None),
            _view(2, "10:00:00", None),
            _view(3, None),
            sends=[_sent(1), _sent(2)],
            dead=[3],
        ),
    ),
    stream_case(
        "what was seen may be asked together with other conditions",
        _project("{filter: \"page = 'x' or seen(visit, for => '10m')\"}, {select: [id]}"),
        batch(
            _view(1, "10:00:00", page="y"),
            _view(2, "10:01:00", page="y"),
            _view(3, "10:00:00", "b", page="x"),
            sends=[_sent(2), _sent(3)],
        ),
    ),
    stream_case(
        "an event further below the watermark than what is asked for is a dead letter",
        _project(_NEW).replace("delay: 1h", "delay: 0s"),
        batch(_view(1, "10:00:00"), _view(2, "10:20:00", "b"), sends=[_sent(1), _sent(2)]),
        batch(_view(3, "10:09:59"), _view(4, "10:10:00", "c"), sends=[_sent(4)], dead=[3]),
        batch(_view(5, "10:12:00"), sends=[_sent(5)]),
    ),
    stream_case(
        "rolling columns count what was not kept out before",
        _project(
            "{filter: \"not seen(visit, for => '10m')\"},"
            " {rolling: {by: [page], over: 1h, values: {n: count(*)}}}, {select: [n]}"
        ),
        batch(
            _view(1, "10:00:00", page="x"),
            _view(2, "10:00:01", page="x"),
            _view(3, "10:00:02", "b", page="x"),
            sends=[upsert(1, {"n": 1}), upsert(3, {"n": 2})],
        ),
    ),
    stream_case(
        "of a log without key the first in the log is sent, too",
        """
relations:
  views: {append: true, time: at, fields: {visit: string, n: long, at: timestamp}}
streams:
  s: {from: views, steps: [{filter: "not seen(visit, for => '1 day')"}, {select: [n]}]}
""",
        batch(
            *(
                insert("views", visit="a", n=number, at="2026-03-01T10:00:00Z")
                for number in range(1, 14)
            ),
            sends=[upsert("views/000000.jsonl/1", {"n": 1})],
        ),
        batch(insert("views", visit="a", n=14, at="2026-03-01T10:00:00Z")),
    ),
)
