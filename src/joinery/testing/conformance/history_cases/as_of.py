"""Cases of embeds that show the version of a row that was valid at a time of the row above."""

from __future__ import annotations

from joinery.testing.changes import delete, insert, update
from joinery.testing.conformance.case import case, when
from joinery.testing.driver import Emission, gone, upsert


def _project(embed: str, *, rate: str = "", root: str = "fields: [id]") -> str:
    return f"""
relations:
  purchase: {{key: [id], fields: {{id: long, region: string, placed: timestamp}}}}
  rate:
    key: [code]
    fields: {{code: string, region: string, percent: int, since: timestamp}}
    time: since
    {rate}
products:
  invoice:
    root: purchase
    {root}
    embed:
      rate: {{{embed}, on: {{region: region}}, as_of: placed}}
"""


_ONE = _project("one: rate, fields: [percent]")
_FIRST = _project("one: rate, fields: [code, percent], order: [-percent]")
_KEY = """
relations:
  purchase: {key: [id], fields: {id: long, code: string, placed: timestamp}}
  rate:
    key: [code]
    fields: {code: string, percent: int, since: timestamp}
    time: since
products:
  invoice:
    root: purchase
    fields: [id]
    embed:
      rate: {one: rate, on: {code: code}, as_of: placed, fields: [percent]}
"""
_MANY = _project("many: rate, fields: [code, percent]")
_WHERE = _project("many: rate, fields: [code], where: percent > 10")
_WINDOW = _project(
    "many: rate, fields: [code, percent], order: [-percent], limit: 1",
    root='fields: [id]\n    values: {all: "sum(rate.percent)"}',
)
_MAP = _project("many: rate, fields: [percent], as: map")
_HIDDEN = _project("many: rate, hidden: true", root="fields: [id]\n    values: {n: count(rate)}")
_LEFT_OUT = _project("one: rate, fields: [percent]", rate="where: percent > 0")
_BELOW = """
relations:
  basket: {key: [id], fields: {id: long}}
  item: {key: [id], fields: {id: long, basket: long, sku: string, at: timestamp}}
  price: {key: [sku], fields: {sku: string, cents: long, since: timestamp}, time: since}
products:
  receipt:
    root: basket
    fields: [id]
    embed:
      items:
        many: item
        on: {basket: id}
        fields: {id: id, cents: price.cents}
        embed:
          price: {one: price, on: {sku: sku}, as_of: at, hidden: true}
    values: {total: sum(items.cents)}
"""


_DEEP = """
relations:
  sale: {key: [id], fields: {id: long, sku: string, at: timestamp}}
  price:
    key: [sku]
    fields: {sku: string, cents: long, list: string, since: timestamp, set: timestamp}
    time: since
  list: {key: [id], fields: {id: string, name: string}}
  tag: {key: [id], fields: {id: long, list: string, text: string}}
  vat: {key: [list], fields: {list: string, percent: int, since: timestamp}, time: since}
products:
  receipt:
    root: sale
    fields: [id]
    embed:
      price:
        one: price
        on: {sku: sku}
        as_of: at
        fields: [cents]
        embed:
          list: {one: list, on: {id: list}, fields: [name]}
          tags: {many: tag, on: {list: list}, fields: [text]}
          vat: {one: vat, on: {list: list}, as_of: set, fields: [percent]}
      named:
        one: price
        on: {sku: sku}
        as_of: at
        fields: {name: l.name}
        where: l.name is not null
        embed:
          l: {one: list, on: {id: list}, fields: [name], hidden: true}
"""
_BOTH = """
relations:
  sale: {key: [id], fields: {id: long, sku: string, at: timestamp}}
  price: {key: [sku], fields: {sku: string, cents: long, since: timestamp}, time: since}
products:
  receipt:
    root: sale
    fields: [id]
    embed:
      then: {one: price, on: {sku: sku}, as_of: at, fields: [cents]}
      now: {one: price, on: {sku: sku}, fields: [cents]}
"""


def _deep(
    id_: int,
    cents: int,
    name: str | None,
    *,
    tags: tuple[str, ...] = (),
    percent: int | None = None,
    named: str | None = None,
) -> Emission:
    price = {
        "cents": cents,
        "list": None if name is None else {"name": name},
        "tags": [{"text": each} for each in tags],
        "vat": None if percent is None else {"percent": percent},
    }
    shown = None if named is None else {"name": named}
    return upsert(id_, {"id": id_, "price": price, "named": shown})


def _at(hour: int) -> str:
    return f"2026-03-01T{hour:02}:00:00Z"


def _percent(id_: int, percent: int | None) -> Emission:
    return upsert(id_, {"id": id_, "rate": None if percent is None else {"percent": percent}})


CASES = (
    case(
        "an embed as of a time shows the version that was valid then",
        _ONE,
        when(
            insert("rate", code="n", region="de", percent=19, since=_at(1)),
            insert("rate", code="n", region="de", percent=16, since=_at(5)),
            insert("purchase", id=1, region="de", placed=_at(0)),
            insert("purchase", id=2, region="de", placed=_at(1)),
            insert("purchase", id=3, region="de", placed=_at(7)),
            insert("purchase", id=4, region="fr", placed=_at(7)),
            insert("purchase", id=5, region="de"),
            then=[
                _percent(1, None),
                _percent(2, 19),
                _percent(3, 16),
                _percent(4, None),
                _percent(5, None),
            ],
        ),
        when(insert("rate", code="n", region="de", percent=7, since=_at(9))),
    ),
    case(
        "a version that comes late corrects the documents of its time",
        _ONE,
        when(
            insert("rate", code="n", region="de", percent=19, since=_at(1)),
            insert("purchase", id=1, region="de", placed=_at(2)),
            insert("purchase", id=2, region="de", placed=_at(6)),
            then=[_percent(1, 19), _percent(2, 19)],
        ),
        when(
            insert("rate", code="n", region="de", percent=16, since=_at(5)),
            then=[_percent(2, 16)],
        ),
        when(
            insert("rate", code="n", region="de", percent=20, since=_at(1)).at(9),
            then=[_percent(1, 20)],
        ),
    ),
    case(
        "a row above that changes its time shows the version of its new one",
        _ONE,
        when(
            insert("rate", code="n", region="de", percent=19, since=_at(1)),
            insert("rate", code="n", region="de", percent=16, since=_at(5)),
            insert("purchase", id=1, region="de", placed=_at(2)),
            then=[_percent(1, 19)],
        ),
        when(update("purchase", id=1, placed=_at(6)), then=[_percent(1, 16)]),
        when(update("purchase", id=1, placed=None), then=[_percent(1, None)]),
        when(update("purchase", id=1, placed=_at(3)), then=[_percent(1, 19)]),
        when(delete("purchase", id=1), then=[gone(1)]),
    ),
    case(
        "on, too, is asked of the version",
        _ONE,
        when(
            insert("rate", code="n", region="de", percent=19, since=_at(1)),
            insert("rate", code="n", region="fr", percent=20, since=_at(5)),
            insert("purchase", id=1, region="de", placed=_at(2)),
            insert("purchase", id=2, region="de", placed=_at(6)),
            insert("purchase", id=3, region="fr", placed=_at(6)),
            then=[_percent(1, 19), _percent(2, None), _percent(3, 20)],
        ),
        when(
            insert("rate", code="n", region="de", percent=18, since=_at(6)),
            then=[_percent(2, 18), _percent(3, None)],
        ),
        when(update("purchase", id=3, region="de"), then=[_percent(3, 18)]),
    ),
    case(
        "a delete that tells its time ends what an embed as of a later time shows",
        _ONE,
        when(
            insert("rate", code="n", region="de", percent=19, since=_at(1)),
            insert("purchase", id=1, region="de", placed=_at(2)),
            insert("purchase", id=2, region="de", placed=_at(6)),
            then=[_percent(1, 19), _percent(2, 19)],
        ),
        when(delete("rate", code="n")),
        when(delete("rate", code="n", since=_at(4)), then=[_percent(2, None)]),
    ),
    case(
        "of several keys with a version of the time the first is taken",
        _FIRST,
        when(
            insert("rate", code="a", region="de", percent=7, since=_at(1)),
            insert("rate", code="b", region="de", percent=19, since=_at(3)),
            insert("purchase", id=1, region="de", placed=_at(2)),
            insert("purchase", id=2, region="de", placed=_at(4)),
            then=[
                upsert(1, {"id": 1, "rate": {"code": "a", "percent": 7}}),
                upsert(2, {"id": 2, "rate": {"code": "b", "percent": 19}}),
            ],
            counts={"multiple_matches": 1},
        ),
        when(
            insert("rate", code="b", region="de", percent=5, since=_at(4)),
            then=[upsert(2, {"id": 2, "rate": {"code": "a", "percent": 7}})],
        ),
    ),
    case(
        "an embed by the whole key shows the version of the time",
        _KEY,
        when(
            insert("purchase", id=1, code="n", placed=_at(2)),
            insert("purchase", id=2, code="n", placed=_at(6)),
            then=[_percent(1, None), _percent(2, None)],
        ),
        when(
            insert("rate", code="n", percent=19, since=_at(1)),
            then=[_percent(1, 19), _percent(2, 19)],
        ),
        when(insert("rate", code="n", percent=16, since=_at(6)), then=[_percent(2, 16)]),
    ),
    case(
        "a list as of a time has the version of each key",
        _MANY,
        when(
            insert("rate", code="b", region="de", percent=7, since=_at(1)),
            insert("rate", code="a", region="de", percent=19, since=_at(3)),
            insert("rate", code="b", region="de", percent=5, since=_at(4)),
            insert("purchase", id=1, region="de", placed=_at(3)),
            insert("purchase", id=2, region="de", placed=_at(5)),
            then=[
                upsert(
                    1,
                    {
                        "id": 1,
                        "rate": [{"code": "a", "percent": 19}, {"code": "b", "percent": 7}],
                    },
                ),
                upsert(
                    2,
                    {
                        "id": 2,
                        "rate": [{"code": "a", "percent": 19}, {"code": "b", "percent": 5}],
                    },
                ),
            ],
        ),
        when(
            insert("rate", code="a", region="fr", percent=19, since=_at(5)),
            then=[upsert(2, {"id": 2, "rate": [{"code": "b", "percent": 5}]})],
        ),
    ),
    case(
        "where is asked of a version after it is chosen",
        _WHERE,
        when(
            insert("rate", code="a", region="de", percent=19, since=_at(1)),
            insert("rate", code="a", region="de", percent=7, since=_at(3)),
            insert("purchase", id=1, region="de", placed=_at(2)),
            insert("purchase", id=2, region="de", placed=_at(4)),
            then=[
                upsert(1, {"id": 1, "rate": [{"code": "a"}]}),
                upsert(2, {"id": 2, "rate": []}),
            ],
        ),
    ),
    case(
        "limit, total and aggregates of a list as of a time are of that time",
        _WINDOW,
        when(
            insert("rate", code="a", region="de", percent=19, since=_at(1)),
            insert("rate", code="b", region="de", percent=7, since=_at(1)),
            insert("rate", code="b", region="de", percent=30, since=_at(5)),
            insert("purchase", id=1, region="de", placed=_at(2)),
            insert("purchase", id=2, region="de", placed=_at(6)),
            then=[
                upsert(
                    1, {"id": 1, "rate": [{"code": "a", "percent": 19}], "rate_total": 2, "all": 26}
                ),
                upsert(
                    2, {"id": 2, "rate": [{"code": "b", "percent": 30}], "rate_total": 2, "all": 49}
                ),
            ],
        ),
        when(
            insert("rate", code="a", region="de", percent=40, since=_at(6)),
            then=[
                upsert(
                    2, {"id": 2, "rate": [{"code": "a", "percent": 40}], "rate_total": 2, "all": 70}
                )
            ],
        ),
    ),
    case(
        "a map as of a time is by the key of the row",
        _MAP,
        when(
            insert("rate", code="a", region="de", percent=19, since=_at(1)),
            insert("purchase", id=1, region="de", placed=_at(2)),
            then=[upsert(1, {"id": 1, "rate": {"a": {"percent": 19}}})],
        ),
    ),
    case(
        "a hidden list as of a time is counted",
        _HIDDEN,
        when(
            insert("rate", code="a", region="de", percent=19, since=_at(1)),
            insert("purchase", id=1, region="de", placed=_at(2)),
            then=[upsert(1, {"id": 1, "n": 1})],
        ),
        when(
            insert("rate", code="b", region="de", percent=19, since=_at(2)),
            insert("rate", code="c", region="de", percent=19, since=_at(3)),
            then=[upsert(1, {"id": 1, "n": 2})],
        ),
    ),
    case(
        "a version that its relation leaves out is none",
        _LEFT_OUT,
        when(
            insert("rate", code="a", region="de", percent=19, since=_at(1)),
            insert("rate", code="a", region="de", percent=0, since=_at(3)),
            insert("purchase", id=1, region="de", placed=_at(2)),
            insert("purchase", id=2, region="de", placed=_at(4)),
            then=[_percent(1, 19), _percent(2, None)],
        ),
    ),
    case(
        "rows of a list have the version of their own time",
        _BELOW,
        when(
            insert("basket", id=1),
            insert("price", sku="x", cents=100, since=_at(1)),
            insert("price", sku="x", cents=150, since=_at(5)),
            insert("item", id=7, basket=1, sku="x", at=_at(2)),
            insert("item", id=8, basket=1, sku="x", at=_at(6)),
            then=[
                upsert(
                    1,
                    {
                        "id": 1,
                        "items": [{"id": 7, "cents": 100}, {"id": 8, "cents": 150}],
                        "total": 250,
                    },
                )
            ],
        ),
        when(
            insert("price", sku="x", cents=110, since=_at(2)),
            then=[
                upsert(
                    1,
                    {
                        "id": 1,
                        "items": [{"id": 7, "cents": 110}, {"id": 8, "cents": 150}],
                        "total": 260,
                    },
                )
            ],
        ),
    ),
    case(
        "what is embedded below a version hangs on that version",
        _DEEP,
        when(
            insert("price", sku="x", cents=100, list="a", since=_at(1), set=_at(1)),
            insert("price", sku="x", cents=150, list="b", since=_at(5), set=_at(9)),
            insert("list", id="a", name="old"),
            insert("tag", id=1, list="a", text="t"),
            insert("vat", list="b", percent=7, since=_at(2)),
            insert("vat", list="b", percent=19, since=_at(8)),
            insert("sale", id=7, sku="x", at=_at(2)),
            insert("sale", id=8, sku="x", at=_at(6)),
            then=[
                _deep(7, 100, "old", tags=("t",), named="old"),
                _deep(8, 150, None, percent=19),
            ],
        ),
        when(
            insert("list", id="b", name="new"),
            insert("tag", id=2, list="b", text="u"),
            then=[_deep(8, 150, "new", tags=("u",), percent=19, named="new")],
        ),
        when(
            insert("price", sku="x", cents=120, list="a", since=_at(6), set=_at(6)),
            then=[_deep(8, 120, "old", tags=("t",), named="old")],
        ),
        when(
            update("list", id="a", name="older"),
            insert("vat", list="a", percent=3, since=_at(1)),
            then=[
                _deep(7, 100, "older", tags=("t",), percent=3, named="older"),
                _deep(8, 120, "older", tags=("t",), percent=3, named="older"),
            ],
        ),
        when(
            delete("sale", id=7),
            delete("list", id="a"),
            then=[gone(7), _deep(8, 120, None, tags=("t",), percent=3)],
        ),
    ),
    case(
        "a relation may be embedded as of a time and as it is",
        _BOTH,
        when(
            insert("price", sku="x", cents=100, since=_at(1)).at(1),
            insert("price", sku="x", cents=150, since=_at(5)).at(2),
            insert("sale", id=7, sku="x", at=_at(2)),
            then=[upsert(7, {"id": 7, "then": {"cents": 100}, "now": {"cents": 150}})],
        ),
        when(
            insert("price", sku="x", cents=110, since=_at(2)).at(3),
            then=[upsert(7, {"id": 7, "then": {"cents": 110}, "now": {"cents": 110}})],
        ),
        when(
            delete("price", sku="x").at(4),
            then=[upsert(7, {"id": 7, "then": {"cents": 110}, "now": None})],
        ),
    ),
)
