"""A PostgreSQL database looked at: its indexes, and how it would run a statement.

Invariant: what is made for a look is temporary, and rolled back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from joinery.clients.sql import quoted
from joinery.plan.nodes import Relation
from joinery.solutions.relational.layout import Columns
from joinery.solutions.trigger.statement.dialect import Layout

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
