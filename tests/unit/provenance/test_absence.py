"""Each cause that keeps a row out of a document is told."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from joinery.plan.build import build_plan
from joinery.provenance.absence import Absence
from joinery.provenance.document_log import DocumentLog
from joinery.provenance.told import Naming
from joinery.testing.changes import RowChange, delete, insert, tombstone, update
from joinery.testing.conformance.project import load_text

PROJECT = """\
relations:
  customer: {key: [id], fields: {id: long, name: string, city_id: long, blocked: boolean}}
  city: {key: [id], fields: {id: long, name: string}}
  order:
    key: [id]
    fields: {id: long, customer_id: long, price: int, at: timestamp, draft: boolean}
    where: not draft
    time: at
  item: {key: [order_id, number], fields: {order_id: long, number: int, name: string}}
  visit:
    key: [id]
    fields: {id: long, customer_id: long, at: timestamp}
    time: at
  follow: {key: [id], fields: {id: long, follower_id: long, followee_id: long}}
  post: {key: [id], fields: {id: long, author_id: long}}
  note: {key: [id], fields: {id: long}}
  tag: {key: [name, kind], fields: {name: string, kind: string, customer_id: long}}
products:
  profile:
    root: customer
    where: not blocked
    fields: [name]
    embed:
      city: {one: city, on: {id: city_id}, fields: [name]}
      orders:
        many: order
        on: {customer_id: id}
        where: price > 10
        fields: [id]
        order: [-price]
        limit: 2
        embed:
          items: {many: item, on: {order_id: id}, fields: [name], hidden: true}
          visits: {many: visit, on: {customer_id: customer_id}, within: [0s, 1h], fields: [id]}
      tags: {many: tag, on: {customer_id: id}}
      newest: {one: order, on: {customer_id: id}, order: [-id], fields: [id]}
      posts:
        many: post
        through: {follow: {follower_id: id}}
        on: {author_id: follow.followee_id}
        fields: [id]
        hot: {above: 2}
"""
NOON, EVENING = "2026-03-01T12:00:00Z", "2026-03-01T20:00:00Z"
ROWS: Sequence[RowChange] = (
    insert("customer", id=1, name="Ada", city_id=None, blocked=False),
    insert("customer", id=2, name="Bo", city_id=5, blocked=True),
    insert("customer", id=3, name="Cy", city_id=5, blocked=False),
    insert("city", id=5, name="Ulm"),
    insert("order", id=1, customer_id=1, price=11, at=NOON, draft=False),
    insert("order", id=2, customer_id=1, price=12, at=NOON, draft=False),
    insert("order", id=3, customer_id=1, price=13, at=NOON, draft=False),
    insert("order", id=4, customer_id=1, price=9, at=NOON, draft=False),
    insert("order", id=5, customer_id=1, price=99, at=NOON, draft=True),
    insert("order", id=6, customer_id=None, price=99, at=NOON, draft=False),
    insert("order", id=7, customer_id=3, price=99, at=NOON, draft=False),
    insert("order", id=8, customer_id=1, price=99, at=NOON, draft=False),
    delete("order", id=8),
    insert("item", order_id=3, number=1, name="tea"),
    insert("item", order_id=1, number=1, name="cup"),
    insert("item", order_id=9, number=1, name="pot"),
    insert("visit", id=1, customer_id=1, at=NOON),
    insert("visit", id=2, customer_id=1, at=EVENING),
    insert("visit", id=3, customer_id=1, at=None),
    insert("follow", id=1, follower_id=1, followee_id=3),
    insert("follow", id=2, follower_id=1, followee_id=2),
    insert("follow", id=3, follower_id=2, followee_id=2),
    insert("follow", id=4, follower_id=3, followee_id=2),
    insert("post", id=1, author_id=3),
    insert("post", id=2, author_id=2),
    insert("post", id=3, author_id=1),
)


def told(document: int, row: str, *more: RowChange) -> list[str]:
    """Return what is said of a row of the document of a customer."""
    (product,) = build_plan(load_text(PROJECT)).products
    relations = {each.name: each for each in product.relations}
    changes = [each.change(relations[each.relation]) for each in (*ROWS, *more)]
    log = DocumentLog(product, (document,), max_document_bytes=None)
    log.tell(changes)
    relation, _, key = row.partition(":")
    return list(Absence(product, log, Naming()).told(relations[relation], key))


CAUSES = [
    ("no record", 1, "order:77", "no record in the logs is about order 77"),
    ("deleted", 1, "order:8", "order 8 was deleted at order"),
    ("out of the relation", 1, "order:5",
     "the where of relation order leaves out order 5: `not draft`, draft = true"),
    ("out of the embed", 1, "order:4",
     "order 4 is not in orders: its where, `price > 10`, is not true with price = 9"),
    ("null", 1, "order:6", "order 6 is not in orders: customer_id = null, and null joins nothing"),
    ("another parent", 1, "order:7",
     "order 7 is not in orders: it has customer_id = 3, and the row above has id = 1"
     " (customer_id = id)"),
    ("above the limit", 1, "order:1",
     "order 1 is not in orders: it comes 3rd by -price, then its key, and the limit is 2"),
    ("another is the one", 1, "order:1",
     "order 1 is not in newest: one row is shown, and order 4 comes first by -id, then its key"),
    ("parent kept back", 1, "item:1,1",
     "item [1,1] is not shown: the row above it, at orders[2], is kept back"),
    ("parent missing", 1, "item:9,1",
     "item [9,1] is not in orders.items: it has order_id = 9, and the row above has id = 3 or id ="
     " 2 or id = 1 (order_id = id)"),
    ("too far in time", 1, "visit:2",
     "visit 2 is not in orders[0].visits: its time is 8h from that of the row above, and within"
     " needs 0s to 1h"),
    ("without a time", 1, "visit:3",
     "visit 3 is not in orders[0].visits: within needs times, and there is none"),
    ("parent's null", 1, "city:5",
     "city 5 is not in city: it has id = 5, and the row above has city_id = null (id = city_id)"),
    ("hot", 1, "post:2",
     "post 2 is not in posts: 3 rows of follow lead to author_id = 2, which is above hot, 2"),
    ("not followed", 1, "post:3",
     "post 3 is not in posts: no row of follow leads to author_id = 1 from here"),
    ("leads elsewhere", 1, "follow:3",
     "follow 3 does not lead to posts: it has follower_id = 2, which is of another document"),
    ("leads", 1, "follow:1",
     "follow 1 is used for posts, and not shown itself: it leads to followee_id = 3"),
    ("document left out", 2, "city:5",
     "there is no document: the product's where, `not blocked`, is not true for customer 2 with"
     " blocked = true"),
    ("no root", 9, "city:5", "there is no document: no record in the logs is about customer 9"),
    ("another root", 1, "customer:3", "customer 3 is the root of another document"),
    ("in it", 1, "order:3", "order 3 is in the document, at orders[0]"),
    ("in it, hidden", 1, "item:3,1",
     "item [3,1] is in the document, at orders[0].items[0] (hidden)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "row", "cause"), [each[1:] for each in CAUSES], ids=[each[0] for each in CAUSES]
)
def test_a_cause_is_told(document: int, row: str, cause: str) -> None:
    assert cause in told(document, row)


def test_a_tombstone_behind_a_delete_is_not_told_as_out_of_date() -> None:
    assert ["order 8 was deleted at order"] == told(1, "order:8", tombstone("order", id=8))


def test_each_row_that_commas_may_name_is_told() -> None:
    rows = insert("tag", name="a,b", kind="c"), insert("tag", name="a", kind="b,c")

    found = told(1, "tag:a,b,c", *rows)

    assert ['tag ["a,b","c"]', 'tag ["a","b,c"]'] == [each.partition(" is")[0] for each in found]


def test_a_record_that_is_out_of_date_is_told() -> None:
    newer = update("order", id=1, customer_id=1, price=8, at=NOON, draft=False).at(9)
    older = update("order", id=1, customer_id=1, price=50, at=NOON, draft=False).at(3)

    found = told(1, "order:1", newer, older)

    assert "its newest record, at order, changed nothing: it is older than" in found[0]
    assert "its where, `price > 10`, is not true with price = 8" in found[1]
