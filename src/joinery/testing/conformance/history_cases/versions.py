"""Cases of slowly changing dimensions of type 2."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, tombstone, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import Emission, gone, upsert


def _project(history: str, relation: str = "", product: str = "") -> str:
    return f"""
relations:
  customer:
    key: [id]
    fields: {{id: long, tier: string, city: string, since: timestamp}}
    {relation}
products:
  tiers: {{history: customer, {history}{product}}}
"""


_TIERS = _project("valid: since, track: [tier]")
_ALL = _project("valid: since")
_NOTHING = _project("valid: since, track: []")
_GOLD = _project("valid: since, track: [tier]", "where: tier <> 'none'")
_DERIVED = """
relations:
  price:
    key: [shop, sku]
    fields: {shop: string, sku: string, cents: long, ts: long}
    derive: {at: timestamp_millis(ts), price: cents / 100}
products:
  prices: {history: price, valid: at, track: [price]}
"""
_EVENTS = _project("valid: since, track: [tier]", "format: debezium-json")
_LOG = _project("valid: since, track: [tier]", "append: true")


def _at(hour: int) -> str:
    return f"2026-03-01T{hour:02}:00:00Z"


def _tier(hour: int, tier: str, until: int | None = None, *, id_: int = 1) -> Emission:
    return upsert(
        (id_, _at(hour)),
        {
            "id": id_,
            "valid_from": _at(hour),
            "tier": tier,
            "valid_to": None if until is None else _at(until),
            "is_current": until is None,
        },
    )


def _row(hour: int, tier: str, until: int | None = None, *, city: str | None) -> Emission:
    shown = _tier(hour, tier, until)
    value = dict(shown.value or {})
    ends = {name: value.pop(name) for name in ("valid_to", "is_current")}
    return upsert((1, _at(hour)), {**value, "city": city, **ends})


CASES = (
    case(
        "a version ends the one before it",
        _TIERS,
        when(insert("customer", id=1, tier="a", since=_at(1)), then=[_tier(1, "a")]),
        when(
            insert("customer", id=1, tier="b", since=_at(3)),
            insert("customer", id=2, tier="a", since=_at(2)),
            then=[_tier(1, "a", 3), _tier(3, "b"), _tier(2, "a", id_=2)],
        ),
    ),
    case(
        "a version that comes late splits the row that it falls into",
        _TIERS,
        when(
            insert("customer", id=1, tier="a", since=_at(1)),
            insert("customer", id=1, tier="c", since=_at(5)),
            then=[_tier(1, "a", 5), _tier(5, "c")],
        ),
        when(
            insert("customer", id=1, tier="b", since=_at(3)),
            then=[_tier(1, "a", 3), _tier(3, "b", 5)],
        ),
        when(insert("customer", id=1, tier="z", since=_at(0)), then=[_tier(0, "z", 1)]),
    ),
    case(
        "a version that shows what the one before it shows is part of its row",
        _TIERS,
        when(
            insert("customer", id=1, tier="a", city="x", since=_at(1)),
            insert("customer", id=1, tier="a", city="y", since=_at(2)),
            then=[_tier(1, "a")],
        ),
        when(insert("customer", id=1, tier="a", since=_at(4))),
        when(
            insert("customer", id=1, tier="b", since=_at(3)),
            then=[_tier(1, "a", 3), _tier(3, "b", 4), _tier(4, "a")],
        ),
        when(
            insert("customer", id=1, tier="a", since=_at(3)),
            then=[_tier(1, "a"), gone((1, _at(3))), gone((1, _at(4)))],
        ),
    ),
    case(
        "an earlier version that shows the same takes over the row",
        _TIERS,
        when(insert("customer", id=1, tier="a", since=_at(5)), then=[_tier(5, "a")]),
        when(
            insert("customer", id=1, tier="a", since=_at(2)),
            then=[_tier(2, "a"), gone((1, _at(5)))],
        ),
    ),
    case(
        "of one time the later position stands, and at another time no position is stale",
        _TIERS,
        when(
            insert("customer", id=1, tier="b", since=_at(2)).at(20),
            insert("customer", id=1, tier="x", since=_at(2)).at(10),
            then=[_tier(2, "b")],
        ),
        when(
            insert("customer", id=1, tier="a", since=_at(1)).at(5),
            then=[_tier(1, "a", 2)],
        ),
        when(insert("customer", id=1, tier="c", since=_at(2)).at(30), then=[_tier(2, "c")]),
    ),
    case(
        "without track, versions differ in every column but the key and the time",
        _ALL,
        when(
            insert("customer", id=1, tier="a", city="x", since=_at(1)),
            insert("customer", id=1, tier="a", city="y", since=_at(2)),
            then=[_row(1, "a", 2, city="x"), _row(2, "a", city="y")],
        ),
    ),
    case(
        "with an empty track, a row tells how long a key was there",
        _NOTHING,
        when(
            insert("customer", id=1, tier="a", since=_at(1)),
            insert("customer", id=1, tier="b", since=_at(2)),
            delete("customer", id=1, since=_at(3)),
            then=[
                upsert(
                    (1, _at(1)),
                    {"id": 1, "valid_from": _at(1), "valid_to": _at(3), "is_current": False},
                )
            ],
        ),
    ),
    case(
        "what an update leaves out is as in the version before its time",
        _ALL,
        when(
            insert("customer", id=1, tier="a", city="x", since=_at(1)),
            insert("customer", id=1, tier="c", city="z", since=_at(5)),
            then=[_row(1, "a", 5, city="x"), _row(5, "c", city="z")],
        ),
        when(
            update("customer", id=1, tier="b", since=_at(3)),
            then=[_row(1, "a", 3, city="x"), _row(3, "b", 5, city="x")],
        ),
        when(
            update("customer", id=1, city="w", since=_at(3)),
            then=[_row(3, "b", 5, city="w")],
        ),
    ),
    case(
        "a delete that tells its time ends the version of that time",
        _TIERS,
        when(insert("customer", id=1, tier="a", since=_at(1)), then=[_tier(1, "a")]),
        when(delete("customer", id=1, since=_at(4)), then=[_tier(1, "a", 4)]),
        when(insert("customer", id=1, tier="a", since=_at(6)), then=[_tier(6, "a")]),
        when(
            insert("customer", id=1, tier="a", since=_at(5)),
            then=[_tier(5, "a"), gone((1, _at(6)))],
        ),
        when(
            insert("customer", id=1, tier="b", since=_at(2)),
            then=[_tier(1, "a", 2), _tier(2, "b", 4)],
        ),
        when(
            delete("customer", id=1, since=_at(1)),
            then=[gone((1, _at(1)))],
        ),
    ),
    case(
        "a delete before the first version ends nothing, and one after another nothing more",
        _TIERS,
        when(delete("customer", id=1, since=_at(1))),
        when(insert("customer", id=1, tier="a", since=_at(2)), then=[_tier(2, "a")]),
        when(
            delete("customer", id=1, since=_at(3)),
            delete("customer", id=1, since=_at(4)),
            then=[_tier(2, "a", 3)],
        ),
        when(
            insert("customer", id=1, tier="a", since=_at(3)).at(9),
            then=[_tier(2, "a", 4)],
        ),
    ),
    case(
        "a delete or a tombstone that tells no time leaves the versions alone",
        _TIERS,
        when(insert("customer", id=1, tier="a", since=_at(1)), then=[_tier(1, "a")]),
        when(delete("customer", id=1), tombstone("customer", id=1)),
        when(
            insert("customer", id=1, tier="b", since=_at(2)), then=[_tier(1, "a", 2), _tier(2, "b")]
        ),
    ),
    case(
        "what a change event was before tells no time",
        _EVENTS,
        when(insert("customer", id=1, tier="a", since=_at(1)).at(1), then=[_tier(1, "a")]),
        when(delete("customer", id=1, since=_at(2)).at(2)),
    ),
    case(
        "a log that only grows has versions, and its deletes change nothing",
        _LOG,
        when(
            insert("customer", id=1, tier="b", since=_at(2)),
            insert("customer", id=1, tier="a", since=_at(1)),
            then=[_tier(1, "a", 2), _tier(2, "b")],
        ),
        when(delete("customer", id=1, since=_at(3))),
    ),
    case(
        "a change without a time is no version",
        _TIERS,
        when(insert("customer", id=1, tier="a")),
        when(insert("customer", id=1, tier="a", since=_at(1)), then=[_tier(1, "a")]),
        when(update("customer", id=1, tier="b")),
    ),
    case(
        "a version that the relation leaves out ends the one before it",
        _GOLD,
        when(
            insert("customer", id=1, tier="a", since=_at(1)),
            insert("customer", id=1, tier="none", since=_at(2)),
            then=[_tier(1, "a", 2)],
        ),
        when(
            insert("customer", id=1, tier="a", since=_at(2)),
            then=[_tier(1, "a")],
        ),
    ),
    case(
        "the time and what is tracked may be derived",
        _DERIVED,
        when(
            insert("price", shop="s", sku="k", cents=150, ts=1000),
            delete("price", shop="s", sku="k", ts=2000),
            then=[
                upsert(
                    ("s", "k", "1970-01-01T00:00:01Z"),
                    {
                        "shop": "s",
                        "sku": "k",
                        "valid_from": "1970-01-01T00:00:01Z",
                        "price": 1.5,
                        "valid_to": "1970-01-01T00:00:02Z",
                        "is_current": False,
                    },
                )
            ],
        ),
    ),
    case(
        "a version that comes and goes within a batch sends nothing",
        _TIERS,
        when(
            insert("customer", id=1, tier="a", since=_at(1)),
            delete("customer", id=1, since=_at(1)),
        ),
        when(insert("customer", id=1, tier="a", since=_at(1)), then=[_tier(1, "a")]),
    ),
)
