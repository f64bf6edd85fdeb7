"""A SQLite file looked at: its indexes, and how it would run a statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from joinery.clients.sql import listed, quoted
from joinery.plan.nodes import Relation
from joinery.solutions.relational.layout import Columns
from joinery.solutions.relational.sqlite_database import failure
from joinery.solutions.trigger.statement.dialect import Layout
from joinery.solutions.trigger.statement.sqlite import FUNCTIONS


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
