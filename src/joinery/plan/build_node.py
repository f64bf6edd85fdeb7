"""From a node's spec to a node of the plan, from the leaves up.

Invariant: a name that could not be built is not blamed on what uses it.

The column pairs of an embed's `on`: resolved, typed, and the right way round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from joinery.expression.typed import Aggregate, Expression
from joinery.model.type import DataType, Struct
from joinery.plan.context import Context
from joinery.plan.join import common_type, comparable
from joinery.plan.nodes import Computed, JoinPair, Node, OrderKey, Relation, types_of
from joinery.project.product import NodeSpec, Pairs
from joinery.project.tree import Path

Known = tuple[Relation, frozenset[str]]
Row = dict[str, DataType]


def build_pairs(
    context: Context, spec: NodeSpec, path: Path, *, child: Known, parent: Known | None
) -> tuple[JoinPair, ...]:
    """Return the pairs of `spec.on`, or note what is wrong with them.

    Args:
        context: Takes the problems.
        spec: The embed.
        path: Where it is declared.
        child: Its relation, with the columns that could not be built.
        parent: That of the node above; None where it is not there.
    """
    if parent is None:
        return ()
    below, above = _row(child[0]), _row(parent[0])
    failed = child[1] | parent[1]
    pairs = tuple(each for each in dict.fromkeys(spec.on) if failed.isdisjoint(each))
    swapped = tuple((parent_name, child_name) for child_name, parent_name in pairs)
    if not _fits(pairs, below, above) and _fits(swapped, below, above):
        _refuse_swapped(context, spec, path, swapped)
        return ()
    _warn_whole_key(context, spec, path, child[0], swapped if _fits(swapped, below, above) else ())
    found = [
        _pair(context, (*path, "on", name), (name, other), (child[0], below), (parent[0], above))
        for name, other in pairs
    ]
    return tuple(each for each in found if each is not None)


def _row(relation: Relation) -> Row:
    return {each.name: each.type for each in relation.row.fields}


def _fits(pairs: Pairs, below: Row, above: Row) -> bool:
    return all(
        child in below and parent in above and common_type(below[child], above[parent]) is not None
        for child, parent in pairs
    )


def _written(pairs: Pairs) -> str:
    return ", ".join(f"{child}: {parent}" for child, parent in pairs)


def _refuse_swapped(context: Context, spec: NodeSpec, path: Path, swapped: Pairs) -> None:
    context.refuse(
        "PLAN_ON_SWAPPED",
        f'the sides of "on" of embed "{spec.name}" look swapped',
        (*path, "on", swapped[0][1]),
        key=True,
        detail="The child's column comes first, then the parent's.",
        hint=f"Write on: {{{_written(swapped)}}}.",
    )


def _warn_whole_key(
    context: Context, spec: NodeSpec, path: Path, child: Relation, swapped: Pairs
) -> None:
    """Warn of a list that can hold one row at most, where the other way round it could more."""
    columns = {name for name, _ in spec.on}
    turned = {name for name, _ in swapped}
    if spec.cardinality != "many" or not swapped or not columns.issuperset(child.key):
        return
    if turned.issuperset(child.key):
        return
    context.refuse(
        "PLAN_ON_SWAPPED",
        f'the sides of "on" of embed "{spec.name}" may be swapped',
        (*path, "on", spec.on[0][0]),
        key=True,
        detail=f'It compares the whole key of "{child.name}", so that one row matches at most.',
        hint=f"Write on: {{{_written(swapped)}}}, or make it a one.",
        warning=True,
    )


def _pair(
    context: Context,
    path: Path,
    names: tuple[str, str],
    child: tuple[Relation, Row],
    parent: tuple[Relation, Row],
) -> JoinPair | None:
    """Return one pair, or note what is wrong with it."""
    known = True
    for name, (relation, row), key in ((names[0], child, True), (names[1], parent, False)):
        if name not in row:
            message = f'relation "{relation.name}" has no field "{name}"'
            context.unknown("PLAN_UNKNOWN_FIELD", message, path, name=name, known=row, key=key)
            known = False
    if not known:
        return None
    left, right = child[1][names[0]], parent[1][names[1]]
    kind = common_type(left, right)
    if kind is None:
        context.refuse(
            "PLAN_TYPE_MISMATCH",
            f'"{names[0]}" of "{child[0].name}" ({left}) cannot equal'
            f' "{names[1]}" of "{parent[0].name}" ({right})',
            path,
            key=True,
            detail="Joined columns need one type, or types that widen without loss.",
            hint=_type_hint(left, right),
        )
        return None
    return JoinPair(names[0], names[1], kind)


def _type_hint(left: DataType, right: DataType) -> str:
    if comparable(left) and comparable(right):
        return "Declare one type for both, or derive a column with a cast."
    return "Join on columns of a simple type."


Relations = Mapping[str, tuple[Relation, frozenset[str]]]
Scope = dict[str, DataType]


def build_root(context: Context, spec: NodeSpec, path: Path, relations: Relations) -> Node | None:
    """Return the tree of a product, or None where its root's relation is not there."""
    return _Builder(context, relations).node(spec, path, spec.name, None)


class _Builder:
    """Builds the nodes of one product."""

    def __init__(self, context: Context, relations: Relations) -> None:
        self.context, self.relations = context, relations

    def node(
        self, spec: NodeSpec, path: Path, address: str, parent: NodeSpec | None
    ) -> Node | None:
        known = self.relations.get(spec.relation)
        if known is None and spec.relation:
            message = f'there is no relation "{spec.relation}"'
            self.context.unknown(
                "PLAN_UNKNOWN_RELATION",
                message,
                (*path, spec.cardinality),
                name=spec.relation,
                known=self.relations,
            )
        embeds, failed = self.embeds(spec, path, address)
        if known is None:
            return None
        on: tuple[JoinPair, ...] = ()
        if parent is not None:
            above = self.relations.get(parent.relation)
            on = build_pairs(self.context, spec, path, child=known, parent=above)
        return _NodeParts(self.context, spec, path, known[0], embeds, failed | known[1]).build(
            address, on
        )

    def embeds(
        self, spec: NodeSpec, path: Path, address: str
    ) -> tuple[tuple[Node, ...], frozenset[str]]:
        """Return the embeds that could be built, and the names of those with problems."""
        built: list[Node] = []
        failed: set[str] = set()
        for each in spec.embed:
            before = len(self.context.problems)
            below = (*path, "embed", each.name)
            node = self.node(each, below, f"{address}/{each.name}", spec)
            if node is not None:
                built.append(node)
            if len(self.context.problems) > before:
                failed.add(each.name)
        return tuple(built), frozenset(failed)


class _NodeParts:
    """Builds the expressions of one node whose relation and embeds are there."""

    def __init__(
        self,
        context: Context,
        spec: NodeSpec,
        path: Path,
        relation: Relation,
        embeds: tuple[Node, ...],
        failed: frozenset[str],
    ) -> None:
        self.context, self.spec, self.path = context, spec, path
        self.relation, self.embeds = relation, embeds
        self.failed, self.lost = failed, set[str]()
        self.pairs = self.default_pairs() if spec.fields is None else spec.fields

    def build(self, address: str, on: tuple[JoinPair, ...]) -> Node:
        node = Node(
            name=self.spec.name,
            path=address,
            cardinality=self.spec.cardinality,
            relation=self.relation,
            on=on,
            embeds=self.embeds,
            limit=self.spec.limit,
            overflow=self.spec.overflow,
            hidden=self.spec.hidden,
            keyed=self.spec.keyed,
        )
        node = replace(node, fields=self.fields(types_of(node.fields_scope)))
        values, aggregates = self.values(types_of(node.values_scope()))
        self.check_names()
        node = replace(node, values=values, aggregates=aggregates)
        ranked = types_of(node.rank_scope)
        return replace(node, where=self.where(ranked), order=self.order(ranked))

    def computed(self, name: str, expression: Expression, path: Path) -> Computed:
        if "void" in str(expression.type):
            message = f'"{name}" has no type'
            hint = "Cast the null, such as cast(null as string)."
            self.context.refuse("PLAN_TYPE_MISMATCH", message, path, hint=hint)
        return Computed(name, expression)

    def default_pairs(self) -> Pairs:
        """Return all columns of the relation, without those that embeds hide."""
        hiding = {e.name for e in self.spec.embed if e.cardinality == "one" or not e.hidden}
        names = [each.name for each in self.relation.row.fields]
        return tuple((name, name) for name in names if name not in hiding)

    def fields(self, scope: Scope) -> tuple[Computed, ...]:
        found = [self.field(name, text, scope) for name, text in self.pairs]
        return tuple(each for each in found if each is not None)

    def field(self, name: str, text: str, scope: Scope) -> Computed | None:
        path = (*self.path, "fields", name)
        if name == text and name not in scope and name not in self.failed:
            message = f'relation "{self.relation.name}" has no field "{name}"'
            if not name.isidentifier():
                hint = f"Write {{NAME: {name}}} for an expression."
                self.context.refuse("PLAN_UNKNOWN_FIELD", message, path, hint=hint)
            else:
                self.context.unknown("PLAN_UNKNOWN_FIELD", message, path, name=name, known=scope)
            found = None
        else:
            found = self.context.expression(text, path, scope, failed=self.failed)
        if found is None:
            self.lost.add(name)
            return None
        return self.computed(name, found[0], path)

    def values(self, scope: Scope) -> tuple[tuple[Computed, ...], tuple[Aggregate, ...]]:
        """Return the values, of which each adds its name to the scope of the next."""
        lists: dict[str, Struct] = {
            e.name: e.output for e in self.embeds if e.cardinality == "many"
        }
        unshown = {
            each.name: f'List "{each.name}" in "fields": values see what the node shows.'
            for each in self.relation.row.fields
        }
        values: list[Computed] = []
        aggregates: tuple[Aggregate, ...] = ()
        for name, text in self.spec.values:
            path = (*self.path, "values", name)
            found = self.context.expression(
                text,
                path,
                scope,
                failed=self.failed | self.lost,
                embeds=lists,
                first_aggregate=len(aggregates),
                elsewhere=unshown,
            )
            if found is None:
                self.lost.add(name)
                continue
            aggregates += found[1]
            values.append(self.computed(name, found[0], path))
            scope[name] = found[0].type
        return tuple(values), aggregates

    @property
    def renamed(self) -> dict[str, str]:
        """Hints for names that the document has, and `where` and `order` do not see."""
        return {name: f"Write {text}, which it is computed from." for name, text in self.pairs}

    @property
    def unseen(self) -> frozenset[str]:
        """The names that `where` and `order` should see, and that could not be built."""
        values = {name for name, _ in self.spec.values}
        return self.failed | (self.lost & values)

    def where(self, scope: Scope) -> Expression | None:
        if self.spec.where is None:
            return None
        path = (*self.path, "where")
        return self.context.condition(
            self.spec.where, path, scope, self.unseen, elsewhere=self.renamed
        )

    def order(self, scope: Scope) -> tuple[OrderKey, ...]:
        keys: list[OrderKey] = []
        for index, each in enumerate(self.spec.order):
            path = (*self.path, "order", index)
            found = self.context.expression(
                each.expression, path, scope, failed=self.unseen, elsewhere=self.renamed
            )
            if found is None:
                continue
            if not comparable(found[0].type):
                message = f'"{each.expression}" of type {found[0].type} has no order'
                hint = "Order by columns of a simple type."
                self.context.refuse("PLAN_ORDER", message, path, hint=hint)
            keys.append(OrderKey(found[0], each.descending))
        return tuple(keys)

    def check_names(self) -> None:
        """Refuse two outputs of one name, and a total that hides another name."""
        spec, seen = self.spec, set[str]()
        named: list[tuple[str, str, Path]] = [
            (name, "field", (*self.path, "fields", name)) for name, _ in self.pairs
        ]
        for each in spec.embed:
            below = (*self.path, "embed", each.name)
            named += [] if each.hidden else [(each.name, "embed", below)]
            if each.limit is not None and each.overflow == "count":
                named.append((f"{each.name}_total", "total", below))
        named += [(name, "value", (*self.path, "values", name)) for name, _ in spec.values]
        for name, kind, path in named:
            if name in seen:
                message = f'{kind} "{name}" has the name of another output'
                hint = "Give one of them another name, or hide the embed."
                self.context.refuse("PLAN_DUPLICATE_OUTPUT", message, path, key=True, hint=hint)
            seen.add(name)
