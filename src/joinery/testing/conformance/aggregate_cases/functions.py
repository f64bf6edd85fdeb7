"""Cases of the functions that groups have and embeds have not."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import upsert


def _project(values: str, window: str = "") -> str:
    return f"""
relations:
  view:
    key: [id]
    fields: {{id: long, page: string, visitor: long, at: timestamp}}
    time: at
products:
  p: {{aggregate: view, by: [page], {window} values: {{{values}}}}}
"""


_DISTINCT = _project('visitors: "count(distinct visitor)"')
_ENDS = _project('one: first(visitor), other: last(visitor), all: "collect(visitor, 2)"')
_RATE = _project('per_s: rate(count(*)), busy: "rate(count(*)) > 0.001"', "window: {tumbling: 1m},")


def _at(clock: str) -> str:
    return f"2026-03-01T10:{clock}Z"


CASES = (
    case(
        "a distinct value counts as long as one of its rows is there",
        _DISTINCT,
        when(
            insert("view", id=1, page="a", visitor=7),
            insert("view", id=2, page="a", visitor=7),
            insert("view", id=3, page="a", visitor=8),
            insert("view", id=4, page="a"),
            then=[upsert("a", {"page": "a", "visitors": 2})],
        ),
        when(delete("view", id=1)),
        when(update("view", id=2, visitor=8), then=[upsert("a", {"page": "a", "visitors": 1})]),
    ),
    case(
        "first, last and collect go by time, then by key, and skip nulls",
        _ENDS,
        when(
            insert("view", id=4, page="a", visitor=4, at=_at("00:05")),
            insert("view", id=3, page="a", visitor=3, at=_at("00:05")),
            insert("view", id=2, page="a", at=_at("00:01")),
            then=[upsert("a", {"page": "a", "one": 3, "other": 4, "all": [3, 4]})],
        ),
        when(
            insert("view", id=9, page="a", visitor=9),
            then=[upsert("a", {"page": "a", "one": 9, "other": 4, "all": [9, 3]})],
        ),
        when(
            update("view", id=9, at=_at("09:00")),
            delete("view", id=3),
            then=[upsert("a", {"page": "a", "one": 4, "other": 9, "all": [4, 9]})],
        ),
    ),
    case(
        "a rate is a second of the window",
        _RATE,
        when(
            insert("view", id=1, page="a", at=_at("00:05")),
            insert("view", id=2, page="a", at=_at("00:06")),
            insert("view", id=3, page="a", at=_at("00:07")),
            then=[
                upsert(
                    ("a", _at("00:00")),
                    {
                        "page": "a",
                        "window_start": _at("00:00"),
                        "window_end": _at("01:00"),
                        "per_s": 0.05,
                        "busy": True,
                    },
                )
            ],
        ),
    ),
)
