"""Cases of products that read the matches of patterns and of stored queries as relations.

The first product of each project is the one that is looked at.
"""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.aggregate_cases.pages import at
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert

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


CASES = (
    case(
        "matches are embedded and counted, and the columns of their starts are columns of theirs",
        _OF_MATCHES,
        when(
            insert("person", name="x"),
            insert("login", id=1, name="x", ok=False, at=at("10:00")),
            insert("login", id=2, name="x", ok=False, at=at("10:01")),
            then=[upsert("x", {"name": "x", "tried": [], "n": None, "last": None})],
        ),
        when(
            insert("login", id=3, name="x", ok=True, at=at("10:02")),
            then=[
                upsert("x", {"name": "x", "tried": [{"first": 1, "n": 2}], "n": 1, "last": 1}),
            ],
        ),
        when(
            delete("login", id=1),
            insert("login", id=4, name="x", ok=False, at=at("10:03")),
            insert("login", id=5, name="x", ok=True, at=at("10:04")),
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
            update("login", id=3, name="x", ok=False, at=at("10:02")),
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
)
