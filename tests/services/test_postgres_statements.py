"""Expressions in PostgreSQL have the values that they have in Python, or are not translated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.solutions.trigger.statement.expressions import (
    EXPRESSIONS,
    SCOPE,
    built,
    expected,
    rows,
)

from joinery.clients.sql import quoted
from joinery.solutions.trigger.statement.expression import scalar, translate
from joinery.solutions.trigger.statement.fragment import Fragment, UntranslatableError
from joinery.solutions.trigger.statement.postgres import PostgresDialect

if TYPE_CHECKING:
    from psycopg import Connection

    from joinery.dev.service import Service

pytestmark = pytest.mark.services

TYPES = {
    "int": "integer",
    "long": "bigint",
    "double": "double precision",
    "decimal(6,2)": "numeric(6,2)",
    "string": "text",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamptz",
}
ONLY_HERE = """
c + 1
c * 2
c - 0.005
-c
c > 1
c = 1.5
greatest(c, 1)
cast(c as int)
cast(c as decimal(4,1))
cast(c as decimal(9,4))
cast(i as decimal(4,2))
cast(c as double)
endswith(s, t)
startswith(s, t)
right(s, 2)
reverse(s)
quarter(day)
dayofyear(day)
weekofyear(day)
dayofweek(day)
weekday(day)
last_day(day)
datediff(day, date'2024-01-01')
unix_date(day)
""".strip().splitlines()
REFUSED = ("upper(s)", "s ilike 'a'", "s like t", "split_part(s, 'a', 1)", "d + 1D", "sqrt(d)")


@pytest.fixture(scope="module")
def database(postgres: Service) -> Iterator[Connection[Any]]:
    import psycopg

    with psycopg.connect(postgres.address) as connection:
        columns = [f"{quoted(name)} {TYPES[str(kind)]}" for name, kind in SCOPE.items()]
        connection.execute(f"CREATE TEMPORARY TABLE t (place integer, {', '.join(columns)})")
        marks = ", ".join(["%s"] * (len(SCOPE) + 1))
        for place, row in enumerate(rows()):
            connection.execute(f"INSERT INTO t VALUES ({marks})", (place, *row.values()))
        yield connection


def translated(text: str) -> Fragment:
    dialect = PostgresDialect()
    return scalar(translate(built(text), lambda name: Fragment(quoted(name)), dialect))


@pytest.mark.parametrize("text", EXPRESSIONS + ONLY_HERE)
def test_an_expression_has_the_value_it_has_in_python(text: str, database: Connection[Any]) -> None:
    told = PostgresDialect().json(translated(text).guarded(), built(text).type)

    with database.transaction():
        found = database.execute(f"SELECT {told} FROM t ORDER BY place").fetchall()

    assert list(expected(text)) == [value for (value,) in found]


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_faithful_sql_is_refused(text: str) -> None:
    with pytest.raises(UntranslatableError, match="in "):
        translated(text)
