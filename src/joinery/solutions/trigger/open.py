"""Opens `rdbms-trigger`: the driver over the statements of the database that the options name.

Statements held against the database that is to run them, before anything is written.

A generated statement that it refuses, such as one too deep for it, is done without; one that
the user wrote is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from joinery.delivery.outlet import Outlet
from joinery.errors import SpecError
from joinery.plan.product import Product
from joinery.solutions.stored.driver import StoreDriver
from joinery.solutions.stored.owner import NOBODY, Owner
from joinery.solutions.stored.state import StoreError, StoreSolution
from joinery.solutions.stored.tactic import Tactic
from joinery.solutions.trigger.custom import CustomSql, custom_sql, custom_statements
from joinery.solutions.trigger.listen import Listener
from joinery.solutions.trigger.postgres import PostgresTriggerState
from joinery.solutions.trigger.postgres_queue import (
    PostgresIngestState,
    PostgresQueueState,
    queue_of,
)
from joinery.solutions.trigger.sqlite import SqliteTriggerState
from joinery.solutions.trigger.statement.dialect import Dialect
from joinery.solutions.trigger.statement.layout import QueryLayout
from joinery.solutions.trigger.statement.postgres import PostgresDialect
from joinery.solutions.trigger.statement.product import ProductStatements, product_statements
from joinery.solutions.trigger.statement.sqlite import SqliteDialect
from joinery.solutions.trigger.tactic import (
    Given,
    SelectingState,
    SilentTactic,
    StatementTactic,
    fields_of,
)
from joinery.solutions.trigger.views import views_of

if TYPE_CHECKING:
    from joinery.solutions.choose import SolutionPlace
    from joinery.solutions.trigger.options import TriggerOptions


def fitting(
    product: Product, statements: ProductStatements, state: SelectingState
) -> ProductStatements:
    """Return the statements without those that the database refuses.

    Raises:
        SpecError: It refuses what the user wrote; with its reason.
    """
    for what, reason in _refused(product, statements, state):
        if not statements.rendered:
            raise SpecError(
                f'option "sql" of "rdbms-trigger": the database rejects {what}',
                detail=f"{reason}.",
                hint="See the whole statement with joinery explain.",
                code="SPEC_VALUE",
            )
        statements = (
            replace(statements, documents="")
            if what == "documents"
            else replace(statements, affected=())
        )
    return statements


def _refused(
    product: Product, statements: ProductStatements, state: SelectingState
) -> Iterator[tuple[str, str]]:
    """Yield what the database refuses, and why."""
    root = product.root.relation
    wanted = Given(statements.wanted, fields_of(root, root.key), ())
    asked = [("documents", statements.documents, wanted)]
    for each in statements.affected:
        fields = fields_of(each.relation, each.columns)
        name = f'"{each.relation.name}" of affected'
        asked.append((name, each.sql, Given(each.changed, fields, ())))
    for what, sql, given in asked:
        reason = state.refusal(sql, given) if sql else ""
        if reason:
            yield what, reason


def open_trigger(
    products: Sequence[Product], options: TriggerOptions, place: SolutionPlace
) -> StoreSolution:
    """Return the solution `rdbms-trigger`; without `database` it keeps a SQLite file.

    Raises:
        SpecError: The options do not fit the products.
        StoreError: The database cannot be used.
    """
    _check_one(products, custom_sql(options.sql))
    views, layout = views_of(products, options.views), layout_of(place.query, options)
    state = (_ingest if options.queued else _open_state)(products, options, place)
    if not place.beside:
        dialect = dialect_of(options)
        state.define(each for view in views for each in view.statements(layout, dialect))
    if options.queued:
        return StoreDriver(products, state, tactic=SilentTactic)
    limit = place.max_document_bytes

    def tactic(product: Product, max_bytes: int | None) -> Tactic:
        statements = statements_of(product, place.query, options)
        return StatementTactic(product, max_bytes, fitting(product, statements, state))

    try:
        return StoreDriver(products, state, max_document_bytes=limit, tactic=tactic)
    except SpecError:
        state.close()
        raise


def refuse_trigger(products: Sequence[Product], options: TriggerOptions) -> None:
    """Refuse what no database is needed to refuse.

    Raises:
        SpecError: The options do not fit the products.
    """
    if options.queued:
        _server(options)
    _check_one(products, custom_sql(options.sql))
    views_of(products, options.views)
    for each in products:
        statements_of(each, each.query, options)


def open_listener(
    products: Sequence[Product],
    options: TriggerOptions,
    outlets: Mapping[str, Outlet],
    *,
    name: str = "",
    owner: Owner = NOBODY,
    max_document_bytes: int | None = None,
) -> Listener:
    """Return what publishes from the queue of one query's products.

    Args:
        products: Of the query.
        options: Of the solution; `database` is in PostgreSQL.
        outlets: By product, opened.
        name: Leads the names of the tables; the query's by default.
        owner: Who keeps join state in them.
        max_document_bytes: Above it a document is kept back; None sets no bound.

    Raises:
        SpecError: The options are not what it takes.
        StoreError: The database cannot be used.
    """
    query = name or products[0].query
    url, schema = _server(options)
    statements = {each.name: statements_of(each, query, options) for each in products}
    state = PostgresQueueState(products, url, statements, schema=schema, name=query, owner=owner)

    def tactic(product: Product, max_bytes: int | None) -> Tactic:
        fits = fitting(product, statements[product.name], state)
        return StatementTactic(product, max_bytes, fits)

    driver = StoreDriver(products, state, max_document_bytes=max_document_bytes, tactic=tactic)
    return Listener(products, driver, state, outlets)


def _server(options: TriggerOptions) -> tuple[str, str]:
    if not options.in_postgres:
        raise SpecError(
            'option "publish" of "rdbms-trigger": only PostgreSQL has a queue',
            hint="Write database: postgresql://user:password@host:port/database.",
            code="SPEC_VALUE",
        )
    return options.database, options.schema


def statements_of(product: Product, query: str, options: TriggerOptions) -> ProductStatements:
    """Return what the database of the options runs for a product of a query."""
    layout, dialect = layout_of(query, options), dialect_of(options)
    generated = product_statements(product, layout, dialect)
    custom = custom_sql(options.sql)
    if custom is None:
        return generated
    return custom_statements(product, layout, dialect, custom, generated)


def dialect_of(options: TriggerOptions) -> Dialect:
    """Return the dialect of the options' database."""
    return PostgresDialect() if options.in_postgres else SqliteDialect()


def layout_of(query: str, options: TriggerOptions) -> QueryLayout:
    """Return where the options' database has the tables of a query."""
    return QueryLayout(query, options.schema if options.in_postgres else "")


def _ingest(
    products: Sequence[Product], options: TriggerOptions, place: SolutionPlace
) -> SelectingState:
    url, schema = _server(options)
    return PostgresIngestState(products, url, schema=schema, name=place.query, owner=place.owner)


def _open_state(
    products: Sequence[Product], options: TriggerOptions, place: SolutionPlace
) -> SelectingState:
    query, owner = place.query, place.owner
    if options.in_postgres:
        state = PostgresTriggerState(
            products, options.database, schema=options.schema, name=query, owner=owner
        )
        try:
            state.leave(queue_of(products, query, options.schema))
        except StoreError:
            state.close()
            raise
        return state
    return SqliteTriggerState(products, options.file(place), name=query, owner=owner)


def _check_one(products: Sequence[Product], custom: CustomSql | None) -> None:
    if custom is not None and len(products) > 1:
        raise SpecError(
            'option "sql" of "rdbms-trigger" is for one product',
            detail=f"The group has {', '.join(each.name for each in products)}.",
            hint="Take the product out of the group.",
            code="SPEC_VALUE",
        )
