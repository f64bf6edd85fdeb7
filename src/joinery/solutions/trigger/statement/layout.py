"""Where a statement finds the rows of a relation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from joinery.clients.sql import quoted
from joinery.plan.relation import Relation
from joinery.solutions.relational.layout import STATE, VISIBLE, rows_name


class Layout(Protocol):
    """The tables of some relations; a column has the name that the relation gives it."""

    def table(self, relation: Relation) -> str:
        """Return the table of a relation, quoted."""

    def exists(self, alias: str) -> str:
        """Return the condition that products see the row under `alias`, which is quoted."""

    def found_by(self, relation: Relation, column: str) -> str:
        """Return the column, quoted, whose equality finds rows by a column of their relation."""


@dataclass(frozen=True, slots=True)
class QueryLayout:
    """The tables that a store keeps for one query.

    Attributes:
        query: Leads their names.
        schema: Where they are; empty for the first of the search path.
    """

    query: str
    schema: str = ""

    def table(self, relation: Relation) -> str:
        """Return the table of a relation, quoted."""
        return self.named(rows_name(self.query, relation.name))

    def own(self, purpose: str) -> str:
        """Return something else of the query's, quoted."""
        return self.named(f"{self.query}__{purpose}")

    def named(self, name: str) -> str:
        """Return a name beside those of the query, quoted."""
        return f"{quoted(self.schema)}.{quoted(name)}" if self.schema else quoted(name)

    def exists(self, alias: str) -> str:
        """Return the condition that products see the row under `alias`, which is quoted."""
        return f"{alias}.{STATE} = {VISIBLE}"

    def found_by(self, relation: Relation, column: str) -> str:
        """Return the column, quoted, whose equality finds rows by a column of their relation."""
        return quoted(column)
