"""Cases of documents that are sent once nothing more can happen in time."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.conformance.within_cases.changed import at, found
from joinery.testing.driver import gone, upsert


def project(emit: str = "", on: str = "{search_id: id}") -> str:
    """Return a project that sends the outcome of searches once it is decided."""
    return f"""
relations:
  search:
    key: [id]
    fields: {{id: long, user: string, at: timestamp}}
    time: at
  click:
    key: [id]
    fields: {{id: long, search_id: long, user: string, url: string, at: timestamp}}
    time: at
    watermark: {{delay: 1m}}
products:
  outcome:
    root: search
    fields: [id]
    embed:
      clicks: {{many: click, on: {on}, within: [0s, 30m], fields: [url]}}
    emit: {{when: closed{emit}}}
"""


_TWICE = """
relations:
  order: {key: [id], fields: {id: long, at: timestamp}, time: at}
  payment: {key: [id], fields: {id: long, order_id: long, at: timestamp}, time: at}
  parcel: {key: [id], fields: {id: long, order_id: long, at: timestamp}, time: at}
products:
  fate:
    root: order
    fields: [id]
    embed:
      paid: {many: payment, on: {order_id: id}, within: [0s, 1h], fields: [id]}
      sent: {many: parcel, on: {order_id: id}, within: [0s, 2h], fields: [id]}
    emit: {when: closed}
"""


def _fate(order: int, paid: int = 0, sent: int = 0) -> dict[str, object]:
    told = {"paid": [{"id": paid}] if paid else [], "sent": [{"id": sent}] if sent else []}
    return {"id": order, **told}


CASES = (
    case(
        "what did not happen is an empty list, sent when the watermark is past",
        project(),
        when(insert("search", id=1, at=at("10:00:00"))),
        when(insert("click", id=1, search_id=7, url="x", at=at("10:31:00"))),
        when(
            insert("click", id=2, search_id=7, url="x", at=at("10:31:00.000001")),
            then=[found(1)],
        ),
        when(insert("click", id=3, search_id=7, url="x", at=at("12:00:00"))),
    ),
    case(
        "what happened is sent when nothing more can, and not before",
        project(),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("click", id=1, search_id=1, url="a", at=at("10:10:00")),
        ),
        when(insert("click", id=2, search_id=1, url="b", at=at("10:30:00"))),
        when(
            insert("click", id=3, search_id=1, url="c", at=at("11:00:00")),
            then=[found(1, "a", "b")],
        ),
    ),
    case(
        "a late row takes back that nothing happened",
        project(),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("click", id=1, search_id=7, url="x", at=at("11:00:00")),
            then=[found(1)],
        ),
        when(
            insert("click", id=2, search_id=1, url="a", at=at("10:10:00")),
            then=[found(1, "a")],
        ),
        when(delete("click", id=2), then=[found(1)]),
    ),
    case(
        "allowed lateness puts the decision off",
        project(", allowed: 10m"),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("click", id=1, search_id=7, url="x", at=at("10:41:00")),
        ),
        when(
            insert("click", id=2, search_id=7, url="x", at=at("10:41:01")),
            then=[found(1)],
        ),
    ),
    case(
        "the watermark of the root's own log decides nothing",
        project(),
        when(insert("search", id=1, at=at("10:00:00"))),
        when(insert("search", id=2, at=at("15:00:00"))),
        when(insert("click", id=1, search_id=7, url="x", at=at("11:00:00")), then=[found(1)]),
    ),
    case(
        "a row above that comes after the watermark is decided when it comes",
        project(),
        when(
            insert("click", id=1, search_id=1, url="a", at=at("10:10:00")),
            insert("click", id=2, search_id=7, url="x", at=at("12:00:00")),
        ),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("search", id=2, at=at("11:00:00")),
            insert("search", id=3, at=at("11:40:00")),
            then=[found(1, "a"), found(2)],
        ),
    ),
    case(
        "a row above whose time moves to what is undecided is gone until it is decided",
        project(),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("click", id=1, search_id=1, url="a", at=at("11:00:00")),
            then=[found(1)],
        ),
        when(update("search", id=1, at=at("10:50:00")), then=[gone(1)]),
        when(insert("click", id=2, search_id=1, url="b", at=at("11:10:00"))),
        when(
            insert("click", id=3, search_id=7, url="x", at=at("11:40:00")),
            then=[found(1, "a", "b")],
        ),
        when(update("search", id=1, at=at("10:00:00")), then=[found(1)]),
    ),
    case(
        "a row above that moves back and forth is sent where it stands",
        project(),
        when(
            insert("search", id=1, at=at("10:00:00")),
            insert("click", id=1, search_id=7, url="x", at=at("11:00:00")),
            then=[found(1)],
        ),
        when(update("search", id=1, at=at("10:50:00")), then=[gone(1)]),
        when(update("search", id=1, at=at("10:00:00")), then=[found(1)]),
    ),
    case(
        "a row above without a time is decided, and its list is empty",
        project(),
        when(
            insert("search", id=1),
            insert("search", id=2, at="9999-12-31T00:00:00Z"),
            insert("click", id=1, search_id=1, url="a", at=at("10:00:00")),
            then=[found(1), found(2)],
        ),
        when(update("search", id=1, at=at("10:00:00")), then=[gone(1)]),
        when(
            insert("click", id=2, search_id=7, url="x", at=at("11:00:00")),
            then=[found(1, "a")],
        ),
    ),
    case(
        "a row above that goes before it is decided was never sent",
        project(),
        when(insert("search", id=1, at=at("10:00:00")), insert("search", id=2, at=at("10:00:00"))),
        when(delete("search", id=1)),
        when(
            insert("click", id=1, search_id=7, url="x", at=at("11:00:00")),
            then=[found(2)],
        ),
        when(delete("search", id=2), then=[gone(2)]),
        when(insert("search", id=2, at=at("10:00:00")), then=[found(2)]),
    ),
    case(
        "rows that hang on another column than the key are waited for, too",
        project(on="[user]"),
        when(
            insert("search", id=1, user="u", at=at("10:00:00")),
            insert("search", id=2, user="u", at=at("10:20:00")),
            insert("click", id=1, user="u", url="a", at=at("10:25:00")),
        ),
        when(
            insert("click", id=2, user="v", url="x", at=at("10:40:00")),
            then=[found(1, "a")],
        ),
        when(
            insert("click", id=3, user="u", url="b", at=at("10:30:00")),
            then=[found(1, "a", "b")],
        ),
        when(
            insert("click", id=4, user="v", url="x", at=at("11:00:00")),
            then=[found(2, "a", "b")],
        ),
    ),
    case(
        "a document of two intervals waits for both logs",
        _TWICE,
        when(
            insert("order", id=1, at=at("10:00:00")),
            insert("payment", id=1, order_id=1, at=at("10:30:00")),
            insert("payment", id=2, order_id=7, at=at("15:00:00")),
        ),
        when(insert("parcel", id=3, order_id=1, at=at("12:00:00"))),
        when(
            insert("parcel", id=4, order_id=7, at=at("12:00:01")),
            then=[upsert(1, _fate(1, 1, 3))],
        ),
        when(
            insert("order", id=2, at=at("11:00:00")),
            insert("order", id=3, at=at("09:00:00")),
            then=[upsert(3, _fate(3))],
        ),
        when(
            insert("parcel", id=5, order_id=2, at=at("13:00:01")),
            then=[upsert(2, _fate(2))],
        ),
        when(update("order", id=1, at=at("14:30:00")), then=[gone(1)]),
    ),
)
