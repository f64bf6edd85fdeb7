"""Products of other forms than aggregates, a line each, over one log of four changelogs.

Times go on by and by; one row in a hundred is far behind, one in a thousand has no time.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from joinery.testing.changes import RowChange, delete, insert, update

START = datetime(2026, 3, 28, 22, tzinfo=UTC)
USERS, PRICES, QUERIES = 60, 12, 40
HEAD = """\
name: forms
sources: {log: {files: {path: in}}}
defaults: {source: log, format: json}
relations:
  search:
    key: [id]
    fields: {id: long, user: string, sku: string, at: timestamp}
    time: at
    watermark: {delay: 20s}
    where: user is not null
  click:
    key: [id]
    fields: {id: long, search: long, user: string, ms: int, at: timestamp}
    time: at
    watermark: {delay: 20s}
  price:
    key: [sku]
    fields: {sku: string, cents: long, list: string, since: timestamp}
    time: since
  follow: {key: [id], fields: {id: long, follower: string, followee: string}}
  saved: {key: [id], fields: {id: long, asks: string}}
"""

# A case is a line: what stands between the name of the product and its sink.
CASES = {
    "prices": "history: price, valid: since, track: [cents]",
    "outcome": "root: search, fields: [id], values: {n: size(clicks)}, emit: {when: closed},"
    " embed: {clicks: {many: click, on: {search: id}, within: [0s, 30s], fields: [id, ms]}}",
    "near": "root: search, fields: [id], values: {n: count(near), slowest: max(near.ms)},"
    " embed: {near: {many: click, on: [user], within: [-10s, 10s], hidden: true}}",
    "judged": "root: search, fields: [id], emit: {when: closed, allowed: 5s}, embed:"
    " {next: {one: click, on: [user], within: [1s, 20s], order: [at], fields: [id]}}",
    "short": "root: search, fields: [id, user], emit: {when: closed, retention: 1m}, embed:"
    " {clicks: {many: click, on: {search: id}, within: [0s, 30s], fields: [id, ms]}}",
    "short_near": "root: search, fields: [id, sku], values: {n: count(near), slow: max(near.ms)},"
    " emit: {retention: 45s}, embed:"
    " {near: {many: click, on: [user], within: [-10s, 10s], hidden: true}}",
    "left_out": "root: search, fields: [id], emit: {when: closed, late: drop, retention: 2m},"
    " embed: {clicks: {many: click, on: {search: id}, within: [-5s, 20s], fields: [id, ms]}}",
    "told": "root: search, fields: [id], emit: {late: dead_letter, allowed: 5s}, embed:"
    " {next: {one: click, on: [user], within: [1s, 20s], order: [at], fields: [id]}}",
    "beside": "root: search, fields: [id], emit: {when: closed}, embed:"
    " {clicks: {many: click, on: {search: id}, within: [0s, 30s], fields: [id]},"
    " price: {one: price, on: [sku], fields: [cents]}}",
    "cost": "root: search, fields: [id],"
    " embed: {price: {one: price, on: [sku], as_of: at, fields: [cents]}}",
    "listed": "root: search, fields: [id], values: {all: sum(same.cents)}, embed:"
    " {same: {many: price, on: {list: user}, as_of: at, order: [-cents], limit: 2}}",
    "wall": "root: saved, fields: [id], embed: {seen: {many: click, order: [-at], limit: 5,"
    " through: {follow: {follower: asks}}, on: {user: follow.followee}, fields: [id]}}",
    "alerts": "search: price, queries: saved, query: asks, fields: {cents: price.cents}",
    "words": "search: price, queries: saved, query: asks, language: lucene",
    "slower": "pattern: click, by: [user], define: {F: ms < 40, S: ms > F.ms}, match: 'F{1,3} S',"
    " within: 1m, fields: {n: count(F), id: S.id, total: sum(F.ms)}",
    "later": "pattern: click, by: [user], match: '(L | H H) -> E', within: 2m, after: next_row,"
    " define: {L: ms < 9, H: ms >= first(H.ms), E: ms % 2 = 0}, emit: {allowed: 5s, late: drop},"
    " fields: {l: L.id, h: sum(H.id), e: E.id}",
    "quiet": "pattern: search, by: [user], define: {A: sku < 's5', B: sku > A.sku},"
    " match: A not B, within: 40s, emit: {allowed: 5s, late: dead_letter}, fields: {sku: A.sku}",
    "sure": "pattern: search, by: [sku], match: A+ -> B, define: {A: user < 'u3', B: user > 'u5'},"
    " within: 30s, emit: {when: closed, retention: 2m}, fields: {n: count(A), b: B.id}",
    "priced": "pattern: search, by: [user], rules: {p: {one: price, on: [sku]}}, match: C -> D,"
    " define: {C: p.cents < 4, D: p.cents > C.p.cents}, within: 5m, fields: {c: C.id, d: D.id}",
}


def project_text(*names: str) -> str:
    """Return a project of some cases; of all, where none is named."""
    products = "".join(
        f"  {name}: {{{CASES[name]}, group: forms, sink: {{files: {{path: out}}}}}}\n"
        for name in names or CASES
    )
    return f"{HEAD}products:\n{products}"


def logs(seed: int, *, rows: int = 24_000) -> list[RowChange]:
    """Return so many changes, three quarters of them of searches and clicks."""
    return list(_changes(random.Random(seed), rows))


def _changes(pick: random.Random, rows: int) -> Iterator[RowChange]:
    searches: list[int] = []
    clicks: list[int] = []
    for number in range(rows):
        clock = START + timedelta(seconds=number / 2)
        chance = pick.random()
        if chance < 0.35:
            searches.append(number)
            told = {"user": _user(pick), "sku": _sku(pick), "at": _time(pick, clock)}
            yield insert("search", id=number, **told)
        elif chance < 0.45 and searches:
            yield _altered(pick, searches, clock)
        elif chance < 0.5 and clicks:
            yield _clicked_again(pick, clicks, searches, clock)
        elif chance < 0.8:
            clicks.append(number)
            search = searches[-1 - pick.randrange(min(50, len(searches)))] if searches else None
            row = {"search": search, "user": _user(pick), "ms": pick.choice([None, *range(50)])}
            yield insert("click", id=number, **row, at=_time(pick, clock))
        elif chance < 0.9:
            yield _price(pick, clock)
        else:
            yield _follower(pick, number)


def _altered(pick: random.Random, searches: list[int], clock: datetime) -> RowChange:
    kind = pick.random()
    if kind < 0.2:
        # None whose key has another search since a short while, which was not sent yet: what was
        # sent of the former stays where its state is gone.
        most = pick.choice([0, 260]) if len(searches) > 320 else 0
        id_ = searches.pop(_back(pick, searches, most, 60))
        return delete("search", id=id_)
    id_ = searches[_back(pick, searches, 0, 200)]
    if kind < 0.6:
        return update("search", id=id_, at=_time(pick, clock))
    return update("search", id=id_, user=_user(pick))


def _back(pick: random.Random, ids: list[int], most: int, reach: int) -> int:
    """Return a place so far from the end of a list, or at its beginning."""
    return max(0, len(ids) - 1 - most - pick.randrange(reach))


def _clicked_again(
    pick: random.Random, clicks: list[int], searches: list[int], clock: datetime
) -> RowChange:
    id_ = clicks[_back(pick, clicks, 0, 200)]
    told = {"search": pick.choice(searches[-50:] or [None]), "at": _time(pick, clock)}
    kind = pick.random()
    if kind < 0.2:
        clicks.remove(id_)
        return delete("click", id=id_)
    if kind < 0.4:
        return update("click", id=id_, ms=pick.randrange(50))
    return update("click", id=id_, **(told if kind < 0.8 else {"at": told["at"]}))


def _price(pick: random.Random, clock: datetime) -> RowChange:
    since = _time(pick, clock)
    if pick.random() < 0.1:
        return delete("price", sku=_sku(pick), since=since)
    row: dict[str, Any] = {"cents": pick.choice([None, *range(1, 9)]), "list": _user(pick)}
    return insert("price", sku=_sku(pick), **row, since=since)


def _follower(pick: random.Random, number: int) -> RowChange:
    id_ = pick.randrange(QUERIES)
    if number % 2:
        if pick.random() < 0.2:
            return delete("follow", id=id_)
        return insert("follow", id=id_, follower=_user(pick), followee=_user(pick))
    asks = pick.choice([_user(pick), f"cents > {pick.randrange(9)}", f"sku = '{_sku(pick)}'"])
    return delete("saved", id=id_) if pick.random() < 0.2 else insert("saved", id=id_, asks=asks)


def _user(pick: random.Random) -> str:
    return f"u{pick.randrange(USERS)}"


def _sku(pick: random.Random) -> str:
    return f"s{pick.randrange(PRICES)}"


def _time(pick: random.Random, clock: datetime) -> datetime | None:
    chance = pick.random()
    if chance < 0.001:
        return None
    behind = pick.uniform(0, 900) if chance < 0.011 else pick.choice([0, 0, 3, 15])
    return clock - timedelta(milliseconds=round(behind * 1000))
