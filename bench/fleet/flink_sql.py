"""The fleet's products in Flink SQL: nested rows, arrays, Top-N for lists with a limit.

Flink's arrays have no order, and a list without rows is null: `wrong` of `flink.py` takes both for
what they mean, so it does not see an order that is wrong. A time is the text that the record has.
"""

from __future__ import annotations

from bench.fleet.shape import Aggregate, Computed, Node, Product, Relation

TYPES = {"long": "BIGINT", "string": "STRING", "timestamp": "STRING", "boolean": "BOOLEAN"}


def table(relation: Relation, folder: str) -> str:
    """Return the statement that declares a relation's change log."""
    columns = [f"`{name}` {TYPES.get(type, type)}" for name, type in relation.columns.items()]
    key = ", ".join(f"`{each}`" for each in relation.key)
    return (
        f"CREATE TABLE {relation.name} ({', '.join(columns)}, PRIMARY KEY ({key}) NOT ENFORCED)"
        f" WITH ('connector' = 'filesystem', 'path' = '{folder}', 'format' = 'debezium-json')"
    )


def query(product: Product) -> str:
    """Return the query of a product: the key's columns as text, and the document."""
    name, levels = product.root.name, list[str]()
    _level(product.root, levels)
    key = ", ".join(f"CAST(`{each}` AS STRING)" for each in product.root.relation.key)
    return f"WITH {', '.join(levels)} SELECT CONCAT_WS(',', {key}) AS k, obj FROM rows_of_{name}"


def _level(node: Node, levels: list[str]) -> None:
    """Add the table of a node's rows: their columns, their fields as `f_…`, their object."""
    joins = [_embedded(each, levels, node) for each in node.embeds]
    fields = {each.name: _of("own", each) for each in node.fields}
    fields |= {name: f"{embed}.f_{text}" for name, embed, text in node.told}
    for each in node.embeds:
        fields |= _shown_embed(each)
    fields |= {f"{each}_size": f"COALESCE(CARDINALITY({each}.items), 0)" for each in node.sizes}
    fields |= {each.name: _outer(each, node) for each in node.aggregates}
    conditions = [_of("own", node.where)] if node.where else []
    if node.inner:
        embed = next(each for each in node.embeds if each.name == node.inner)
        conditions.append(f"{node.inner}.f_{embed.fields[0].name} IS NOT NULL")
    own = ", ".join(f"own.`{each}`" for each in node.relation.columns)
    told = ", ".join(f"{text} AS f_{name}" for name, text in fields.items())
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    inner = f"SELECT {own}, {told} FROM {node.relation.name} AS own{''.join(joins)}{where}"
    shown = ", ".join(f"f_{name}" for name in fields)
    levels.append(f"rows_of_{node.name} AS (SELECT *, ROW({shown}) AS obj FROM ({inner}))")


def _shown_embed(node: Node) -> dict[str, str]:
    shown = f"{node.name}.items" if node.many else f"{node.name}.obj"
    fields = {} if node.hidden else {node.name: shown}
    if node.limit is not None and node.many:
        fields[f"{node.name}_total"] = f"COALESCE({node.name}_all.total, 0)"
    return fields


def _embedded(node: Node, levels: list[str], parent: Node) -> str:
    """Return the joins that bring an embed to its parent's rows."""
    _level(node, levels)
    name = node.name
    if node.cardinality == "one":
        child, column = node.on
        return f" LEFT JOIN rows_of_{name} AS {name} ON {name}.`{child}` = own.`{column}`"
    by, source = f"child.`{node.on[0]}`", f"rows_of_{name} AS child"
    if node.across is not None:
        link, here, there = node.across
        by = f"link.`{here}`"
        source = f"{link.name} AS link JOIN rows_of_{name} AS child ON child.id = link.`{there}`"
    column = "id" if node.across is not None else node.on[1]
    source = f"SELECT {by} AS joined, child.* FROM {source} WHERE {by} IS NOT NULL"
    counted = [_inner(each) for each in parent.aggregates if each.embed == name]
    own = f" = own.`{column}`"
    if node.cardinality == "newest":
        levels.append(f"best_{name} AS ({_ranked(node, source, 1)})")
        return f" LEFT JOIN best_{name} AS {name} ON {name}.joined{own}"
    if node.limit is None:
        told = ", ".join(("ARRAY_AGG(child.obj) AS items", *counted))
        grouped = f"SELECT joined, {told} FROM ({source}) AS child GROUP BY joined"
        levels.append(f"lists_{name} AS ({grouped})")
        return f" LEFT JOIN lists_{name} AS {name} ON {name}.joined{own}"
    best = _ranked(node, source, node.limit)
    grouped = f"SELECT joined, ARRAY_AGG(obj) AS items FROM ({best}) GROUP BY joined"
    told = ", ".join(("COUNT(*) AS total", *counted))
    levels.append(f"lists_{name} AS ({grouped})")
    levels.append(f"all_{name} AS (SELECT joined, {told} FROM ({source}) AS child GROUP BY joined)")
    return (
        f" LEFT JOIN lists_{name} AS {name} ON {name}.joined{own}"
        f" LEFT JOIN all_{name} AS {name}_all ON {name}_all.joined{own}"
    )


def _ranked(node: Node, source: str, limit: int) -> str:
    """Return the first rows of each parent; nulls are the least, as Flink has them."""
    orders = [f"`{each}` {'DESC' if down else 'ASC'}" for each, down in node.order]
    order = ", ".join((*orders, *(f"`{each}` ASC" for each in node.relation.key)))
    over = f"ROW_NUMBER() OVER (PARTITION BY joined ORDER BY {order})"
    return f"SELECT * FROM (SELECT *, {over} AS place FROM ({source})) WHERE place <= {limit}"


def _of(table: str, each: Computed) -> str:
    """Return what is computed of a column."""
    return each.template.format(f"{table}.`{each.column}`")


def _inner(each: Aggregate) -> str:
    """Return an aggregate over the rows of an embed, named as the parent asks for it."""
    over = "*" if each.column is None else f"child.f_{each.column}"
    told = each.where.replace(f"{each.embed}.", "child.f_") if each.where else None
    filtered = f" FILTER (WHERE {told})" if told else ""
    return f"{each.function.upper()}({over}){filtered} AS v_{each.name}"


def _outer(each: Aggregate, parent: Node) -> str:
    """Return an aggregate as a parent shows it, which may have no rows."""
    embed = next(node for node in parent.embeds if node.name == each.embed)
    found = f"{each.embed}{'_all' if embed.limit is not None else ''}.v_{each.name}"
    return f"COALESCE({found}, 0)" if each.function == "count" else found
