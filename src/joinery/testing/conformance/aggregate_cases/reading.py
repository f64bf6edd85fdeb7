"""Cases of products that read others of their query as relations.

The first product of each project is the one that is looked at.
"""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert

_PAGES = """
relations:
  page: {key: [page], fields: {page: string, title: string}}
  view: {key: [id], fields: {id: long, page: string, ms: int, at: timestamp}, time: at}
"""
_EMBEDDED = f"""
{_PAGES}
products:
  p:
    root: page
    embed:
      hours: {{many: hours, on: [page], fields: [window_start, n]}}
  hours: {{aggregate: view, by: [page], window: {{tumbling: 1h}}, values: {{n: count(*)}}}}
"""
_LOOKED_UP = f"""
{_PAGES}
products:
  p:
    root: view
    fields: [id]
    embed:
      whole: {{one: total, on: [page], fields: [n, ms], hidden: true}}
    values: {{share: "whole.ms / whole.n"}}
  total: {{aggregate: view, by: [page], values: {{n: count(*), ms: sum(ms)}}}}
"""
_OF_MATCHES = """
relations:
  person: {key: [name], fields: {name: string}}
  login: {key: [id], fields: {id: long, name: string, ok: boolean, at: timestamp}, time: at}
products:
  p:
    root: person
    embed:
      tried: {many: guessed, on: [name], fields: {first: start.id, n: n}}
      all: {one: counted, on: [name], fields: [n, last], hidden: true}
    values: {n: all.n, last: all.last}
  guessed:
    pattern: login
    by: [name]
    define: {F: not ok, S: ok}
    match: F+ S
    within: 1h
    fields: {n: count(F)}
  counted: {aggregate: guessed, by: [name], values: {n: count(*), last: max(start.id)}}
"""
_OF_HITS = """
relations:
  listing: {key: [id], fields: {id: long, price: int}}
  saved: {key: [id], fields: {id: long, condition: string}}
products:
  p:
    root: saved
    fields: [id]
    embed: {found: {many: hit, on: {query.id: id}, fields: {listing: document.id, price: price}}}
  hit: {search: listing, queries: saved, query: condition, fields: {price: listing.price}}
"""
_MATCHES_AS_ROOTS = """
relations:
  listing: {key: [id], fields: {id: long, city: string}}
  saved: {key: [id], fields: {id: long, condition: string}}
  town: {key: [city], fields: {city: string, country: string}}
products:
  p:
    root: hit
    embed: {town: {one: town, on: [city], fields: [country]}}
  hit: {search: listing, queries: saved, query: condition, fields: {city: listing.city}}
"""
_OF_DOCUMENTS = """
relations:
  person: {key: [id], fields: {id: long, city: string}}
  star: {key: [id], fields: {id: long, person: long}}
products:
  p:
    aggregate: profile
    by: [city]
    values: {people: count(*), stars: sum(stars), most: max(stars)}
  profile:
    root: person
    fields: [city]
    embed: {given: {many: star, on: {person: id}, hidden: true}}
    values: {stars: count(given)}
"""
_WEEKS = f"""
{_PAGES}
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
{_PAGES}
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
{_PAGES}
  daily: {{product: days, where: n > 1}}
products:
  p: {{root: page, embed: {{busy: {{one: busiest, on: [page], fields: [days]}}}}}}
  busiest: {{aggregate: daily, by: [page], values: {{days: count(*)}}}}
  days: {{aggregate: view, by: [page], window: {{tumbling: 1 day}}, values: {{n: count(*)}}}}
"""
_NULLS = f"""
{_PAGES}
products:
  p:
    root: total
    embed: {{twin: {{one: total, on: [page], fields: [n]}}}}
  total: {{aggregate: view, by: [page], values: {{n: count(*)}}}}
"""
_NESTED = """
relations:
  person: {key: [id], fields: {id: long, name: string}}
  star: {key: [id], fields: {id: long, person: long, repo: string}}
products:
  p: {root: profile, fields: [id, {all: size(stars)}, {repos: "transform(stars, s -> s.repo)"}]}
  profile:
    root: person
    embed: {stars: {many: star, on: {person: id}, fields: [repo]}}
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


def _at(clock: str, day: str = "2026-03-01") -> str:
    return f"{day}T{clock}:00Z"


def _hour_of_parcels(n: int) -> dict[str, object]:
    return {"window_start": _at("10:00"), "window_end": _at("11:00"), "n": n}


CASES = (
    case(
        "a document shows groups that it embeds, and changes as they do",
        _EMBEDDED,
        when(
            insert("page", page="a", title="A"),
            insert("view", id=1, page="a", ms=1, at=_at("10:01")),
            insert("view", id=2, page="a", ms=1, at=_at("11:01")),
            insert("view", id=3, page="b", ms=1, at=_at("11:01")),
            then=[
                upsert(
                    "a",
                    {
                        "page": "a",
                        "title": "A",
                        "hours": [
                            {"window_start": _at("10:00"), "n": 1},
                            {"window_start": _at("11:00"), "n": 1},
                        ],
                    },
                )
            ],
        ),
        when(
            delete("view", id=1),
            insert("view", id=4, page="a", ms=1, at=_at("11:59")),
            then=[
                upsert(
                    "a",
                    {
                        "page": "a",
                        "title": "A",
                        "hours": [{"window_start": _at("11:00"), "n": 2}],
                    },
                )
            ],
        ),
        when(insert("view", id=5, page="c", ms=1, at=_at("11:01"))),
    ),
    case(
        "a row is shown with the group that it is in itself",
        _LOOKED_UP,
        when(
            insert("view", id=1, page="a", ms=4, at=_at("10:01")),
            insert("view", id=2, page="a", ms=8, at=_at("10:01")),
            then=[upsert(1, {"id": 1, "share": 6.0}), upsert(2, {"id": 2, "share": 6.0})],
        ),
        when(
            update("view", id=1, page="b", ms=4, at=_at("10:01")),
            then=[upsert(1, {"id": 1, "share": 4.0}), upsert(2, {"id": 2, "share": 8.0})],
        ),
    ),
    case(
        "documents are counted as rows are",
        _OF_DOCUMENTS,
        when(
            insert("person", id=1, city="x"),
            insert("person", id=2, city="x"),
            insert("star", id=1, person=1),
            insert("star", id=2, person=1),
            then=[upsert("x", {"city": "x", "people": 2, "stars": 2, "most": 2})],
        ),
        when(
            update("person", id=1, city="y"),
            delete("star", id=2),
            then=[
                upsert("x", {"city": "x", "people": 1, "stars": 0, "most": 0}),
                upsert("y", {"city": "y", "people": 1, "stars": 1, "most": 1}),
            ],
        ),
        when(delete("person", id=2), then=[gone("x")]),
    ),
    case(
        "windows are added up to longer ones, and taken back from them",
        _WEEKS,
        when(
            insert("view", id=1, page="a", ms=1, at=_at("10:00", "2026-03-02")),
            insert("view", id=2, page="a", ms=1, at=_at("11:00", "2026-03-02")),
            insert("view", id=3, page="a", ms=1, at=_at("11:00", "2026-03-04")),
            then=[
                upsert(
                    ("a", _at("00:00", "2026-03-02")),
                    {
                        "page": "a",
                        "window_start": _at("00:00", "2026-03-02"),
                        "window_end": _at("00:00", "2026-03-09"),
                        "n": 3,
                        "most": 2,
                    },
                )
            ],
        ),
        when(
            update("view", id=1, page="a", ms=1, at=_at("10:00", "2026-03-09")),
            then=[
                upsert(
                    ("a", _at("00:00", "2026-03-02")),
                    {
                        "page": "a",
                        "window_start": _at("00:00", "2026-03-02"),
                        "window_end": _at("00:00", "2026-03-09"),
                        "n": 2,
                        "most": 1,
                    },
                ),
                upsert(
                    ("a", _at("00:00", "2026-03-09")),
                    {
                        "page": "a",
                        "window_start": _at("00:00", "2026-03-09"),
                        "window_end": _at("00:00", "2026-03-16"),
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
            then=[gone(("a", _at("00:00", "2026-03-02"))), gone(("a", _at("00:00", "2026-03-09")))],
        ),
    ),
    case(
        "a window is compared with the one a week before",
        _TREND,
        when(
            insert("view", id=1, page="a", ms=1, at=_at("10:10", "2026-03-01")),
            insert("view", id=2, page="a", ms=1, at=_at("10:20", "2026-03-08")),
            insert("view", id=3, page="a", ms=1, at=_at("10:30", "2026-03-08")),
            then=[
                upsert(
                    ("a", _at("10:00", "2026-03-01")),
                    {"page": "a", "window_start": _at("10:00", "2026-03-01"), "n": 1, "more": 1},
                ),
                upsert(
                    ("a", _at("10:00", "2026-03-08")),
                    {"page": "a", "window_start": _at("10:00", "2026-03-08"), "n": 2, "more": 1},
                ),
            ],
        ),
        when(
            delete("view", id=1),
            then=[
                gone(("a", _at("10:00", "2026-03-01"))),
                upsert(
                    ("a", _at("10:00", "2026-03-08")),
                    {"page": "a", "window_start": _at("10:00", "2026-03-08"), "n": 2, "more": 2},
                ),
            ],
        ),
    ),
    case(
        "products are read in a chain, each seeing what the one before sent in the same batch",
        _CHAIN,
        when(
            insert("page", page="a", title="A"),
            insert("view", id=1, page="a", ms=1, at=_at("10:00", "2026-03-02")),
            insert("view", id=2, page="a", ms=1, at=_at("11:00", "2026-03-02")),
            insert("view", id=3, page="a", ms=1, at=_at("11:00", "2026-03-04")),
            then=[upsert("a", {"page": "a", "title": "A", "busy": {"days": 1}})],
        ),
        when(
            insert("view", id=4, page="a", ms=1, at=_at("12:00", "2026-03-04")),
            then=[upsert("a", {"page": "a", "title": "A", "busy": {"days": 2}})],
        ),
        when(
            delete("view", id=1),
            delete("view", id=4),
            then=[upsert("a", {"page": "a", "title": "A", "busy": None})],
        ),
    ),
    case(
        "a null that is part of a product's key joins nothing",
        _NULLS,
        when(
            insert("view", id=1, page="a", ms=1, at=_at("10:00")),
            insert("view", id=2, page=None, ms=1, at=_at("10:00")),
            then=[
                upsert("a", {"page": "a", "n": 1, "twin": {"n": 1}}),
                upsert(None, {"page": None, "n": 1, "twin": None}),
            ],
        ),
        when(delete("view", id=2), then=[gone(None)]),
    ),
    case(
        "matches are embedded and counted, and the columns of their starts are columns of theirs",
        _OF_MATCHES,
        when(
            insert("person", name="x"),
            insert("login", id=1, name="x", ok=False, at=_at("10:00")),
            insert("login", id=2, name="x", ok=False, at=_at("10:01")),
            then=[upsert("x", {"name": "x", "tried": [], "n": None, "last": None})],
        ),
        when(
            insert("login", id=3, name="x", ok=True, at=_at("10:02")),
            then=[
                upsert("x", {"name": "x", "tried": [{"first": 1, "n": 2}], "n": 1, "last": 1}),
            ],
        ),
        when(
            delete("login", id=1),
            insert("login", id=4, name="x", ok=False, at=_at("10:03")),
            insert("login", id=5, name="x", ok=True, at=_at("10:04")),
            then=[
                upsert(
                    "x",
                    {
                        "name": "x",
                        "tried": [{"first": 2, "n": 1}, {"first": 4, "n": 1}],
                        "n": 2,
                        "last": 4,
                    },
                ),
            ],
        ),
        when(
            update("login", id=3, name="x", ok=False, at=_at("10:02")),
            then=[
                upsert("x", {"name": "x", "tried": [{"first": 2, "n": 3}], "n": 1, "last": 2}),
            ],
        ),
    ),
    case(
        "what a stored query finds is embedded in it",
        _OF_HITS,
        when(
            insert("saved", id=1, condition="price < 5"),
            insert("listing", id=7, price=4),
            insert("listing", id=8, price=9),
            then=[upsert(1, {"id": 1, "found": [{"listing": 7, "price": 4}]})],
        ),
        when(
            update("listing", id=8, price=3),
            update("listing", id=7, price=2),
            then=[
                upsert(
                    1,
                    {
                        "id": 1,
                        "found": [{"listing": 7, "price": 2}, {"listing": 8, "price": 3}],
                    },
                )
            ],
        ),
        when(
            update("saved", id=1, condition="price = 3"),
            then=[upsert(1, {"id": 1, "found": [{"listing": 8, "price": 3}]})],
        ),
        when(delete("listing", id=8), then=[upsert(1, {"id": 1, "found": []})]),
    ),
    case(
        "a document of a match has the columns of its two keys as its own",
        _MATCHES_AS_ROOTS,
        when(
            insert("saved", id=1, condition="true"),
            insert("town", city="Ulm", country="de"),
            insert("listing", id=7, city="Ulm"),
            then=[
                upsert(
                    (1, 7),
                    {
                        "query": {"id": 1},
                        "document": {"id": 7},
                        "city": "Ulm",
                        "town": {"country": "de"},
                    },
                )
            ],
        ),
        when(delete("saved", id=1), then=[gone((1, 7))]),
    ),
    case(
        "lists and objects of a product are columns of its readers",
        _NESTED,
        when(
            insert("person", id=1, name="x"),
            insert("star", id=1, person=1, repo="r"),
            insert("star", id=2, person=1, repo="s"),
            then=[upsert(1, {"id": 1, "all": 2, "repos": ["r", "s"]})],
        ),
        when(
            delete("star", id=1),
            update("person", id=1, name="y"),
            then=[upsert(1, {"id": 1, "all": 1, "repos": ["s"]})],
        ),
        when(update("person", id=1, name="z")),
    ),
)
CLOSED = (
    case(
        "a product sees the windows of another once they are closed",
        _CLOSED,
        when(insert("view", page="a", at=_at("10:01")), insert("view", page="a", at=_at("10:59"))),
        when(
            insert("view", page="a", at=_at("11:00")),
            then=[upsert("a", {"page": "a", "hours": 1, "n": 2})],
        ),
        when(
            insert("view", page="a", at=_at("10:30")),
            then=[upsert("a", {"page": "a", "hours": 1, "n": 3})],
        ),
    ),
    case(
        "a window over a product closes by the watermark of what that reads",
        _CLOSED_OVER,
        when(insert("view", page="a", at=_at("10:01")), insert("view", page="a", at=_at("23:59"))),
        when(
            insert("view", page="a", at=_at("00:00", "2026-03-02")),
            then=[
                upsert(
                    ("a", _at("00:00")),
                    {
                        "page": "a",
                        "window_start": _at("00:00"),
                        "window_end": _at("00:00", "2026-03-02"),
                        "hours": 2,
                        "n": 2,
                        "final": True,
                    },
                )
            ],
        ),
        when(
            insert("view", page="a", at=_at("23:30")),
            then=[
                upsert(
                    ("a", _at("00:00")),
                    {
                        "page": "a",
                        "window_start": _at("00:00"),
                        "window_end": _at("00:00", "2026-03-02"),
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
            insert("view", page="a", at=_at("10:01")),
            insert("view", page="a", at=_at("12:30")),
            then=[upsert("a", {"page": "a", "hours": 2, "n": 2})],
        ),
        when(
            insert("view", page="a", at=_at("13:30")),
            insert("view", page="a", at=_at("12:10")),
            then=[upsert("a", {"page": "a", "hours": 2, "n": 3})],
        ),
        when(
            insert("view", page="b", at=_at("15:30")),
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
            insert("parcel", id=2, shipped_at=_at("10:05")),
            then=[upsert(_at("10:00"), _hour_of_parcels(1))],
            counts={"event_without_time": 1},
        ),
        when(
            insert("parcel", id=1, shipped_at=_at("10:06")),
            then=[upsert(_at("10:00"), _hour_of_parcels(2))],
            counts={},
        ),
    ),
)
