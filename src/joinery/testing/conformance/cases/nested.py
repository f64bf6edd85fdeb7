"""Cases about depth: rows under rows under rows, and holders that move."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert

_RELATIONS = """
relations:
  user: {key: [id], fields: {id: long, name: string}}
  order: {key: [id], fields: {id: long, user_id: long, state: string}}
  item: {key: [id], fields: {id: long, order_id: long, sku: string, count: int}}
  product: {key: [sku], fields: {sku: string, name: string, maker_id: long}}
  maker: {key: [id], fields: {id: long, name: string}}
"""

_ITEMS = (
    _RELATIONS
    + """
products:
  p:
    root: user
    fields: [id]
    embed:
      orders:
        many: order
        on: {user_id: id}
        fields: [id]
        embed:
          items: {many: item, on: {order_id: id}, fields: [id, count]}
"""
)

_DEEP = (
    _RELATIONS
    + """
products:
  p:
    root: user
    fields: []
    embed:
      orders:
        many: order
        on: {user_id: id}
        fields: [id]
        embed:
          items:
            many: item
            on: {order_id: id}
            fields: [id]
            embed:
              product:
                one: product
                on: [sku]
                fields: [name]
                embed:
                  maker: {one: maker, on: {id: maker_id}, fields: [name]}
"""
)

_HIDDEN = (
    _RELATIONS
    + """
products:
  p:
    root: user
    fields: []
    embed:
      orders:
        many: order
        on: {user_id: id}
        fields: [id]
        embed:
          items: {many: item, on: {order_id: id}, fields: [count], hidden: true}
        values: {pieces: sum(items.count), kinds: size(items)}
        where: kinds > 0
        order: [-pieces]
"""
)

_MANY_UNDER_ONE = (
    _RELATIONS
    + """
products:
  p:
    root: item
    fields: [id]
    embed:
      order:
        one: order
        on: {id: order_id}
        fields: [state]
        embed:
          siblings: {many: item, on: {order_id: id}, fields: [id]}
"""
)

_LIMITS = (
    _RELATIONS
    + """
products:
  p:
    root: user
    fields: []
    embed:
      orders:
        many: order
        on: {user_id: id}
        fields: [id]
        order: [-id]
        limit: 1
        embed:
          items:
            {many: item, on: {order_id: id}, fields: [id], order: [count], limit: 1, overflow: fail}
"""
)

_THREAD = """
relations:
  post: {key: [id], fields: {id: long}}
  comment: {key: [id], fields: {id: long, post_id: long, parent_id: long, text: string}}
products:
  p:
    root: post
    fields: [id]
    embed:
      comments:
        many: comment
        on: {post_id: id}
        fields: [text]
        embed:
          replies:
            many: comment
            on: {parent_id: id}
            fields: [text]
            embed:
              replies: {many: comment, on: {parent_id: id}, fields: [text], as: map}
"""

_INNER = (
    _RELATIONS
    + """
products:
  p:
    root: user
    fields: [id]
    embed:
      items:
        many: item
        on: {count: id}
        fields: [id, {product: p.name}]
        where: p.maker = 'good'
        embed:
          p:
            one: product
            on: [sku]
            fields: [name, {maker: m.name}]
            hidden: true
            embed:
              m: {one: maker, on: {id: maker_id}, fields: [name], hidden: true}
"""
)


def _order(key: int, *items: int) -> dict[str, object]:
    return {"id": key, "items": [{"id": each, "count": None} for each in items]}


def _user(key: int, *orders: dict[str, object]) -> dict[str, object]:
    return {"id": key, "orders": list(orders)}


CASES = (
    case(
        "rows arrive from the leaves to the root",
        _ITEMS,
        when(insert("item", id=100, order_id=10)),
        when(insert("order", id=10, user_id=1)),
        when(insert("user", id=1), then=[upsert(1, _user(1, _order(10, 100)))]),
        when(insert("item", id=101, order_id=10), then=[upsert(1, _user(1, _order(10, 100, 101)))]),
    ),
    case(
        "a nested row that changes while its holder moves shows its change at the new root",
        _ITEMS,
        when(
            insert("user", id=1),
            insert("user", id=2),
            insert("order", id=10, user_id=1),
            insert("item", id=100, order_id=10),
            then=[upsert(1, _user(1, _order(10, 100))), upsert(2, _user(2))],
        ),
        when(
            update("item", id=100, count=5),
            update("order", id=10, user_id=2),
            then=[
                upsert(1, _user(1)),
                upsert(2, _user(2, {"id": 10, "items": [{"id": 100, "count": 5}]})),
            ],
        ),
        when(
            update("item", id=100, count=6),
            then=[upsert(2, _user(2, {"id": 10, "items": [{"id": 100, "count": 6}]}))],
        ),
    ),
    case(
        "a nested row moves between holders of one root, and of two",
        _ITEMS,
        when(
            insert("user", id=1),
            insert("user", id=2),
            insert("order", id=10, user_id=1),
            insert("order", id=11, user_id=1),
            insert("order", id=12, user_id=2),
            insert("item", id=100, order_id=10),
            then=[
                upsert(1, _user(1, _order(10, 100), _order(11))),
                upsert(2, _user(2, _order(12))),
            ],
        ),
        when(
            update("item", id=100, order_id=11),
            then=[upsert(1, _user(1, _order(10), _order(11, 100)))],
        ),
        when(
            update("item", id=100, order_id=12),
            then=[
                upsert(1, _user(1, _order(10), _order(11))),
                upsert(2, _user(2, _order(12, 100))),
            ],
        ),
    ),
    case(
        "a holder that is deleted takes its rows along, and brings them back",
        _ITEMS,
        when(
            insert("user", id=1),
            insert("order", id=10, user_id=1),
            insert("item", id=100, order_id=10),
            then=[upsert(1, _user(1, _order(10, 100)))],
        ),
        when(delete("order", id=10), then=[upsert(1, _user(1))]),
        when(update("item", id=100, count=None), insert("item", id=101, order_id=10)),
        when(insert("order", id=10, user_id=1), then=[upsert(1, _user(1, _order(10, 100, 101)))]),
    ),
    case(
        "a holder that moves and moves back while its rows change sends the change",
        _ITEMS,
        when(
            insert("user", id=1),
            insert("user", id=2),
            insert("order", id=10, user_id=1),
            insert("item", id=100, order_id=10),
            then=[upsert(1, _user(1, _order(10, 100))), upsert(2, _user(2))],
        ),
        when(
            update("order", id=10, user_id=2),
            delete("item", id=100),
            insert("item", id=101, order_id=10),
            update("order", id=10, user_id=1),
            then=[upsert(1, _user(1, _order(10, 101)))],
        ),
    ),
    case(
        "a document four levels deep follows a change of its deepest row",
        _DEEP,
        when(
            insert("maker", id=9, name="m"),
            insert("product", sku="s", name="n", maker_id=9),
            insert("item", id=100, order_id=10, sku="s"),
            insert("order", id=10, user_id=1),
            insert("user", id=1),
            insert("user", id=2),
            then=[
                upsert(
                    1,
                    {
                        "orders": [
                            {
                                "id": 10,
                                "items": [
                                    {"id": 100, "product": {"name": "n", "maker": {"name": "m"}}}
                                ],
                            }
                        ]
                    },
                ),
                upsert(2, {"orders": []}),
            ],
        ),
        when(
            update("maker", id=9, name="k"),
            update("order", id=10, user_id=2),
            then=[
                upsert(1, {"orders": []}),
                upsert(
                    2,
                    {
                        "orders": [
                            {
                                "id": 10,
                                "items": [
                                    {"id": 100, "product": {"name": "n", "maker": {"name": "k"}}}
                                ],
                            }
                        ]
                    },
                ),
            ],
        ),
        when(
            delete("product", sku="s"),
            then=[upsert(2, {"orders": [{"id": 10, "items": [{"id": 100, "product": None}]}]})],
        ),
    ),
    case(
        "a hidden list under a list gives values, on which its holder's where and order stand",
        _HIDDEN,
        when(
            insert("user", id=1),
            insert("order", id=10, user_id=1),
            insert("order", id=11, user_id=1),
            then=[upsert(1, {"orders": []})],
        ),
        when(
            insert("item", id=100, order_id=10, count=1),
            insert("item", id=101, order_id=11, count=1),
            then=[
                upsert(
                    1,
                    {
                        "orders": [
                            {"id": 10, "pieces": 1, "kinds": 1},
                            {"id": 11, "pieces": 1, "kinds": 1},
                        ]
                    },
                )
            ],
        ),
        when(
            insert("item", id=102, order_id=11, count=2),
            then=[
                upsert(
                    1,
                    {
                        "orders": [
                            {"id": 11, "pieces": 3, "kinds": 2},
                            {"id": 10, "pieces": 1, "kinds": 1},
                        ]
                    },
                )
            ],
        ),
        when(
            delete("item", id=100),
            then=[upsert(1, {"orders": [{"id": 11, "pieces": 3, "kinds": 2}]})],
        ),
    ),
    case(
        "a list under a lookup over a relation that is the root's own",
        _MANY_UNDER_ONE,
        when(
            insert("item", id=100, order_id=10),
            then=[upsert(100, {"id": 100, "order": None})],
        ),
        when(
            insert("order", id=10, state="new"),
            then=[upsert(100, {"id": 100, "order": {"state": "new", "siblings": [{"id": 100}]}})],
        ),
        when(
            insert("item", id=101, order_id=10),
            then=[
                upsert(
                    100,
                    {"id": 100, "order": {"state": "new", "siblings": [{"id": 100}, {"id": 101}]}},
                ),
                upsert(
                    101,
                    {"id": 101, "order": {"state": "new", "siblings": [{"id": 100}, {"id": 101}]}},
                ),
            ],
        ),
        when(
            update("item", id=100, order_id=11),
            then=[
                upsert(100, {"id": 100, "order": None}),
                upsert(101, {"id": 101, "order": {"state": "new", "siblings": [{"id": 101}]}}),
            ],
        ),
    ),
    case(
        "a nested list above a limit that fails keeps its document back while it is shown",
        _LIMITS,
        when(
            insert("user", id=1),
            insert("order", id=10, user_id=1),
            insert("order", id=11, user_id=1),
            insert("item", id=100, order_id=10),
            insert("item", id=101, order_id=11),
            then=[upsert(1, {"orders": [{"id": 11, "items": [{"id": 101}]}], "orders_total": 2})],
        ),
        when(insert("item", id=102, order_id=10)),
        when(delete("order", id=11), dead=[1]),
        when(
            delete("item", id=100),
            then=[upsert(1, {"orders": [{"id": 10, "items": [{"id": 102}]}], "orders_total": 1})],
        ),
    ),
    case(
        "one relation under itself, three levels",
        _THREAD,
        when(
            insert("comment", id=3, parent_id=2, text="c"),
            insert("comment", id=2, parent_id=1, text="b"),
            insert("comment", id=1, post_id=9, text="a"),
            insert("post", id=9),
            then=[
                upsert(
                    9,
                    {
                        "id": 9,
                        "comments": [
                            {
                                "text": "a",
                                "replies": [{"text": "b", "replies": {"3": {"text": "c"}}}],
                            }
                        ],
                    },
                )
            ],
        ),
        when(
            update("comment", id=3, parent_id=1),
            then=[
                upsert(
                    9,
                    {
                        "id": 9,
                        "comments": [
                            {
                                "text": "a",
                                "replies": [
                                    {"text": "b", "replies": {}},
                                    {"text": "c", "replies": {}},
                                ],
                            }
                        ],
                    },
                )
            ],
        ),
        when(delete("comment", id=1), then=[upsert(9, {"id": 9, "comments": []})]),
    ),
    case(
        "a where over a chain of lookups decides which rows a list has",
        _INNER,
        when(
            insert("user", id=1),
            insert("item", id=100, count=1, sku="s"),
            insert("item", id=101, count=1, sku="t"),
            insert("product", sku="s", name="n", maker_id=9),
            then=[upsert(1, {"id": 1, "items": []})],
        ),
        when(
            insert("maker", id=9, name="good"),
            then=[upsert(1, {"id": 1, "items": [{"id": 100, "product": "n"}]})],
        ),
        when(
            insert("product", sku="t", name="m", maker_id=9),
            then=[
                upsert(
                    1,
                    {
                        "id": 1,
                        "items": [{"id": 100, "product": "n"}, {"id": 101, "product": "m"}],
                    },
                )
            ],
        ),
        when(update("maker", id=9, name="bad"), then=[upsert(1, {"id": 1, "items": []})]),
    ),
    case(
        "a root that goes leaves other documents of the same rows alone",
        _ITEMS,
        when(
            insert("user", id=1),
            insert("user", id=2),
            insert("order", id=10, user_id=1),
            insert("item", id=100, order_id=10),
            then=[upsert(1, _user(1, _order(10, 100))), upsert(2, _user(2))],
        ),
        when(delete("user", id=1), then=[gone(1)]),
        when(update("item", id=100, count=1)),
        when(
            update("order", id=10, user_id=2),
            then=[upsert(2, _user(2, {"id": 10, "items": [{"id": 100, "count": 1}]}))],
        ),
    ),
)
