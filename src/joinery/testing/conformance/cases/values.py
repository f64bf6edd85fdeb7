"""Cases about `values`: aggregates, totals, hidden embeds, expressions that fail."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert


def _project(values: str, *, embed: str = "hidden: true", root: str = "") -> str:
    return f"""
relations:
  user: {{key: [id], fields: {{id: long, name: string, born: int}}}}
  sale:
    key: [id]
    fields: {{id: long, user_id: long, amount: "decimal(10,2)", kind: string, weight: double}}
products:
  p:
    root: user
    fields: [id]
    {root}
    embed:
      sales: {{many: sale, on: {{user_id: id}}, fields: [id, amount, kind, weight], {embed}}}
    values:
{values}
"""


_AGGREGATES = _project("""
      n: count(sales)
      known: count(sales.amount)
      total: sum(sales.amount)
      low: min(sales.amount)
      high: max(sales.amount)
      mean: avg(sales.amount)
""")
_FILTERED = _project("""
      books: count(sales) filter (where sales.kind = 'book')
      spent: sum(sales.amount * 2) filter (where sales.kind = 'book')
""")
_BEFORE_LIMIT = _project(
    """
      n: count(sales)
      total: sum(sales.amount)
      shown: size(sales)
      whole: sales_total
""",
    embed="hidden: true, limit: 1, where: kind = 'book'",
)
_CHAIN = _project("""
      n: count(sales)
      more: n + 1
      label: case when more > 1 then concat('many ', cast(n as string)) else 'none' end
""")
_WHERE = _project(
    """
      n: count(sales)
""",
    root="where: n >= 2",
)
_FAILS = _project("""
      ratio: 10 / (id - 1)
      first: cast(sales[0].kind as int)
""")
_OBJECT = _project("""
      city: "named_struct('user', id, 'kinds', transform(sales, s -> s.kind))"
""")
_WEIGHTS = _project("""
      total: sum(sales.weight)
      mean: avg(sales.weight)
""")

_EMPTY = {"id": 1, "n": 0, "known": 0, "total": None, "low": None, "high": None, "mean": None}


CASES = (
    case(
        "aggregates follow rows that come, change and go",
        _AGGREGATES,
        when(insert("user", id=1), then=[upsert(1, _EMPTY)]),
        when(
            insert("sale", id=10, user_id=1, amount="1.50"),
            insert("sale", id=11, user_id=1, amount="2.00"),
            insert("sale", id=12, user_id=1),
            then=[
                upsert(
                    1,
                    {
                        "id": 1,
                        "n": 3,
                        "known": 2,
                        "total": 3.5,
                        "low": 1.5,
                        "high": 2,
                        "mean": 1.75,
                    },
                )
            ],
        ),
        when(
            update("sale", id=11, amount="0.50"),
            then=[
                upsert(
                    1,
                    {
                        "id": 1,
                        "n": 3,
                        "known": 2,
                        "total": 2,
                        "low": 0.5,
                        "high": 1.5,
                        "mean": 1,
                    },
                )
            ],
        ),
        when(
            delete("sale", id=10),
            delete("sale", id=11),
            update("sale", id=12, user_id=None),
            then=[upsert(1, _EMPTY)],
        ),
    ),
    case(
        "an aggregate's filter keeps the rows for which it is true",
        _FILTERED,
        when(
            insert("user", id=1),
            insert("sale", id=10, user_id=1, amount=1, kind="book"),
            insert("sale", id=11, user_id=1, amount=2, kind="pen"),
            insert("sale", id=12, user_id=1, amount=4),
            then=[upsert(1, {"id": 1, "books": 1, "spent": 2})],
        ),
        when(
            update("sale", id=11, kind="book"),
            then=[upsert(1, {"id": 1, "books": 2, "spent": 6})],
        ),
        when(
            update("sale", id=10, kind="pen"),
            update("sale", id=11, kind=None),
            then=[upsert(1, {"id": 1, "books": 0, "spent": None})],
        ),
    ),
    case(
        "aggregates and totals count after the where and before the limit",
        _BEFORE_LIMIT,
        when(
            insert("user", id=1),
            insert("sale", id=10, user_id=1, amount=1, kind="book"),
            insert("sale", id=11, user_id=1, amount=2, kind="book"),
            insert("sale", id=12, user_id=1, amount=4, kind="pen"),
            then=[upsert(1, {"id": 1, "n": 2, "total": 3, "shown": 1, "whole": 2})],
        ),
        when(
            update("sale", id=12, kind="book"),
            then=[upsert(1, {"id": 1, "n": 3, "total": 7, "shown": 1, "whole": 3})],
        ),
    ),
    case(
        "a value sees the values above it",
        _CHAIN,
        when(insert("user", id=1), then=[upsert(1, {"id": 1, "n": 0, "more": 1, "label": "none"})]),
        when(
            insert("sale", id=10, user_id=1),
            then=[upsert(1, {"id": 1, "n": 1, "more": 2, "label": "many 1"})],
        ),
    ),
    case(
        "a root's where over a value of its list",
        _WHERE,
        when(insert("user", id=1), insert("sale", id=10, user_id=1)),
        when(insert("sale", id=11, user_id=1), then=[upsert(1, {"id": 1, "n": 2})]),
        when(update("sale", id=10, kind="x")),
        when(delete("sale", id=10), then=[gone(1)]),
    ),
    case(
        "a change that leaves every value as it was sends nothing",
        _AGGREGATES,
        when(
            insert("user", id=1),
            insert("sale", id=10, user_id=1, amount=1),
            insert("sale", id=11, user_id=1, amount=1),
            then=[
                upsert(1, {"id": 1, "n": 2, "known": 2, "total": 2, "low": 1, "high": 1, "mean": 1})
            ],
        ),
        when(update("sale", id=10, kind="x"), update("user", id=1, name="y")),
    ),
    case(
        "an expression that fails gives null, and is counted when it begins to fail",
        _FAILS,
        when(
            insert("user", id=1),
            then=[upsert(1, {"id": 1, "ratio": None, "first": None})],
            counts={"expression_errors": 2},
        ),
        when(
            insert("user", id=3),
            insert("sale", id=10, user_id=3, kind="x"),
            then=[upsert(3, {"id": 3, "ratio": 5, "first": None})],
            counts={"expression_errors": 1},
        ),
        when(
            update("sale", id=10, kind="12"),
            then=[upsert(3, {"id": 3, "ratio": 5, "first": 12})],
        ),
    ),
    case(
        "a value may be an object with a list",
        _OBJECT,
        when(
            insert("user", id=1),
            insert("sale", id=10, user_id=1, kind="x"),
            insert("sale", id=11, user_id=1),
            then=[upsert(1, {"id": 1, "city": {"user": 1, "kinds": ["x", None]}})],
        ),
    ),
    case(
        "a sum of floating numbers does not depend on the order they came in",
        _WEIGHTS,
        when(
            insert("sale", id=10, user_id=1, weight=1e16),
            insert("sale", id=11, user_id=1, weight=1.0),
            then=[],
        ),
        when(insert("sale", id=12, user_id=1, weight=-1e16)),
        when(insert("user", id=1), then=[upsert(1, {"id": 1, "total": 1, "mean": 1 / 3})]),
        when(delete("sale", id=11), then=[upsert(1, {"id": 1, "total": 0, "mean": 0})]),
    ),
)
