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
from joinery.model.type import BOOLEAN, TIMESTAMP, DataType, Field
from joinery.plan.join import common_type, comparable
from joinery.plan.nodes import (
    Computed,
    DocumentForm,
    JoinPair,
    Node,
    OutboxForm,
    Plan,
    Product,
    Relation,
    Through,
)
from joinery.plan.seen import SEEN
from joinery.plan.step import (
    Filter,
    Join,
    Lookup,
    MapRows,
    Rolling,
    SeenFilter,
    Select,
    Step,
    Union,
    WithColumns,
    stage_of,
)
from joinery.plan.stream import Stream

if TYPE_CHECKING:
    from joinery.plan.nodes import FlatForm

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
    _verify_stream_require(stream.relation.append, stream, "it begins at a log of events")
    columns = stream.relation.row.fields
    stored = False
    for step in stream.steps:
        _step(stream, step, columns)
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


def _step(stream: Stream, step: Step, columns: tuple[Field, ...]) -> None:
    match step:
        case Lookup():
            _lookup(stream, step, columns)
        case Filter(where):
            _verify_stream_reads(stream, [where], columns)
            _verify_stream_require(str(where.type) == "boolean", stream, "a filter is a boolean")
        case Select(fields) | WithColumns(fields):
            _verify_stream_reads(stream, [each.expression for each in fields], columns)
        case Union(other):
            verify_stream(other)
            _verify_stream_require(
                other.columns == columns, stream, "united streams have the same columns"
            )
            _verify_stream_require(
                other.key == stream.key, stream, "united events have the same kind of key"
            )
        case Rolling():
            _rolling(stream, step, columns)
        case Join():
            _join(stream, step, columns)
        case SeenFilter(column, time, _, where):
            types = {each.name: each.type for each in columns}
            _verify_stream_require(types.get(time) == TIMESTAMP, stream, "what is seen has a time")
            _verify_stream_require(column in types, stream, "what was seen is there")
            _verify_stream_reads(stream, [where], (*columns, Field(SEEN, BOOLEAN)))
        case MapRows():
            pass


def _join(stream: Stream, step: Join, columns: tuple[Field, ...]) -> None:
    types = {each.name: each.type for each in columns}
    times = (types.get(step.time), step.other.type_of(step.other_time))
    _verify_stream_require(times == (TIMESTAMP, TIMESTAMP), stream, "both sides have a time")
    joined = all(pair.parent in types for pair in step.on)
    _verify_stream_require(joined, stream, "joined columns are there")
    asked = [each.expression for each in step.fields]
    _verify_stream_reads(stream, asked, step.other.row.fields)


def _rolling(stream: Stream, step: Rolling, columns: tuple[Field, ...]) -> None:
    types = {each.name: each.type for each in columns}
    _verify_stream_require(types.get(step.time) == TIMESTAMP, stream, "rolling columns need a time")
    _verify_stream_require({*step.by} <= types.keys(), stream, "what it counts by is there")
    inner = [each for one in step.aggregates for each in (one.argument, one.filter) if each]
    _verify_stream_reads(stream, inner, columns)
    for place, value in enumerate(step.values):
        known = step.values_scope(types, before=place).keys()
        _verify_stream_require(
            value.expression.references <= known, stream, "an event has what its values read"
        )


def _lookup(stream: Stream, lookup: Lookup, columns: tuple[Field, ...]) -> None:
    types = {each.name: each.type for each in columns}
    joined = tuple(pair.child for pair in lookup.on)
    _verify_stream_require(
        joined == lookup.table.key, stream, "a lookup compares the table's key, in order"
    )
    _verify_stream_require(
        all(pair.parent in types for pair in lookup.on), stream, "joined columns are there"
    )
    _verify_stream_reads(
        stream, [each.expression for each in lookup.fields], lookup.table.row.fields
    )
    if lookup.where is not None:
        _verify_stream_reads(stream, [lookup.where], (*columns, *_made(lookup.fields)))
    remembers = lookup.on_change != "keep"
    _verify_stream_require(
        remembers == (lookup.for_ms is not None), stream, "what is remembered has an end"
    )
    waits = lookup.on_miss == "wait"
    _verify_stream_require(waits == (lookup.wait_ms is not None), stream, "what waits has an end")
    stored = lookup.read == "database"
    _verify_stream_require(
        stored == (lookup.store is not None), stream, "a store is named where one is queried"
    )
    _verify_stream_require(
        not (lookup.remembers and lookup.read != "state"), stream, "state alone remembers"
    )
    versioned = lookup.as_of == "event"
    _verify_stream_require(
        versioned or lookup.history_ms is None, stream, "versions alone have a history"
    )
    if versioned:
        valid_from = lookup.table.type_of(lookup.valid_from or "")
        timed = types.get(lookup.event_time or "") == TIMESTAMP == valid_from
        _verify_stream_require(timed, stream, "both sides of a temporal join have a time")


def _made(fields: tuple[Computed, ...]) -> tuple[Field, ...]:
    return tuple(Field(each.name, each.expression.type) for each in fields)


def _verify_stream_reads(
    stream: Stream, expressions: Iterable[Expression], columns: tuple[Field, ...]
) -> None:
    known = {each.name for each in columns}
    for each in expressions:
        missing = sorted(each.references - known)
        _verify_stream_require(not missing, stream, f"what it reads is known, and {missing} is not")


def _verify_stream_require(holds: bool, stream: Stream, invariant: str) -> None:
    if not holds:
        raise PlanError(f'stream "{stream.name}" breaks the plan', detail=f"It needs: {invariant}.")
