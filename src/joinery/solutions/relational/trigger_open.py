"""Opens `rdbms-trigger`: the driver over the statements of the database that the options name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from joinery.engine.driver import StoreDriver
from joinery.engine.tactic import Tactic
from joinery.errors import SpecError
from joinery.plan.nodes import Product
from joinery.solutions.relational.custom import CustomSql, custom_sql, custom_statements
from joinery.solutions.relational.sqlite_trigger import SqliteTriggerState
from joinery.solutions.relational.statement.dialect import Dialect
from joinery.solutions.relational.statement.layout import QueryLayout
from joinery.solutions.relational.statement.product import ProductStatements, product_statements
from joinery.solutions.relational.statement.sqlite import SqliteDialect
from joinery.solutions.relational.trigger import SelectingState, StatementTactic
from joinery.solutions.store import StoreSolution

if TYPE_CHECKING:
    from joinery.solutions.choose import SolutionPlace

FILE = "rdbms-trigger.db"
_SQLITE = "sqlite:///"


def rdbms_trigger(
    products: Sequence[Product], options: Mapping[str, object], place: SolutionPlace
) -> StoreSolution:
    """Return the solution `rdbms-trigger`; without `database` it keeps a SQLite file.

    Raises:
        SpecError: The options are not what it takes.
        StoreError: The database cannot be used.
    """
    dialect, custom = dialect_of(str(options.get("database", ""))), custom_sql(options)
    _check_one(products, custom)

    def tactic(product: Product, max_bytes: int | None) -> Tactic:
        statements = statements_of(product, place.query, dialect, custom)
        return StatementTactic(product, max_bytes, statements)

    state = _open_state(products, str(options.get("database", "")), place)
    limit = place.max_document_bytes
    return StoreDriver(products, state, max_document_bytes=limit, tactic=tactic)


def statements_of(
    product: Product, query: str, dialect: Dialect, custom: CustomSql | None
) -> ProductStatements:
    """Return what a database runs for a product of a query."""
    layout = QueryLayout(query)
    generated = product_statements(product, layout, dialect)
    if custom is None:
        return generated
    return custom_statements(product, layout, dialect, custom, generated)


def dialect_of(database: str) -> Dialect:
    """Return the dialect of the database that a URL names; of SQLite for an empty one."""
    return SqliteDialect()


def path_of(database: str) -> str:
    """Return the path in the URL of a SQLite file.

    Raises:
        SpecError: It is no such URL.
    """
    if database.startswith(_SQLITE) and len(database) > len(_SQLITE):
        return database.removeprefix(_SQLITE)
    raise SpecError(
        'option "database" of "rdbms-trigger" names no database that it knows',
        detail=f"It begins with {database.partition(':')[0][:20]}:.",
        hint="Write sqlite:///path, or postgresql://user:password@host:port/database.",
        code="SPEC_VALUE",
    )


def _open_state(products: Sequence[Product], database: str, place: SolutionPlace) -> SelectingState:
    if not database:
        return SqliteTriggerState(products, place.folder / FILE, name=place.query)
    path = place.project / Path(path_of(database)).expanduser()
    return SqliteTriggerState(products, path.absolute(), name=place.query)


def _check_one(products: Sequence[Product], custom: CustomSql | None) -> None:
    if custom is not None and len(products) > 1:
        raise SpecError(
            'option "sql" of "rdbms-trigger" is of one product',
            detail=f"The group has {', '.join(each.name for each in products)}.",
            hint="Take the product out of the group.",
            code="SPEC_VALUE",
        )
