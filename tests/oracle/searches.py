"""Random stored queries and documents that change, with what DuckDB makes of the same rows."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.oracle.duck import emptied, fill

from joinery.testing.changes import RowChange, delete, insert, update

CITIES = ("Ulm", "Bonn", "Köln", "O'Fallon", "")
TENANTS = ("north", "south", None)
BROKEN = ("", "price <", "nothing = 1", "city", "rand() < 1", "exists(select 1)", "price = tags")

COLUMNS = (
    "id bigint, tenant varchar, city varchar, price int, area double, rate decimal(6,2)"
    ", sold boolean"
)


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _term(pick: random.Random) -> str:
    number, city = pick.randrange(-1, 12), _text(pick.choice(CITIES))
    sign = pick.choice(["=", "<", "<=", ">", ">=", "<>"])
    return pick.choice(
        [
            f"price {sign} {number}",
            f"{number} {sign} price",
            f"price between {number} and {number + 4}",
            f"price in ({number}, {number + 2}, 3)",
            f"price not in ({number}, 3)",
            f"city = {city}",
            f"city in ({city}, 'Ulm')",
            f"city <> {city}",
            f"city like '%{pick.choice('lnö')}%'",
            f"lower(city) = lower({city})",
            f"area {sign} {number}.5",
            f"rate {sign} {number}.25",
            f"rate > {number}",
            "sold",
            "not sold",
            "city is null",
            "price is not null",
            f"coalesce(price, {number}) = {number}",
            f"length(city) + price > {number}",
        ]
    )


def condition(pick: random.Random, depth: int = 0) -> str:
    """Return a random condition that Spark and DuckDB read alike."""
    if depth > 2 or pick.random() < 0.35:
        return _term(pick)
    word = pick.choice(["and", "and", "and", "or"])
    left, right = condition(pick, depth + 1), condition(pick, depth + 1)
    return f"{pick.choice(['', '', 'not '])}({left} {word} {right})"


@dataclass(slots=True)
class Log:
    """One random search and the changes of its two relations, in the order of their log."""

    on: bool
    shown: bool
    changes: list[RowChange] = field(default_factory=list)
    language: str = "sql"
    append: bool = False

    @property
    def project(self) -> str:
        """The text of its relations and its product."""
        on = "on: [tenant]," if self.on else ""
        fields = "fields: {price: listing.price, who: saved.who}," if self.shown else ""
        return f"""
relations:
  listing:
    key: [id]
    append: {str(self.append).lower()}
    fields: {{id: long, tenant: string, city: string, price: int, area: double,
      rate: "decimal(6,2)", sold: boolean, tags: "array<string>"}}
  saved: {{key: [id], fields: {{id: long, tenant: string, condition: string, who: string}}}}
products:
  p: {{search: listing, queries: saved, query: condition, language: {self.language}, {on} {fields}}}
"""


def _listing(pick: random.Random) -> dict[str, Any]:
    return {
        "tenant": pick.choice(TENANTS),
        "city": pick.choice([*CITIES, None]),
        "price": pick.choice([None, *range(-1, 12)]),
        "area": pick.choice([None, 0.5, 1.5, 3.5, 8.0]),
        "rate": pick.choice([None, "0.25", "3.25", "7.00"]),
        "sold": pick.choice([None, True, False]),
        "tags": [],
    }


def _saved(pick: random.Random) -> dict[str, Any]:
    text: str | None = condition(pick)
    if pick.random() < 0.1:
        text = pick.choice([None, *BROKEN])
    return {"tenant": pick.choice(TENANTS), "condition": text, "who": pick.choice(["ann", "bob"])}


WORDS = ("Ulm", "Bonn", "oak", "wi-fi", "can't", "Straße", "a_b", "3.5")
BROKEN_TEXTS = ("", "(", "oak~", "nothing:1", "*ak", "price:dear", "a AND")


def _text_term(pick: random.Random) -> str:
    number, word = pick.randrange(12), pick.choice(WORDS)
    column = pick.choice(["", "", "city:", "tags:"])
    return pick.choice(
        [
            f"{column}{word}",
            f'{column}"{word} {pick.choice(WORDS)}"',
            f"{column}{word[0]}*",
            f"{column}{word[0]}?{word[2:]}",
            f"{column}[{word.lower()} TO *]",
            f"price:[{number} TO {number + 3}}}",
            f"price:{number}",
            f"area:[* TO {number}.5]",
            "sold:true",
            "rate:3.25",
            "*:*",
        ]
    )


def text_query(pick: random.Random, depth: int = 0) -> str:
    """Return a random query in Lucene's syntax."""
    parts = []
    for _ in range(pick.randrange(1, 4)):
        inner = depth < 2 and pick.random() < 0.25
        term = f"({text_query(pick, depth + 1)})" if inner else _text_term(pick)
        parts.append(pick.choice(["", "", "+", "-", "NOT "]) + term)
    return pick.choice([" ", " AND ", " OR "]).join(parts)


def random_text_search(seed: int) -> Log:
    """Return a search with text queries and its log."""
    pick = random.Random(f"text {seed}")
    log = random_search(seed)
    log.language = "lucene"
    for at, change in enumerate(log.changes):
        row = dict(change.columns)
        if change.op != "delete" and change.relation == "saved":
            row["condition"] = text_query(pick)
            if pick.random() < 0.1:
                row["condition"] = pick.choice([None, *BROKEN_TEXTS])
        elif change.op != "delete":
            row["city"] = " ".join(pick.choices(WORDS, k=pick.randrange(5)))
            row["tags"] = pick.choices(WORDS, k=pick.randrange(3))
        log.changes[at] = dataclasses.replace(change, columns=row)
    return log


def random_search_of_a_log(seed: int) -> Log:
    """Return a search over listings that only come, some of them twice, and its log."""
    pick = random.Random(f"log {seed}")
    log = random_search(seed)
    log.append = True
    came: list[RowChange] = []
    changes: list[RowChange] = []
    for change in log.changes:
        if change.relation == "saved":
            changes.append(change)
        elif change.op != "delete":
            row = {**change.columns, "id": len(came)}
            came.append(insert("listing", **row))
            changes.append(came[-1])
        elif came:
            changes.append(pick.choice(came))
    log.changes = changes
    return log


def random_search(seed: int, *, changes: int = 90) -> Log:
    """Return a search and its log."""
    pick = random.Random(seed)
    log = Log(on=pick.random() < 0.5, shown=pick.random() < 0.5)
    standing: dict[tuple[str, int], dict[str, Any]] = {}
    for _ in range(changes):
        relation = pick.choice(["listing", "saved"])
        id = pick.randrange(14)
        known = standing.get((relation, id))
        if known is not None and pick.random() < 0.25:
            del standing[relation, id]
            log.changes.append(delete(relation, id=id))
            continue
        row = _listing(pick) if relation == "listing" else _saved(pick)
        if known is not None and pick.random() < 0.6:
            column = pick.choice(sorted(row))
            row = known | {column: row[column]}
        standing[relation, id] = row
        log.changes.append((update if known is not None else insert)(relation, id=id, **row))
    return log


def truth(log: Log, changes: Iterable[RowChange]) -> dict[tuple[int, int], dict[str, Any]]:
    """Return what matches once `changes` are read: what is shown by query and document."""
    rows: dict[str, dict[int, dict[str, Any]]] = {"listing": {}, "saved": {}}
    for each in changes:
        id = each.columns["id"]
        if each.op == "delete":
            rows[each.relation].pop(id, None)
        else:
            rows[each.relation][id] = dict(each.columns)
    connection = emptied()
    connection.execute(f"create table listing ({COLUMNS})")
    names = [each.split()[0] for each in COLUMNS.split(", ") if each]
    listings = [[row[name] for name in names] for row in rows["listing"].values()]
    fill(connection, "listing", listings)
    found: dict[tuple[int, int], dict[str, Any]] = {}
    for query in rows["saved"].values():
        if query["condition"] is None or query["condition"] in BROKEN:
            continue
        asked = f"select id, price from listing where ({query['condition']})"
        if log.on:
            tenant = "null" if query["tenant"] is None else _text(query["tenant"])
            asked += f" and tenant = {tenant}"
        for id, price in connection.execute(asked).fetchall():
            found[query["id"], id] = {"price": price, "who": query["who"]} if log.shown else {}
    return found
