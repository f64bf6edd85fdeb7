"""The tree of a document as text.

A line's input is the next line of the same indent; what is indented below a Nest or a
Lookup is its other side. Pairs of `on` name the child's column first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from joinery.plan.explain.words import (
    INDENT,
    LATE,
    computed_text,
    scan_lines,
    values_text,
    with_sources,
)
from joinery.plan.lasting import lasting_of
from joinery.plan.node import Node
from joinery.plan.product import DocumentForm
from joinery.plan.relation import OrderKey
from joinery.project.quantity import micros_text, offset_text


def tree_lines(node: Node, joined: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the steps of a node, last first; `joined` are columns that its parent uses."""
    if node.where is not None:
        yield f"Filter {node.where.sql}"
    if node.values:
        yield f"Compute {values_text(node.values, node.aggregates)}"
    for embed in node.embeds:
        yield _edge(embed)
        for line in tree_lines(embed, tuple(_compared(embed))):
            yield INDENT + line
        if embed.through is not None:
            for line in scan_lines(embed.through.relation, _used_through(embed)):
                yield INDENT + line
    yield f"Project {computed_text(node.fields)}" if node.fields else "Project nothing"
    yield from scan_root(node, joined)


def _used_through(embed: Node) -> frozenset[str]:
    """Return the columns that are needed of the relation that leads to an embed."""
    assert embed.through is not None
    relation = embed.through.relation
    used = {*relation.key, *(pair.child for pair in embed.through.on)}
    used.update(pair.parent for pair in embed.on)
    return frozenset(with_sources(relation, used))


def _compared(embed: Node) -> Iterator[str]:
    """Yield the columns that the join of an embed compares."""
    yield from (pair.child for pair in embed.on)
    if embed.within is not None and embed.relation.time is not None:
        yield embed.relation.time


def scan_root(node: Node, joined: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield what reads the rows of a node, last first."""
    yield from scan_lines(node.relation, used_columns(node, joined))


def used_columns(node: Node, joined: Iterable[str] = ()) -> frozenset[str]:
    """Return the columns, declared and derived, that a node needs of its relation.

    Args:
        node: The node.
        joined: The columns that the join with its parent compares.
    """
    hidden = {each.name for each in node.embeds if each.cardinality == "one"}
    values = {each.name for each in node.values}
    used = {*node.relation.key, *joined}
    used.update(pair.parent for embed in node.embeds for pair in embed.parent_on)
    used.update(embed.as_of for embed in node.embeds if embed.as_of is not None)
    used |= {node.relation.time} if node.as_of is not None and node.relation.time else set()
    if node.relation.time is not None and any(each.within is not None for each in node.embeds):
        used.add(node.relation.time)
    for field in node.fields:
        used |= field.expression.references - hidden
    shown = [key.expression for key in node.order] + ([node.where] if node.where else [])
    for expression in shown:
        used |= expression.references - hidden - values
    return frozenset(with_sources(node.relation, used))


def _edge(embed: Node) -> str:
    return f"{_verb(embed)} {embed.name} <- {embed.relation.name} {'; '.join(edge_parts(embed))}"


def _verb(embed: Node) -> str:
    match embed.cardinality:
        case "one":
            return "Lookup"
        case "many":
            return "Nest"
        case "root":
            raise AssertionError(embed.path)  # nothing embeds it


def edge_parts(embed: Node) -> list[str]:
    """Return what is said of an embed's join and window, part by part."""
    parts = list(_joined(embed))
    if embed.as_of is not None:
        parts.append(f"as of {embed.as_of}")
    if embed.within is not None:
        ends = (offset_text(each) for each in (embed.within.from_us, embed.within.to_us))
        parts.append(f"within [{', '.join(ends)}]")
    if embed.order:
        parts.append("order by " + ", ".join(_order(key) for key in embed.order))
    if embed.limit is not None:
        parts.append(f"limit {embed.limit}, {_overflow(embed)}")
    if embed.keyed:
        parts.append("as map")
    if embed.hidden:
        parts.append("hidden")
    return parts


def _joined(embed: Node) -> Iterator[str]:
    prefix = ""
    if embed.through is not None:
        prefix = f"{embed.through.relation.name}."
        pairs = (f"{pair.child} = {pair.parent}" for pair in embed.through.on)
        yield f"through {embed.through.relation.name} on {', '.join(pairs)}"
    yield "on " + ", ".join(f"{pair.child} = {prefix}{pair.parent}" for pair in embed.on)
    if embed.hot_name is not None and embed.through is not None:
        yield f"without those that more than {embed.through.hot_above} name, in {embed.hot_name}"


def _overflow(embed: Node) -> str:
    if embed.total_name is None:
        return "more than that fail"
    return f"total kept in {embed.total_name}"


def _order(key: OrderKey) -> str:
    return f"{key.expression.sql}{' desc' if key.descending else ''}"


def document_lines(form: DocumentForm) -> Iterator[str]:
    """Yield the steps of a product of documents, last first."""
    for relation, after_us in form.waits.items():
        yield f"Wait until {relation.name} is past its time {_sum_text(after_us)}"
    if any(each.within is not None for each in form.root.walk()):
        kept = f"for {micros_text(form.emit.retention_us)}" if lasting_of(form) else "forever"
        yield f"Keep {kept}, late rows {LATE[form.emit.late]}"
    yield from tree_lines(form.root)


def _sum_text(micros: int) -> str:
    return f"- {micros_text(-micros)}" if micros < 0 else f"+ {offset_text(micros)}"
