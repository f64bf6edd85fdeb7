"""From a node's spec to a node of the plan, from the leaves up.

Invariant: a name that could not be built is not blamed on what uses it.
"""

from __future__ import annotations

from dataclasses import replace

from joinery.expression.typed import Aggregate, Expression
from joinery.model.type import DataType, Struct
from joinery.plan.build_on import (
    Known,
    Relations,
    build_pairs,
    build_through,
    check_as_of,
    check_within,
)
from joinery.plan.context import Context, later_values
from joinery.plan.join import comparable
from joinery.plan.node import Node, Through, types_of
from joinery.plan.relation import LOG_TIME, Computed, JoinPair, OrderKey, Relation
from joinery.project.mark import Path
from joinery.project.node import NodeSpec
from joinery.project.value import Pairs

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
        parts = _NodeParts(self.context, spec, path, known[0], embeds, failed | known[1])
        return parts.build(address, *self.edge(spec, path, known, parent))

    def edge(
        self, spec: NodeSpec, path: Path, child: Known, parent: NodeSpec | None
    ) -> tuple[tuple[JoinPair, ...], Through | None]:
        """Return how an embed hangs on the node above; nothing for a root."""
        if parent is None:
            return (), None
        above = self.relations.get(parent.relation)
        if above is not None:
            check_within(self.context, spec, path, (child[0], above[0]))
            check_as_of(self.context, spec, path, child[0], above)
        if spec.through is None:
            return build_pairs(self.context, spec, path, child=child, parent=above), None
        leading = self.relations.get(spec.through.relation)
        through = build_through(self.context, spec, path, relations=self.relations, parent=above)
        return build_pairs(self.context, spec, path, child=child, parent=leading), through

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

    def build(self, address: str, on: tuple[JoinPair, ...], through: Through | None) -> Node:
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
            within=self.spec.within,
            through=through,
            as_of=self.spec.as_of,
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
        if self.relation.logged and self.relation.clocks is None:
            hiding.add(LOG_TIME)  # It is there for another product.
        hiding |= self.relation.taken_out  # Their object shows them.
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
            found = self.context.expression(
                text, path, scope, failed=self.failed, elsewhere=self.beside
            )
        if found is None:
            self.lost.add(name)
            return None
        return self.computed(name, found[0], path)

    def values(self, scope: Scope) -> tuple[tuple[Computed, ...], tuple[Aggregate, ...]]:
        """Return the values, of which each adds its name to the scope of the next."""
        lists: dict[str, Struct] = {
            e.name: e.output for e in self.embeds if e.cardinality == "many"
        }
        unseen = {
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
                elsewhere=unseen | later_values(self.spec.values, name),
            )
            if found is None:
                self.lost.add(name)
                continue
            aggregates += found[1]
            values.append(self.computed(name, found[0], path))
            scope[name] = found[0].type
        return tuple(values), aggregates

    @property
    def beside(self) -> dict[str, str]:
        """Hints for what "fields" do not see: lists, and the relation that leads to the rows."""
        hints = {
            each.name: f'Write it under "values", the only place that sees "{each.name}".'
            for each in self.spec.embed
            if each.cardinality == "many"
        }
        if self.spec.through is not None:
            name = self.spec.through.relation
            hints[name] = f'Columns of "{name}" can be used only in "on".'
        return hints

    @property
    def renamed(self) -> dict[str, str]:
        """Hints for names that the document has, and `where` and `order` do not see."""
        computed = {name: f"Write {text}, which it is computed from." for name, text in self.pairs}
        lists = {
            each.name: f'Name what you need of "{each.name}" under "values", and write that name.'
            for each in self.spec.embed
            if each.cardinality == "many"
        }
        return computed | self.beside | lists

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
            if each.through is not None and each.through.hot_above is not None:
                named.append((f"{each.name}_hot", "list", below))
        named += [(name, "value", (*self.path, "values", name)) for name, _ in spec.values]
        for name, kind, path in named:
            if name in seen:
                message = f'{kind} "{name}" has the name of another output'
                hint = "Give one of them another name, or hide the embed."
                self.context.refuse("PLAN_DUPLICATE_OUTPUT", message, path, key=True, hint=hint)
            seen.add(name)
