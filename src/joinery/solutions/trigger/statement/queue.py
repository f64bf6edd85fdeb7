"""A queue of changed rows in PostgreSQL, filled by triggers, whoever writes the tables.

Images of changed rows are queued, not roots: a transaction does not see what another one
links to its rows before that one commits. Who takes the images climbs over what is committed,
and the image of the other transaction climbs by itself.

Invariant: an image is taken in the transaction that remembers what was sent because of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from joinery.clients.sql import quoted
from joinery.plan.relation import Relation
from joinery.solutions.relational.layout import AFTER_DELETE, CHANGED, STATE, VISIBLE
from joinery.solutions.trigger.statement.affected import AffectedStatement
from joinery.solutions.trigger.statement.dialect import literal
from joinery.solutions.trigger.statement.layout import QueryLayout

CHANNEL = "joinery"
TAKEN = "joinery_taken"
_EVENTS = {
    "INSERT": "NEW TABLE AS joinery_new",
    "UPDATE": "OLD TABLE AS joinery_old NEW TABLE AS joinery_new",
    "DELETE": "OLD TABLE AS joinery_old",
}


@dataclass(frozen=True, slots=True)
class Queue:
    """The queue of one query."""

    layout: QueryLayout
    relations: tuple[Relation, ...]

    @property
    def table(self) -> str:
        """The table of images, quoted."""
        return self.layout.own("queue")

    @property
    def counter(self) -> str:
        """The table that numbers what was taken, quoted."""
        return self.layout.own("queue_number")

    def create(self) -> Iterator[str]:
        """Yield the statements that make the queue where it is missing."""
        yield from chain.from_iterable(self.parts())

    def parts(self) -> Iterator[Sequence[str]]:
        """Yield the same in parts, a transaction each, of which none locks two tables of rows.

        So whoever reads or writes several of them meanwhile waits, and is in no deadlock.
        """
        yield tuple(self._tables())
        for relation in self.relations:
            yield tuple(self._triggers(relation))

    def _tables(self) -> Iterator[str]:
        yield (
            f"CREATE TABLE IF NOT EXISTS {self.table} (id bigint GENERATED ALWAYS AS IDENTITY"
            " PRIMARY KEY, relation text NOT NULL, image jsonb NOT NULL,"
            " at timestamptz NOT NULL DEFAULT clock_timestamp())"
        )
        yield f"CREATE TABLE IF NOT EXISTS {self.counter} (number bigint, epoch bigint)"
        yield (
            f"INSERT INTO {self.counter} SELECT 0, 0"
            f" WHERE NOT EXISTS (SELECT 1 FROM {self.counter})"
        )
        yield self._function()

    def drop(self) -> Iterator[str]:
        """Yield the statements that stop the filling of the queue; what is in it stays."""
        for relation in self.relations:
            for event in _EVENTS:
                name = quoted(f"joinery_queue_{event.lower()}")
                yield f"DROP TRIGGER IF EXISTS {name} ON {self.layout.table(relation)}"

    def take(self, most: int) -> Sequence[str]:
        """Return the statements that move the oldest images into a temporary table."""
        oldest = f"SELECT id FROM {self.table} ORDER BY id LIMIT {most} FOR UPDATE SKIP LOCKED"
        return (
            f"CREATE TEMPORARY TABLE IF NOT EXISTS {TAKEN}"
            " (relation text, image jsonb) ON COMMIT DELETE ROWS",
            f"WITH taken AS (DELETE FROM {self.table} WHERE id IN ({oldest})"
            f" RETURNING relation, image) INSERT INTO {TAKEN} SELECT relation, image FROM taken",
        )

    def roots(self, statement: AffectedStatement) -> str:
        """Return the statement that gives the roots which the taken images affect."""
        relation = statement.relation
        columns = ", ".join(f"row.{quoted(column)}" for column in statement.columns)
        images = (
            f"SELECT DISTINCT {columns} FROM {TAKEN} AS taken CROSS JOIN LATERAL"
            f" jsonb_populate_record(NULL::{self.layout.table(relation)}, taken.image) AS row"
            f" WHERE taken.relation = {literal(relation.name)}"
        )
        climb = statement.sql or f"SELECT * FROM {quoted(statement.changed)}"
        return (
            f"WITH {quoted(statement.changed)} AS MATERIALIZED (\n{images}\n)\n"
            f"SELECT * FROM (\n{climb}\n) AS climbed"
        )

    def _function(self) -> str:
        name = self.layout.own("queue_images")
        old, new = (
            f"INSERT INTO {self.table} (relation, image)"
            f" SELECT TG_ARGV[0], to_jsonb(image) FROM joinery_{each} AS image;"
            for each in ("old", "new")
        )
        body = (
            f"BEGIN\n"
            f"  IF TG_OP <> 'INSERT' THEN {old} END IF;\n"
            f"  IF TG_OP <> 'DELETE' THEN {new} END IF;\n"
            f"  PERFORM pg_notify({literal(CHANNEL)}, {literal(self.layout.query)});\n"
            f"  RETURN NULL;\n"
            f"END"
        )
        return (
            f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql"
            f" AS {literal(body)}"
        )

    def _triggers(self, relation: Relation) -> Iterator[str]:
        table = self.layout.table(relation)
        # What another writer leaves out of a row.
        for column, value in ((STATE, VISIBLE), (AFTER_DELETE, "false"), (CHANGED, 0)):
            yield f"ALTER TABLE {table} ALTER COLUMN {column} SET DEFAULT {value}"
        for event, tables in _EVENTS.items():
            yield (
                f"CREATE OR REPLACE TRIGGER {quoted(f'joinery_queue_{event.lower()}')}"
                f" AFTER {event} ON {table} REFERENCING {tables} FOR EACH STATEMENT"
                f" EXECUTE FUNCTION {self.layout.own('queue_images')}({literal(relation.name)})"
            )
