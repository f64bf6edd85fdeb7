"""Thousands of stored queries against every document, while both change: no match is missing.

What the sink holds after each step is compared with what DuckDB finds when it asks every query of
every document. Conditions are random, each with a part that few documents have, in any place.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from tests.oracle.searches import BROKEN, condition

import joinery as jn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PROJECT = """\
name: searches
sources: {changes: {files: {path: data}}}
defaults: {source: changes, format: json}
relations:
  listing:
    key: [id]
    fields: {id: long, tenant: string, city: string, price: int, area: double,
      rate: "decimal(6,2)", sold: boolean, gone: boolean}
    where: not gone
  saved: {key: [id], fields: {id: long, condition: string, gone: boolean}, where: not gone}
products:
  hits: {search: listing, queries: saved, query: condition, sink: {files: {path: out}}}
run: {dead_letters: {files: {path: letters}}}
"""
COLUMNS = {
    "id": "bigint",
    "tenant": "varchar",
    "city": "varchar",
    "price": "int",
    "area": "double",
    "rate": "decimal(6,2)",
    "sold": "boolean",
}
AT_ONCE = 250
Match = tuple[int, int]
Row = dict[str, Any]


def rare(pick: random.Random) -> str:
    """Return a condition that one document in some hundreds meets."""
    number, city = pick.randrange(10_000), f"C{pick.randrange(400)}"
    return pick.choice(
        [
            f"price between {number} and {number + pick.randrange(40)}",
            f"price > {number} and price <= {number + 20}",
            f"{number} <= price and price < {number + 25}",
            f"price in ({number}, {number + 1}, {number + 7}, {number + 9})",
            f"(price = {number} or price = {number + 3})",
            f"(price = {number} or city = '{city}')",
            f"(city = '{city}' and not sold or price = {number})",
            f"city = '{city}'",
            f"city in ('{city}', 'C7') and sold",
            f"lower(city) = lower('{city}') and not sold",
            f"city = '{city}' and area >= {number / 1000} and rate < {pick.randrange(10)}.25",
            f"area between {number / 1000} and {number / 1000 + 0.03}",
            f"rate = {pick.randrange(1000)}.25",
            f"price * 2 between {number} and {number + 30}",
            f"coalesce(price, {number}) = {number} and price is not null",
            f"city like 'C{number % 400}' and price > {number // 2}",
            f"price > {10_000 - pick.randrange(30)}",
            f"price < {pick.randrange(30)}",
        ]
    )


def query(pick: random.Random) -> str:
    kind = pick.random()
    if kind < 0.02:
        return pick.choice(BROKEN)
    if kind < 0.4:
        return rare(pick)
    both = [f"({condition(pick, 1)})", rare(pick)]
    pick.shuffle(both)
    return " and ".join(both)


def listing(pick: random.Random) -> Row:
    def maybe(value: object) -> object:
        return None if pick.random() < 0.04 else value

    return {
        "tenant": "north",
        "city": maybe(f"C{pick.randrange(400)}"),
        "price": maybe(pick.randrange(10_000)),
        "area": maybe(pick.randrange(10_000) / 1000),
        "rate": maybe(f"{pick.randrange(1000)}.25"),
        "sold": maybe(pick.random() < 0.5),
    }


@dataclass(slots=True)
class Market:
    """The rows that stand, and the files that tell how they came to."""

    folder: Path
    pick: random.Random
    rows: dict[str, dict[int, Row]] = field(default_factory=lambda: {"listing": {}, "saved": {}})
    files: int = 0

    def add(self, relation: str, count: int) -> None:
        """Add rows."""
        first = max(self.rows[relation], default=0) + 1
        self._put(relation, range(first, first + count))

    def change(self, relation: str, count: int) -> None:
        """Give rows that stand other columns, a listing one of them."""
        self._put(relation, self.pick.sample(sorted(self.rows[relation]), count))

    def remove(self, relation: str, count: int) -> None:
        """Remove rows."""
        ids = self.pick.sample(sorted(self.rows[relation]), count)
        self._write(relation, ({**self.rows[relation].pop(id), "gone": True} for id in ids))

    def _put(self, relation: str, ids: Any) -> None:
        made = {id: self._row(relation, self.rows[relation].get(id)) for id in ids}
        self.rows[relation] |= {id: {"id": id, **row} for id, row in made.items()}
        self._write(relation, ({**self.rows[relation][id], "gone": False} for id in made))

    def _row(self, relation: str, before: Row | None) -> Row:
        if relation == "saved":
            return {"condition": query(self.pick)}
        after = listing(self.pick)
        if before is None:
            return after
        column = self.pick.choice(sorted(after))
        return {**before, column: after[column]}

    def _write(self, relation: str, rows: Iterator[Row]) -> None:
        self.files += 1
        place = self.folder / relation
        place.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (place / f"{self.files:04d}.jsonl").write_text(text, encoding="utf-8")

    def matches(self) -> set[Match]:
        """Return what DuckDB finds."""
        database = duckdb.connect()
        database.execute(f"create table listing ({', '.join(map(' '.join, COLUMNS.items()))})")
        scratch = self.folder / "listing.json"
        scratch.write_text("\n".join(map(json.dumps, self.rows["listing"].values())))
        database.execute(
            f"insert into listing select {', '.join(COLUMNS)} from read_json('{scratch}',"
            f" format = 'newline_delimited', columns = {COLUMNS})"
        )
        scratch.unlink()
        asked = [
            f"select {id}, id from listing where ({row['condition']})"
            for id, row in self.rows["saved"].items()
            if row["condition"] not in BROKEN
        ]
        found: set[Match] = set()
        for at in range(0, len(asked), AT_ONCE):
            text = " union all ".join(asked[at : at + AT_ONCE])
            found.update(database.execute(text).fetchall())
        return found


def held(folder: Path) -> set[Match]:
    """Return what the sink holds: of each key the newest, unless it is a tombstone."""
    newest: dict[Match, tuple[int, bool]] = {}
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            told = json.loads(line)
            match = told["key"]["query"]["id"], told["key"]["document"]["id"]
            newest[match] = max(
                newest.get(match, (0, False)), (told["version"], bool(told["value"]))
            )
    return {match for match, (_, stands) in newest.items() if stands}


def letters(folder: Path) -> int:
    """Return how many queries were told to be broken."""
    texts = (file.read_text(encoding="utf-8") for file in folder.rglob("*.jsonl"))
    return sum('"query_broken"' in line for text in texts for line in text.splitlines())


def compare(spark: SparkSession, folder: Path, *, queries: int, documents: int, more: int) -> None:
    """Run step after step, each a batch that a new query of Spark takes up, and compare."""
    market = Market(folder / "data", random.Random(queries))
    (folder / "joinery.yaml").write_text(PROJECT, encoding="utf-8")
    steps: list[list[Callable[[], None]]] = [
        [lambda: market.add("saved", queries), lambda: market.add("listing", documents)],
        [
            lambda: market.change("listing", documents // 4),
            lambda: market.remove("listing", documents // 40),
        ],
        [lambda: market.add("saved", more)],
        [
            lambda: market.change("saved", queries // 10),
            lambda: market.remove("saved", queries // 20),
            lambda: market.add("listing", documents // 20),
            lambda: market.change("listing", documents // 10),
        ],
    ]
    for number, step in enumerate(steps):
        for each in step:
            each()
        jn.run(spark, jn.load(folder / "joinery.yaml"), once=True).await_termination()
        wanted, found = market.matches(), held(folder / "out" / "hits")
        assert (set(), set()) == (wanted - found, found - wanted), number
        assert len(wanted) > queries // 4
    broken = sum(row["condition"] in BROKEN for row in market.rows["saved"].values())
    assert 0 < broken <= letters(folder / "letters")


def test_no_match_is_missing_while_queries_and_documents_change(
    spark: SparkSession, tmp_path: Path
) -> None:
    compare(spark, tmp_path, queries=400, documents=1_000, more=1_000)


@pytest.mark.exhaustive
def test_no_match_is_missing_among_5000_queries_and_20000_documents(
    spark: SparkSession, tmp_path: Path
) -> None:
    compare(spark, tmp_path, queries=5_000, documents=20_000, more=1_000)
