"""Cases of rows that come late for an interval, and of what is forgotten."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.conformance.within_cases.changed import at, found
from joinery.testing.conformance.within_cases.closed import project
from joinery.testing.driver import gone

_SHOWN = project(", retention: 10m", on="[user]").replace(
    "    fields: {id: long, user: string, at: timestamp}\n    time: at\n",
    "    fields: {id: long, user: string, shown: boolean, at: timestamp}\n    time: at\n"
    "    where: shown\n",
)

CASES = (
    case(
        "a late row is left out, be it a row of the interval or one above",
        project(", late: drop"),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("click", id=1, search_id=7, url="x", at=at("11:00:00")),
            insert("click", id=2, search_id=1, url="late", at=at("10:10:00")),
            insert("search", id=2, at=at("09:59:59")),
            then=[found(1)],
        ),
        when(
            update("click", id=1, search_id=1, at=at("10:20:00")),
            delete("click", id=2),
        ),
        when(delete("search", id=1), then=[gone(1)]),
    ),
    case(
        "a row that is late by no more than is allowed counts",
        project(", late: drop, allowed: 10m"),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("click", id=1, search_id=7, url="x", at=at("10:30:00")),
            insert("click", id=2, search_id=1, url="a", at=at("10:19:00")),
            insert("click", id=3, search_id=1, url="late", at=at("10:18:59")),
        ),
        when(
            insert("click", id=4, search_id=7, url="x", at=at("10:42:00")),
            then=[found(1, "a")],
        ),
    ),
    case(
        "rows whose retention is over come too late, and the document stays as it was sent",
        project(", retention: 10m"),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("click", id=1, search_id=1, url="a", at=at("10:10:00")),
            insert("click", id=2, search_id=7, url="x", at=at("10:51:00")),
            then=[found(1, "a")],
        ),
        when(
            insert("click", id=3, search_id=1, url="b", at=at("10:20:00")),
            then=[found(1, "a", "b")],
        ),
        when(
            insert("click", id=4, search_id=7, url="x", at=at("11:01:01")),
            insert("click", id=5, search_id=1, url="c", at=at("10:20:00")),
            update("click", id=1, search_id=1, at=at("10:20:00")),
            delete("click", id=3),
        ),
    ),
    case(
        "a document whose root is too old is neither sent again nor taken back",
        project(", retention: 10m"),
        when(
            insert("search", id=1, user="u", at=at("10:00:00")),
            insert("click", id=1, search_id=7, url="x", at=at("10:51:00")),
            then=[found(1)],
        ),
        when(
            insert("search", id=2, at=at("10:40:01")),
            delete("search", id=1),
            insert("search", id=3, at=at("10:00:00")),
        ),
    ),
    case(
        "a key that comes back after it was forgotten begins anew",
        project(", retention: 10m"),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("click", id=1, search_id=1, url="a", at=at("10:10:00")),
            insert("search", id=2, at=at("14:00:00")),
            insert("click", id=2, search_id=7, url="x", at=at("14:00:00")),
            then=[found(1, "a")],
        ),
        when(delete("click", id=1), delete("search", id=1)),
        when(
            insert("search", id=1, at=at("14:10:00")),
            insert("click", id=1, search_id=1, url="b", at=at("14:11:00")),
            insert("click", id=3, search_id=7, url="x", at=at("14:41:01")),
            then=[found(1, "b"), found(2)],
        ),
    ),
    case(
        "what is near a row above that still counts is kept for it",
        project(", retention: 10m", on="[user]"),
        when(
            insert("search", id=1, user="u", at=at("10:00:00")),
            insert("search", id=2, user="u", at=at("11:00:00")),
            insert("click", id=1, user="u", url="a", at=at("10:00:00")),
            insert("click", id=2, user="v", url="x", at=at("10:50:00")),
            then=[found(1, "a")],
        ),
        when(
            insert("click", id=3, user="u", url="b", at=at("11:30:00")),
            insert("click", id=4, user="u", url="c", at=at("12:00:00")),
            insert("click", id=5, user="v", url="x", at=at("12:40:00")),
            then=[found(2, "b")],
        ),
        when(insert("search", id=9, user="v", at=at("12:40:00"))),
        when(
            insert("search", id=3, user="u", at=at("12:00:00")),
            insert("search", id=4, user="u", at=at("11:59:59")),
            delete("click", id=1),
            then=[found(3, "c")],
        ),
    ),
    case(
        "an update that leaves out the time of a forgotten row is none of a row",
        project(", retention: 10m"),
        when(
            insert("search", id=1, user="u", at=at("10:00:00")),
            insert("click", id=1, search_id=1, url="a", at=at("10:10:00")),
            insert("search", id=2, at=at("14:00:00")),
            insert("click", id=2, search_id=7, url="x", at=at("14:00:00")),
            then=[found(1, "a")],
        ),
        when(
            update("search", id=1, user="v"),
            update("click", id=1, search_id=1, url="b"),
            update("search", id=9, user="v"),
        ),
        when(
            update("search", id=1, at=at("14:10:00")),
            update("click", id=1, at=at("14:11:00")),
            insert("click", id=3, search_id=7, url="x", at=at("14:41:01")),
            then=[found(1), found(2)],
        ),
    ),
    case(
        "a row that is forgotten to its update stays where it was, though its state is there",
        project(", retention: 10m", on="[user]"),
        when(
            insert("search", id=1, user="u", at=at("10:00:00")),
            insert("click", id=1, user="u", url="a", at=at("10:10:00")),
            insert("click", id=2, user="v", url="x", at=at("14:00:00")),
            then=[found(1, "a")],
        ),
        when(
            update("click", id=1, url="b", at=at("14:01:00")),
            update("click", id=1, user="u"),
            insert("search", id=2, user="u", at=at("10:05:00")),
            then=[found(2, "a")],
        ),
        when(
            delete("click", id=1),
            insert("search", id=3, user="u", at=at("13:45:00")),
            insert("click", id=3, user="v", url="x", at=at("14:20:00")),
            then=[found(3)],
        ),
    ),
    case(
        "a row that is too late, but not forgotten yet, is taken from documents that are over",
        project(", retention: 10m"),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("click", id=1, search_id=1, url="a", at=at("10:10:00")),
            insert("search", id=2, at=at("11:05:00")),
            insert("click", id=2, search_id=7, url="x", at=at("11:05:00")),
            then=[found(1, "a")],
        ),
        when(update("click", id=1, url="b"), update("search", id=1, user="v")),
        when(update("click", id=1, at=at("11:10:00")), then=[found(1)]),
        when(update("search", id=1, at=at("11:06:00")), then=[gone(1)]),
        when(
            insert("click", id=3, search_id=7, url="x", at=at("11:40:01")),
            then=[found(1, "a"), found(2)],
        ),
    ),
    case(
        "a root that is forgotten to its change stays as it was sent until it is decided anew",
        project(", retention: 10m", on="[user]"),
        when(
            insert("search", id=1, user="u", at=at("10:00:00")),
            insert("search", id=2, user="u", at=at("10:00:00")),
            insert("click", id=1, user="u", url="a", at=at("10:10:00")),
            insert("click", id=2, user="v", url="x", at=at("10:31:01")),
            then=[found(1, "a"), found(2, "a")],
        ),
        when(insert("search", id=3, user="v", at=at("15:00:00"))),
        when(
            delete("search", id=2),
            insert("search", id=1, user="u", at=at("15:00:00")),
            insert("click", id=3, user="u", url="b", at=at("10:20:00")),
            then=[found(2, "a", "b")],
        ),
        when(
            insert("search", id=2, user="u", at=at("15:00:00")),
            insert("click", id=4, user="u", url="c", at=at("15:10:00")),
            insert("click", id=5, user="u", url="d", at=at("15:32:00")),
            then=[found(1, "c"), found(2, "c"), found(3)],
        ),
    ),
    case(
        "a root that comes back and goes before it is sent takes what the former left along",
        project(", retention: 10m"),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("search", id=2, at=at("10:00:00")),
            insert("click", id=1, search_id=1, url="a", at=at("10:10:00")),
            insert("click", id=2, search_id=7, url="x", at=at("10:31:01")),
            then=[found(1, "a"), found(2)],
        ),
        when(insert("search", id=3, at=at("15:00:00"))),
        when(
            insert("search", id=1, at=at("15:00:00")),
            insert("search", id=2, at=at("15:00:00")),
            delete("search", id=2),
            then=[gone(2)],
        ),
        when(delete("search", id=1), then=[gone(1)]),
        when(insert("search", id=1, at=at("15:01:00"))),
    ),
    case(
        "a row that its relation leaves out takes nothing from the forgotten one of its key",
        _SHOWN,
        when(
            insert("search", id=1, user="u", shown=True, at=at("10:00:00")),
            insert("click", id=1, user="u", url="a", at=at("10:10:00")),
            insert("click", id=2, user="v", url="x", at=at("10:31:01")),
            then=[found(1, "a")],
        ),
        when(insert("search", id=3, user="v", shown=True, at=at("15:00:00"))),
        when(insert("search", id=1, user="u", shown=False, at=at("15:00:00"))),
        when(
            insert("click", id=3, user="u", url="b", at=at("10:20:00")), then=[found(1, "a", "b")]
        ),
        when(update("search", id=1, shown=True)),
        when(update("search", id=1, shown=False), then=[gone(1)]),
        when(
            update("search", id=1, shown=True),
            insert("click", id=4, user="u", url="c", at=at("15:10:00")),
            insert("click", id=5, user="v", url="x", at=at("15:32:00")),
            then=[found(1, "c"), found(3)],
        ),
    ),
    case(
        "nor does it where nothing is known any more of the forgotten one",
        _SHOWN,
        when(
            insert("search", id=1, user="u", shown=True, at=at("10:00:00")),
            insert("click", id=1, user="u", url="a", at=at("10:10:00")),
            insert("search", id=2, user="v", shown=True, at=at("14:00:00")),
            insert("click", id=2, user="v", url="x", at=at("14:00:00")),
            then=[found(1, "a")],
        ),
        when(insert("search", id=1, user="u", shown=False, at=at("14:00:00"))),
        when(
            update("search", id=1, shown=True),
            insert("click", id=3, user="u", url="b", at=at("14:01:00")),
            insert("click", id=4, user="v", url="y", at=at("14:32:00")),
            then=[found(1, "b"), found(2, "x")],
        ),
    ),
)
