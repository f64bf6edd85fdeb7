"""Expressions in SQLite have the values that they have in Python, or are not translated."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from tests.sqlite_file import sqlite_file
from tests.unit.solutions.trigger.statement.expressions import (
    EXPRESSIONS,
    SCOPE,
    built,
    expected,
    rows,
)

from joinery.clients.sql import quoted
from joinery.solutions.relational.sqlite_database import declared_type, to_cell
from joinery.solutions.trigger.statement.expression import scalar, translate
from joinery.solutions.trigger.statement.fragment import Fragment, UntranslatableError
from joinery.solutions.trigger.statement.sqlite import FUNCTIONS, SqliteDialect


@pytest.fixture(scope="module")
def database() -> Iterator[sqlite3.Connection]:
    with sqlite_file(":memory:") as connection:
        for name, function in FUNCTIONS.items():
            connection.create_function(name, 1, function, deterministic=True)
        columns = [f"{quoted(name)} {declared_type(kind)}" for name, kind in SCOPE.items()]
        connection.execute(f"CREATE TABLE t (place INTEGER, {', '.join(columns)})")
        converts = {name: to_cell(kind) or (lambda value: value) for name, kind in SCOPE.items()}
        for place, row in enumerate(rows()):
            cells = [None if v is None else converts[name](v) for name, v in row.items()]
            marks = ", ".join("?" * (len(cells) + 1))
            connection.execute(f"INSERT INTO t VALUES ({marks})", (place, *cells))
        yield connection


def translated(text: str) -> Fragment:
    dialect = SqliteDialect()
    return scalar(translate(built(text), lambda name: Fragment(quoted(name)), dialect))


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_has_the_value_it_has_in_python(
    text: str, database: sqlite3.Connection
) -> None:
    told = SqliteDialect().json(translated(text).guarded(), built(text).type)

    found = database.execute(f"SELECT {told} FROM t ORDER BY place").fetchall()

    assert list(expected(text)) == [str(value) for (value,) in found]


@pytest.mark.parametrize(
    "text", ["c * 2", "c < 1", "s ilike 'a'", "s like t", "split_part(s, 'a', 1)", "d + 1D"]
)
def test_what_has_no_faithful_sql_is_refused(text: str) -> None:
    with pytest.raises(UntranslatableError, match="in "):
        translated(text)
