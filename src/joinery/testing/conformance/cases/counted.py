"""Cases about what is counted: expressions that begin to fail, `one` embeds with several rows."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import upsert

_NOTHING: dict[str, int] = {}
_FAILS = {"expression_errors": 1}
_SEVERAL = {"multiple_matches": 1}


def _project(embed: str, *, values: str = "{}", sale: str = "") -> str:
    return f"""
relations:
  user: {{key: [id], fields: {{id: long, city_id: long, name: string}}}}
  city: {{key: [id], fields: {{id: long, size: int}}}}
  sale: {{key: [id], fields: {{id: long, user_id: long, amount: int, note: string}}{sale}}}
products:
  p:
    root: user
    fields: [id]
    embed: {{{embed}}}
    values: {values}
"""


_CHILD = _project("sales: {many: sale, on: {user_id: id}, fields: {id: id, part: 10 / amount}}")
_SHARED = _project("city: {one: city, on: {id: city_id}, fields: {part: 10 / size}}")
_DERIVED = _project(
    "sales: {many: sale, on: {user_id: id}, fields: [id, part]}",
    sale=", derive: {part: 10 / amount}",
)
_WHERE = _project("sales: {many: sale, on: {user_id: id}, fields: [id], where: 10 / amount > 1}")
_ORDER = _project("sales: {many: sale, on: {user_id: id}, fields: [id], order: [10 / amount]}")
_AGGREGATE = _project(
    "sales: {many: sale, on: {user_id: id}, fields: [id, amount], hidden: true}",
    values="{total: sum(10 / sales.amount)}",
)
_ONE = _project("sale: {one: sale, on: {user_id: id}, fields: [id], order: [id]}")
_ROOT = _project(
    "sales: {many: sale, on: {user_id: id}, fields: [id], hidden: true}",
    values='{part: "10 / size(sales)", code: cast(name as int)}',
).replace("fields: [id]\n", "fields: [id, name]\n")

CASES = (
    case(
        "an expression over an embedded row is counted when it begins to fail, and not again",
        _CHILD,
        when(
            insert("user", id=1),
            insert("sale", id=10, user_id=1, amount=0),
            insert("sale", id=11, user_id=1, amount=5),
            then=[upsert(1, {"id": 1, "sales": [{"id": 10, "part": None}, {"id": 11, "part": 2}]})],
            counts=_FAILS,
        ),
        when(
            update("sale", id=11, amount=1),
            update("sale", id=10, note="still"),
            then=[
                upsert(1, {"id": 1, "sales": [{"id": 10, "part": None}, {"id": 11, "part": 10}]})
            ],
            counts=_NOTHING,
        ),
        when(
            update("sale", id=10, amount=2),
            then=[upsert(1, {"id": 1, "sales": [{"id": 10, "part": 5}, {"id": 11, "part": 10}]})],
            counts=_NOTHING,
        ),
        when(
            update("sale", id=10, amount=0),
            then=[
                upsert(1, {"id": 1, "sales": [{"id": 10, "part": None}, {"id": 11, "part": 10}]})
            ],
            counts=_FAILS,
        ),
    ),
    case(
        "an expression over a row that several documents show is counted once",
        _SHARED,
        when(
            insert("city", id=7, size=0),
            insert("user", id=1, city_id=7),
            insert("user", id=2, city_id=7),
            then=[upsert(each, {"id": each, "city": {"part": None}}) for each in (1, 2)],
            counts=_FAILS,
        ),
        when(insert("user", id=3), then=[upsert(3, {"id": 3, "city": None})], counts=_NOTHING),
    ),
    case(
        "a derived column that begins to fail is counted once, however many read it",
        _DERIVED,
        when(
            insert("user", id=1),
            insert("sale", id=10, user_id=1, amount=0),
            then=[upsert(1, {"id": 1, "sales": [{"id": 10, "part": None}]})],
            counts=_FAILS,
        ),
        when(update("sale", id=10, note="still"), counts=_NOTHING),
    ),
    case(
        "a `where` that fails leaves its row out, and is counted",
        _WHERE,
        when(
            insert("user", id=1),
            insert("sale", id=10, user_id=1, amount=0),
            insert("sale", id=11, user_id=1, amount=2),
            then=[upsert(1, {"id": 1, "sales": [{"id": 11}]})],
            counts=_FAILS,
        ),
        when(insert("sale", id=12, user_id=1, amount=100), counts=_NOTHING),
    ),
    case(
        "an order that fails is counted though it decides nothing",
        _ORDER,
        when(
            insert("user", id=1),
            insert("sale", id=10, user_id=1, amount=0),
            then=[upsert(1, {"id": 1, "sales": [{"id": 10}]})],
            counts=_FAILS,
        ),
        when(
            insert("sale", id=11, user_id=1, amount=5),
            then=[upsert(1, {"id": 1, "sales": [{"id": 10}, {"id": 11}]})],
            counts=_NOTHING,
        ),
    ),
    case(
        "what an aggregate reads is counted once a row that begins to fail",
        _AGGREGATE,
        when(
            insert("user", id=1),
            insert("sale", id=10, user_id=1, amount=0),
            insert("sale", id=11, user_id=1, amount=5),
            then=[upsert(1, {"id": 1, "total": 2})],
            counts=_FAILS,
        ),
        when(
            insert("sale", id=12, user_id=1, amount=1),
            then=[upsert(1, {"id": 1, "total": 12})],
            counts=_NOTHING,
        ),
    ),
    case(
        "each expression of a document is counted when it begins to fail",
        _ROOT,
        when(
            insert("user", id=1, name="x"),
            then=[upsert(1, {"id": 1, "name": "x", "part": None, "code": None})],
            counts={"expression_errors": 2},
        ),
        when(
            insert("sale", id=10, user_id=1),
            then=[upsert(1, {"id": 1, "name": "x", "part": 10, "code": None})],
            counts=_NOTHING,
        ),
        when(
            delete("sale", id=10),
            then=[upsert(1, {"id": 1, "name": "x", "part": None, "code": None})],
            counts=_FAILS,
        ),
    ),
    case(
        "a `one` embed counts a join value when it begins to have several rows",
        _ONE,
        when(
            insert("user", id=1),
            insert("sale", id=10, user_id=1),
            then=[upsert(1, {"id": 1, "sale": {"id": 10}})],
            counts=_NOTHING,
        ),
        when(insert("sale", id=11, user_id=1), counts=_SEVERAL),
        when(insert("sale", id=12, user_id=1), counts=_NOTHING),
        when(delete("sale", id=11), delete("sale", id=12), counts=_NOTHING),
        when(insert("sale", id=13, user_id=1), counts=_SEVERAL),
    ),
)
