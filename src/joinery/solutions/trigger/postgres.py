"""`rdbms-trigger` in PostgreSQL: the tables of `rdbms-store`, and statements over them.

Texts with a NUL are held escaped, which SQL does not see through: from the first such text on,
documents are assembled from rows.

Invariant: a statement runs in the batch's transaction, on the batch's connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from joinery.clients.postgres import connect, database_errors, passes
from joinery.clients.sql import quoted
from joinery.errors import SinkUnavailableError
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.semantics.row_key import key_reader
from joinery.solutions.relational.postgres import PostgresState
from joinery.solutions.relational.postgres_database import (
    column_type,
    copy_rows,
    escaped_cells,
    failure,
    from_cell,
    needs_escape,
    to_cell,
    unescaped_cells,
)
from joinery.solutions.relational.value import rows_from, values_to_cells
from joinery.solutions.stored.owner import NOBODY, Owner
from joinery.solutions.stored.state import (
    StoreError,
    StoreUnavailableError,
)
from joinery.solutions.trigger.statement.queue import Queue
from joinery.solutions.trigger.tactic import Given, fields_of

if TYPE_CHECKING:
    import psycopg


class PostgresTriggerState(PostgresState):
    """The rows and documents of one query's products, and what SQL makes of them."""

    def __init__(
        self,
        products: Sequence[Product],
        url: str,
        *,
        schema: str = "joinery",
        name: str = "",
        owner: Owner = NOBODY,
    ) -> None:
        super().__init__(products, url, schema=schema, name=name, owner=owner)
        with self._told():
            self._link.execute(f"SET search_path = {quoted(schema)}, public")

    @property
    def computes(self) -> bool:
        """Whether values stand in the tables as they are."""
        return not self._escaped

    def select(self, sql: str, given: Given, relation: Relation) -> Sequence[tuple[Any, ...]]:
        """Run a statement over a temporary table of what it is given."""
        with self._told():
            escaped = self._give(given)
            return self._keyed(sql, relation, escaped=escaped)

    def define(self, statements: Iterable[str]) -> None:
        """Run statements that make something beside the tables, all or none."""
        with self._told(), self._transaction():
            self._define_alone()
            for statement in statements:
                self._link.execute(statement.encode())

    def leave(self, queue: Queue) -> None:
        """Stop the filling of a queue from which nobody publishes any more, where there is one.

        Raises:
            StoreError: Changes wait in it whose documents were not published.
        """
        with self._told(), self._transaction():
            # A relation may have the name of the queue's table, and none that of its counter.
            stands = self._link.execute("SELECT to_regclass($1) IS NOT NULL", [queue.counter])
            if stands.fetchone() != (True,):
                return
            # As a batch of a listener begins: it reads tables that are locked from here on.
            self._link.execute(f"SELECT FROM {queue.counter} FOR UPDATE".encode())
            for statement in queue.drop():
                self._link.execute(statement.encode())
            waiting = f"SELECT EXISTS (SELECT 1 FROM {queue.table})"
            if self._link.execute(waiting.encode()).fetchone() == (True,):
                raise StoreError(
                    f"changes of {queue.layout.query} are still in their queue, to be published",
                    hint="Set publish: queue again, run joinery listen --once, then remove it.",
                )

    def refusal(self, sql: str, given: Given) -> str:
        """Return why the database cannot run a statement; empty where it can."""
        with self._told():
            self._give(given)
        try:
            self._link.execute(f"EXPLAIN {sql}".encode())
        except database_errors() as error:
            if passes(error):
                raise failure(error, self._url) from error
            return str(error).splitlines()[0]
        return ""

    def _keyed(
        self, sql: str, relation: Relation, *, escaped: bool = False
    ) -> Sequence[tuple[Any, ...]]:
        """Run a statement and return its rows, the key of `relation` read."""
        cells = self._link.execute(sql.encode()).fetchall()
        if escaped or self._escaped:
            cells = [*map(unescaped_cells, cells)]
        key_of, width = key_reader(relation), len(relation.key)
        keys = rows_from(fields_of(relation, relation.key), from_cell)(cells)
        return [(key_of(key), *cell[width:]) for key, cell in zip(keys, cells, strict=True)]

    def _give(self, given: Given) -> bool:
        """Put into a temporary table what a statement is given; return whether it is escaped.

        The first text with a NUL is given before its row is written, so before texts are escaped.
        """
        table = f"pg_temp.{quoted(given.table)}"
        typed = ", ".join(f"{quoted(e.name)} {column_type(e.type)}" for e in given.fields)
        convert = values_to_cells(given.fields, to_cell)
        cells = [*given.values] if convert is None else [*map(convert, given.values)]
        escaped = self._escaped or needs_escape(cells, given.fields)
        if escaped:
            cells = [*map(escaped_cells, cells)]
        self._link.execute(f"CREATE TEMPORARY TABLE IF NOT EXISTS {table} ({typed})")
        self._link.execute(f"TRUNCATE {table}")
        copy_rows(self._link, table, given.fields, cells)
        self._link.execute(f"ANALYZE {table}")
        return escaped


def connected(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Return a connection of a store.

    Raises:
        StoreUnavailableError: The server cannot be reached now.
    """
    try:
        return connect(url)
    except SinkUnavailableError as error:
        raise StoreUnavailableError(error.message, detail=error.detail, hint=error.hint) from error
