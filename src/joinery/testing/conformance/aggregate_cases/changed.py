"""Cases of groups and windows that are sent after each change."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import gone, upsert


def _sales(aggregate: str, extra: str = "") -> str:
    return f"""
relations:
  sale:
    key: [id]
    fields: {{id: long, shop: string, amount: long, price: "decimal(10,2)", rate: double,
      at: timestamp}}
    time: at
{extra}
products:
  p: {{aggregate: sale, {aggregate}}}
"""


def _views(aggregate: str) -> str:
    return f"""
relations:
  view: {{append: true, fields: {{page: string, ms: int, at: timestamp}}, time: at}}
products:
  p: {{aggregate: view, {aggregate}}}
"""


_BY_SHOP = _sales("by: [shop], values: {n: count(*), total: sum(amount)}")
_ALL = _sales("values: {n: count(*), known: count(amount)}")
_SPREAD = _sales("by: [shop], values: {low: min(amount), high: max(amount), mean: avg(amount)}")
_EXACT = _sales("by: [shop], values: {paid: sum(price), mean: avg(price), sum: sum(rate)}")
_FILTERED = _sales(
    "by: [shop], where: amount > 0,"
    ' values: {n: count(*), big: "count(*) filter (where amount >= 10)"}'
)
_COMBINED = _sales(
    'by: {place: upper(shop)}, values: {total: sum(amount), part: "total / count(*)",'
    " where: \"concat(place, '!')\"}"
)
_DISTINCT = _sales("by: [shop], values: {}")
_EXISTS = _sales("values: {}")
_HOUR = _sales("by: [shop], window: {tumbling: 1h}, values: {n: count(*)}")
_HOP = _views("by: [page], window: {hopping: 20m, every: 10m}, values: {n: count(*)}")
_UP_TO = _views("window: {cumulative: 1h, every: 30m}, values: {n: count(*)}")
_SPANS = _views(
    "by: [page], window: {tumbling: 1h},"
    " values: {span: max(at) - min(at), into: \"avg(at - date_trunc('hour', at))\","
    " left: window_end - max(at)}"
)
_VIEWS = _views("by: [page], window: {tumbling: 1h}, values: {n: count(*), ms: sum(ms)}")


def _at(clock: str) -> str:
    return f"2026-03-01T{clock}:00Z"


def _in(start: str, end: str, **rest: object) -> dict[str, object]:
    return {"window_start": _at(start), "window_end": _at(end), **rest}


def _hour(shop: str, hour: str, n: int) -> dict[str, object]:
    after = f"{int(hour) + 1:02}"
    return {"shop": shop, **_in(f"{hour}:00", f"{after}:00", n=n)}


CASES = (
    case(
        "a group is one row of its values, and is sent when they change",
        _BY_SHOP,
        when(
            insert("sale", id=1, shop="a", amount=3),
            insert("sale", id=2, shop="a", amount=4),
            insert("sale", id=3, shop="b", amount=5),
            then=[
                upsert("a", {"shop": "a", "n": 2, "total": 7}),
                upsert("b", {"shop": "b", "n": 1, "total": 5}),
            ],
        ),
        when(
            insert("sale", id=4, shop="b", amount=None),
            then=[upsert("b", {"shop": "b", "n": 2, "total": 5})],
        ),
        when(update("sale", id=1, rate=2.5)),
    ),
    case(
        "an update takes back what the row was, also where it changes the group",
        _BY_SHOP,
        when(
            insert("sale", id=1, shop="a", amount=3),
            insert("sale", id=2, shop="a", amount=4),
            then=[upsert("a", {"shop": "a", "n": 2, "total": 7})],
        ),
        when(
            update("sale", id=1, amount=10),
            then=[upsert("a", {"shop": "a", "n": 2, "total": 14})],
        ),
        when(
            update("sale", id=1, shop="b"),
            then=[
                upsert("a", {"shop": "a", "n": 1, "total": 4}),
                upsert("b", {"shop": "b", "n": 1, "total": 10}),
            ],
        ),
    ),
    case(
        "a group without rows is a tombstone, and comes back with its next row",
        _BY_SHOP,
        when(
            insert("sale", id=1, shop="a", amount=3),
            then=[upsert("a", {"shop": "a", "n": 1, "total": 3})],
        ),
        when(delete("sale", id=1), then=[gone("a")]),
        when(
            insert("sale", id=2, shop="a", amount=8),
            then=[upsert("a", {"shop": "a", "n": 1, "total": 8})],
        ),
    ),
    case(
        "what comes and goes in one batch sends nothing",
        _BY_SHOP,
        when(insert("sale", id=1, shop="a", amount=3), delete("sale", id=1)),
    ),
    case(
        "a stale change is in no group",
        _BY_SHOP,
        when(
            insert("sale", id=1, shop="a", amount=3).at(5),
            insert("sale", id=1, shop="b", amount=9).at(4),
            then=[upsert("a", {"shop": "a", "n": 1, "total": 3})],
        ),
    ),
    case(
        "a null is a group of its own",
        _BY_SHOP,
        when(
            insert("sale", id=1, shop=None, amount=3),
            insert("sale", id=2, shop="", amount=4),
            insert("sale", id=3, shop=None, amount=5),
            then=[
                upsert(None, {"shop": None, "n": 2, "total": 8}),
                upsert("", {"shop": "", "n": 1, "total": 4}),
            ],
        ),
    ),
    case(
        "without by there is one row under an empty key, and none before the first",
        _ALL,
        when(),
        when(
            insert("sale", id=1, amount=3),
            insert("sale", id=2),
            then=[upsert((), {"n": 2, "known": 1})],
        ),
        when(delete("sale", id=1), then=[upsert((), {"n": 1, "known": 0})]),
        when(delete("sale", id=2), then=[gone(())]),
    ),
    case(
        "the least and the greatest are found again when their row leaves",
        _SPREAD,
        when(
            insert("sale", id=1, shop="a", amount=3),
            insert("sale", id=2, shop="a", amount=8),
            insert("sale", id=3, shop="a", amount=4),
            insert("sale", id=4, shop="a"),
            then=[upsert("a", {"shop": "a", "low": 3, "high": 8, "mean": 5.0})],
        ),
        when(
            delete("sale", id=2),
            then=[upsert("a", {"shop": "a", "low": 3, "high": 4, "mean": 3.5})],
        ),
        when(
            update("sale", id=1, amount=None),
            update("sale", id=3, amount=None),
            then=[upsert("a", {"shop": "a", "low": None, "high": None, "mean": None})],
        ),
    ),
    case(
        "sums of decimals and of doubles are exact, also after rows have left",
        _EXACT,
        when(
            insert("sale", id=1, shop="a", price="0.10", rate=1e16),
            insert("sale", id=2, shop="a", price="0.20", rate=1.0),
            insert("sale", id=3, shop="a", price="0.02", rate=-1e16),
            then=[upsert("a", {"shop": "a", "paid": 0.32, "mean": 0.32 / 3, "sum": 1.0})],
        ),
        when(
            delete("sale", id=3),
            delete("sale", id=1),
            then=[upsert("a", {"shop": "a", "paid": 0.20, "mean": 0.2, "sum": 1.0})],
        ),
    ),
    case(
        "where decides which rows exist, a filter what one value sees",
        _FILTERED,
        when(
            insert("sale", id=1, shop="a", amount=3),
            insert("sale", id=2, shop="a", amount=12),
            insert("sale", id=3, shop="a", amount=0),
            insert("sale", id=4, shop="b", amount=-1),
            then=[upsert("a", {"shop": "a", "n": 2, "big": 1})],
        ),
        when(
            update("sale", id=2, amount=9),
            update("sale", id=4, amount=10),
            then=[
                upsert("a", {"shop": "a", "n": 2, "big": 0}),
                upsert("b", {"shop": "b", "n": 1, "big": 1}),
            ],
        ),
        when(update("sale", id=4, amount=0), then=[gone("b")]),
    ),
    case(
        "values combine aggregates, groups and values above them",
        _COMBINED,
        when(
            insert("sale", id=1, shop="a", amount=3),
            insert("sale", id=2, shop="A", amount=4),
            then=[upsert("A", {"place": "A", "total": 7, "part": 3.5, "where": "A!"})],
        ),
    ),
    case(
        "without values a group is its key, as select distinct has it",
        _DISTINCT,
        when(
            insert("sale", id=1, shop="a"),
            insert("sale", id=2, shop="a"),
            then=[upsert("a", {"shop": "a"})],
        ),
        when(delete("sale", id=1)),
        when(delete("sale", id=2), then=[gone("a")]),
    ),
    case(
        "without by and values the one group is an empty document, as long as it has a row",
        _EXISTS,
        when(insert("sale", id=1), insert("sale", id=2), then=[upsert((), {})]),
        when(delete("sale", id=1)),
        when(delete("sale", id=2), then=[gone(())]),
    ),
    case(
        "a window holds its start and not its end",
        _HOUR,
        when(
            insert("sale", id=1, shop="a", at=_at("10:00")),
            insert("sale", id=2, shop="a", at="2026-03-01T10:59:59.999999Z"),
            insert("sale", id=3, shop="a", at=_at("11:00")),
            then=[
                upsert(("a", _at("10:00")), _hour("a", "10", 2)),
                upsert(("a", _at("11:00")), _hour("a", "11", 1)),
            ],
        ),
    ),
    case(
        "an update of its time moves a row between windows",
        _HOUR,
        when(
            insert("sale", id=1, shop="a", at=_at("10:10")),
            then=[upsert(("a", _at("10:00")), _hour("a", "10", 1))],
        ),
        when(
            update("sale", id=1, at=_at("12:10")),
            then=[gone(("a", _at("10:00"))), upsert(("a", _at("12:00")), _hour("a", "12", 1))],
        ),
        when(update("sale", id=1, at=None), then=[gone(("a", _at("12:00")))]),
    ),
    case(
        "a row without a time is in no window",
        _HOUR,
        when(insert("sale", id=1, shop="a"), insert("sale", id=2, shop="a", at=None)),
    ),
    case(
        "a row is in each window that overlaps its time",
        _HOP,
        when(
            insert("view", page="a", at=_at("10:05")),
            insert("view", page="a", at=_at("10:15")),
            then=[
                upsert(("a", _at("09:50")), {"page": "a", **_in("09:50", "10:10", n=1)}),
                upsert(("a", _at("10:00")), {"page": "a", **_in("10:00", "10:20", n=2)}),
                upsert(("a", _at("10:10")), {"page": "a", **_in("10:10", "10:30", n=1)}),
            ],
        ),
    ),
    case(
        "cumulative windows from one start have their ends in the key",
        _UP_TO,
        when(
            insert("view", at=_at("10:05")),
            then=[
                upsert((_at("10:00"), _at("10:30")), _in("10:00", "10:30", n=1)),
                upsert((_at("10:00"), _at("11:00")), _in("10:00", "11:00", n=1)),
            ],
        ),
        when(
            insert("view", at=_at("10:30")),
            then=[upsert((_at("10:00"), _at("11:00")), _in("10:00", "11:00", n=2))],
        ),
    ),
    case(
        "in a log each record is a row of its own",
        _VIEWS,
        when(
            insert("view", page="a", ms=3, at=_at("10:05")),
            insert("view", page="a", ms=3, at=_at("10:05")),
            then=[upsert(("a", _at("10:00")), {"page": "a", **_in("10:00", "11:00", n=2, ms=6)})],
        ),
        when(
            insert("view", page="a", ms=1, at=_at("10:05")),
            then=[upsert(("a", _at("10:00")), {"page": "a", **_in("10:00", "11:00", n=3, ms=7)})],
        ),
    ),
    case(
        "a difference of times is seconds",
        _SPANS,
        when(
            insert("view", page="a", at="2026-03-01T10:05:00.250Z"),
            insert("view", page="a", at=_at("10:15")),
            then=[
                upsert(
                    ("a", _at("10:00")),
                    {
                        "page": "a",
                        **_in("10:00", "11:00", span=599.75, into=600.125, left=2700.0),
                    },
                ),
            ],
        ),
    ),
)
