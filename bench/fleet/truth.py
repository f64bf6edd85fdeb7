"""What the fleet's documents must be: one statement a product, in DuckDB, by hand-made rules.

Nothing is shared with the product but the shape that the declaration was made of, too. A level is a
table of its rows, each with its object; what a parent embeds is grouped once and joined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import duckdb

from bench.fleet.shape import Aggregate, Computed, Fleet, Node, Product, Relation

TYPES = {"long": "bigint", "string": "varchar", "timestamp": "timestamp", "boolean": "boolean"}


class Truth:
    """A database of the rows that stand, asked for documents."""

    def __init__(self, fleet: Fleet, rows: Path, *, memory: str = "2GB") -> None:
        """Load the rows, one file of JSON lines a relation, in `rows`."""
        self._database = duckdb.connect(config={"memory_limit": memory, "threads": "2"})
        for each in fleet.relations:
            columns = {name: TYPES.get(type, type) for name, type in each.columns.items()}
            told = ", ".join(f"{name}: '{type}'" for name, type in columns.items())
            self._database.execute(
                f"create table {each.name} as select * from read_json('{rows}/{each.name}.jsonl',"
                f" format = 'newline_delimited', columns = {{{told}}})"
            )

    def documents(self, product: Product) -> Iterator[tuple[str, str]]:
        """Yield the key and the document of each root row, as JSON."""
        found = self._database.execute(statement(product))
        while some := found.fetchmany(10_000):
            yield from some

    def close(self) -> None:
        """Forget everything."""
        self._database.close()


def statement(product: Product) -> str:
    """Return the statement of a product's documents."""
    levels: list[str] = []
    name = _level(product.root, levels)
    key = ", ".join(f"{each}: {each}" for each in product.root.relation.key)
    return f"with {', '.join(levels)} select to_json({{{key}}}), to_json(obj) from {name}"


def _level(node: Node, levels: list[str]) -> str:
    """Add the table of a node's rows with their objects; return its name."""
    joins: list[str] = []
    sources = {each.name: _embedded(each, levels, node, joins) for each in node.embeds}
    parts = [f"{each.name}: {_shown(each, node.relation)}" for each in node.fields]
    parts += [f"{name}: {embed}.obj.{text}" for name, embed, text in node.told]
    for each in node.embeds:
        parts += _shown_embed(each, sources[each.name])
    parts += [f"{each}_size: len({sources[each]})" for each in node.sizes]
    parts += [f"{each.name}: {_outer(each)}" for each in node.aggregates]
    conditions = [_own(node.where)] if node.where else []
    if node.inner:
        embed = next(each for each in node.embeds if each.name == node.inner)
        conditions.append(f"{node.inner}.obj.{embed.fields[0].name} is not null")
    where = f" where {' and '.join(conditions)}" if conditions else ""
    name = f"rows_of_{node.name}"
    levels.append(
        f"{name} as (select own.*, {{{', '.join(parts)}}} as obj from {node.relation.name} as own"
        f"{''.join(joins)}{where})"
    )
    return name


def _embedded(node: Node, levels: list[str], parent: Node, joins: list[str]) -> str:
    """Join an embed to its parent's rows; return what it is there."""
    name, rows = node.name, _level(node, levels)
    if node.cardinality == "one":
        child, column = node.on
        joins.append(f" left join {rows} as {name} on {name}.{child} = own.{column}")
        return f"{name}.obj"
    order = ", ".join((*map(_ordered, node.order), *node.relation.key))
    by, source = f"child.{node.on[0]}", f"{rows} as child"
    if node.across is not None:
        link, here, there = node.across
        by = f"link.{here}"
        source = f"{link.name} as link join {rows} as child on child.id = link.{there}"
    order = ", ".join(f"child.{each}" for each in order.split(", "))
    counted = [f"{_inner(each)} as {each.name}" for each in parent.aggregates if each.embed == name]
    told = ", ".join((f"list(child.obj order by {order}) as items", "count(*) as total", *counted))
    grouped = f"(select {by} as joined, {told} from {source} group by {by})"
    if node.cardinality == "newest":
        grouped = f"(select joined, items[1] as obj from {grouped})"
    column = "id" if node.across is not None else node.on[1]
    joins.append(f" left join {grouped} as {name} on {name}.joined = own.{column}")
    if node.cardinality == "newest":
        return f"{name}.obj"
    kept = f"{name}.items" if node.limit is None else f"{name}.items[1:{node.limit}]"
    return f"coalesce({kept}, [])"


def _ordered(order: tuple[str, bool]) -> str:
    column, down = order
    return f"{column} {'desc nulls last' if down else 'asc nulls first'}"


def _shown_embed(node: Node, source: str) -> list[str]:
    shown = [] if node.hidden else [f"{node.name}: {source}"]
    if node.limit is not None and node.many:
        shown.append(f"{node.name}_total: coalesce({node.name}.total, 0)")
    return shown


def _own(each: Computed) -> str:
    """Return what is computed of a row's own column."""
    return each.template.format(f"own.{each.column}")


def _shown(each: Computed, relation: Relation) -> str:
    """Return a field; a time as documents show it."""
    timed = relation.columns[each.column] == "timestamp"
    return f"strftime(own.{each.column}, '%Y-%m-%dT%H:%M:%SZ')" if timed else _own(each)


def _inner(each: Aggregate) -> str:
    """Return an aggregate over the rows of an embed."""
    over = "*" if each.column is None else f"child.obj.{each.column}"
    told = each.where.replace(f"{each.embed}.", "child.obj.") if each.where else None
    return f"{each.function}({over})" + (f" filter (where {told})" if told else "")


def _outer(each: Aggregate) -> str:
    """Return an aggregate as a parent shows it, which may have no rows."""
    found = f"{each.embed}.{each.name}"
    return f"coalesce({found}, 0)" if each.function == "count" else found


def sizes(truth: Truth, fleet: Fleet) -> Mapping[str, int]:
    """Return how many documents each product has."""
    return {each.name: sum(1 for _ in truth.documents(each)) for each in fleet.products}
