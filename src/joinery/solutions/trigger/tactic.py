"""The tactic of `rdbms-trigger`: SQL finds the affected roots, and builds their documents.

Where a product, or a part of it, has no faithful SQL in the database, that part is done over
rows, as `rdbms-store` does it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from joinery.model.change import Key, Row
from joinery.model.type import Field
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.semantics.document import Built, judged
from joinery.semantics.read_change import typed
from joinery.semantics.render import document_json
from joinery.semantics.rows import join_value
from joinery.solutions.stored.fold import Find
from joinery.solutions.stored.state import JoinState, StoreError
from joinery.solutions.stored.tactic import Image, Level, RowTactic
from joinery.solutions.trigger.statement.affected import AffectedStatement
from joinery.solutions.trigger.statement.product import ProductStatements


@dataclass(frozen=True, slots=True)
class Given:
    """Values that a statement reads as a table.

    Attributes:
        table: Its name, as the statement has it, unquoted.
        fields: Its columns.
        values: Join values, or keys, of those columns.
    """

    table: str
    fields: tuple[Field, ...]
    values: Collection[tuple[Any, ...]]


class SelectingState(JoinState, Protocol):
    """A store of join state that runs statements over its tables."""

    @property
    def computes(self) -> bool:
        """Whether the database sees values as they are; else documents are made from rows."""

    def select(self, sql: str, given: Given, relation: Relation) -> Sequence[tuple[Any, ...]]:
        """Run a statement.

        Args:
            sql: Its first columns are the key of `relation`.
            given: A table of its own.
            relation: See above.

        Returns:
            A tuple a row: the key, then the rest of the columns as they are.
        """

    def define(self, statements: Iterable[str]) -> None:
        """Run statements that make something beside the tables, all or none."""

    def refusal(self, sql: str, given: Given) -> str:
        """Return why the database cannot run a statement; empty where it can."""


class StatementTactic:
    """Runs the statements of one product.

    Args:
        product: What is shown.
        max_bytes: Above it a document fails; None sets no bound.
        statements: What the store runs.
    """

    def __init__(
        self, product: Product, max_bytes: int | None, statements: ProductStatements
    ) -> None:
        self._root = product.root
        self._max_bytes = max_bytes
        self._rows = RowTactic(product, max_bytes)
        self._documents = statements.documents
        self._text = str if statements.rendered else self._told
        self._wanted = statements.wanted
        levels = {node.path: Level(node) for node in product.root.walk()}
        self._affected = [(levels.get(each.path), each) for each in statements.affected]

    def roots(self, images: Mapping[str, Sequence[Image]], state: JoinState) -> set[Key]:
        """Return the affected roots: a statement a node."""
        if not self._affected:
            return self._rows.roots(images, state)
        found: set[Key] = set()
        for level, statement in self._affected:
            changed = images.get(statement.relation.name, ())
            values = _given_values(level, statement, changed)
            found |= self._climbed(statement, values, cast(SelectingState, state))
        return found

    def documents(self, keys: Sequence[Key], state: JoinState) -> Mapping[Key, Built]:
        """Return the documents of some roots: one statement."""
        if not self._documents or not cast(SelectingState, state).computes:
            return self._rows.documents(keys, state)
        relation = self._root.relation
        given = Given(self._wanted, fields_of(relation, relation.key), keys)
        found = cast(SelectingState, state).select(self._documents, given, relation)
        return {
            key: judged(self._text(text), {}, overflowed.splitlines(), max_bytes=self._max_bytes)
            for key, text, overflowed in found
            if text is not None
        }

    def counters(self, now: Find, before: Callable[[], Find]) -> Counter[str]:
        """Return what was counted where rows were assembled; the database counts nothing."""
        return self._rows.counters(now, before)

    def _told(self, text: str) -> str:
        """Return the text of a document as Joinery renders it.

        Raises:
            StoreError: It is not of the type that the product's documents have.
        """
        output = self._root.output
        try:
            rendered = document_json(typed(json.loads(text, parse_float=str), output), output)
            json.loads(rendered)  # a text where a number is declared is rendered as it stands
        except (ArithmeticError, AttributeError, TypeError, ValueError) as error:
            raise StoreError(
                f'a statement of yours returns other documents than "{self._root.name}" shows',
                detail=f"That is {output}.",
                hint='Let "documents" under the option "sql" give these fields in these types.',
            ) from error
        return rendered

    def _climbed(
        self, statement: AffectedStatement, values: Collection[Any], state: SelectingState
    ) -> set[Key]:
        if not statement.sql or not values:
            return set(values)
        fields = fields_of(statement.relation, statement.columns)
        given = Given(statement.changed, fields, values)
        return {key for key, *_ in state.select(statement.sql, given, self._root.relation)}


class SilentTactic:
    """Finds nothing: rows are written, and a listener publishes what they alter."""

    def __init__(self, product: Product, max_bytes: int | None) -> None:
        self._counters: Counter[str] = Counter()

    def roots(self, images: Mapping[str, Sequence[Image]], state: JoinState) -> set[Key]:
        """Return none."""
        return set()

    def documents(self, keys: Sequence[Key], state: JoinState) -> Mapping[Key, Built]:
        """Return none."""
        return {}

    def counters(self, now: Find, before: Callable[[], Find]) -> Counter[str]:
        """Return nothing."""
        return self._counters


def _given_values(
    level: Level | None, statement: AffectedStatement, images: Sequence[Image]
) -> set[tuple[Any, ...]]:
    """Return what a statement is given of the images of changed rows."""
    columns = statement.columns
    if statement.whole or level is None:
        rows: Iterable[Row] = [row for image in images for row in image if row is not None]
    else:
        rows = level.touched(images)
    if statement.whole and statement.sql:
        return {tuple(row[column] for column in columns) for row in rows}
    values = (join_value(row, columns) for row in rows)
    return {each for each in values if each is not None}


def fields_of(relation: Relation, columns: Sequence[str]) -> tuple[Field, ...]:
    """Return columns of a relation with their types."""
    return tuple(Field(column, relation.type_of(column)) for column in columns)
