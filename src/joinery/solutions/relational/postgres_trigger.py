"""`rdbms-trigger` in PostgreSQL: the tables of `rdbms-store`, and statements over them.

Texts with a NUL are held escaped, which SQL does not see through: from the first such text on,
documents are assembled from rows.

Invariant: a statement runs in the batch's transaction, on the batch's connection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from joinery.connect.postgres_server import database_errors, passes
from joinery.engine.key import key_reader
from joinery.plan.nodes import Product, Relation
from joinery.solutions.owner import NOBODY, Owner
from joinery.solutions.relational.cells import rows_from, values_to_cells
from joinery.solutions.relational.postgres import PostgresState
from joinery.solutions.relational.postgres_database import copy_rows, failure, quoted
from joinery.solutions.relational.postgres_value import (
    column_type,
    escaped_cells,
    from_cell,
    to_cell,
    unescaped_cells,
)
from joinery.solutions.relational.trigger import Given, fields_of


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
            self._give(given)
            return self._keyed(sql, relation)

    def define(self, statements: Iterable[str]) -> None:
        """Run statements that make something beside the tables, all or none."""
        with self._told(), self._transaction():
            for statement in statements:
                self._link.execute(statement.encode())

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

    def _keyed(self, sql: str, relation: Relation) -> Sequence[tuple[Any, ...]]:
        """Run a statement and return its rows, the key of `relation` read."""
        cells = self._link.execute(sql.encode()).fetchall()
        if self._escaped:
            cells = [*map(unescaped_cells, cells)]
        key_of, width = key_reader(relation), len(relation.key)
        keys = rows_from(fields_of(relation, relation.key), from_cell)(cells)
        return [(key_of(key), *cell[width:]) for key, cell in zip(keys, cells, strict=True)]

    def _give(self, given: Given) -> None:
        table = f"pg_temp.{quoted(given.table)}"
        typed = ", ".join(f"{quoted(e.name)} {column_type(e.type)}" for e in given.fields)
        convert = values_to_cells(given.fields, to_cell)
        cells = [*given.values] if convert is None else [*map(convert, given.values)]
        if self._escaped:
            cells = [*map(escaped_cells, cells)]
        self._link.execute(f"CREATE TEMPORARY TABLE IF NOT EXISTS {table} ({typed})")
        self._link.execute(f"TRUNCATE {table}")
        copy_rows(self._link, table, given.fields, cells)
        self._link.execute(f"ANALYZE {table}")
