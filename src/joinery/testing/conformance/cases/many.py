"""Cases about `many` embeds: which rows match, and what follows when they move."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert

_ORDERS = """
relations:
  user: {key: [id], fields: {id: long, name: string}}
  order: {key: [id], fields: {id: long, user_id: long, note: string, secret: string}}
products:
  p:
    root: user
    fields: [id]
    embed:
      orders: {many: order, on: {user_id: id}, fields: [id, note]}
"""

_BY_NAME = """
relations:
  user: {key: [id], fields: {id: long, name: string}}
  pull: {key: [id], fields: {id: long, author: string}}
products:
  p:
    root: user
    fields: [id]
    embed:
      pulls: {many: pull, on: {author: name}, fields: [id]}
"""

_COMPOSITE = """
relations:
  repo: {key: [owner, name], fields: {owner: string, name: string}}
  issue:
    key: [owner, repo, number]
    fields: {owner: string, repo: string, number: int, title: string}
products:
  p:
    root: repo
    fields: [owner, name]
    embed:
      issues: {many: issue, on: {repo: name, owner: owner}, fields: [number, title]}
"""

_WIDENING = """
relations:
  user: {key: [id], fields: {id: int, score: "decimal(4,1)"}}
  order: {key: [id], fields: {id: long, user_id: long, score: "decimal(8,3)"}}
products:
  p:
    root: user
    fields: [id]
    embed:
      orders: {many: order, on: {user_id: id}, fields: [id]}
      peers: {many: order, on: [score], fields: [id]}
"""

_REALS = """
relations:
  user: {key: [id], fields: {id: int, rank: short}}
  order: {key: [id], fields: {id: long, user_id: double, rank: float}}
products:
  p:
    root: user
    fields: [id]
    embed:
      orders: {many: order, on: {user_id: id}, fields: [id]}
      peers: {many: order, on: [rank], fields: [id]}
"""

_MAP = """
relations:
  user: {key: [id], fields: {id: long}}
  setting: {key: [name], fields: {name: string, user_id: long, value: string}}
  stock: {key: [user_id, sku], fields: {user_id: long, sku: string, count: int}}
products:
  p:
    root: user
    fields: []
    embed:
      settings: {many: setting, on: {user_id: id}, fields: [value], as: map}
      stock: {many: stock, on: {user_id: id}, fields: [count], as: map}
"""

_WHERE = """
relations:
  user: {key: [id], fields: {id: long}}
  order: {key: [id], fields: {id: long, user_id: long, total: int}}
products:
  p:
    root: user
    fields: [id]
    embed:
      big: {many: order, on: {user_id: id}, fields: [id], where: total > 100}
"""


_NO_ORDERS = {"id": 1, "orders": []}
_TEN = {"id": 10, "note": None}
_ELEVEN = {"id": 11, "note": None}

CASES = (
    case(
        "a child before its parent is in the parent's first document",
        _ORDERS,
        when(insert("order", id=10, user_id=1)),
        when(insert("user", id=1), then=[upsert(1, {"id": 1, "orders": [_TEN]})]),
    ),
    case(
        "a child that matches no parent sends nothing",
        _ORDERS,
        when(insert("user", id=1), then=[upsert(1, _NO_ORDERS)]),
        when(insert("order", id=10, user_id=7)),
        when(delete("order", id=10)),
    ),
    case(
        "a null join column matches nothing, not even another null",
        _BY_NAME,
        when(
            insert("user", id=1),
            insert("pull", id=10),
            then=[upsert(1, {"id": 1, "pulls": []})],
        ),
    ),
    case(
        "a child's change sends its parent, and no other",
        _ORDERS,
        when(
            insert("user", id=1),
            insert("user", id=2),
            insert("order", id=10, user_id=1),
            then=[upsert(1, {"id": 1, "orders": [_TEN]}), upsert(2, {"id": 2, "orders": []})],
        ),
        when(
            update("order", id=10, note="n"),
            then=[upsert(1, {"id": 1, "orders": [{"id": 10, "note": "n"}]})],
        ),
    ),
    case(
        "a change of a child's unused column sends nothing",
        _ORDERS,
        when(
            insert("user", id=1),
            insert("order", id=10, user_id=1),
            then=[upsert(1, {"id": 1, "orders": [_TEN]})],
        ),
        when(update("order", id=10, secret="s")),
    ),
    case(
        "a deleted child leaves its parent",
        _ORDERS,
        when(
            insert("user", id=1),
            insert("order", id=10, user_id=1),
            insert("order", id=11, user_id=1),
            then=[upsert(1, {"id": 1, "orders": [_TEN, _ELEVEN]})],
        ),
        when(delete("order", id=10), then=[upsert(1, {"id": 1, "orders": [_ELEVEN]})]),
        when(delete("order", id=11), then=[upsert(1, _NO_ORDERS)]),
    ),
    case(
        "a child that moves sends both parents",
        _ORDERS,
        when(
            insert("user", id=1),
            insert("user", id=2),
            insert("order", id=10, user_id=1),
            then=[upsert(1, {"id": 1, "orders": [_TEN]}), upsert(2, {"id": 2, "orders": []})],
        ),
        when(
            update("order", id=10, user_id=2),
            then=[upsert(1, _NO_ORDERS), upsert(2, {"id": 2, "orders": [_TEN]})],
        ),
        when(update("order", id=10, user_id=None), then=[upsert(2, {"id": 2, "orders": []})]),
    ),
    case(
        "a child that moves and moves back within a batch sends nothing",
        _ORDERS,
        when(
            insert("user", id=1),
            insert("user", id=2),
            insert("order", id=10, user_id=1),
            then=[upsert(1, {"id": 1, "orders": [_TEN]}), upsert(2, {"id": 2, "orders": []})],
        ),
        when(update("order", id=10, user_id=2), update("order", id=10, user_id=1)),
    ),
    case(
        "a child that moves and changes shows its change at the new parent alone",
        _ORDERS,
        when(
            insert("user", id=1),
            insert("user", id=2),
            insert("order", id=10, user_id=1),
            then=[upsert(1, {"id": 1, "orders": [_TEN]}), upsert(2, {"id": 2, "orders": []})],
        ),
        when(
            update("order", id=10, note="a"),
            update("order", id=10, user_id=2),
            update("order", id=10, note="b"),
            then=[
                upsert(1, _NO_ORDERS),
                upsert(2, {"id": 2, "orders": [{"id": 10, "note": "b"}]}),
            ],
        ),
    ),
    case(
        "a child that is deleted and inserted at another parent moves",
        _ORDERS,
        when(
            insert("user", id=1),
            insert("user", id=2),
            insert("order", id=10, user_id=1, note="n"),
            then=[
                upsert(1, {"id": 1, "orders": [{"id": 10, "note": "n"}]}),
                upsert(2, {"id": 2, "orders": []}),
            ],
        ),
        when(
            delete("order", id=10),
            insert("order", id=10, user_id=2),
            then=[upsert(1, _NO_ORDERS), upsert(2, {"id": 2, "orders": [_TEN]})],
        ),
    ),
    case(
        "a parent that moves to a join value without children shows none",
        _BY_NAME,
        when(
            insert("user", id=1, name="a"),
            insert("pull", id=10, author="a"),
            then=[upsert(1, {"id": 1, "pulls": [{"id": 10}]})],
        ),
        when(update("user", id=1, name="b"), then=[upsert(1, {"id": 1, "pulls": []})]),
        when(update("user", id=1, name="c")),
        when(update("user", id=1, name=None)),
        when(update("user", id=1, name="a"), then=[upsert(1, {"id": 1, "pulls": [{"id": 10}]})]),
    ),
    case(
        "a parent that moves meets children that arrive in the same batch",
        _BY_NAME,
        when(
            insert("user", id=1, name="a"),
            insert("pull", id=10, author="a"),
            then=[upsert(1, {"id": 1, "pulls": [{"id": 10}]})],
        ),
        when(
            insert("pull", id=11, author="b"),
            update("user", id=1, name="b"),
            insert("pull", id=12, author="a"),
            then=[upsert(1, {"id": 1, "pulls": [{"id": 11}]})],
        ),
    ),
    case(
        "a parent and its child that move together send the same document, so nothing",
        _BY_NAME,
        when(
            insert("user", id=1, name="a"),
            insert("pull", id=10, author="a"),
            then=[upsert(1, {"id": 1, "pulls": [{"id": 10}]})],
        ),
        when(update("pull", id=10, author="b"), update("user", id=1, name="b")),
    ),
    case(
        "parents that share a join value share its children",
        _BY_NAME,
        when(
            insert("user", id=1, name="a"),
            insert("user", id=2, name="a"),
            then=[upsert(1, {"id": 1, "pulls": []}), upsert(2, {"id": 2, "pulls": []})],
        ),
        when(
            insert("pull", id=10, author="a"),
            then=[
                upsert(1, {"id": 1, "pulls": [{"id": 10}]}),
                upsert(2, {"id": 2, "pulls": [{"id": 10}]}),
            ],
        ),
        when(delete("user", id=1), then=[gone(1)]),
        when(delete("pull", id=10), then=[upsert(2, {"id": 2, "pulls": []})]),
    ),
    case(
        "a root that is inserted again under another join value shows its children",
        _BY_NAME,
        when(
            insert("user", id=1, name="a"),
            insert("pull", id=10, author="a"),
            insert("pull", id=11, author="b"),
            then=[upsert(1, {"id": 1, "pulls": [{"id": 10}]})],
        ),
        when(
            delete("user", id=1),
            insert("user", id=1, name="b"),
            then=[upsert(1, {"id": 1, "pulls": [{"id": 11}]})],
        ),
    ),
    case(
        "all columns of a composite join must match",
        _COMPOSITE,
        when(
            insert("repo", owner="o", name="a"),
            insert("issue", owner="o", repo="a", number=2, title="t"),
            insert("issue", owner="o", repo="b", number=1),
            insert("issue", owner="x", repo="a", number=1),
            then=[
                upsert(
                    ("o", "a"), {"owner": "o", "name": "a", "issues": [{"number": 2, "title": "t"}]}
                )
            ],
        ),
        when(
            insert("issue", owner="o", repo="a", number=1),
            then=[
                upsert(
                    ("o", "a"),
                    {
                        "owner": "o",
                        "name": "a",
                        "issues": [{"number": 1, "title": None}, {"number": 2, "title": "t"}],
                    },
                )
            ],
        ),
    ),
    case(
        "an int joins a long, and a decimal a wider one, by value",
        _WIDENING,
        when(
            insert("user", id=1, score="2.5"),
            insert("order", id=10, user_id=1, score="2.500"),
            insert("order", id=11, user_id=4294967297, score="2.501"),
            then=[upsert(1, {"id": 1, "orders": [{"id": 10}], "peers": [{"id": 10}]})],
        ),
    ),
    case(
        "an int joins a double, and a short a float, by value",
        _REALS,
        when(
            insert("user", id=-1, rank=0),
            insert("order", id=10, user_id=-1.0, rank=0.0),
            insert("order", id=11, user_id=-1.5, rank=-0.0),
            insert("order", id=12, user_id=4294967295.0, rank=None),
            then=[
                upsert(-1, {"id": -1, "orders": [{"id": 10}], "peers": [{"id": 10}, {"id": 11}]})
            ],
        ),
        when(
            update("order", id=10, user_id=1.0),
            update("order", id=12, user_id=-1.0),
            then=[
                upsert(-1, {"id": -1, "orders": [{"id": 12}], "peers": [{"id": 10}, {"id": 11}]})
            ],
        ),
    ),
    case(
        "a map embed is keyed by the text of the child's key",
        _MAP,
        when(
            insert("user", id=1),
            insert("setting", name="b", user_id=1, value="x"),
            insert("setting", name="a", user_id=1),
            insert("stock", user_id=1, sku="s", count=2),
            then=[
                upsert(
                    1,
                    {
                        "settings": {"a": {"value": None}, "b": {"value": "x"}},
                        "stock": {'[1,"s"]': {"count": 2}},
                    },
                )
            ],
        ),
        when(
            delete("setting", name="a"),
            delete("stock", user_id=1, sku="s"),
            then=[upsert(1, {"settings": {"b": {"value": "x"}}, "stock": {}})],
        ),
    ),
    case(
        "a child enters and leaves with its where",
        _WHERE,
        when(
            insert("user", id=1),
            insert("order", id=10, user_id=1, total=100),
            insert("order", id=11, user_id=1),
            then=[upsert(1, {"id": 1, "big": []})],
        ),
        when(
            update("order", id=10, total=101),
            then=[upsert(1, {"id": 1, "big": [{"id": 10}]})],
        ),
        when(update("order", id=10, total=102)),
        when(update("order", id=10, total=None), then=[upsert(1, {"id": 1, "big": []})]),
    ),
)
