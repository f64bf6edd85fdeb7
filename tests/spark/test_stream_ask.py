"""A batch's lookups in a store: one question for all of its keys, one row out for each event."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from joinery.connect.lookup.make import make_asker
from joinery.model.ddl import parse_type
from joinery.model.type import INT, LONG, STRING, DataType, Field
from joinery.plan.nodes import Computed, Expression, JoinPair, Relation
from joinery.plan.stream import Lookup, StoreRead
from joinery.spark.stream_ask import FOUND, UNFIT, StoreLookup

pytestmark = pytest.mark.spark
CUSTOMERS = Relation(
    name="customers",
    source="s",
    topic="customers",
    format="json",
    key=("id",),
    columns=(
        Field("id", LONG),
        Field("name", STRING),
        Field("paid", parse_type("decimal(20,2)")),
        Field("seen", parse_type("timestamp")),
    ),
)
ON = (JoinPair("id", "customer", LONG),)
SEEN = datetime(2026, 2, 3, 4, 5, 6, 7, tzinfo=UTC)
Rows = Mapping[int, Mapping[str, Any]]


def column(name: str, type: DataType) -> Expression:
    return Expression(name, type, frozenset({name}))


def lookup(rows: Rows, asked: list[list[int]], fields: Sequence[Computed]) -> Lookup:
    def give(keys: list[int]) -> Rows:
        asked.append(keys)
        return {key: rows[key] for key in keys if key in rows}

    store = StoreRead("function", (("function", give),))
    return Lookup(CUSTOMERS, ON, tuple(fields), read="database", store=store)


@pytest.fixture
def joined(spark: SparkSession) -> Callable[..., list[dict[str, Any]]]:
    def run(planned: Lookup, events: Sequence[tuple[Any, ...]], ddl: str) -> list[dict[str, Any]]:
        asker = make_asker(planned, Path(), user="orders")
        asker.open()
        try:
            frame = StoreLookup(planned, asker).join(spark.createDataFrame(list(events), ddl))
            rows = [each.asDict() for each in frame.collect()]
            return sorted(rows, key=lambda each: each["order"])
        finally:
            asker.close()

    return run


def test_a_batch_asks_each_key_once_and_every_event_leaves_once(
    joined: Callable[..., list[dict[str, Any]]],
) -> None:
    asked: list[list[int]] = []
    planned = lookup({7: {"name": "ada"}}, asked, [Computed("who", column("name", STRING))])

    rows = joined(planned, [(1, 7), (2, 7), (3, 8), (4, None), (5, 7)], "`order` int, customer int")

    assert [[7, 8]] == [sorted(each) for each in asked]
    assert ["ada", "ada", None, None, "ada"] == [each["who"] for each in rows]
    assert [True, True, False, False, True] == [each[FOUND] for each in rows]
    assert ["order", "customer", "who", FOUND, UNFIT] == list(rows[0])


def test_values_arrive_as_they_are(joined: Callable[..., list[dict[str, Any]]]) -> None:
    row = {"name": 'naïve "😀"\n\\', "paid": Decimal("12345678901234567.80"), "seen": SEEN}
    names = {each.name: each.type for each in CUSTOMERS.columns if each.name != "id"}
    fields = [Computed(name, column(name, type)) for name, type in names.items()]

    (found,) = joined(lookup({7: row}, [], fields), [(1, 7)], "`order` int, customer bigint")

    moment = found["seen"].astimezone(UTC)
    assert {**row, "seen": SEEN} == {"name": found["name"], "paid": found["paid"], "seen": moment}


def test_fields_are_computed_over_the_row_and_replace_a_column_in_its_place(
    joined: Callable[..., list[dict[str, Any]]],
) -> None:
    fields = [
        Computed("customer", Expression("upper(name)", STRING, frozenset({"name"}))),
        Computed("length", Expression("length(name)", INT, frozenset({"name"}))),
    ]

    (found,) = joined(
        lookup({7: {"name": "ada"}}, [], fields), [(7, 1)], "customer bigint, `order` int"
    )

    assert ["customer", "order", "length", FOUND, UNFIT] == list(found)
    assert ("ADA", 3) == (found["customer"], found["length"])


def test_a_row_of_another_type_is_told(joined: Callable[..., list[dict[str, Any]]]) -> None:
    planned = lookup({7: {"name": 5}}, [], [Computed("who", column("name", STRING))])

    (found,) = joined(planned, [(1, 7)], "`order` int, customer bigint")

    assert (None, False) == (found["who"], found[FOUND])
    assert 'column "name" holds a number, which is no string' == found[UNFIT]


def test_thousands_of_keys_are_asked_in_sets(joined: Callable[..., list[dict[str, Any]]]) -> None:
    asked: list[list[int]] = []
    rows = {key: {"name": f"n{key}"} for key in range(0, 5000, 2)}
    planned = lookup(rows, asked, [Computed("who", column("name", STRING))])

    found = joined(planned, [(key, key) for key in range(5000)], "`order` int, customer bigint")

    assert 5 == len(asked)
    assert [f"n{key}" if key % 2 == 0 else None for key in range(5000)] == [
        each["who"] for each in found
    ]
