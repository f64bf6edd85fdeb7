"""What `rdbms-trigger` adds to an explanation: its statements, their plans, missing indexes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from joinery.clients.sql import quoted
from joinery.plan.explain.page import Section
from joinery.plan.product import Product
from joinery.plan.support import missing
from joinery.solutions.relational.layout import relation_tables, rows_name
from joinery.solutions.trigger.indented import indented
from joinery.solutions.trigger.inspector import Inspector, inspector_of
from joinery.solutions.trigger.open import dialect_of, layout_of, statements_of
from joinery.solutions.trigger.options import TriggerOptions
from joinery.solutions.trigger.statement.layout import QueryLayout
from joinery.solutions.trigger.statement.product import ProductStatements
from joinery.solutions.trigger.statement.queue import Queue


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
    inspector = inspector_of(options, layout) if database else None
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
