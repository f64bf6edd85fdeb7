"""Cases about the root: which documents stand, when they are sent, under which key."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert

_USER = """
relations:
  user: {key: [id], fields: {id: long, name: string, city: string, age: int}}
products:
  p: {root: user, fields: [id, name]}
"""

_ADULT = """
relations:
  user: {key: [id], fields: {id: long, name: string, age: int}}
products:
  p: {root: user, fields: [id, name], where: age >= 18}
"""

_DERIVED = """
relations:
  user:
    key: [id]
    fields: {id: long, name: string, active: boolean}
    derive: {lower_name: lower(name), twice: "concat(lower_name, lower_name)"}
    where: active
products:
  p: {root: user, fields: [id, lower_name, twice]}
"""

_PLACE = """
relations:
  place: {key: [country, code], fields: {code: int, country: string, name: string}}
products:
  p: {root: place, fields: [name]}
"""

_WITH_ORDERS = """
relations:
  user: {key: [id], fields: {id: long, name: string}}
  order: {key: [id], fields: {id: long, user_id: long}}
products:
  p:
    root: user
    fields: [id, name]
    embed:
      orders: {many: order, on: {user_id: id}, fields: [id]}
"""

_WITH_VISITS = """
relations:
  user: {key: [id], fields: {id: long}}
  visit: {append: true, key: [id], fields: {id: long, user_id: long}}
products:
  p:
    root: user
    fields: [id]
    embed:
      visits: {many: visit, on: {user_id: id}, fields: [id]}
"""

_PAYMENTS = """
relations:
  payment: {append: true, key: [id], fields: {id: long, shop_id: long}}
  shop: {key: [id], fields: {id: long, city: string}}
products:
  p:
    root: payment
    fields: [id]
    embed: {shop: {one: shop, on: {id: shop_id}, fields: [city]}}
    where: "shop.city is null or shop.city <> 'x'"
"""

_ALL_TYPES = """
relations:
  thing:
    key: [id]
    fields:
      id: long
      flag: boolean
      small: int
      ratio: double
      price: decimal(12,2)
      text: string
      day: date
      at: timestamp
      bytes: binary
      tags: array<string>
      place: "struct<city: string, zip: int>"
products:
  p: {root: thing}
"""

CASES = (
    case(
        "a root row gives a document, even where nothing matches",
        _WITH_ORDERS,
        when(
            insert("user", id=1, name="a"),
            then=[upsert(1, {"id": 1, "name": "a", "orders": []})],
        ),
    ),
    case(
        "an update sends the whole document again",
        _USER,
        when(insert("user", id=1, name="a"), then=[upsert(1, {"id": 1, "name": "a"})]),
        when(insert("user", id=1, name="b"), then=[upsert(1, {"id": 1, "name": "b"})]),
    ),
    case(
        "an update of a column that is not shown sends nothing",
        _USER,
        when(insert("user", id=1, name="a"), then=[upsert(1, {"id": 1, "name": "a"})]),
        when(insert("user", id=1, name="a", city="x")),
        when(update("user", id=1, name="a")),
    ),
    case(
        "several changes of one row in a batch send its last state once",
        _USER,
        when(
            insert("user", id=1, name="a"),
            update("user", id=1, name="b"),
            update("user", id=1, name="c"),
            then=[upsert(1, {"id": 1, "name": "c"})],
        ),
    ),
    case(
        "an update and its reversal within a batch send nothing",
        _USER,
        when(insert("user", id=1, name="a"), then=[upsert(1, {"id": 1, "name": "a"})]),
        when(update("user", id=1, name="b"), update("user", id=1, name="a")),
    ),
    case(
        "a root that went is one tombstone",
        _USER,
        when(insert("user", id=1, name="a"), then=[upsert(1, {"id": 1, "name": "a"})]),
        when(delete("user", id=1), then=[gone(1)]),
        when(delete("user", id=1)),
    ),
    case(
        "a delete of a row of an append relation sends nothing",
        _WITH_VISITS,
        when(
            insert("user", id=1),
            insert("visit", id=7, user_id=1),
            then=[upsert(1, {"id": 1, "visits": [{"id": 7}]})],
        ),
        when(delete("visit", id=7), delete("visit", id=9)),
        when(
            insert("visit", id=8, user_id=1),
            delete("visit", id=8),
            then=[upsert(1, {"id": 1, "visits": [{"id": 7}, {"id": 8}]})],
        ),
    ),
    case(
        "a root of an append relation follows the row that it looks up",
        _PAYMENTS,
        when(
            insert("payment", id=1, shop_id=7),
            insert("payment", id=2, shop_id=8),
            insert("shop", id=7, city="x"),
            then=[upsert(2, {"id": 2, "shop": None})],
        ),
        when(
            update("shop", id=7, city="a"),
            then=[upsert(1, {"id": 1, "shop": {"city": "a"}})],
        ),
        when(delete("shop", id=7), then=[upsert(1, {"id": 1, "shop": None})]),
        when(insert("shop", id=7, city="x"), then=[gone(1)]),
        when(insert("payment", id=1, shop_id=7), delete("payment", id=2)),
        when(
            delete("shop", id=7),
            insert("shop", id=7, city="b"),
            then=[upsert(1, {"id": 1, "shop": {"city": "b"}})],
        ),
    ),
    case(
        "a root that comes and goes within a batch sends nothing",
        _USER,
        when(insert("user", id=1, name="a"), delete("user", id=1)),
    ),
    case(
        "a root that goes and comes back the same within a batch sends nothing",
        _USER,
        when(insert("user", id=1, name="a"), then=[upsert(1, {"id": 1, "name": "a"})]),
        when(delete("user", id=1), insert("user", id=1, name="a")),
    ),
    case(
        "a delete of a row that was never seen sends nothing",
        _USER,
        when(delete("user", id=1)),
        when(insert("user", id=1, name="a"), then=[upsert(1, {"id": 1, "name": "a"})]),
    ),
    case(
        "a root that is inserted again is sent again",
        _USER,
        when(insert("user", id=1, name="a"), then=[upsert(1, {"id": 1, "name": "a"})]),
        when(delete("user", id=1), then=[gone(1)]),
        when(insert("user", id=1, name="a"), then=[upsert(1, {"id": 1, "name": "a"})]),
    ),
    case(
        "a root that is deleted while its children live finds them when it is back",
        _WITH_ORDERS,
        when(
            insert("user", id=1, name="a"),
            insert("order", id=10, user_id=1),
            then=[upsert(1, {"id": 1, "name": "a", "orders": [{"id": 10}]})],
        ),
        when(delete("user", id=1), then=[gone(1)]),
        when(insert("order", id=11, user_id=1)),
        when(delete("order", id=10)),
        when(
            insert("user", id=1, name="b"),
            then=[upsert(1, {"id": 1, "name": "b", "orders": [{"id": 11}]})],
        ),
    ),
    case(
        "a key that is used again by another row shows nothing of the first",
        _WITH_ORDERS,
        when(
            insert("user", id=1, name="a"),
            insert("order", id=10, user_id=1),
            then=[upsert(1, {"id": 1, "name": "a", "orders": [{"id": 10}]})],
        ),
        when(delete("user", id=1), delete("order", id=10), then=[gone(1)]),
        when(
            insert("user", id=1),
            then=[upsert(1, {"id": 1, "name": None, "orders": []})],
        ),
    ),
    case(
        "a root outside its where has no document",
        _ADULT,
        when(insert("user", id=1, name="a", age=17)),
        when(insert("user", id=2, name="b")),
        when(update("user", id=1, age=18), then=[upsert(1, {"id": 1, "name": "a"})]),
        when(update("user", id=1, age=None), then=[gone(1)]),
        when(delete("user", id=1)),
    ),
    case(
        "a root that leaves its where and comes back within a batch sends nothing",
        _ADULT,
        when(insert("user", id=1, name="a", age=20), then=[upsert(1, {"id": 1, "name": "a"})]),
        when(update("user", id=1, age=1), update("user", id=1, age=30)),
    ),
    case(
        "rows outside their relation's where do not exist, derived columns are computed",
        _DERIVED,
        when(insert("user", id=1, name="A", active=False), insert("user", id=2, name="B")),
        when(
            update("user", id=1, active=True),
            then=[upsert(1, {"id": 1, "lower_name": "a", "twice": "aa"})],
        ),
        when(
            update("user", id=1, name="C"),
            then=[upsert(1, {"id": 1, "lower_name": "c", "twice": "cc"})],
        ),
        when(update("user", id=1, active=None), then=[gone(1)]),
    ),
    case(
        "a composite key stands in the sink's key, in the relation's order",
        _PLACE,
        when(
            insert("place", country="de", code=1, name="x"),
            insert("place", country="fr", code=1, name="y"),
            then=[upsert(("de", 1), {"name": "x"}), upsert(("fr", 1), {"name": "y"})],
        ),
        when(delete("place", country="de", code=1), then=[gone(("de", 1))]),
    ),
    case(
        "fields left out show all columns, of every type",
        _ALL_TYPES,
        when(
            insert(
                "thing",
                id=9007199254740993,
                flag=True,
                small=-1,
                ratio=0.1,
                price="12.50",
                text='ü "\\\n',
                day="2026-02-28",
                at="2026-01-02T03:04:05.000006Z",
                bytes="AAH/",
                tags=["a", None],
                place={"city": "x", "zip": None},
            ),
            insert("thing", id=1, at="2026-01-02T03:04:05Z", tags=[]),
            then=[
                upsert(
                    9007199254740993,
                    {
                        "id": 9007199254740993,
                        "flag": True,
                        "small": -1,
                        "ratio": 0.1,
                        "price": 12.5,
                        "text": 'ü "\\\n',
                        "day": "2026-02-28",
                        "at": "2026-01-02T03:04:05.000006Z",
                        "bytes": "AAH/",
                        "tags": ["a", None],
                        "place": {"city": "x", "zip": None},
                    },
                ),
                upsert(
                    1,
                    {
                        "id": 1,
                        "flag": None,
                        "small": None,
                        "ratio": None,
                        "price": None,
                        "text": None,
                        "day": None,
                        "at": "2026-01-02T03:04:05Z",
                        "bytes": None,
                        "tags": [],
                        "place": None,
                    },
                ),
            ],
        ),
    ),
)
