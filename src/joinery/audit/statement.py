"""The statement by which a source's database builds documents of its own tables, or their digests.

It is that of `rdbms-trigger`, over the tables as they are. There is none where a part of the
product has no faithful SQL, where a join is on columns that no index leads with, so that it would
read a whole table for each document, or where `rdbms-trigger` itself has sent the documents.

Invariant: what it gives of a key is equal to what a sink holds only where the document that is
assembled from the same rows is; where it gives nothing, or something else, nothing is known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from joinery.audit.protocol import Form
from joinery.clients.sql import quoted
from joinery.expression.typed import Expression
from joinery.model.type import Array, Atomic, DataType, Field, Map, Struct
from joinery.plan.node import Node
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.sinks.postgres_digests import digest_sql
from joinery.solutions.trigger.statement.document import range_statement
from joinery.solutions.trigger.statement.expression import scalar, translate
from joinery.solutions.trigger.statement.fragment import Fragment, UntranslatableError
from joinery.solutions.trigger.statement.json_form import COMPACT, JSONB
from joinery.solutions.trigger.statement.postgres import PostgresDialect

if TYPE_CHECKING:
    from joinery.audit.database import SourceTable

_WHOLE = frozenset(("smallint", "integer", "bigint"))
_TEXT = frozenset(("text", "character varying"))
# Their equal values are equal as documents have them, and only those.
_EXACT = frozenset(
    (
        "uuid",
        "name",
        "numeric",
        "date",
        "boolean",
        "timestamp with time zone",
        "timestamp without time zone",
    )
)
_FOUND = "joinery found by"


def built_statement(
    product: Product,
    tables: Mapping[str, SourceTable],
    form: Form,
    *,
    begun: bool,
    max_document_bytes: int,
) -> str | None:
    """Return the statement; None where there is none.

    Its parameters are the key before the first, where it has `begun`, and the last key. It gives
    a row for each root between them that has a document: the key as it is read, and what `form`
    says; null for a document that may be too long, or has a list above its limit.

    Args:
        product: Whose documents.
        tables: Of its relations.
        form: What is given of documents.
        begun: Whether there is a key before the first.
        max_document_bytes: Above it there is no document.
    """
    # Else the statement would be compared with itself.
    if product.solution == "rdbms-trigger" or not all(map(_is_found, _joins(product.root, tables))):
        return None
    table = tables[product.root.relation.name]
    # What `jsonb` shows in another way than the statement goes through it.
    through = form == "digest" and any(map(_has_own_text, product.root.walk()))
    json = COMPACT if form == "text" or through else JSONB
    try:
        sql = range_statement(
            product, _Tables(tables), PostgresDialect(), partial(_within, table, begun), json
        )
    except (UntranslatableError, RecursionError):
        return None
    shown = "kept.document::jsonb::text" if through else "kept.document"
    given = digest_sql(shown) if form == "digest" else shown
    fits = f"kept.overflowed = '' AND octet_length(kept.document) <= {max_document_bytes}"
    key = ", ".join(map(table.read, product.root.relation.key))
    # Else the server puts what makes a document in both places where it is named.
    built = f"({sql}\nOFFSET 0) AS kept"
    return f"SELECT {key}, CASE WHEN {fits} THEN {given} END FROM {built}"


def _within(table: SourceTable, begun: bool, columns: Sequence[str]) -> str:
    """Return the condition that a key is in the range of the parameters."""
    types = [table.array_of(each).removesuffix("[]") for each in table.relation.key]
    ends = (">", "<=") if begun else ("<=",)
    slots = [
        ", ".join(f"${place * len(types) + at}::{each}" for at, each in enumerate(types, 1))
        for place in range(len(ends))
    ]
    key = ", ".join(columns)
    return " AND ".join(f"({key}) {end} ({each})" for end, each in zip(ends, slots, strict=True))


class _Tables:
    """The tables of a source, with what a run reads of their columns, and makes of that."""

    def __init__(self, tables: Mapping[str, SourceTable]) -> None:
        self._tables = tables

    def table(self, relation: Relation) -> str:
        """Return the rows of a relation that products see, as a table."""
        table = self._tables[relation.name]
        read = [f"{_cell(table, each)} AS {quoted(each.name)}" for each in relation.columns]
        read += [
            f"kept.{quoted(name)} AS {quoted(f'{_FOUND} {name}')}"
            for name in (each.name for each in relation.columns)
            if not _is_plain(table, name)
        ]
        sql = f"(SELECT {', '.join(read)} FROM {table.name} AS kept)"
        for each in relation.derived:
            made = _translated(each.expression)
            sql = f"(SELECT kept.*, {made} AS {quoted(each.name)} FROM {sql} AS kept)"
        if relation.where is None:
            return sql
        return f"(SELECT kept.* FROM {sql} AS kept WHERE {_translated(relation.where)})"

    def exists(self, alias: str) -> str:
        """Return what is true of all rows that are there."""
        return "true"

    def found_by(self, relation: Relation, column: str) -> str:
        """Return the column as the table has it, for which there is an index."""
        plain = _is_plain(self._tables[relation.name], column)
        return quoted(column if plain else f"{_FOUND} {column}")


def _cell(table: SourceTable, column: Field) -> str:
    """Return what reads a column as the tables of a store hold it: of a list, its JSON text."""
    sql = table.read(column.name)
    return f"to_json({sql})::text" if isinstance(column.type, Array) else sql


def _is_plain(table: SourceTable, column: str) -> bool:
    """Return whether a column is read as it is, or under another name of its type."""
    return table.columns[column].base in (*_WHOLE, *_TEXT)


def _translated(expression: Expression) -> str:
    dialect = PostgresDialect()
    value = translate(expression, lambda name: Fragment(f"kept.{quoted(name)}"), dialect)
    return scalar(value).guarded()


def _joins(
    root: Node, tables: Mapping[str, SourceTable]
) -> Iterator[tuple[SourceTable, Collection[str], bool]]:
    """Yield for each node the table, the columns that find its rows, and whether these compare."""
    yield tables[root.relation.name], root.relation.key, _compare(root, tables)
    for node in root.walk():
        for embed in node.embeds:
            above, table = tables[node.relation.name], tables[embed.relation.name]
            alike = all(
                _kind(table, pair.child) == _kind(above, pair.parent) != "" for pair in embed.on
            )
            yield table, [pair.child for pair in embed.on], alike


def _compare(root: Node, tables: Mapping[str, SourceTable]) -> bool:
    return all(_kind(tables[root.relation.name], each) for each in root.relation.key)


def _kind(table: SourceTable, column: str) -> str:
    """Return what a column can be compared with; empty where equality may be another one."""
    found = table.columns.get(column)
    declared = {each.name for each in table.relation.columns}
    if found is None or column not in declared:
        return ""
    if found.base in _WHOLE:
        of = table.relation.type_of(column)
        return "whole" if isinstance(of, Atomic) and of.name != "string" else ""
    if found.base in _TEXT:
        return "text"
    return found.type if found.enum or found.base in _EXACT else ""


def _is_found(join: tuple[SourceTable, Collection[str], bool]) -> bool:
    table, columns, alike = join
    return alike and not table.led.isdisjoint(columns)


def _has_own_text(node: Node) -> bool:
    """Return whether `jsonb` shows a value of a node in another way than the statement does."""
    shown = (*node.fields, *node.values)
    return node.keyed or any(map(_is_own, (each.expression.type for each in shown)))


def _is_own(kind: DataType) -> bool:
    match kind:
        case Array() | Map() | Struct():
            return True
        case Atomic(name):
            return name in ("float", "double")
        case _:
            return False
