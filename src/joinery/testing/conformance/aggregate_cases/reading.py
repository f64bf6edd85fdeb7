"""Cases of products that read documents and groups of their query as relations.

The first product of each project is the one that is looked at.
"""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.aggregate_cases.pages import PAGES, at
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert

_EMBEDDED = f"""
{PAGES}
products:
  p:
    root: page
    embed:
      hours: {{many: hours, on: [page], fields: [window_start, n]}}
  hours: {{aggregate: view, by: [page], window: {{tumbling: 1h}}, values: {{n: count(*)}}}}
"""
_LOOKED_UP = f"""
{PAGES}
products:
  p:
    root: view
    fields: [id]
    embed:
      whole: {{one: total, on: [page], fields: [n, ms], hidden: true}}
    values: {{share: "whole.ms / whole.n"}}
  total: {{aggregate: view, by: [page], values: {{n: count(*), ms: sum(ms)}}}}
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
_NULLS = f"""
{PAGES}
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


CASES = (
    case(
        "a document shows groups that it embeds, and changes as they do",
        _EMBEDDED,
        when(
            insert("page", page="a", title="A"),
            insert("view", id=1, page="a", ms=1, at=at("10:01")),
            insert("view", id=2, page="a", ms=1, at=at("11:01")),
            insert("view", id=3, page="b", ms=1, at=at("11:01")),
            then=[
                upsert(
                    "a",
                    {
                        "page": "a",
                        "title": "A",
                        "hours": [
                            {"window_start": at("10:00"), "n": 1},
                            {"window_start": at("11:00"), "n": 1},
                        ],
                    },
                )
            ],
        ),
        when(
            delete("view", id=1),
            insert("view", id=4, page="a", ms=1, at=at("11:59")),
            then=[
                upsert(
                    "a",
                    {
                        "page": "a",
                        "title": "A",
                        "hours": [{"window_start": at("11:00"), "n": 2}],
                    },
                )
            ],
        ),
        when(insert("view", id=5, page="c", ms=1, at=at("11:01"))),
    ),
    case(
        "a row is shown with the group that it is in itself",
        _LOOKED_UP,
        when(
            insert("view", id=1, page="a", ms=4, at=at("10:01")),
            insert("view", id=2, page="a", ms=8, at=at("10:01")),
            then=[upsert(1, {"id": 1, "share": 6.0}), upsert(2, {"id": 2, "share": 6.0})],
        ),
        when(
            update("view", id=1, page="b", ms=4, at=at("10:01")),
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
        "a null that is part of a product's key joins nothing",
        _NULLS,
        when(
            insert("view", id=1, page="a", ms=1, at=at("10:00")),
            insert("view", id=2, page=None, ms=1, at=at("10:00")),
            then=[
                upsert("a", {"page": "a", "n": 1, "twin": {"n": 1}}),
                upsert(None, {"page": None, "n": 1, "twin": None}),
            ],
        ),
        when(delete("view", id=2), then=[gone(None)]),
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
