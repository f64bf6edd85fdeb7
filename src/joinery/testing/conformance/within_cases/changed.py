"""Cases of rows that are embedded where their time is near that of the row above."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import Emission, gone, upsert

_RELATIONS = """
relations:
  search:
    key: [id]
    fields: {id: long, user: string, at: timestamp}
    time: at
  click:
    key: [id]
    fields: {id: long, search_id: long, user: string, url: string, ms: int, at: timestamp}
    time: at
"""


def _by_key(embed: str = "", more: str = "") -> str:
    """Return a project whose clicks name their search."""
    return f"""{_RELATIONS}
products:
  outcome:
    root: search
    fields: [id]
    embed:
      clicks:
        many: click
        on: {{search_id: id}}
        within: [0s, 30m]
        fields: [url]{embed}{more}
"""


def _by_user(within: str = "[0s, 30m]", embed: str = "") -> str:
    """Return a project whose clicks are those of the same user."""
    return f"""{_RELATIONS}
products:
  outcome:
    root: search
    fields: [id]
    embed:
      clicks: {{many: click, on: [user], within: {within}, fields: [url]{embed}}}
"""


_ONE = f"""{_RELATIONS}
products:
  outcome:
    root: search
    fields: [id]
    embed:
      click: {{one: click, on: [user], within: [0s, 30m], fields: [url], order: [-at]}}
    values: {{url: click.url}}
"""
_COUNTED = f"""{_RELATIONS}
products:
  outcome:
    root: search
    fields: [id]
    embed:
      clicks:
        many: click
        on: {{search_id: id}}
        within: [0s, 30m]
        fields: [url, ms]
        order: [-at]
        limit: 1
      all: {{many: click, on: [user], within: [0s, 30m], fields: [ms], hidden: true}}
    values: {{ms: sum(clicks.ms), slowest: max(all.ms), n: size(all)}}
"""
_DEEP = """
relations:
  user: {key: [name], fields: {name: string}}
  search:
    key: [id]
    fields: {id: long, user: string, at: timestamp}
    time: at
  click:
    key: [id]
    fields: {id: long, user: string, page: string, at: timestamp}
    time: at
  page: {key: [url], fields: {url: string, title: string}}
products:
  profile:
    root: user
    embed:
      searches:
        many: search
        on: {user: name}
        fields: [id]
        embed:
          clicks:
            many: click
            on: [user]
            within: [0s, 30m]
            fields: {title: p.title}
            embed:
              p: {one: page, on: {url: page}, fields: [title], hidden: true}
"""


def at(clock: str) -> str:
    """Return a moment of one day."""
    return f"2026-03-01T{clock}Z"


def found(search: int, *urls: str) -> Emission:
    """Return what a search is sent as that these clicks answered."""
    return upsert(search, {"id": search, "clicks": [{"url": each} for each in urls]})


CASES = (
    case(
        "both ends of an interval are included",
        _by_key(),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("click", id=1, search_id=1, url="before", at=at("09:59:59.999999")),
            insert("click", id=2, search_id=1, url="first", at=at("10:00:00")),
            insert("click", id=3, search_id=1, url="last", at=at("10:30:00")),
            insert("click", id=4, search_id=1, url="after", at=at("10:30:00.000001")),
            then=[found(1, "first", "last")],
        ),
    ),
    case(
        "a row that comes before the row above is found by it",
        _by_key(),
        when(
            insert("click", id=1, search_id=1, url="a", at=at("10:10:00")),
            insert("click", id=2, search_id=1, url="b", at=at("10:40:00")),
        ),
        when(insert("search", id=1, at=at("10:00:00")), then=[found(1, "a")]),
    ),
    case(
        "a row whose time moves enters and leaves",
        _by_key(),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("click", id=1, search_id=1, url="a", at=at("11:00:00")),
            then=[found(1)],
        ),
        when(
            update("click", id=1, search_id=1, url="a", at=at("10:20:00")),
            then=[found(1, "a")],
        ),
        when(update("click", id=1, search_id=1, url="a", at=at("09:00:00")), then=[found(1)]),
    ),
    case(
        "a row above whose time moves has the rows near its new time",
        _by_key(),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("click", id=1, search_id=1, url="a", at=at("10:10:00")),
            insert("click", id=2, search_id=1, url="b", at=at("11:10:00")),
            then=[found(1, "a")],
        ),
        when(update("search", id=1, at=at("11:00:00")), then=[found(1, "b")]),
        when(update("search", id=1, at=at("12:00:00")), then=[found(1)]),
    ),
    case(
        "rows that go are taken back, and found again when they return",
        _by_key(),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("click", id=1, search_id=1, url="a", at=at("10:10:00")),
            then=[found(1, "a")],
        ),
        when(delete("click", id=1), then=[found(1)]),
        when(insert("click", id=2, search_id=1, url="b", at=at("10:10:00")), then=[found(1, "b")]),
        when(delete("search", id=1), then=[gone(1)]),
        when(insert("search", id=1, at=at("10:00:00")), then=[found(1, "b")]),
    ),
    case(
        "a row without a time is within nothing",
        _by_key(),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("search", id=2),
            insert("search", id=3, at="9999-12-31T00:00:00Z"),
            insert("click", id=1, search_id=1, url="a"),
            insert("click", id=2, search_id=2, url="b", at=at("10:10:00")),
            insert("click", id=3, search_id=3, url="c", at="9999-12-31T00:00:00Z"),
            then=[found(1), found(2), found(3)],
        ),
        when(
            update("search", id=2, at=at("10:00:00")),
            update("click", id=1, search_id=1, url="a", at=at("10:10:00")),
            then=[found(1, "a"), found(2, "b")],
        ),
        when(update("search", id=2, at=None), then=[found(2)]),
    ),
    case(
        "an interval may lie before the row above",
        _by_user("[-1h, -10m]"),
        when(
            insert("search", id=1, user="u", at=at("10:00:00")),
            insert("click", id=1, user="u", url="a", at=at("08:59:59")),
            insert("click", id=2, user="u", url="b", at=at("09:00:00")),
            insert("click", id=3, user="u", url="c", at=at("09:50:00")),
            insert("click", id=4, user="u", url="d", at=at("09:50:01")),
            then=[found(1, "b", "c")],
        ),
    ),
    case(
        "many rows above and below meet where their times are near",
        _by_user(),
        when(
            insert("search", id=1, user="u", at=at("10:00:00")),
            insert("search", id=2, user="u", at=at("10:20:00")),
            insert("search", id=3, user="v", at=at("10:20:00")),
            insert("click", id=1, user="u", url="a", at=at("10:10:00")),
            insert("click", id=2, user="u", url="b", at=at("10:25:00")),
            insert("click", id=3, user="u", url="c", at=at("10:45:00")),
            then=[found(1, "a", "b"), found(2, "b", "c"), found(3)],
        ),
        when(
            update("click", id=2, user="u", url="b", at=at("10:40:00")),
            then=[found(1, "a")],
        ),
        when(
            update("click", id=3, user="v", url="c", at=at("10:45:00")),
            then=[found(2, "b"), found(3, "c")],
        ),
        when(
            update("click", id=1, user="u", url="A", at=at("10:10:00")),
            then=[found(1, "A")],
        ),
        when(
            update("search", id=1, user="v", at=at("10:30:00")),
            then=[found(1, "c")],
        ),
        when(delete("click", id=3), then=[found(1), found(3)]),
        when(update("search", id=3, user=None, at=at("10:20:00"))),
    ),
    case(
        "a row without a time is within nothing and is counted, also one of a snapshot",
        _by_key().replace("  click:\n", "  click:\n    format: debezium-json\n"),
        when(
            insert("search", id=1, user="u", at=at("10:00:00")),
            insert("click", id=1, search_id=1, url="a", at=None).as_snapshot(),
            insert("click", id=2, search_id=1, url="b", at=None),
            then=[found(1)],
            counts={"event_without_time": 2},
        ),
        when(
            insert("click", id=1, search_id=1, url="a", at=at("10:10:00")).as_snapshot(),
            then=[found(1, "a")],
            counts={},
        ),
    ),
    case(
        "the times of both sides move in one batch",
        _by_user(),
        when(
            insert("search", id=1, user="u", at=at("10:00:00")),
            insert("click", id=1, user="u", url="a", at=at("10:10:00")),
            insert("click", id=2, user="u", url="b", at=at("11:10:00")),
            then=[found(1, "a")],
        ),
        when(
            update("search", id=1, user="u", at=at("11:00:00")),
            update("click", id=1, user="u", url="A", at=at("11:20:00")),
            update("click", id=2, user="u", url="b", at=at("10:10:00")),
            then=[found(1, "A")],
        ),
    ),
    case(
        "one row of an interval is the first by order",
        _ONE,
        when(
            insert("search", id=1, user="u", at=at("10:00:00")),
            insert("click", id=1, user="u", url="a", at=at("10:10:00")),
            insert("click", id=2, user="u", url="b", at=at("10:20:00")),
            insert("click", id=3, user="u", url="c", at=at("10:40:00")),
            then=[upsert(1, {"id": 1, "click": {"url": "b"}, "url": "b"})],
            counts={"multiple_matches": 1},
        ),
        when(
            delete("click", id=2),
            then=[upsert(1, {"id": 1, "click": {"url": "a"}, "url": "a"})],
            counts={},
        ),
        when(
            delete("click", id=1),
            then=[upsert(1, {"id": 1, "click": None, "url": None})],
            counts={},
        ),
    ),
    case(
        "limits, totals and aggregates count the rows of the interval alone",
        _COUNTED,
        when(
            insert("search", id=1, user="u", at=at("10:00:00")),
            insert("click", id=1, search_id=1, user="u", url="a", ms=5, at=at("10:10:00")),
            insert("click", id=2, search_id=1, user="u", url="b", ms=7, at=at("10:20:00")),
            insert("click", id=3, search_id=1, user="u", url="c", ms=9, at=at("10:40:00")),
            insert("click", id=4, search_id=2, user="u", url="d", ms=8, at=at("10:15:00")),
            then=[
                upsert(
                    1,
                    {
                        "id": 1,
                        "clicks": [{"url": "b", "ms": 7}],
                        "clicks_total": 2,
                        "ms": 12,
                        "slowest": 8,
                        "n": 3,
                    },
                )
            ],
        ),
        when(
            update("search", id=1, user="u", at=at("10:14:00")),
            then=[
                upsert(
                    1,
                    {
                        "id": 1,
                        "clicks": [{"url": "c", "ms": 9}],
                        "clicks_total": 2,
                        "ms": 16,
                        "slowest": 9,
                        "n": 3,
                    },
                )
            ],
        ),
        when(
            delete("click", id=2),
            delete("click", id=3),
            delete("click", id=4),
            then=[
                upsert(
                    1,
                    {
                        "id": 1,
                        "clicks": [],
                        "clicks_total": 0,
                        "ms": None,
                        "slowest": None,
                        "n": 0,
                    },
                )
            ],
        ),
    ),
    case(
        "more rows of an interval than fit make a dead letter, and those beside it do not",
        _by_key("\n        limit: 1\n        overflow: fail"),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("click", id=1, search_id=1, url="a", at=at("10:10:00")),
            insert("click", id=2, search_id=1, url="b", at=at("10:40:00")),
            then=[found(1, "a")],
        ),
        when(
            update("click", id=2, search_id=1, url="b", at=at("10:20:00")),
            dead=[1],
        ),
        when(delete("click", id=1), then=[found(1, "b")]),
    ),
    case(
        "an interval may hang below another embed, and have embeds of its own",
        _DEEP,
        when(
            insert("user", name="u"),
            insert("page", url="a", title="A"),
            insert("search", id=1, user="u", at=at("10:00:00")),
            insert("search", id=2, user="u", at=at("12:00:00")),
            insert("click", id=1, user="u", page="a", at=at("10:10:00")),
            then=[
                upsert(
                    "u",
                    {
                        "name": "u",
                        "searches": [
                            {"id": 1, "clicks": [{"title": "A"}]},
                            {"id": 2, "clicks": []},
                        ],
                    },
                )
            ],
        ),
        when(
            insert("page", url="b", title="B"),
            update("search", id=2, user="u", at=at("10:05:00")),
            update("click", id=1, user="u", page="b", at=at("10:32:00")),
            then=[
                upsert(
                    "u",
                    {
                        "name": "u",
                        "searches": [
                            {"id": 1, "clicks": []},
                            {"id": 2, "clicks": [{"title": "B"}]},
                        ],
                    },
                )
            ],
        ),
    ),
)
