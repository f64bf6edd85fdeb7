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
_SKETCHES = """
relations:
  view: {append: true, fields: {page: string, visitor: long, ms: double}}
products:
  p:
    aggregate: view
    by: [page]
    values:
      visitors: approx_count_distinct(visitor)
      rough: "approx_count_distinct(visitor, 0.2) filter (where ms > 1)"
      p50: "approx_quantile(ms, 0.5)"
      top: "approx_top_k(visitor, 2)"
      known: "bloom(visitor, 10, 0.1)"
      distinct: distinct_sketch(visitor)
      spread: "quantile_sketch(ms, 0.1)"
"""
_CHANGING = _project(
    'visitors: approx_count_distinct(visitor), p100: "approx_quantile(visitor, 1)",'
    ' top: "approx_top_k(visitor, 1)"'
)


def _at(clock: str) -> str:
    return f"2026-03-01T10:{clock}Z"


_PLACES = """
relations:
  view: {append: true, fields: {page: string, visitor: long}}
products:
  p: {aggregate: view, by: [page],
    values: {one: first(visitor), other: last(visitor), all: "collect(visitor, 2)"}}
"""

CASES = (
    case(
        "first, last and collect of a log without times go by the place in it",
        _PLACES,
        when(
            insert("view", page="a", visitor=4),
            insert("view", page="a", visitor=3),
            then=[upsert("a", {"page": "a", "one": 4, "other": 3, "all": [4, 3]})],
        ),
        when(
            insert("view", page="a"),
            insert("view", page="a", visitor=9),
            then=[upsert("a", {"page": "a", "one": 4, "other": 9, "all": [4, 3]})],
        ),
    ),
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
        "sketches are functions of the values, exact while they are few",
        _SKETCHES,
        when(
            insert("view", page="a", visitor=7, ms=2.0),
            insert("view", page="a", visitor=7, ms=4.0),
            insert("view", page="a", visitor=8, ms=1.0),
            insert("view", page="a", ms=9.0),
            insert("view", page="a", visitor=9, ms=8.0),
            then=[
                upsert(
                    "a",
                    {
                        "page": "a",
                        "visitors": 3,
                        "rough": 2,
                        "p50": 4.038834951456311,
                        "top": [{"item": 7, "count": 2}, {"item": 8, "count": 1}],
                        "known": "AwMwgRAwDAII",
                        "distinct": "AQ4AibVtBXN+u4vYQEbDz2mq8eUX149cqAzc",
                        "spread": "AgYAAAAAAAQAAgwCDAIMBA==",
                    },
                )
            ],
        ),
    ),
    case(
        "rows that go are taken out of approximate counts, quantiles and the most frequent",
        _CHANGING,
        when(
            insert("view", id=0, page="a", visitor=5),
            insert("view", id=1, page="a", visitor=5),
            insert("view", id=2, page="a", visitor=9),
            then=[
                upsert(
                    "a",
                    {
                        "page": "a",
                        "visitors": 2,
                        "p100": 9.018925831202045,
                        "top": [{"item": 5, "count": 2}],
                    },
                )
            ],
        ),
        when(
            delete("view", id=2),
            then=[
                upsert(
                    "a",
                    {
                        "page": "a",
                        "visitors": 1,
                        "p100": 4.98008337193145,
                        "top": [{"item": 5, "count": 2}],
                    },
                )
            ],
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
