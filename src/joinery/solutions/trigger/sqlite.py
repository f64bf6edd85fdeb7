"""`rdbms-trigger` in a SQLite file: the tables of `rdbms-store`, and statements over them.

Invariant: a statement runs in the batch's transaction, on the batch's connection.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from joinery.clients.sql import listed, quoted
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.semantics.row_key import key_reader
from joinery.solutions.relational.sqlite import SqliteState
from joinery.solutions.relational.sqlite_database import from_cell, to_cell
from joinery.solutions.relational.value import rows_from, values_to_cells
from joinery.solutions.stored.owner import NOBODY, Owner
from joinery.solutions.trigger.statement.sqlite import FUNCTIONS
from joinery.solutions.trigger.tactic import Given, fields_of


class SqliteTriggerState(SqliteState):
    """The rows and documents of one query's products, and what SQL makes of them."""

    def __init__(
        self, products: Sequence[Product], path: Path, *, name: str = "", owner: Owner = NOBODY
    ) -> None:
        super().__init__(products, path, name=name, owner=owner)
        for function, compute in FUNCTIONS.items():
            self._link.create_function(function, 1, compute, deterministic=True)

    @property
    def computes(self) -> bool:
        """Whether values stand in the tables as they are."""
        return True

    def select(self, sql: str, given: Given, relation: Relation) -> Sequence[tuple[Any, ...]]:
        """Run a statement over a temporary table of what it is given."""
        with self._told():
            self._give(given)
            cells = self._link.execute(sql).fetchall()
        key_of, width = key_reader(relation), len(relation.key)
        keys = rows_from(fields_of(relation, relation.key), from_cell)(cells)
        return [(key_of(key), *cell[width:]) for key, cell in zip(keys, cells, strict=True)]

    def define(self, statements: Iterable[str]) -> None:
        """Run statements that make something beside the tables, all or none."""
        with self._told(), self._transaction():
            for statement in statements:
                self._link.execute(statement)

    def refusal(self, sql: str, given: Given) -> str:
        """Return why the database cannot run a statement; empty where it can."""
        self._give(given)
        try:
            self._link.execute(f"EXPLAIN {sql}").fetchall()
        except sqlite3.Error as error:
            return str(error)
        return ""

    def _give(self, given: Given) -> None:
        table = f"temp.{quoted(given.table)}"
        columns = [each.name for each in given.fields]
        convert = values_to_cells(given.fields, to_cell)
        cells = given.values if convert is None else map(convert, given.values)
        self._link.execute(f"CREATE TABLE IF NOT EXISTS {table} ({listed(columns)})")
        self._link.execute(f"DELETE FROM {table}")
        marks = ", ".join("?" * len(columns))
        self._link.executemany(f"INSERT INTO {table} VALUES ({marks})", cells)
