"""The statements that give the roots which a set of changed rows affects, one a node.

A node's changed rows, old and new images alike, are given by what they join on. They climb
over the tables as they stood before the batch: a row that itself changed climbs by itself.

All statements of one product in one database, and what it has none for.

A queue of changed rows in PostgreSQL, filled by triggers, whoever writes the tables.

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
from joinery.plan.node import Node
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.solutions.relational.layout import AFTER_DELETE, CHANGED, STATE, VISIBLE
from joinery.solutions.trigger.statement.dialect import (
    Dialect,
    Layout,
    QueryLayout,
    UntranslatableError,
    given_name,
    literal,
)
from joinery.solutions.trigger.statement.document import documents_statement


@dataclass(frozen=True, slots=True)
class AffectedStatement:
    """How the changed rows of one node lead to roots.

    Attributes:
        path: The node's; the relation's name where it is of no node.
        relation: Whose rows changed.
        columns: What of them is given, under these names: the join columns; the key at the root.
        changed: The name of the table that they are given in.
        sql: Gives root keys; empty at the root, whose changed keys are the roots.
        whole: Rows are given whatever changed of them, with their nulls.
    """

    path: str
    relation: Relation
    columns: tuple[str, ...]
    changed: str
    sql: str
    whole: bool = False


def affected_statements(
    product: Product, layout: Layout, dialect: Dialect
) -> tuple[AffectedStatement, ...]:
    """Return a statement a node, in tree order.

    Args:
        product: What is shown.
        layout: Where rows are.
        dialect: Of the database.

    Raises:
        UntranslatableError: Two joined columns cannot be compared in the database.
    """
    for node in product.root.walk():
        for embed in node.embeds:
            for pair in embed.on:
                child, parent = embed.relation, node.relation
                dialect.joinable(child.type_of(pair.child), parent.type_of(pair.parent))
    return tuple(_statements(product.root, (), layout, dialect))


def _statements(
    node: Node, above: tuple[Node, ...], layout: Layout, dialect: Dialect
) -> list[AffectedStatement]:
    relation, changed = node.relation, given_name("changed", node.path)
    columns = tuple(pair.child for pair in node.on) if above else relation.key
    sql = _climb((*above, node), layout, dialect, quoted(changed)) if above else ""
    distinct = tuple(dict.fromkeys(columns))
    found = [AffectedStatement(node.path, relation, distinct, changed, sql)]
    for embed in node.embeds:
        found += _statements(embed, (*above, node), layout, dialect)
    return found


def _climb(path: tuple[Node, ...], layout: Layout, dialect: Dialect, changed: str) -> str:
    """Return the joins from the last node of `path` up to the first."""
    root = path[0].relation
    top = quoted("row_0")
    lines = [
        f"SELECT DISTINCT {', '.join(f'{top}.{quoted(column)}' for column in root.key)}",
        f"FROM {changed} AS changed",
    ]
    child = "changed"
    for level in range(len(path) - 2, -1, -1):
        alias = quoted(f"row_{level}")
        pairs = [
            f"{alias}.{quoted(pair.parent)} = {child}.{quoted(pair.child)}"
            for pair in path[level + 1].on
        ]
        on = " AND ".join([*pairs, layout.exists(alias)])
        table = layout.table(path[level].relation)
        lines.append(f"{dialect.join} {table} AS {alias} ON {on}")
        child = alias
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class ProductStatements:
    """What a database runs for a product.

    Attributes:
        documents: Gives the documents of roots; empty where rows are fetched and assembled.
        wanted: The name of the table in which `documents` is given roots.
        affected: Give affected roots; empty where rows are climbed.
        reasons: Why something is empty, a sentence each.
        rendered: The text of a document is as Joinery renders it, byte for byte.
    """

    documents: str
    wanted: str
    affected: tuple[AffectedStatement, ...]
    reasons: tuple[str, ...] = ()
    rendered: bool = True


def product_statements(product: Product, layout: Layout, dialect: Dialect) -> ProductStatements:
    """Return the statements that are generated for a product."""
    documents, reasons = "", list[str]()
    affected: tuple[AffectedStatement, ...] = ()
    wanted = given_name("wanted", product.name)
    try:
        documents = documents_statement(product, layout, dialect, quoted(wanted))
    except (UntranslatableError, RecursionError) as problem:
        reasons.append(f"Documents are assembled from rows: {dialect.name} cannot do {problem}.")
    try:
        affected = affected_statements(product, layout, dialect)
    except UntranslatableError as problem:
        reasons.append(f"Roots are found over rows: {dialect.name} cannot do {problem}.")
    return ProductStatements(documents, wanted, affected, tuple(reasons))


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
