"""Which run wrote a table last, in rows of `joinery_batches` beside it: one for each part.

Invariant: the epoch of a part never falls, so a run of an older one is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from psycopg.sql import Composable, Composed

FENCE = "joinery_batches"


class PostgresFence:
    """The rows of one table, all in one table of its schema.

    Args:
        table: Whose writers they tell.
        schema: Empty for the first of the search path.
    """

    def __init__(self, table: str, schema: str) -> None:
        self._table, self._schema = table, schema

    def create(self) -> Composed:
        """Return the statement that creates the fence, where it is missing."""
        from psycopg.sql import SQL

        return SQL(
            "CREATE TABLE IF NOT EXISTS {} (table_name text, query_id text, part integer,"
            " batch_id bigint NOT NULL, epoch bigint NOT NULL,"
            " PRIMARY KEY (table_name, query_id, part))"
        ).format(self._place)

    def newest(self, query_id: str) -> Composed:
        """Return the query for the highest epoch that wrote the table."""
        from psycopg.sql import SQL

        return SQL("SELECT max(epoch) FROM {} WHERE {}").format(self._place, self._runs(query_id))

    def last_batch(self, query_id: str) -> Composed:
        """Return the query for the highest batch that any part has written."""
        from psycopg.sql import SQL

        return SQL("SELECT max(batch_id) FROM {} WHERE {} AND batch_id >= 0").format(
            self._place, self._runs(query_id)
        )

    def note_part(self, query_id: str, part: int, epoch: int) -> Composed:
        """Return the statement that notes one part of a run, where none is noted."""
        from psycopg.sql import SQL, Literal

        return SQL("INSERT INTO {} VALUES ({}) ON CONFLICT DO NOTHING").format(
            self._place,
            SQL(", ").join(map(Literal, (self._table, query_id, part, -1, epoch))),
        )

    def claim(self, query_id: str, epoch: int) -> Composed:
        """Return the statement that raises the epoch of all parts."""
        from psycopg.sql import SQL, Literal

        return SQL("UPDATE {0} SET epoch = {1} WHERE {2} AND epoch < {1}").format(
            self._place, Literal(epoch), self._runs(query_id)
        )

    def locked_epoch(self, query_id: str, part: int) -> Composed:
        """Return the query that locks a part and gives its epoch."""
        from psycopg.sql import SQL, Literal

        return SQL("SELECT epoch FROM {} WHERE {} AND part = {} FOR UPDATE").format(
            self._place, self._runs(query_id), Literal(part)
        )

    def shared_epoch(self, query_id: str) -> Composed:
        """Return the query that gives a run's epoch, and keeps later runs from claiming it."""
        from psycopg.sql import SQL

        return SQL("SELECT epoch FROM {} WHERE {} AND part = 0 FOR SHARE").format(
            self._place, self._runs(query_id)
        )

    def note_batch(self, query_id: str, part: int, *, batch_id: int, epoch: int) -> Composed:
        """Return the statement that notes the batch that a part writes."""
        from psycopg.sql import SQL, Literal

        return SQL("UPDATE {} SET batch_id = {}, epoch = {} WHERE {} AND part = {}").format(
            self._place, Literal(batch_id), Literal(epoch), self._runs(query_id), Literal(part)
        )

    def _runs(self, query_id: str) -> Composed:
        from psycopg.sql import SQL, Literal

        return SQL("table_name = {} AND query_id = {}").format(
            Literal(self._table), Literal(query_id)
        )

    @property
    def _place(self) -> Composable:
        from psycopg.sql import Identifier

        return Identifier(self._schema, FENCE) if self._schema else Identifier(FENCE)
