"""Nulls in the keys of a product's tables: which columns take them, and what lets others.

A primary key has no nulls. A table whose key may have one has `UNIQUE NULLS NOT DISTINCT` in its
place, which PostgreSQL has from version 15 on, and `REPLICA IDENTITY FULL`, without which a
publication of all tables would refuse its updates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg
    from psycopg.sql import Composable, Composed

_VERSION = 150_000
_NULLABLE = """SELECT attname FROM pg_attribute AS a WHERE attrelid = to_regclass(%s)
    AND NOT attnotnull AND EXISTS (SELECT FROM pg_index AS i WHERE indrelid = attrelid
    AND indisunique AND to_jsonb(i) ->> 'indnullsnotdistinct' = 'true' AND attnum = ANY (indkey))"""
_PRIMARY = "SELECT conname FROM pg_constraint WHERE conrelid = to_regclass(%s) AND contype = 'p'"


def takes_nulls(connection: psycopg.Connection[Any]) -> bool:
    """Return whether the server can tell apart keys that have nulls."""
    return connection.info.server_version >= _VERSION


def replicate_whole_rows(connection: psycopg.Connection[Any], tables: Sequence[Composable]) -> None:
    """Have updates of tables without a primary key replicated, where they are published."""
    from psycopg.sql import SQL

    for each in tables:
        connection.execute(SQL("ALTER TABLE {} REPLICA IDENTITY FULL").format(each))


def nullable_columns(
    connection: psycopg.Connection[Any], tables: Sequence[Composable]
) -> frozenset[str]:
    """Return the columns that take nulls as keys, in all of some tables as they stand."""
    found = [
        {str(name) for (name,) in connection.execute(_NULLABLE, (each.as_string(connection),))}
        for each in tables
    ]
    return frozenset(set.intersection(*found))


def why_refused(
    connection: psycopg.Connection[Any], tables: Sequence[Composable], keys: Sequence[str]
) -> str:
    """Return why tables take no null in their keys, and the SQL that lets them.

    Args:
        connection: To their database.
        tables: Those of one product.
        keys: The columns of their keys, in order.
    """
    detail = "A column of its key is null, which a primary key does not allow."
    if not takes_nulls(connection):
        return f"{detail} A table in PostgreSQL 15 or newer can allow it."
    change = "; ".join(_change(connection, each, keys).as_string(connection) for each in tables)
    return f"{detail} To allow it in this table: {change}"


def _change(
    connection: psycopg.Connection[Any], table: Composable, keys: Sequence[str]
) -> Composed:
    from psycopg.sql import SQL, Identifier

    primary = connection.execute(_PRIMARY, (table.as_string(connection),)).fetchone()
    dropped = [SQL("DROP CONSTRAINT {}").format(Identifier(primary[0]))] if primary else []
    names = [Identifier(each) for each in keys]
    changes = [
        *dropped,
        *(SQL("ALTER COLUMN {} DROP NOT NULL").format(each) for each in names),
        SQL("ADD UNIQUE NULLS NOT DISTINCT ({})").format(SQL(", ").join(names)),
        SQL("REPLICA IDENTITY FULL"),
    ]
    return SQL("ALTER TABLE {} {}").format(table, SQL(", ").join(changes))
