"""A database looked at: its indexes, and how it would run a statement.

Invariant: what is made for a look is temporary, and rolled back.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from joinery.clients.postgres import connect
from joinery.clients.sql import listed, quoted
from joinery.plan.relation import Relation
from joinery.solutions.relational.layout import Columns
from joinery.solutions.relational.sqlite_database import failure
from joinery.solutions.trigger.options import TriggerOptions
from joinery.solutions.trigger.statement.layout import Layout, QueryLayout
from joinery.solutions.trigger.statement.sqlite import FUNCTIONS

if TYPE_CHECKING:
    import psycopg


_INDEXES = """
SELECT array(SELECT attname::text FROM unnest(indkey::int2[]) WITH ORDINALITY AS of(attnum, place)
             JOIN pg_attribute AS a ON a.attrelid = indrelid AND a.attnum = of.attnum
             ORDER BY place)
FROM pg_index WHERE indrelid = to_regclass(%s) AND indisvalid AND indpred IS NULL
ORDER BY NOT indisprimary, indexrelid
"""


class PostgresInspector:
    """Reads a database that others write.

    Args:
        connection: Its own; closed with it.
        layout: Where the rows of relations are.
    """

    def __init__(self, connection: psycopg.Connection[Any], layout: Layout) -> None:
        self._connection = connection
        self._layout = layout

    def index_columns(self, relation: Relation) -> Sequence[Columns]:
        """Return the columns of each index, the primary key's first; none without a table."""
        table = self._layout.table(relation)
        found = self._connection.execute(_INDEXES, (table,)).fetchall()
        return [tuple(columns) for (columns,) in found]

    def plan(self, sql: str, given: str, relation: Relation, columns: Columns) -> Sequence[str]:
        """Return the lines of a statement's plan."""
        shown = ", ".join(quoted(column) for column in columns)
        make = (
            f"CREATE TEMPORARY TABLE {quoted(given)} AS"
            f" SELECT {shown} FROM {self._layout.table(relation)} WITH NO DATA"
        )
        try:
            self._connection.execute(make.encode())
            told = self._connection.execute(f"EXPLAIN {sql}".encode()).fetchall()
        except self._errors() as error:
            return [f"no plan: {str(error).splitlines()[0]}"]
        finally:
            self._connection.rollback()
        return [str(line) for (line,) in told]

    def close(self) -> None:
        """Leave the database."""
        self._connection.close()

    def _errors(self) -> tuple[type[Exception], ...]:
        import psycopg

        return (psycopg.Error,)


class SqliteInspector:
    """Reads a file that another process may write.

    Args:
        path: The file.
        layout: Where the rows of relations are.
    """

    def __init__(self, path: Path, layout: Layout) -> None:
        self._layout = layout
        try:
            self._database = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
            for function, compute in FUNCTIONS.items():
                self._database.create_function(function, 1, compute, deterministic=True)
        except sqlite3.Error as error:
            raise failure(error, path) from error

    def index_columns(self, relation: Relation) -> Sequence[Columns]:
        """Return the columns of each index, the primary key's first; none without a table."""
        table = self._layout.table(relation)
        told = self._database.execute(f"PRAGMA table_info({table})").fetchall()
        key = sorted((place, name) for _, name, _, _, _, place in told if place)
        found = [tuple(name for _, name in key)] if told else []
        for _, index, *_ in self._database.execute(f"PRAGMA index_list({table})"):
            columns = self._database.execute(f"PRAGMA index_info({quoted(index)})")
            found.append(tuple(name for _, _, name in columns))
        return found

    def plan(self, sql: str, given: str, relation: Relation, columns: Columns) -> Sequence[str]:
        """Return the lines of a statement's plan."""
        table = f"temp.{quoted(given)}"
        try:
            self._database.execute(f"CREATE TABLE IF NOT EXISTS {table} ({listed(columns)})")
            told = self._database.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
        except sqlite3.Error as error:
            return [f"no plan: {error}"]
        depth = {0: -1}
        lines = []
        for number, parent, _, detail in told:
            depth[number] = depth.get(parent, -1) + 1
            lines.append("  " * depth[number] + detail)
        return lines

    def close(self) -> None:
        """Leave the file."""
        self._database.close()


class Inspector(Protocol):
    """A database that is looked at, and not changed."""

    def index_columns(self, relation: Relation) -> Sequence[Columns]:
        """Return the columns of each index, the primary key's first; none without a table."""

    def plan(self, sql: str, given: str, relation: Relation, columns: Columns) -> Sequence[str]:
        """Return the lines of a statement's plan; `given` is what it reads besides tables."""

    def close(self) -> None:
        """Leave the database."""


def inspector_of(options: TriggerOptions, layout: QueryLayout) -> Inspector:
    """Return what looks at the database of `options`."""
    if options.in_postgres:
        return PostgresInspector(connect(options.database), layout)
    return SqliteInspector(Path(options.path()), layout)
