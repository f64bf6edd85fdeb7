"""What `rdbms-trigger` adds to an explanation: its statements, their plans, missing indexes.

Statements as a terminal shows them, indented by their parentheses.

A PostgreSQL database looked at: its indexes, and how it would run a statement.

Invariant: what is made for a look is temporary, and rolled back.

A SQLite file looked at: its indexes, and how it would run a statement.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from joinery.clients.postgres import connect
from joinery.clients.sql import listed, quoted
from joinery.plan.explain.page import Section
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.plan.support import missing
from joinery.solutions.relational.layout import Columns, relation_tables, rows_name
from joinery.solutions.relational.sqlite_database import failure
from joinery.solutions.trigger.open import dialect_of, layout_of, statements_of
from joinery.solutions.trigger.options import TriggerOptions
from joinery.solutions.trigger.statement.affected import ProductStatements, Queue
from joinery.solutions.trigger.statement.dialect import Layout, QueryLayout
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


_STEP = "  "


def indented(sql: str) -> str:
    r"""Return `sql` with each line indented by the parentheses that are open before it.

    Example:
        >>> print(indented("SELECT (\nSELECT '(' \nFROM t)\nFROM u"))
        SELECT (
          SELECT '('
          FROM t)
        FROM u
    """
    lines, depth, inside = [""], 0, ""
    for sign in sql:
        if sign == "\n" and not inside:
            lines.append(_STEP * depth)
            continue
        if inside:
            inside = "" if sign == inside else inside
        elif sign in "'\"":
            inside = sign
        depth += {"(": 1, ")": -1}.get(sign, 0) if not inside else 0
        lines[-1] += sign
    return "\n".join(line.rstrip() for line in lines if line.strip())


class Inspector(Protocol):
    """A database that is looked at, and not changed."""

    def index_columns(self, relation: Relation) -> Sequence[Columns]:
        """Return the columns of each index, the primary key's first; none without a table."""

    def plan(self, sql: str, given: str, relation: Relation, columns: Columns) -> Sequence[str]:
        """Return the lines of a statement's plan; `given` is what it reads besides tables."""

    def close(self) -> None:
        """Leave the database."""


def explain_statements(
    products: Sequence[Product], database: str = "", name: str = ""
) -> tuple[Section, ...]:
    """Return the statements of one query's products; nothing for another solution.

    Args:
        products: All products of the query.
        database: Where to ask for plans and indexes; empty asks none.
        name: Leads the names of the tables; the query's by default.

    Raises:
        StoreError: The database cannot be asked.
    """
    options = TriggerOptions.of(products[0])
    if options is None or any(missing(each) for each in products):
        return ()
    if database:
        options = replace(options, database=database)
    name = name or products[0].query
    layout = layout_of(name, options)
    inspector = _inspector(options, layout) if database else None
    try:
        sections = [_section(each, name, options, inspector) for each in products]
        if options.queued:
            relations = dict.fromkeys(each for product in products for each in product.relations)
            made = (f"{each};" for each in Queue(layout, tuple(relations)).create())
            sections.append(Section("queue, as the ingester creates it", "\n".join(made)))
        if inspector is not None:
            sections.append(Section("indexes", "\n".join(_missing(products, layout, inspector))))
    finally:
        if inspector is not None:
            inspector.close()
    return tuple(sections)


def missing_indexes(
    products: Sequence[Product], layout: QueryLayout, inspector: Inspector
) -> dict[str, str]:
    """Return the statements that make the indexes a query lacks, by relation and columns."""
    found: dict[str, str] = {}
    for name, table in relation_tables(products).items():
        standing = inspector.index_columns(table.relation)
        for columns in table.indexes if standing else ():
            if not any(set(each[: len(columns)]) == set(columns) for each in standing):
                index = quoted(f"{rows_name(layout.query, name)} by {' '.join(columns)}"[:63])
                listed = ", ".join(map(quoted, columns))
                place = layout.table(table.relation)
                what = f"{name} ({', '.join(columns)})"
                found[what] = f"CREATE INDEX {index} ON {place} ({listed});"
    return found


def _inspector(options: TriggerOptions, layout: QueryLayout) -> Inspector:
    if options.in_postgres:
        return PostgresInspector(connect(options.database), layout)
    return SqliteInspector(Path(options.path()), layout)


def _section(
    product: Product, name: str, options: TriggerOptions, inspector: Inspector | None
) -> Section:
    statements = statements_of(product, name, options)
    title = f"sql of {product.name} in {dialect_of(options).name}"
    return Section(title, "\n".join(_lines(product, statements, inspector)))


def _lines(
    product: Product, statements: ProductStatements, inspector: Inspector | None
) -> Iterator[str]:
    for reason in statements.reasons:
        yield f"-- {reason}"
    root = product.root.relation
    for each in statements.affected:
        yield f"-- roots that changed rows of {each.relation.name} affect, at {each.path}"
        if not each.sql:
            yield "-- (their own keys)"
            continue
        yield indented(each.sql) + ";"
        if inspector is not None:
            yield from _plan(inspector.plan(each.sql, each.changed, each.relation, each.columns))
    if statements.documents:
        yield "-- documents of roots"
        yield indented(statements.documents) + ";"
        if inspector is not None:
            yield from _plan(
                inspector.plan(statements.documents, statements.wanted, root, root.key)
            )


def _plan(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"--   {line}" for line in lines)


def _missing(
    products: Sequence[Product], layout: QueryLayout, inspector: Inspector
) -> Iterator[str]:
    relations = [each.relation for each in relation_tables(products).values()]
    absent = [each.name for each in relations if not inspector.index_columns(each)]
    if absent:
        yield f"The first run creates the tables of {', '.join(absent)}, with their indexes."
    missing = missing_indexes(products, layout, inspector)
    for what, statement in missing.items():
        yield f"warning: {what} has no index, so each batch reads the whole table. Create it:"
        yield f"  {statement}"
    if not missing and not absent:
        yield "Every join has its index."
