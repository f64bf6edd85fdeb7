"""SQL that the user wrote in place of what a product's tree says.

The tree stays the contract: it names the relations that the statement may read, the type of
the document, and, for each relation without a declaration of its own, the way to the roots.

    solution:
      rdbms-trigger:
        sql:
          documents: |
            SELECT u.email, json_object('email', u.email, 'stars', count(s.username)) AS document
            FROM wanted JOIN user u USING (email) LEFT JOIN star s ON s.username = u.username
            GROUP BY u.email
          affected: {star: {username: username}}

Each relation is a table of that name; `wanted` holds root keys, `changed` the old and new
images of changed rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace

from joinery.clients.sql import quoted
from joinery.errors import SpecError
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.solutions.trigger.statement.affected import AffectedStatement
from joinery.solutions.trigger.statement.dialect import Dialect, given_name
from joinery.solutions.trigger.statement.layout import Layout
from joinery.solutions.trigger.statement.product import ProductStatements


@dataclass(frozen=True, slots=True)
class CustomSql:
    """What the option `sql` holds.

    Attributes:
        documents: Gives the root's key columns and `document`, for the roots in `wanted`.
        affected: By relation, a statement that gives root keys from `changed`, or pairs of a
            root's column and the changed row's.
    """

    documents: str
    affected: Mapping[str, str | tuple[tuple[str, str], ...]]


def custom_sql(declared: object) -> CustomSql | None:
    """Return the option `sql`, None where there is none.

    Raises:
        SpecError: It has another shape.
    """
    if declared is None:
        return None
    parts = _custom_pairs(declared)
    documents, affected = parts.pop("documents", ""), parts.pop("affected", {})
    if parts or not isinstance(documents, str) or not documents.strip():
        raise _shape(f"It holds {', '.join(parts) or 'no documents'}.")
    return CustomSql(
        _bare(documents), {name: _way(way) for name, way in _custom_pairs(affected).items()}
    )


def own_statements(declared: object) -> str:
    """Return what the option `sql` holds, as one text that is equal where it is; empty for none.

    Raises:
        SpecError: It has another shape.
    """
    custom = custom_sql(declared)
    return "" if custom is None else json.dumps(asdict(custom), sort_keys=True)


def custom_statements(
    product: Product,
    layout: Layout,
    dialect: Dialect,
    custom: CustomSql,
    generated: ProductStatements,
) -> ProductStatements:
    """Return a product's statements with those of the user in their places.

    Raises:
        SpecError: The user's parts name a relation or column that the product does not have.
    """
    relations = {each.name: each for each in product.relations}
    for name in custom.affected:
        if name not in relations:
            raise _shape(f'The product reads no relation "{name}".')
    root = product.root.relation
    tables = _tables(product.relations, layout)
    wanted = f"wanted AS (SELECT * FROM {quoted(generated.wanted)})"
    key = ", ".join(f"told.{quoted(column)}" for column in root.key)
    documents = (
        f"WITH {', '.join([*tables, wanted])}\n"
        f"SELECT {key}, {dialect.text('told.document')}, ''\nFROM (\n{custom.documents}\n) AS told"
    )
    kept = [each for each in generated.affected if each.relation.name not in custom.affected]
    own = [
        _affected(product, relations[name], way, layout, tables)
        for name, way in custom.affected.items()
    ]
    affected = (*(replace(each, whole=True) for each in kept), *own)
    return replace(generated, documents=documents, affected=affected, reasons=(), rendered=False)


def _affected(
    product: Product,
    relation: Relation,
    way: str | tuple[tuple[str, str], ...],
    layout: Layout,
    tables: Iterable[str],
) -> AffectedStatement:
    root = product.root.relation
    changed = given_name("changed", f"{product.name} {relation.name}")
    columns = tuple(each.name for each in relation.row.fields)
    if isinstance(way, str):
        given = f"changed AS (SELECT * FROM {quoted(changed)})"
        key = ", ".join(f"told.{quoted(column)}" for column in root.key)
        sql = f"WITH {', '.join([*tables, given])}\nSELECT {key}\nFROM (\n{way}\n) AS told"
        return AffectedStatement(relation.name, relation, columns, changed, sql, whole=True)
    known = {each.name for each in root.row.fields}
    for above, below in way:
        if above not in known or below not in columns:
            raise _shape(
                f'"{above}: {below}" does not name columns of {root.name} and {relation.name}.'
            )
    on = " AND ".join(f"top.{quoted(above)} = changed.{quoted(below)}" for above, below in way)
    key = ", ".join(f"top.{quoted(column)}" for column in root.key)
    sql = (
        f"SELECT DISTINCT {key}\nFROM {quoted(changed)} AS changed\n"
        f"JOIN {layout.table(root)} AS top ON {on} AND {layout.exists('top')}"
    )
    below_columns = tuple(dict.fromkeys(below for _, below in way))
    return AffectedStatement(relation.name, relation, below_columns, changed, sql, whole=True)


def _tables(relations: Iterable[Relation], layout: Layout) -> list[str]:
    """Return each relation under its own name, without what stands beside its columns."""
    return [
        f"{quoted(each.name)} AS NOT MATERIALIZED (SELECT"
        f" {', '.join(f'kept.{quoted(field.name)}' for field in each.row.fields)}"
        f" FROM {layout.table(each)} AS kept WHERE {layout.exists('kept')})"
        for each in relations
    ]


def _bare(sql: str) -> str:
    return sql.strip().removesuffix(";")


def _way(told: object) -> str | tuple[tuple[str, str], ...]:
    if isinstance(told, str) and told.strip():
        return _bare(told)
    pairs = tuple((above, str(below)) for above, below in _custom_pairs(told).items())
    if not pairs:
        raise _shape('A relation under "affected" is empty.')
    return pairs


def _custom_pairs(told: object) -> dict[str, object]:
    if isinstance(told, Mapping):
        return dict(told)
    if told == []:  # as a spec holds an empty map
        return {}
    raise _shape(f"It holds {str(told)[:40]!r} instead of a map.")


def _shape(detail: str) -> SpecError:
    return SpecError(
        'option "sql" of "rdbms-trigger" cannot be used',
        detail=detail,
        hint="Write sql: {documents: SELECT …, affected: {relation: {root column: its column}}}.",
        code="SPEC_VALUE",
    )
