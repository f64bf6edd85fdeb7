"""The logical plan as text.

A line's input is the next line of the same indent; what is indented below a Nest or a
Lookup is its other side. Pairs of `on` name the child's column first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from joinery.model.type import quoted
from joinery.plan.nodes import Aggregate, Computed, Node, OrderKey, Plan, Product, Relation
from joinery.spec.product import OutboxSpec

_INDENT = "  "


def render_plan(plan: Plan) -> str:
    """Return all products of a plan, an empty line between them."""
    return "\n".join(render_product(product) for product in plan.products)


def render_product(product: Product) -> str:
    """Return the plan of one product.

    Example:
        >>> from joinery.model.type import STRING, Field
        >>> from joinery.plan.nodes import Expression
        >>> user = Relation("user", "", "user", "json", ("id",), (Field("id", STRING),))
        >>> shown = (Computed("id", Expression("id", STRING, frozenset({"id"}))),)
        >>> print(render_product(Product("users", Node("users", "users", "root", user, (), shown))))
        Emit users by id
          Project id
          Scan user [id]
    """
    if product.outbox:
        head, steps = _relay(product, product.outbox), _scan(product.root, ())
    else:
        head, steps = _emit(product), _lines(product.root, ())
    lines = [head, *(_INDENT + line for line in steps)]
    return "\n".join(lines) + "\n"


def _relay(product: Product, outbox: OutboxSpec) -> str:
    topics = ", ".join(str(dict(each.options).get("topic")) for each in product.sinks)
    return f"Relay {outbox.value} of {product.name} by {outbox.key} to kafka {topics}"


def _emit(product: Product) -> str:
    parts = [f"Emit {product.name} by {', '.join(product.root.relation.key)}"]
    if product.sinks:
        parts.append("to " + ", ".join(sink.kind for sink in product.sinks))
    if product.settle_ms is not None:
        parts.append(f"after {product.settle_ms} ms of quiet")
    if product.ready:
        parts.append(f"ready after {', '.join(product.ready)}")
    return " ".join(parts)


def _lines(node: Node, joined: tuple[str, ...]) -> Iterator[str]:
    """Yield the steps of a node, last first; `joined` are columns that its parent uses."""
    if node.where is not None:
        yield f"Filter {node.where.sql}"
    if node.values:
        yield f"Compute {computed_text(node.values)}"
    for aggregate in node.aggregates:
        yield f"Aggregate {aggregate.name} = {aggregate_text(aggregate)}"
    for embed in node.embeds:
        yield _edge(embed)
        for line in _lines(embed, tuple(pair.child for pair in embed.on)):
            yield _INDENT + line
    yield f"Project {computed_text(node.fields)}" if node.fields else "Project nothing"
    yield from _scan(node, joined)


def _scan(node: Node, joined: tuple[str, ...]) -> Iterator[str]:
    used = used_columns(node, joined)
    if node.relation.where is not None:
        yield f"Filter {node.relation.where.sql}"
    derived = tuple(each for each in node.relation.derived if each.name in used)
    if derived:
        yield f"Derive {computed_text(derived)}"
    columns = (each.name for each in node.relation.columns if each.name in used)
    yield f"Scan {node.relation.name} [{', '.join(columns)}]"


def used_columns(node: Node, joined: Iterable[str] = ()) -> frozenset[str]:
    """Return the columns, declared and derived, that a node needs of its relation.

    Args:
        node: The node.
        joined: The columns that the join with its parent compares.
    """
    hidden = {each.name for each in node.embeds if each.cardinality == "one"}
    values = {each.name for each in node.values}
    used = {*node.relation.key, *joined}
    used.update(pair.parent for embed in node.embeds for pair in embed.on)
    for field in node.fields:
        used |= field.expression.references - hidden
    shown = [key.expression for key in node.order] + ([node.where] if node.where else [])
    for expression in shown:
        used |= expression.references - hidden - values
    return frozenset(with_sources(node.relation, used))


def with_sources(relation: Relation, used: set[str]) -> set[str]:
    """Return `used` with the columns that its derived columns and the filter read."""
    found = used | (relation.where.references if relation.where else set())
    for derived in reversed(relation.derived):
        if derived.name in found:
            found |= derived.expression.references
    return found


def _edge(embed: Node) -> str:
    verb = "Lookup" if embed.cardinality == "one" else "Nest"
    return f"{verb} {embed.name} <- {embed.relation.name} {'; '.join(edge_parts(embed))}"


def edge_parts(embed: Node) -> list[str]:
    """Return what is said of an embed's join and window, part by part."""
    parts = ["on " + ", ".join(f"{pair.child} = {pair.parent}" for pair in embed.on)]
    if embed.order:
        parts.append("order by " + ", ".join(_order(key) for key in embed.order))
    if embed.limit is not None:
        parts.append(f"limit {embed.limit}, {_overflow(embed)}")
    if embed.keyed:
        parts.append("as map")
    if embed.hidden:
        parts.append("hidden")
    return parts


def _overflow(embed: Node) -> str:
    if embed.total_name is None:
        return "more than that fail"
    return f"total kept in {embed.total_name}"


def _order(key: OrderKey) -> str:
    return f"{key.expression.sql}{' desc' if key.descending else ''}"


def computed_text(pairs: Iterable[Computed]) -> str:
    """Return expressions under their names, a name alone where it stands for itself."""
    return ", ".join(_assignment(each) for each in pairs)


def _assignment(each: Computed) -> str:
    sql = each.expression.sql
    return sql if sql in (each.name, quoted(each.name)) else f"{each.name} = {sql}"


def aggregate_text(aggregate: Aggregate) -> str:
    """Return an aggregate as its call, over the names of its embed."""
    argument = aggregate.argument.sql if aggregate.argument else aggregate.embed
    call = f"{aggregate.function}({argument})"
    over = f"{call} over {aggregate.embed}" if aggregate.argument else call
    return f"{over} where {aggregate.filter.sql}" if aggregate.filter else over
