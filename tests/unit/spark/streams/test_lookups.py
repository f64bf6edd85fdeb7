"""A batch's keys become lines of rows, made once for each answer."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from joinery.expression.typed import Expression
from joinery.model.type import LONG, STRING, Field
from joinery.plan.relation import Computed, JoinPair, Relation
from joinery.plan.step import Lookup
from joinery.project.step import StoreRead
from joinery.spark.streams.lookups import StreamLookups

NODE = 3
ODD = "line\u2028separator\x85and\x0bmore"
COLUMNS = (Field("name", STRING), Field("age", LONG))
AGE = Computed("age", Expression("age", LONG, frozenset({"age"})))


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "app.db", isolation_level=None)) as link, link:
        link.execute("create table people (name text primary key, age)")
        link.execute("insert into people values (?, 7), ('bob', 'ten')", (ODD,))
        yield link
    link.close()


@pytest.fixture
def lookups(database: sqlite3.Connection, tmp_path: Path) -> Iterator[StreamLookups]:
    people = Relation("people", "s", "people", "json", ("name",), COLUMNS)
    lookup = Lookup(
        people,
        (JoinPair("name", "who", STRING),),
        (AGE,),
        read="database",
        store=StoreRead("sqlite", (("path", "app.db"),)),
    )
    made = StreamLookups({NODE: lookup}, {NODE: "s/people"}, tmp_path)
    made.open()
    yield made
    made.close()


def keys(*names: str) -> str:
    return "".join(json.dumps({"name": each}, ensure_ascii=False) + "\n" for each in names)


def test_each_key_has_a_line_a_missing_row_an_empty_one_and_no_row_its_reason(
    lookups: StreamLookups,
) -> None:
    for _ in range(2):
        found, missing, unfit, end = lookups.answers(NODE, keys(ODD, "eve", "bob")).split("\n")

        assert {"name": ODD, "age": 7} == json.loads(found)
        assert ("", "") == (missing, end)
        assert '!column "age" holds a text, which is not of type long' == unfit
    assert (2, 3) == (lookups.progress()["s/people"].hits, lookups.progress()["s/people"].misses)


def test_a_row_that_has_changed_has_a_line_of_its_own(
    lookups: StreamLookups, database: sqlite3.Connection
) -> None:
    lookups.answers(NODE, keys(ODD, "eve"))
    database.execute("update people set age = 8")
    lookups.close()
    lookups.open()

    changed, missing, _ = lookups.answers(NODE, keys(ODD, "eve")).split("\n")

    assert {"name": ODD, "age": 8} == json.loads(changed)
    assert "" == missing


def test_a_whole_table_gives_pairs_of_key_and_row(lookups: StreamLookups) -> None:
    whole = lookups.whole(NODE)

    assert whole is not None
    key, row, other, unfit, end = lookups.pairs(NODE, whole).split("\n")
    assert [{"name": ODD}, {"name": ODD, "age": 7}] == [json.loads(key), json.loads(row)]
    assert [{"name": "bob"}, "!", ""] == [json.loads(other), unfit[0], end]
