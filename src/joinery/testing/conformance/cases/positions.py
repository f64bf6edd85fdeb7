"""Cases about positions, tombstones and partial updates of one row."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, tombstone, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert

_ROW = """
relations:
  t: {key: [id], fields: {id: long, a: string, b: string}}
products:
  p: {root: t, fields: [a, b]}
"""

_CHILD = """
relations:
  user: {key: [id], fields: {id: long}}
  order: {key: [id], fields: {id: long, user_id: long, note: string, status: string}}
products:
  p:
    root: user
    fields: [id]
    embed:
      orders: {many: order, on: {user_id: id}, fields: [id, note], where: status <> 'void'}
"""

_A = upsert(1, {"a": "x", "b": None})
_B = upsert(1, {"a": "y", "b": None})

CASES = (
    case(
        "an older change that arrives later is ignored",
        _ROW,
        when(insert("t", id=1, a="x").at(5), then=[_A]),
        when(insert("t", id=1, a="y").at(4)),
        when(delete("t", id=1).at(4)),
        when(insert("t", id=1, a="y").at(6), then=[_B]),
    ),
    case(
        "an older change later in the same batch is ignored",
        _ROW,
        when(insert("t", id=1, a="x").at(5), insert("t", id=1, a="y").at(4), then=[_A]),
    ),
    case(
        "of two changes with one position the later in the log wins",
        _ROW,
        when(insert("t", id=1, a="x").at(5), insert("t", id=1, a="y").at(5), then=[_B]),
        when(insert("t", id=1, a="x").at(5), then=[_A]),
        when(delete("t", id=1).at(5), then=[gone(1)]),
    ),
    case(
        "a change that is repeated sends nothing",
        _ROW,
        when(insert("t", id=1, a="x").at(5), then=[_A]),
        when(insert("t", id=1, a="x").at(5), insert("t", id=1, a="x").at(5)),
    ),
    case(
        "a change without a position is newer than all before it",
        _ROW,
        when(insert("t", id=1, a="x").at(5), then=[_A]),
        when(insert("t", id=1, a="y"), then=[_B]),
        when(delete("t", id=1), then=[gone(1)]),
    ),
    case(
        "a change without a position keeps the highest position seen",
        _ROW,
        when(insert("t", id=1, a="x").at(5), insert("t", id=1, a="y"), then=[_B]),
        when(insert("t", id=1, a="x").at(4)),
        when(insert("t", id=1, a="x").at(5), then=[_A]),
    ),
    case(
        "a deleted row is not brought back by an older change",
        _ROW,
        when(insert("t", id=1, a="x").at(5), then=[_A]),
        when(delete("t", id=1).at(7), then=[gone(1)]),
        when(insert("t", id=1, a="y").at(6)),
        when(insert("t", id=1, a="y").at(8), then=[_B]),
    ),
    case(
        "a delete that arrives before its row's insert is remembered",
        _ROW,
        when(delete("t", id=1).at(7)),
        when(insert("t", id=1, a="x").at(6)),
        when(insert("t", id=1, a="y").at(9), then=[_B]),
    ),
    case(
        "a tombstone directly after a delete changes nothing",
        _ROW,
        when(insert("t", id=1, a="x").at(5), then=[_A]),
        when(delete("t", id=1).at(6), tombstone("t", id=1), then=[gone(1)]),
        when(insert("t", id=1, a="y").at(7), then=[_B]),
    ),
    case(
        "a tombstone directly after a stale delete changes nothing",
        _ROW,
        when(insert("t", id=1, a="x").at(5), then=[_A]),
        when(delete("t", id=1).at(4), tombstone("t", id=1)),
    ),
    case(
        "a tombstone directly after a delete of an earlier batch changes nothing",
        _ROW,
        when(insert("t", id=1, a="x").at(5), then=[_A]),
        when(delete("t", id=1).at(4)),
        when(insert("t", id=2, a="x").at(1), then=[upsert(2, {"a": "x", "b": None})]),
        when(tombstone("t", id=1)),
        when(update("t", id=1, a="y").at(5), then=[_B]),
    ),
    case(
        "a tombstone without a delete deletes",
        _ROW,
        when(insert("t", id=1, a="x").at(5), then=[_A]),
        when(tombstone("t", id=1), then=[gone(1)]),
        when(insert("t", id=1, a="y").at(4)),
        when(insert("t", id=1, a="y").at(5), then=[_B]),
    ),
    case(
        "a tombstone deletes when a stale upsert stands between it and the delete",
        _ROW,
        when(insert("t", id=1, a="x").at(5), then=[_A]),
        when(delete("t", id=1).at(3), insert("t", id=1, a="y").at(4)),
        when(tombstone("t", id=1), then=[gone(1)]),
    ),
    case(
        "a tombstone of a row that was never seen sends nothing",
        _ROW,
        when(tombstone("t", id=1)),
        when(insert("t", id=1, a="x").at(1), then=[_A]),
    ),
    case(
        "a partial update keeps what it leaves out",
        _ROW,
        when(insert("t", id=1, a="x", b="1"), then=[upsert(1, {"a": "x", "b": "1"})]),
        when(update("t", id=1, a="y"), then=[upsert(1, {"a": "y", "b": "1"})]),
        when(update("t", id=1, b=None), then=[upsert(1, {"a": "y", "b": None})]),
    ),
    case(
        "a partial update of a row that was never seen has nulls",
        _ROW,
        when(update("t", id=1, b="1"), then=[upsert(1, {"a": None, "b": "1"})]),
    ),
    case(
        "partial updates in one batch add up",
        _ROW,
        when(
            insert("t", id=1, a="x", b="1"),
            update("t", id=1, a="y"),
            update("t", id=1, b="2"),
            then=[upsert(1, {"a": "y", "b": "2"})],
        ),
    ),
    case(
        "a partial update after a delete starts afresh",
        _ROW,
        when(insert("t", id=1, a="x", b="1"), then=[upsert(1, {"a": "x", "b": "1"})]),
        when(
            delete("t", id=1),
            update("t", id=1, a="y"),
            then=[_B],
        ),
    ),
    case(
        "a stale partial update changes nothing",
        _ROW,
        when(insert("t", id=1, a="x", b="1").at(5), then=[upsert(1, {"a": "x", "b": "1"})]),
        when(update("t", id=1, b="0").at(4)),
        when(update("t", id=1, a="y").at(6), then=[upsert(1, {"a": "y", "b": "1"})]),
    ),
    case(
        "a child's partial update keeps its join value and its where",
        _CHILD,
        when(
            insert("user", id=1),
            insert("order", id=10, user_id=1, note="n", status="new"),
            then=[upsert(1, {"id": 1, "orders": [{"id": 10, "note": "n"}]})],
        ),
        when(
            update("order", id=10, note="m"),
            then=[upsert(1, {"id": 1, "orders": [{"id": 10, "note": "m"}]})],
        ),
        when(update("order", id=10, status="void"), then=[upsert(1, {"id": 1, "orders": []})]),
        when(update("order", id=10, note="k")),
        when(
            update("order", id=10, status="paid"),
            then=[upsert(1, {"id": 1, "orders": [{"id": 10, "note": "k"}]})],
        ),
    ),
    case(
        "a stale move of a child is ignored",
        _CHILD,
        when(
            insert("user", id=1),
            insert("user", id=2),
            insert("order", id=10, user_id=1, status="new").at(5),
            then=[
                upsert(1, {"id": 1, "orders": [{"id": 10, "note": None}]}),
                upsert(2, {"id": 2, "orders": []}),
            ],
        ),
        when(insert("order", id=10, user_id=2, status="new").at(4)),
    ),
)
