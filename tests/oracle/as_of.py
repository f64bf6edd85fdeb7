"""Random products with `as_of` and random logs, with what DuckDB makes of the same changes.

Of each key and time the latest position stands; DuckDB's ASOF JOIN finds the version of a time.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.oracle.duck import emptied, fill

from joinery.testing.changes import RowChange, delete, insert, tombstone, update

START = datetime(2026, 3, 28, tzinfo=UTC)
ON = ("[a]", "[a, b]", "[g]", "{g: h}")
BELOW = """
        embed:
          l: {one: l, on: {id: s}, fields: [n]}
          m: {many: l, on: {g: s}, fields: [id]}
          w: {one: r, on: [g], as_of: at, fields: [a, x], order: [x]}
"""


@dataclass(slots=True)
class Log:
    """One random product and the changes of its relations, in the order of their logs.

    Attributes:
        where: Which versions are shown, in words of Spark and of DuckDB alike.
        left_out: Which versions exist, in the same.
        below: Whether versions have embeds, of which DuckDB is not asked.
    """

    on: str
    one: bool
    where: bool
    left_out: bool
    order: bool
    limit: int
    below: bool
    changes: list[RowChange] = field(default_factory=list)

    @property
    def project(self) -> str:
        """The relations and the product of its project file."""
        parts = [
            f"{'one' if self.one else 'many'}: r",
            f"on: {self.on}",
            "as_of: t",
            "fields: [a, b, x]",
            *(["where: x < 4"] if self.where else []),
            *(["order: [-x]"] if self.order else []),
            *([f"limit: {self.limit}"] if self.limit and not self.one else []),
        ]
        shown = "".join(f"        {each}\n" for each in parts)
        return f"""
relations:
  p: {{key: [id], fields: {{id: long, a: string, b: int, g: string, h: string, t: timestamp}}}}
  r:
    key: [a, b]
    fields: {{a: string, b: int, g: string, s: string, x: long, at: timestamp}}
    time: at
    {'where: "x > 1"' if self.left_out else ""}
  l: {{key: [id], fields: {{id: string, g: string, n: long}}}}
products:
  d:
    root: p
    fields: [id]
    embed:
      was:
{shown}{BELOW if self.below else ""}
      all: {{many: r, on: {self.on}, as_of: t, fields: [x], hidden: true}}
    values: {{count: count(all), total: sum(all.x)}}
"""


def random_log(seed: int, *, changes: int = 90, whole: bool = False) -> Log:
    """Return a product and its log.

    Args:
        seed: What it follows from.
        changes: How many there are.
        whole: Only what DuckDB is asked of: no updates of single columns, nothing below.
    """
    pick = random.Random(seed)
    log = Log(
        on=pick.choice(ON),
        one=pick.random() < 0.5,
        where=pick.random() < 0.3,
        left_out=pick.random() < 0.3,
        order=pick.random() < 0.5,
        limit=pick.choice([0, 0, 1, 2]),
        below=not whole and pick.random() < 0.5,
    )
    positioned = pick.choice([True, False])
    for number in range(changes):
        made = _change(pick, number, whole=whole)
        if made.relation == "l" and not log.below:
            continue
        if positioned if whole else pick.random() < 0.5:
            made = made.at(pick.randrange(2 * changes) if pick.random() < 0.2 else number)
        log.changes.append(made)
    return log


def _change(pick: random.Random, number: int, *, whole: bool) -> RowChange:
    hours = number + pick.choice([0, 0, 0, -1, -3, -20, -60, 2])
    at = None if pick.random() < 0.05 else START + timedelta(hours=hours)
    kind = pick.random()
    if kind < 0.15:
        row = {"g": pick.choice(["u", "v"]), "n": pick.randrange(3)}
        id_ = pick.choice(["k", "l"])
        return delete("l", id=id_) if pick.random() < 0.2 else insert("l", id=id_, **row)
    if kind < 0.5:
        return _parent(pick, at)
    return _version(pick, at, whole=whole)


def _parent(pick: random.Random, at: datetime | None) -> RowChange:
    id_ = pick.randrange(8)
    if pick.random() < 0.1:
        return delete("p", id=id_)
    texts: dict[str, list[Any]] = {"a": ["p", "q", None], "g": ["u", "v", None], "h": ["u", "v"]}
    row = {name: pick.choice(each) for name, each in texts.items()}
    return insert("p", id=id_, b=pick.choice([1, 2]), t=at, **row)


def _version(pick: random.Random, at: datetime | None, *, whole: bool) -> RowChange:
    key = {"a": pick.choice(["p", "q"]), "b": pick.choice([1, 2])}
    kind = pick.random()
    if kind < 0.12:
        return delete("r", **key, at=at)
    if kind < 0.17:
        return pick.choice([delete, tombstone])("r", **key)
    row: dict[str, Any] = {
        "g": pick.choice(["u", "v", None]),
        "s": pick.choice(["k", "l", "u", "v", None]),
        "x": pick.choice([1, 2, 3, 4, None]),
    }
    if not whole and kind < 0.35:
        kept = {name: row[name] for name in pick.sample(sorted(row), 2)}
        return update("r", **key, **kept, at=at)
    return insert("r", **key, **row, at=at)


_TRUTH = """
with standing as (
  select *, row_number() over (partition by a, b, since order by position desc, number desc) as rank
  from change
), version as (
  select a, b, g, x, since, not gone and coalesce({left_out}, false) as here
  from standing where rank = 1
), row_key as (
  select distinct a, b from version
), asked as (
  select p.id, k.a, k.b, p.a as pa, p.b as pb, p.g as pg, p.h as ph, p.t
  from parent p cross join row_key k where p.t is not null
), found as (
  select asked.id, v.a, v.b, v.x
  from asked asof join version v on asked.a = v.a and asked.b = v.b and asked.t >= v.since
  where v.here and {on}
)
select p.id,
  coalesce((select list({{'a': a, 'b': b, 'x': x}} order by {order})
            from found where found.id = p.id and {where}), []) as was,
  (select count(*) from found where found.id = p.id) as count,
  (select sum(x)::bigint from found where found.id = p.id) as total
from parent p
"""
_JOINS = {
    "[a]": "v.a = pa",
    "[a, b]": "v.a = pa and v.b = pb",
    "[g]": "v.g = pg",
    "{g: h}": "v.g = ph",
}


def truth(log: Log, changes: Sequence[RowChange]) -> dict[int, dict[str, Any]]:
    """Return what the sink should hold once some changes are read, by key."""
    connection = emptied()
    connection.execute("create table parent (id bigint, a text, b int, g text, h text, t bigint)")
    connection.execute(
        "create table change (number bigint, position bigint, a text, b int, g text, x bigint,"
        " since bigint, gone boolean)"
    )
    fill(connection, "parent", list(_standing(changes)))
    versions = []
    for number, each in enumerate(changes):
        told = each.columns
        if each.relation == "r" and told.get("at") is not None:
            row = (told["a"], told["b"], told.get("g"), told.get("x"), _hours(told["at"]))
            versions.append((number, each.position, *row, each.op == "delete"))
    fill(connection, "change", versions)
    query = _TRUTH.format(
        left_out="x > 1" if log.left_out else "true",
        on=_JOINS[log.on],
        order="x desc nulls last, a, b" if log.order else "a, b",
        where="x < 4" if log.where else "true",
    )
    rows = connection.execute(query).fetchall()
    return {id_: {"id": id_, **_shown(log, was), **rest} for id_, was, rest in _named(rows)}


def _named(rows: list[tuple[Any, ...]]) -> list[tuple[int, Any, dict[str, Any]]]:
    return [(id_, was, {"count": count, "total": total}) for id_, was, count, total in rows]


def _shown(log: Log, was: list[dict[str, Any]]) -> dict[str, Any]:
    if log.one:
        return {"was": was[0] if was else None}
    return {"was": was[: log.limit], "was_total": len(was)} if log.limit else {"was": was}


def _standing(changes: Sequence[RowChange]) -> list[tuple[Any, ...]]:
    """Return the parents that exist: each key's change of the latest position."""
    newest: dict[int, tuple[tuple[int, int], RowChange]] = {}
    for number, each in enumerate(changes):
        if each.relation == "p":
            rank = (number if each.position is None else each.position, number)
            id_ = each.columns["id"]
            if id_ not in newest or newest[id_][0] < rank:
                newest[id_] = rank, each
    rows = [each.columns for _, each in newest.values() if each.op == "insert"]
    return [
        (*(each[name] for name in ("id", "a", "b", "g", "h")), _hours(each["t"])) for each in rows
    ]


def _hours(at: datetime | None) -> int | None:
    return None if at is None else (at - START) // timedelta(hours=1)
