"""The documents and stored queries of the rows `search-…`, each by its id and always the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

CITIES, KINDS = 1_000, ("flat", "house", "studio", "loft", "garage")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Query:
    """One query in three languages: Spark SQL or Lucene's syntax, OpenSearch's, and Python."""

    text: str
    percolate: Sequence[Row]
    holds: Callable[[Row], bool]


def listing(id: int) -> Row:
    """Return the listing of an id, always the same."""
    dice = random.Random(id)
    return {
        "id": id,
        "city": f"c{dice.randrange(CITIES)}",
        "kind": dice.choice(KINDS),
        "price": dice.randrange(100, 5_000),
        "rooms": dice.randrange(1, 9),
        "area": round(dice.uniform(10, 200), 1),
    }


def query(id: int) -> Query:
    """Return the query of an id: seven in ten of the first form, two of the second."""
    dice = random.Random(-1 - id)
    form = dice.random()
    if form < 0.7:
        city, price, rooms = (
            f"c{dice.randrange(CITIES)}",
            dice.randrange(100, 1000),
            dice.choice((1, 2, 3, 4)),
        )
        return Query(
            f"city = '{city}' and price < {price} and rooms >= {rooms}",
            [_term("city", city), _range("price", lt=price), _range("rooms", gte=rooms)],
            lambda row: row["city"] == city and row["price"] < price and row["rooms"] >= rooms,
        )
    if form < 0.9:
        cities, price = [f"c{dice.randrange(CITIES)}" for _ in range(2)], dice.randrange(100, 4_800)
        return Query(
            f"city in ('{cities[0]}', '{cities[1]}') and price between {price} and {price + 200}",
            [{"terms": {"city": cities}}, _range("price", gte=price, lte=price + 200)],
            lambda row: row["city"] in cities and price <= row["price"] <= price + 200,
        )
    if form < 0.95:
        kind, price = dice.choice(KINDS), dice.randrange(101, 110)
        return Query(
            f"kind = '{kind}' and price < {price}",
            [_term("kind", kind), _range("price", lt=price)],
            lambda row: row["kind"] == kind and row["price"] < price,
        )
    area, rooms = dice.randrange(10, 200), dice.randrange(1, 9)
    return Query(
        f"area between {area}.0 and {area}.2 and rooms = {rooms}",
        [_range("area", gte=area, lte=area + 0.2), _term("rooms", rooms)],
        lambda row: area <= row["area"] <= area + 0.2 and row["rooms"] == rooms,
    )


def _term(column: str, value: object) -> Row:
    return {"term": {column: value}}


def _range(column: str, **bounds: float) -> Row:
    return {"range": {column: bounds}}


# Texts

WORDS = 30_000


def notice(id: int) -> Row:
    """Return the notice of an id: a title of six words and a text of forty, by Zipf's law."""
    dice = random.Random(id)
    return {
        "id": id,
        "title": " ".join(_word(dice) for _ in range(6)),
        "body": " ".join(_word(dice) for _ in range(40)),
        "price": dice.randrange(100, 5_000),
    }


def text_query(id: int) -> Query:
    """Return the text query of an id: words, phrases, exclusions, beginnings and a price."""
    dice = random.Random(-1 - id)
    form = dice.random()
    one, other, third = (f"w{dice.randrange(40, WORDS)}" for _ in range(3))
    common = f"w{dice.randrange(40)}"
    if form < 0.5:
        return Query(
            f"{common} AND {one}",
            [_anywhere(common), _anywhere(one)],
            lambda row: {common, one} <= _words(row),
        )
    if form < 0.7:
        price = dice.randrange(500, 5_000)
        return Query(
            f"({one} OR {other} OR {third}) AND price:[* TO {price}}}",
            [_some(map(_anywhere, (one, other, third))), _range("price", lt=price)],
            lambda row: not {one, other, third}.isdisjoint(_words(row)) and row["price"] < price,
        )
    if form < 0.85:
        return Query(
            f'"{common} {one}"',
            [_anywhere(f"{common} {one}", "phrase")],
            lambda row: any(f" {common} {one} " in f" {row[each]} " for each in ("title", "body")),
        )
    if form < 0.95:
        return Query(
            f"title:{one} -{common}",
            [{"match": {"title": one}}, {"bool": {"must_not": _anywhere(common)}}],
            lambda row: one in row["title"].split() and common not in _words(row),
        )
    return Query(
        f"title:{one}* AND {common}",
        [{"prefix": {"title": one}}, _anywhere(common)],
        lambda row: (
            any(each.startswith(one) for each in row["title"].split()) and common in _words(row)
        ),
    )


def _word(dice: random.Random) -> str:
    return f"w{int(WORDS ** dice.random()) - 1}"


def _words(row: Row) -> set[str]:
    return {*row["title"].split(), *row["body"].split()}


def _anywhere(text: str, kind: str = "best_fields") -> Row:
    return {"multi_match": {"query": text, "type": kind, "fields": ["title", "body"]}}


def _some(clauses: Iterable[Row]) -> Row:
    return {"bool": {"should": list(clauses), "minimum_should_match": 1}}
