"""Statements held against the database that is to run them, before anything is written.

A generated statement that it refuses, such as one too deep for it, is done without; one that
the user wrote is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from joinery.errors import SpecError
from joinery.plan.nodes import Product
from joinery.solutions.relational.statement.product import ProductStatements
from joinery.solutions.relational.trigger import Given, SelectingState, fields_of


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
                f'option "sql" of "rdbms-trigger": the database refuses {what}',
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
