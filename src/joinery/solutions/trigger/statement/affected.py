"""The statements that give the roots which a set of changed rows affects, one a node.

A node's changed rows, old and new images alike, are given by what they join on. They climb
over the tables as they stood before the batch: a row that itself changed climbs by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from joinery.clients.sql import quoted
from joinery.plan.node import Node
from joinery.plan.product import Product
from joinery.plan.relation import Relation
from joinery.solutions.trigger.statement.dialect import Dialect, given_name
from joinery.solutions.trigger.statement.layout import Layout


@dataclass(frozen=True, slots=True)
class AffectedStatement:
    """How the changed rows of one node lead to roots.

    Attributes:
        path: The node's; the relation's name where it is of no node.
        relation: Whose rows changed.
        columns: What of them is given, under these names: the join columns; the key at the root.
        changed: The name of the table that they are given in.
        sql: Gives root keys; empty at the root, whose changed keys are the roots.
        whole: Rows are given whatever changed of them, with their nulls.
    """

    path: str
    relation: Relation
    columns: tuple[str, ...]
    changed: str
    sql: str
    whole: bool = False


def affected_statements(
    product: Product, layout: Layout, dialect: Dialect
) -> tuple[AffectedStatement, ...]:
    """Return a statement a node, in tree order.

    Args:
        product: What is shown.
        layout: Where rows are.
        dialect: Of the database.

    Raises:
        UntranslatableError: Two joined columns cannot be compared in the database.
    """
    for node in product.root.walk():
        for embed in node.embeds:
            for pair in embed.on:
                child, parent = embed.relation, node.relation
                dialect.joinable(child.type_of(pair.child), parent.type_of(pair.parent))
    return tuple(_statements(product.root, (), layout, dialect))


def _statements(
    node: Node, above: tuple[Node, ...], layout: Layout, dialect: Dialect
) -> list[AffectedStatement]:
    relation, changed = node.relation, given_name("changed", node.path)
    columns = tuple(pair.child for pair in node.on) if above else relation.key
    sql = _climb((*above, node), layout, dialect, quoted(changed)) if above else ""
    distinct = tuple(dict.fromkeys(columns))
    found = [AffectedStatement(node.path, relation, distinct, changed, sql)]
    for embed in node.embeds:
        found += _statements(embed, (*above, node), layout, dialect)
    return found


def _climb(path: tuple[Node, ...], layout: Layout, dialect: Dialect, changed: str) -> str:
    """Return the joins from the last node of `path` up to the first."""
    root = path[0].relation
    top = quoted("row_0")
    lines = [
        f"SELECT DISTINCT {', '.join(f'{top}.{quoted(column)}' for column in root.key)}",
        f"FROM {changed} AS changed",
    ]
    child = "changed"
    for level in range(len(path) - 2, -1, -1):
        alias = quoted(f"row_{level}")
        pairs = [
            f"{alias}.{quoted(pair.parent)} = {child}.{quoted(pair.child)}"
            for pair in path[level + 1].on
        ]
        on = " AND ".join([*pairs, layout.exists(alias)])
        table = layout.table(path[level].relation)
        lines.append(f"{dialect.join} {table} AS {alias} ON {on}")
        child = alias
    return "\n".join(lines)
