"""Cases about `one` embeds: lookups, several matches, inner joins."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert

_CUSTOMER = """
relations:
  order: {key: [id], fields: {id: long, customer_id: long, note: string}}
  customer: {key: [id], fields: {id: long, name: string, city: string}}
products:
  p:
    root: order
    fields: [note]
    embed:
      customer: {one: customer, on: {id: customer_id}, fields: [name]}
"""

_INNER = """
relations:
  order: {key: [id], fields: {id: long, customer_id: long}}
  customer: {key: [id], fields: {id: long, name: string}}
products:
  p:
    root: order
    fields: [id, {name: c.name}]
    where: c.name is not null
    embed:
      c: {one: customer, on: {id: customer_id}, fields: [name], hidden: true}
"""

_PAYMENT = """
relations:
  user: {key: [id], fields: {id: long}}
  payment: {key: [id], fields: {id: long, user_id: long, rank: int, verified: boolean}}
products:
  p:
    root: user
    fields: [id]
    embed:
      payment: {one: payment, on: {user_id: id}, fields: [verified], hidden: true}
    values: {verified: payment.verified}
"""

_LATEST = """
relations:
  user: {key: [id], fields: {id: long}}
  payment: {key: [id], fields: {id: long, user_id: long, rank: int, valid: boolean}}
products:
  p:
    root: user
    fields: []
    embed:
      payment:
        one: payment
        on: {user_id: id}
        fields: [id]
        order: [-rank]
        where: valid
"""

_EXPRESSION = """
relations:
  order: {key: [id], fields: {id: long, city_id: long, street: string}}
  city: {key: [id], fields: {id: long, name: string, country_id: long}}
  country: {key: [id], fields: {id: long, code: string}}
products:
  p:
    root: order
    fields:
      - place: "concat(street, ', ', city.label)"
    embed:
      city:
        one: city
        on: {id: city_id}
        fields: [{label: "concat(name, ' (', country.code, ')')"}]
        hidden: true
        embed:
          country: {one: country, on: {id: country_id}, fields: [code], hidden: true}
"""

_TWO_ROLES = """
relations:
  transfer: {key: [id], fields: {id: long, payer: long, payee: long}}
  account: {key: [id], fields: {id: long, name: string}}
products:
  p:
    root: transfer
    fields: []
    embed:
      payer: {one: account, on: {id: payer}, fields: [name]}
      payee: {one: account, on: {id: payee}, fields: [name]}
"""

_HIDES = """
relations:
  order: {key: [id], fields: {id: long, customer: long}}
  customer: {key: [id], fields: {id: long, name: string}}
products:
  p:
    root: order
    fields: [{name: customer.name}, {whole: customer}]
    embed:
      customer: {one: customer, on: {id: customer}, fields: [name], hidden: true}
"""

_UNIQUE = """
relations:
  user: {key: [id], fields: {id: long, name: string}, unique: [[name]]}
  post: {key: [id], fields: {id: long, author: string}}
products:
  p:
    root: post
    fields: [id]
    embed:
      author: {one: user, on: {name: author}, fields: [id]}
"""

_NAME_A = {"note": None, "customer": {"name": "a"}}
_NAME_B = {"note": None, "customer": {"name": "b"}}
_NOBODY = {"note": None, "customer": None}

CASES = (
    case(
        "a lookup is null until its row is there, and again when it went",
        _CUSTOMER,
        when(insert("order", id=1, customer_id=7), then=[upsert(1, _NOBODY)]),
        when(insert("customer", id=7, name="a"), then=[upsert(1, _NAME_A)]),
        when(delete("customer", id=7), then=[upsert(1, _NOBODY)]),
        when(insert("customer", id=7, name="b"), then=[upsert(1, _NAME_B)]),
    ),
    case(
        "a looked-up row of nulls is an object, not null",
        _CUSTOMER,
        when(
            insert("order", id=1, customer_id=7),
            insert("customer", id=7),
            then=[upsert(1, {"note": None, "customer": {"name": None}})],
        ),
    ),
    case(
        "a null reference looks nothing up",
        _CUSTOMER,
        when(
            insert("order", id=1),
            insert("customer", id=7, name="a"),
            then=[upsert(1, _NOBODY)],
        ),
        when(update("order", id=1, customer_id=7), then=[upsert(1, _NAME_A)]),
        when(update("order", id=1, customer_id=None), then=[upsert(1, _NOBODY)]),
    ),
    case(
        "a row that points elsewhere shows the new row, and follows it alone",
        _CUSTOMER,
        when(
            insert("customer", id=7, name="a"),
            insert("customer", id=8, name="b"),
            insert("order", id=1, customer_id=7),
            then=[upsert(1, _NAME_A)],
        ),
        when(update("order", id=1, customer_id=8), then=[upsert(1, _NAME_B)]),
        when(update("customer", id=7, name="c")),
        when(
            update("customer", id=8, name="d"),
            then=[upsert(1, {"note": None, "customer": {"name": "d"}})],
        ),
    ),
    case(
        "a looked-up row's change reaches every row that points at it",
        _CUSTOMER,
        when(
            insert("customer", id=7, name="a"),
            insert("order", id=1, customer_id=7),
            insert("order", id=2, customer_id=7),
            insert("order", id=3, customer_id=8),
            then=[upsert(1, _NAME_A), upsert(2, _NAME_A), upsert(3, _NOBODY)],
        ),
        when(
            update("customer", id=7, name="b"),
            delete("order", id=2),
            then=[upsert(1, _NAME_B), gone(2)],
        ),
    ),
    case(
        "a change of a looked-up column that is not shown sends nothing",
        _CUSTOMER,
        when(
            insert("customer", id=7, name="a"),
            insert("order", id=1, customer_id=7),
            then=[upsert(1, _NAME_A)],
        ),
        when(update("customer", id=7, city="x")),
    ),
    case(
        "a row and the row it points at may change places in one batch",
        _CUSTOMER,
        when(
            insert("customer", id=7, name="a"),
            insert("customer", id=8, name="b"),
            insert("order", id=1, customer_id=7),
            then=[upsert(1, _NAME_A)],
        ),
        when(
            update("order", id=1, customer_id=8),
            update("customer", id=7, name="b"),
            update("customer", id=8, name="a"),
        ),
    ),
    case(
        "a where over a lookup is an inner join",
        _INNER,
        when(insert("order", id=1, customer_id=7)),
        when(insert("customer", id=7)),
        when(update("customer", id=7, name="a"), then=[upsert(1, {"id": 1, "name": "a"})]),
        when(update("order", id=1, customer_id=8), then=[gone(1)]),
        when(insert("customer", id=8, name="b"), then=[upsert(1, {"id": 1, "name": "b"})]),
        when(delete("customer", id=8), then=[gone(1)]),
    ),
    case(
        "a hidden lookup over a non-key column gives a value",
        _PAYMENT,
        when(insert("user", id=1), then=[upsert(1, {"id": 1, "verified": None})]),
        when(
            insert("payment", id=10, user_id=1, verified=False),
            then=[upsert(1, {"id": 1, "verified": False})],
        ),
        when(update("payment", id=10, rank=1)),
        when(
            update("payment", id=10, verified=True),
            then=[upsert(1, {"id": 1, "verified": True})],
        ),
        when(update("payment", id=10, user_id=2), then=[upsert(1, {"id": 1, "verified": None})]),
    ),
    case(
        "where several rows match, the first by key is shown, and the next when it leaves",
        _PAYMENT,
        when(
            insert("user", id=1),
            insert("payment", id=11, user_id=1, verified=True),
            then=[upsert(1, {"id": 1, "verified": True})],
        ),
        when(
            insert("payment", id=10, user_id=1, verified=False),
            then=[upsert(1, {"id": 1, "verified": False})],
        ),
        when(insert("payment", id=12, user_id=1)),
        when(delete("payment", id=10), then=[upsert(1, {"id": 1, "verified": True})]),
    ),
    case(
        "where several rows match, the first by order is shown, after the where",
        _LATEST,
        when(
            insert("user", id=1),
            insert("payment", id=10, user_id=1, rank=1, valid=True),
            insert("payment", id=11, user_id=1, rank=2, valid=False),
            insert("payment", id=12, user_id=1, valid=True),
            then=[upsert(1, {"payment": {"id": 10}})],
        ),
        when(update("payment", id=11, valid=True), then=[upsert(1, {"payment": {"id": 11}})]),
        when(update("payment", id=10, rank=2), then=[upsert(1, {"payment": {"id": 10}})]),
        when(
            delete("payment", id=10),
            delete("payment", id=11),
            then=[upsert(1, {"payment": {"id": 12}})],
        ),
        when(update("payment", id=12, valid=None), then=[upsert(1, {"payment": None})]),
    ),
    case(
        "an expression over a looked-up field follows a chain of lookups",
        _EXPRESSION,
        when(insert("order", id=1, city_id=5, street="s"), then=[upsert(1, {"place": None})]),
        when(insert("city", id=5, name="n", country_id=9)),
        when(insert("country", id=9, code="c"), then=[upsert(1, {"place": "s, n (c)"})]),
        when(update("city", id=5, name="m"), then=[upsert(1, {"place": "s, m (c)"})]),
        when(update("country", id=9, code="d"), then=[upsert(1, {"place": "s, m (d)"})]),
        when(update("order", id=1, street="t"), then=[upsert(1, {"place": "t, m (d)"})]),
        when(update("city", id=5, country_id=8), then=[upsert(1, {"place": None})]),
    ),
    case(
        "one relation in two roles of one row",
        _TWO_ROLES,
        when(
            insert("account", id=1, name="a"),
            insert("account", id=2, name="b"),
            insert("transfer", id=10, payer=1, payee=2),
            insert("transfer", id=11, payer=1, payee=1),
            then=[
                upsert(10, {"payer": {"name": "a"}, "payee": {"name": "b"}}),
                upsert(11, {"payer": {"name": "a"}, "payee": {"name": "a"}}),
            ],
        ),
        when(
            update("account", id=1, name="c"),
            then=[
                upsert(10, {"payer": {"name": "c"}, "payee": {"name": "b"}}),
                upsert(11, {"payer": {"name": "c"}, "payee": {"name": "c"}}),
            ],
        ),
        when(
            update("transfer", id=10, payer=2, payee=1),
            then=[upsert(10, {"payer": {"name": "b"}, "payee": {"name": "c"}})],
        ),
    ),
    case(
        "an embed hides a column of its name, and is an object as a whole",
        _HIDES,
        when(
            insert("order", id=1, customer=7),
            insert("customer", id=7, name="a"),
            then=[upsert(1, {"name": "a", "whole": {"name": "a"}})],
        ),
        when(delete("customer", id=7), then=[upsert(1, {"name": None, "whole": None})]),
    ),
    case(
        "of rows that break a unique promise the first by key wins",
        _UNIQUE,
        when(
            insert("post", id=1, author="a"),
            insert("user", id=6, name="a"),
            then=[upsert(1, {"id": 1, "author": {"id": 6}})],
        ),
        when(insert("user", id=5, name="a"), then=[upsert(1, {"id": 1, "author": {"id": 5}})]),
        when(update("user", id=5, name="b"), then=[upsert(1, {"id": 1, "author": {"id": 6}})]),
    ),
)
