"""Cases of products that read windows of their query as relations, or have windows over it.

The first product of each project is the one that is looked at.
"""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.aggregate_cases.pages import PAGES, at
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert

_WEEKS = f"""
{PAGES}
  daily: {{product: days, time: window_start}}
products:
  p:
    aggregate: daily
    by: [page]
    window: {{tumbling: 1 week}}
    values: {{n: sum(n), most: max(n)}}
  days: {{aggregate: view, by: [page], window: {{tumbling: 1 day}}, values: {{n: count(*)}}}}
"""
_SHIPPED = """
relations:
  parcel: {key: [id], fields: {id: long, shipped_at: timestamp}}
  sent: {product: parcels, time: shipped_at}
products:
  p: {aggregate: sent, window: {tumbling: 1h}, values: {n: count(*)}}
  parcels: {root: parcel, fields: [shipped_at]}
"""
_TREND = f"""
{PAGES}
  hourly:
    product: hours
    derive: {{before: "timestamp_micros(unix_micros(window_start) - 604800000000)"}}
products:
  p:
    root: hourly
    fields: [page, window_start, n]
    embed:
      earlier: {{one: hourly, on: {{page: page, window_start: before}}, fields: [n], hidden: true}}
    values: {{more: "n - coalesce(earlier.n, 0)"}}
  hours: {{aggregate: view, by: [page], window: {{tumbling: 1h}}, values: {{n: count(*)}}}}
"""
_CHAIN = f"""
{PAGES}
  daily: {{product: days, where: n > 1}}
products:
  p: {{root: page, embed: {{busy: {{one: busiest, on: [page], fields: [days]}}}}}}
  busiest: {{aggregate: daily, by: [page], values: {{days: count(*)}}}}
  days: {{aggregate: view, by: [page], window: {{tumbling: 1 day}}, values: {{n: count(*)}}}}
"""
_CLOSED = """
relations:
  view: {append: true, fields: {page: string, at: timestamp}, time: at}
products:
  p: {aggregate: hours, by: [page], values: {hours: count(*), n: sum(n)}}
  hours:
    aggregate: view
    by: [page]
    window: {tumbling: 1h}
    values: {n: count(*)}
    emit: {when: closed}
"""
_CLOSED_OVER = """
relations:
  view: {append: true, fields: {page: string, at: timestamp}, time: at}
  hourly: {product: hours, time: window_start}
products:
  p:
    aggregate: hourly
    by: [page]
    window: {tumbling: 1 day}
    values: {hours: count(*), n: sum(n)}
    emit: {when: closed}
  hours: {aggregate: view, by: [page], window: {tumbling: 1h}, values: {n: count(*)}}
"""
_LAST_OVER = """
relations:
  view: {append: true, fields: {page: string, at: timestamp}, time: at}
  hourly: {product: hours, time: window_start}
products:
  p:
    aggregate: hourly
    by: [page]
    window: {sliding: 3h}
    values: {hours: count(*), n: sum(n)}
  hours: {aggregate: view, by: [page], window: {tumbling: 1h}, values: {n: count(*)}}
"""


def _hour_of_parcels(n: int) -> dict[str, object]:
    return {"window_start": at("10:00"), "window_end": at("11:00"), "n": n}


CASES = (
    case(
        "windows are added up to longer ones, and taken back from them",
        _WEEKS,
        when(
            insert("view", id=1, page="a", ms=1, at=at("10:00", "2026-03-02")),
            insert("view", id=2, page="a", ms=1, at=at("11:00", "2026-03-02")),
            insert("view", id=3, page="a", ms=1, at=at("11:00", "2026-03-04")),
            then=[
                upsert(
                    ("a", at("00:00", "2026-03-02")),
                    {
                        "page": "a",
                        "window_start": at("00:00", "2026-03-02"),
                        "window_end": at("00:00", "2026-03-09"),
                        "n": 3,
                        "most": 2,
                    },
                )
            ],
        ),
        when(
            update("view", id=1, page="a", ms=1, at=at("10:00", "2026-03-09")),
            then=[
                upsert(
                    ("a", at("00:00", "2026-03-02")),
                    {
                        "page": "a",
                        "window_start": at("00:00", "2026-03-02"),
                        "window_end": at("00:00", "2026-03-09"),
                        "n": 2,
                        "most": 1,
                    },
                ),
                upsert(
                    ("a", at("00:00", "2026-03-09")),
                    {
                        "page": "a",
                        "window_start": at("00:00", "2026-03-09"),
                        "window_end": at("00:00", "2026-03-16"),
                        "n": 1,
                        "most": 1,
                    },
                ),
            ],
        ),
        when(
            delete("view", id=1),
            delete("view", id=2),
            delete("view", id=3),
            then=[gone(("a", at("00:00", "2026-03-02"))), gone(("a", at("00:00", "2026-03-09")))],
        ),
    ),
    case(
        "a window is compared with the one a week before",
        _TREND,
        when(
            insert("view", id=1, page="a", ms=1, at=at("10:10", "2026-03-01")),
            insert("view", id=2, page="a", ms=1, at=at("10:20", "2026-03-08")),
            insert("view", id=3, page="a", ms=1, at=at("10:30", "2026-03-08")),
            then=[
                upsert(
                    ("a", at("10:00", "2026-03-01")),
                    {"page": "a", "window_start": at("10:00", "2026-03-01"), "n": 1, "more": 1},
                ),
                upsert(
                    ("a", at("10:00", "2026-03-08")),
                    {"page": "a", "window_start": at("10:00", "2026-03-08"), "n": 2, "more": 1},
                ),
            ],
        ),
        when(
            delete("view", id=1),
            then=[
                gone(("a", at("10:00", "2026-03-01"))),
                upsert(
                    ("a", at("10:00", "2026-03-08")),
                    {"page": "a", "window_start": at("10:00", "2026-03-08"), "n": 2, "more": 2},
                ),
            ],
        ),
    ),
    case(
        "products are read in a chain, each seeing what the one before sent in the same batch",
        _CHAIN,
        when(
            insert("page", page="a", title="A"),
            insert("view", id=1, page="a", ms=1, at=at("10:00", "2026-03-02")),
            insert("view", id=2, page="a", ms=1, at=at("11:00", "2026-03-02")),
            insert("view", id=3, page="a", ms=1, at=at("11:00", "2026-03-04")),
            then=[upsert("a", {"page": "a", "title": "A", "busy": {"days": 1}})],
        ),
        when(
            insert("view", id=4, page="a", ms=1, at=at("12:00", "2026-03-04")),
            then=[upsert("a", {"page": "a", "title": "A", "busy": {"days": 2}})],
        ),
        when(
            delete("view", id=1),
            delete("view", id=4),
            then=[upsert("a", {"page": "a", "title": "A", "busy": None})],
        ),
    ),
)

CLOSED = (
    case(
        "a product sees the windows of another once they are closed",
        _CLOSED,
        when(insert("view", page="a", at=at("10:01")), insert("view", page="a", at=at("10:59"))),
        when(
            insert("view", page="a", at=at("11:00")),
            then=[upsert("a", {"page": "a", "hours": 1, "n": 2})],
        ),
        when(
            insert("view", page="a", at=at("10:30")),
            then=[upsert("a", {"page": "a", "hours": 1, "n": 3})],
        ),
    ),
    case(
        "a window over a product closes by the watermark of what that reads",
        _CLOSED_OVER,
        when(insert("view", page="a", at=at("10:01")), insert("view", page="a", at=at("23:59"))),
        when(
            insert("view", page="a", at=at("00:00", "2026-03-02")),
            then=[
                upsert(
                    ("a", at("00:00")),
                    {
                        "page": "a",
                        "window_start": at("00:00"),
                        "window_end": at("00:00", "2026-03-02"),
                        "hours": 2,
                        "n": 2,
                        "final": True,
                    },
                )
            ],
        ),
        when(
            insert("view", page="a", at=at("23:30")),
            then=[
                upsert(
                    ("a", at("00:00")),
                    {
                        "page": "a",
                        "window_start": at("00:00"),
                        "window_end": at("00:00", "2026-03-02"),
                        "hours": 2,
                        "n": 3,
                        "final": True,
                    },
                )
            ],
        ),
    ),
    case(
        "a sliding window over a product moves with the watermark of what that reads",
        _LAST_OVER,
        when(
            insert("view", page="a", at=at("10:01")),
            insert("view", page="a", at=at("12:30")),
            then=[upsert("a", {"page": "a", "hours": 2, "n": 2})],
        ),
        when(
            insert("view", page="a", at=at("13:30")),
            insert("view", page="a", at=at("12:10")),
            then=[upsert("a", {"page": "a", "hours": 2, "n": 3})],
        ),
        when(
            insert("view", page="b", at=at("15:30")),
            then=[
                upsert("a", {"page": "a", "hours": 1, "n": 1}),
                upsert("b", {"page": "b", "hours": 1, "n": 1}),
            ],
        ),
    ),
    case(
        "a document without a time is in no window over it, and is counted",
        _SHIPPED,
        when(
            insert("parcel", id=1, shipped_at=None),
            insert("parcel", id=2, shipped_at=at("10:05")),
            then=[upsert(at("10:00"), _hour_of_parcels(1))],
            counts={"event_without_time": 1},
        ),
        when(
            insert("parcel", id=1, shipped_at=at("10:06")),
            then=[upsert(at("10:00"), _hour_of_parcels(2))],
            counts={},
        ),
    ),
)
