"""All statements of one product in one database, and what it has none for."""

from __future__ import annotations

from dataclasses import dataclass

from joinery.clients.sql import quoted
from joinery.plan.product import Product
from joinery.solutions.trigger.statement.affected import AffectedStatement, affected_statements
from joinery.solutions.trigger.statement.dialect import Dialect, given_name
from joinery.solutions.trigger.statement.document import documents_statement
from joinery.solutions.trigger.statement.fragment import UntranslatableError
from joinery.solutions.trigger.statement.layout import Layout


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
