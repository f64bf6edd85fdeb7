"""What holds of every plan, checked after building and after each rewrite.

A failure here is a defect of Joinery, not of a user's declaration.

What holds of every stream of a plan, checked after building.

A failure here is a defect of Joinery, not of a user's declaration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from joinery.errors import PlanError
from joinery.expression.typed import Expression
from joinery.model.type import TIMESTAMP, DataType
from joinery.plan.join import common_type, comparable
from joinery.plan.node import Node, Through
from joinery.plan.product import DocumentForm, OutboxForm, Plan, Product
from joinery.plan.relation import JoinPair, Relation
from joinery.plan.step import (
    stage_of,
)
from joinery.plan.stream import Stream

if TYPE_CHECKING:
    from joinery.plan.product import FlatForm

Names = dict[str, DataType]


def verify(plan: Plan) -> None:
    """Check the invariants of `plan`.

    Raises:
        PlanError: Naming the first node that breaks one.
    """
    _distinct("plan", (product.name for product in plan.products))
    for product in plan.products:
        verify_product(product)


def verify_product(product: Product) -> None:
    """Check the invariants of one product."""
    match product.form:
        case DocumentForm() | OutboxForm():
            _tree(product)
        case Stream():
            verify_stream(product.form)
        case flat:
            _flat(product.name, flat)


def _flat(name: str, form: FlatForm) -> None:
    for holds, invariant in form.invariants():
        if not holds:
            raise PlanError(f'product "{name}" breaks the plan', detail=f"It needs: {invariant}.")
    _distinct(name, (each.name for each in form.output.fields))


def _tree(product: Product) -> None:
    nodes = tuple(product.root.walk())
    _distinct(product.name, (node.path for node in nodes))
    _require(product.root.cardinality == "root", product.root, "a product begins with a root")
    read = {relation.name for relation in product.relations}
    _require(read.issuperset(product.ready), product.root, "ready names relations it reads")
    for relation in product.form.relations:
        _relation(relation, product.root)
    _edges(product.root)
    for node in nodes:
        _node(node)


def _require(holds: bool, node: Node, invariant: str) -> None:
    if not holds:
        raise PlanError(f'node "{node.path}" breaks the plan', detail=f"It needs: {invariant}.")


def _distinct(what: str, names: Iterable[str]) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise PlanError(f'"{what}" has the name "{twice[0]}" twice')


def _relation(relation: Relation, root: Node) -> None:
    declared = {each.name: each.type for each in relation.columns}
    keyed = relation.key and all(name in declared for name in relation.key)
    _require(bool(keyed), root, f'key columns of "{relation.name}" are declared')
    simple = all(comparable(declared[name]) for name in relation.key)
    _require(simple, root, f'key columns of "{relation.name}" are simple')
    known: Names = dict(declared)
    for each in relation.derived:
        _reads(root, each.expression, known)
        known[each.name] = each.expression.type
    _reads(root, relation.where, known)


def _edges(parent: Node) -> None:
    """Check that every embed's pairs join its relation with the one above it."""
    for node in parent.embeds:
        _require(node.cardinality in ("one", "many"), node, "an embed is a one or a many")
        _require(bool(node.on), node, "an embed joins on a column")
        _require(node.path == f"{parent.path}/{node.name}", node, "its path is its place")
        if node.through is None:
            _compared(node, node.on, node.relation, parent.relation)
        else:
            _through(node, node.through, parent)
        timed = node.relation.time is not None and parent.relation.time is not None
        past = node.as_of is None or (
            node.relation.time is not None and _type(parent.relation, node.as_of) == TIMESTAMP
        )
        _require(past, node, "both sides of as_of have a time")
        _require(node.within is None or timed, node, "both sides of an interval have a time")
        _edges(node)


def _through(node: Node, through: Through, parent: Node) -> None:
    _require(node.cardinality == "many", node, "a many alone is reached through a relation")
    _require(bool(through.on), node, "what leads to an embed joins on a column")
    _compared(node, node.on, node.relation, through.relation)
    _compared(node, through.on, through.relation, parent.relation)


def _compared(node: Node, pairs: Iterable[JoinPair], child: Relation, parent: Relation) -> None:
    for pair in pairs:
        left, right = _type(child, pair.child), _type(parent, pair.parent)
        fits = left and right and common_type(left, right)
        _require(fits == pair.type, node, f'"{pair.child}" is compared losslessly')


def _type(relation: Relation, column: str) -> DataType | None:
    found = {each.name: each.type for each in (*relation.columns, *relation.row.fields)}
    return found.get(column)


def _node(node: Node) -> None:
    _require(node.limit is None or node.limit >= 1, node, "a limit is positive")
    windowed = node.limit is not None or node.keyed
    _require(node.cardinality == "many" or not windowed, node, "only a many has a window")
    _require(not node.on or node.cardinality != "root", node, "a root joins nothing")
    _distinct(node.path, (each.name for each in node.output.fields))
    for each in node.fields:
        _reads(node, each.expression, node.fields_scope)
    _aggregates(node)
    for place, each in enumerate(node.values):
        _reads(node, each.expression, node.values_scope(before=place))
    _reads(node, node.where, node.rank_scope)
    for key in node.order:
        _reads(node, key.expression, node.rank_scope)
        _require(comparable(key.expression.type), node, "order columns have an order")
    boolean = node.where is None or str(node.where.type) == "boolean"
    _require(boolean, node, "where is a boolean")


def _aggregates(node: Node) -> None:
    _distinct(node.path, (each.name for each in node.aggregates))
    lists = {each.name: each.output for each in node.embeds if each.cardinality == "many"}
    for each in node.aggregates:
        _require(each.embed in lists, node, "an aggregate reads a many embed")
        known = {field.name: field.type for field in lists[each.embed].fields}
        _reads(node, each.argument, known)
        _reads(node, each.filter, known)


def _reads(node: Node, expression: Expression | None, known: Mapping[str, object]) -> None:
    missing = sorted(expression.references - known.keys()) if expression else []
    _require(not missing, node, f"what it reads is known, and {missing} is not")


def verify_stream(stream: Stream) -> None:
    """Check the invariants of `stream`.

    Raises:
        PlanError: Naming the first step that breaks one.
    """
    for other in stream.united:
        verify_stream(other)
    _verify_stream_require(stream.relation.append, stream, "it begins at a log of events")
    columns = stream.relation.row.fields
    stored = False
    for step in stream.steps:
        for holds, invariant in step.invariants(stream, columns):
            _verify_stream_require(holds, stream, invariant)
        stage = stage_of(step)
        _verify_stream_require(
            not (stored and stage == "state"), stream, "state is read before a store is queried"
        )
        stored = stored or stage == "store"
        columns = step.columns_after(columns)
        names = [each.name for each in columns]
        _verify_stream_require(len(set(names)) == len(names), stream, "each column is there once")
    _verify_stream_require(
        columns == stream.columns, stream, "its columns are those of its last step"
    )
    _verify_stream_require(
        stream.correction not in {each.name for each in columns}, stream, "its mark is new"
    )


def _verify_stream_require(holds: bool, stream: Stream, invariant: str) -> None:
    if not holds:
        raise PlanError(f'stream "{stream.name}" breaks the plan', detail=f"It needs: {invariant}.")
