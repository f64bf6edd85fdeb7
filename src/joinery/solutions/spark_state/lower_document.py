"""Lowers documents: each node becomes a Fold, each edge a Match, a ToOne or a pair of nodes.

What is not needed is left out, with its reason:

- a Match whose join value is the parent's own key: the Fold is the Match;
- a Gather of the same, with a limit: the Fold gathers what rows lead to;
- a Match of embeds that hang on the same columns as another: it is an arm of that one;
- a Fold over a lone ToOne: the ToOne assembles its parents in place. At the root of a product this
  is so for rows of append relations, and where a condition leaves documents out; a Root remembers
  what was sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from joinery.model.type import quoted
from joinery.plan.node import Hot, Node, Through
from joinery.plan.product import DocumentForm, Product
from joinery.plan.relation import Relation
from joinery.project.window import Within
from joinery.solutions.spark_state.assembler import (
    Address,
    Assembler,
    OrderColumn,
    ScopeName,
    Slot,
    Sql,
)
from joinery.solutions.spark_state.document_program import (
    NO_RELATION,
    Branch,
    FanOut,
    Fold,
    Gather,
    Gathers,
    Interval,
    Match,
    Merge,
    Near,
    ToOne,
    Upward,
    Valid,
    ValidRows,
)
from joinery.solutions.spark_state.draft import Draft
from joinery.solutions.spark_state.embedding import (
    aggregate_columns,
    inputs_of,
    is_fusible,
    is_gathered_by_fold,
    is_lookup,
    is_total_used,
    join_of,
    pair_of,
    shape_of,
    sharing,
    sql_over,
)
from joinery.solutions.spark_state.grouping import (
    decider_of,
)
from joinery.solutions.spark_state.interval_program import Kept
from joinery.solutions.spark_state.judging import judged_uses, kept_by_fold
from joinery.solutions.spark_state.places import Places, RelationUses, arm_of
from joinery.solutions.spark_state.program import (
    ChildUse,
    OwnUse,
    ParentUse,
    Root,
    ThroughUse,
)


class DocumentLowering:
    """Lowers the tree of one product, from its root down."""

    def __init__(self, draft: Draft, product: Product, place: int) -> None:
        self._draft, self._product, self._place = draft, product, place
        self._own: Mapping[str, RelationUses] = {}
        self._kept: Kept | None = None

    def lower(self) -> None:
        """Add what keeps the product's documents, or the rows of its outbox."""
        form, draft = self._product.form, self._draft
        waits: Mapping[Relation, int] = {}
        if isinstance(form, DocumentForm):
            self._own = judged_uses(form, self._place, draft.relations)
            draft.judged += self._own.values()
            self._kept, waits = kept_by_fold(form, draft.relations), form.waits
        root = self._product.root
        if self._kept is None and not waits and self._is_assembled_below(root):
            self._root(root)
        else:
            self._fold(root, upward=None, product=self._place, waits=waits)

    def _is_assembled_below(self, root: Node) -> bool:
        """Whether a lone ToOne can assemble a root's rows, and less is kept where it does.

        A ToOne keeps a row that a Retract before it keeps, too. So where rows change it has to
        keep documents from the Root.
        """
        relation = root.relation
        if not relation.key or root.as_of is not None or relation.name in self._own:
            return False
        only_comes = relation.append and relation.personal is None
        if not only_comes and (root.where is None or self._draft.former):
            return False
        embeds = root.embeds
        return len(embeds) == 1 and is_lookup(embeds[0]) and not is_fusible(root, embeds[0])

    def _root(self, node: Node) -> None:
        index, uses, lone = self._draft.reserve(), self._rows_of(node), node.embeds[0]
        self._draft.nodes[index] = Root(node.path, 0, uses.index, self._place)
        self._draft.reasons.append(
            f"{node.path}: no Fold, since {lone.path} is its only embed and a ToOne, "
            "which assembles it in place"
        )
        upward = Upward(index, 0, uses.key_address())
        merge = Merge(self._node_assembler(node), uses.index, upward)
        self._lookup(node, lone, fold=NO_RELATION, branch=0, merge=merge)

    def _rows_of(self, node: Node) -> RelationUses:
        """Return what a node's rows are: a relation's, or the versions of these."""
        if node.as_of is not None:
            return self._draft.versions[node.relation.name]
        return self._own.get(node.relation.name, self._draft.relations[node.relation.name])

    def _fold(
        self,
        node: Node,
        *,
        upward: Upward | None,
        product: int,
        waits: Mapping[Relation, int] = MappingProxyType({}),
    ) -> None:
        uses = self._rows_of(node)
        index = self._draft.reserve()
        branches = tuple(
            self._edge(node, embed, fold=index, branch=place)
            for place, embed in enumerate(node.embeds)
        )
        self._draft.nodes[index] = Fold(
            name=node.path,
            level=0,
            relation=uses.index,
            raw=False,
            branches=branches,
            assembler=self._node_assembler(node),
            product=product,
            upward=upward,
            kept=self._kept,
        )
        uses.uses.append(OwnUse(index, time=uses.time if waits else None))
        for relation, after_us in waits.items():
            others = {each: uses.index for each, uses in self._draft.relations.items()}
            decider = decider_of(
                node, relation, after_us, others, target=index, before=self._draft.keeps_closings
            )
            self._draft.nodes.append(decider)

    def _edge(self, node: Node, embed: Node, *, fold: int, branch: int) -> Branch:
        fused = is_fusible(node, embed)
        if fused:
            self._draft.reasons.append(
                f"{embed.path}: no Match, since its join value is the key of "
                f'"{node.relation.name}", under which the Fold of {node.path} is kept'
            )
            columns = [pair_of(embed, parent=key).child for key in node.relation.key]
            types = [node.relation.type_of(key) for key in node.relation.key]
            address = self._rows_of(embed).address(columns, types)
            self._child(embed, Upward(fold, branch, address))
        elif embed.through is not None:
            self._through(node, embed, embed.through, fold=fold, branch=branch)
        elif is_lookup(embed):
            self._lookup(node, embed, fold=fold, branch=branch, merge=None)
        elif embed.within is not None:
            self._interval(node, embed, embed.within, fold=fold, branch=branch)
        elif embed.as_of is not None:
            self._valid(node, embed, embed.as_of, fold=fold, branch=branch)
        elif (arms := sharing(node, embed))[0] is embed:
            self._match(node, arms, fold=fold)
        else:
            columns = [pair.parent for pair in join_of(embed)]
            self._draft.reasons.append(
                f"{embed.path}: no Match of its own, since it hangs on {', '.join(columns)} "
                f"like {arms[0].path}, whose Match keeps both"
            )
        return self._branch(node, embed, fused=fused)

    def _interval(self, node: Node, embed: Node, within: Within, *, fold: int, branch: int) -> None:
        index = self._draft.reserve()
        ends = within.from_us, within.to_us
        self._draft.nodes[index] = Interval(embed.path, 0, fold, branch, *ends, kept=self._kept)
        self._timed(node, embed, self._rows_of(node).time, index, fold=fold, branch=branch)

    def _valid(self, node: Node, embed: Node, as_of: str, *, fold: int, branch: int) -> None:
        index = self._draft.reserve()
        self._draft.nodes[index] = Valid(embed.path, 0, fold, branch)
        time = self._rows_of(node).ordinal(as_of)
        self._timed(node, embed, time, index, fold=fold, branch=branch)

    def _timed(
        self, node: Node, embed: Node, time: int | None, index: int, *, fold: int, branch: int
    ) -> None:
        """Bring rows to the node at `index`, whose parents ask by a time of theirs."""
        pairs = join_of(embed)
        types = [pair.type for pair in pairs]
        parents = self._rows_of(node)
        address = parents.address([pair.parent for pair in pairs], types)
        parents.uses.append(ParentUse(index, address, fold, (branch,), merged=False, time=time))
        children = self._rows_of(embed)
        child = children.address([pair.child for pair in pairs], types)
        self._child(embed, Upward(index, 0, child))

    def _lookup(
        self, node: Node, embed: Node, *, fold: int, branch: int, merge: Merge | None
    ) -> None:
        index = self._draft.reserve()
        pairs = [pair_of(embed, child=key) for key in embed.relation.key]
        types = [pair.type for pair in pairs]
        parents = self._rows_of(node)
        self._draft.nodes[index] = ToOne(
            name=embed.path,
            level=0,
            child_relation=NO_RELATION,
            child_assembler=0,
            child_type=embed.output,
            parent_relation=NO_RELATION,
            fold=fold,
            branch=branch,
            merge=merge,
        )
        address = parents.address([pair.parent for pair in pairs], types)
        parents.uses.append(ParentUse(index, address, fold, (branch,), merged=merge is not None))
        children = self._rows_of(embed)
        child = children.address([pair.child for pair in pairs], types)
        self._child(embed, Upward(index, 0, child))

    def _match(self, node: Node, embeds: Sequence[Node], *, fold: int) -> None:
        index = self._draft.reserve()
        arms = tuple(arm_of(node, embed) for embed in embeds)
        names = "+".join(embed.name for embed in embeds)
        self._draft.nodes[index] = Match(f"{node.path}/{names}", 0, arms, fold)
        pairs = join_of(embeds[0])
        types = [pair.type for pair in pairs]
        parents = self._rows_of(node)
        address = parents.address([pair.parent for pair in pairs], types)
        branches = tuple(arm.branch for arm in arms)
        parents.uses.append(ParentUse(index, address, fold, branches, merged=False))
        for place, embed in enumerate(embeds):
            children = self._rows_of(embed)
            child = children.address([pair.child for pair in join_of(embed)], types)
            self._child(embed, Upward(index, place, child))

    def _through(
        self, node: Node, embed: Node, through: Through, *, fold: int, branch: int
    ) -> None:
        if self._gathers(node, embed):
            self._fan_out_to_fold(node, embed, through, fold=fold, branch=branch)
            return
        gather, fan_out = self._draft.reserve(), self._draft.reserve()
        total = is_total_used(node, embed)
        entries = shape_of(node, embed) != "none"
        self._draft.nodes[gather] = Gather(
            name=embed.path,
            level=0,
            limit=embed.limit or 0,
            entries=entries,
            total=total,
            value_types=tuple(pair.type for pair in embed.on),
            hot=Hot(embed).type if embed.hot_name else None,
            fold=fold,
            branch=branch,
        )
        arm = replace(arm_of(node, embed), branch=0, aggregates=())
        self._draft.nodes[fan_out] = FanOut(embed.path, 0, arm, gather, through.hot_above or 0)
        parents = self._rows_of(node)
        led = [pair.type for pair in through.on]
        address = parents.address([pair.parent for pair in through.on], led)
        parents.uses.append(ParentUse(gather, address, fold, (branch,), merged=False))
        leading = self._draft.relations[through.relation.name]
        to = leading.address([pair.child for pair in through.on], led)
        self._fanned(embed, through, fan_out, to)

    def _gathers(self, node: Node, embed: Node) -> bool:
        """Whether the Fold of a node gathers the rows of an embed itself."""
        if self._draft.keeps_gathers or self._kept is not None:
            return False
        return is_gathered_by_fold(node, embed)

    def _fan_out_to_fold(
        self, node: Node, embed: Node, through: Through, *, fold: int, branch: int
    ) -> None:
        index = self._draft.reserve()
        arm = replace(arm_of(node, embed), branch=branch, aggregates=())
        self._draft.nodes[index] = FanOut(embed.path, 0, arm, fold, through.hot_above or 0)
        self._draft.reasons.append(
            f"{embed.path}: no Gather, since {through.relation.name} leads there from the key of "
            f'"{node.relation.name}", under which the Fold of {node.path} is kept'
        )
        leading, key = self._draft.relations[through.relation.name], node.relation.key
        columns = [next(pair.child for pair in through.on if pair.parent == each) for each in key]
        to = leading.address(columns, [node.relation.type_of(each) for each in key])
        self._fanned(embed, through, index, to)

    def _fanned(self, embed: Node, through: Through, fan_out: int, to: Address) -> None:
        """Bring rows that lead to `to`, and those they lead to, to a FanOut."""
        leading = self._draft.relations[through.relation.name]
        values = [pair.type for pair in embed.on]
        at = leading.address([pair.parent for pair in embed.on], values)
        leading.uses.append(ThroughUse(fan_out, at, to))
        children = self._rows_of(embed)
        child = children.address([pair.child for pair in embed.on], values)
        self._child(embed, Upward(fan_out, 0, child))

    def _child(self, embed: Node, upward: Upward) -> None:
        """Lower an embedded node whose rows go to `upward`."""
        uses = self._rows_of(embed)
        if not embed.embeds:
            uses.uses.append(ChildUse(self._node_assembler(embed), upward))
        elif len(embed.embeds) == 1 and is_lookup(embed.embeds[0]):
            lone = embed.embeds[0]
            self._draft.reasons.append(
                f"{embed.path}: no Fold, since {lone.path} is its only embed and a ToOne, "
                "which assembles it in place"
            )
            merge = Merge(self._node_assembler(embed), uses.index, upward)
            self._lookup(embed, lone, fold=NO_RELATION, branch=0, merge=merge)
        else:
            self._fold(embed, upward=upward, product=NO_RELATION)

    def _branch(self, node: Node, embed: Node, *, fused: bool) -> Branch:
        key = embed.relation.key
        return Branch(
            name=embed.name,
            shape=shape_of(node, embed),
            type=embed.output,
            fused=fused,
            key_types=tuple(embed.relation.type_of(each) for each in key),
            total=embed.total_name is not None and embed.cardinality == "many",
            fail_above=(embed.limit or 0) if embed.overflow == "fail" else 0,
            aggregates=aggregate_columns(node, embed),
            hot=Hot(embed).type if embed.hot_name else None,
            within=self._near(node, embed),
            valid=None if embed.as_of is None else ValidRows(embed.limit or 0),
            gathers=(
                Gathers(embed.limit or 0, tuple(pair.type for pair in embed.on))
                if self._gathers(node, embed)
                else None
            ),
        )

    def _near(self, node: Node, embed: Node) -> Near | None:
        within, time = embed.within, self._rows_of(node).time
        if within is None:
            return None
        assert time is not None, "both sides of an interval have a time"
        return Near(within.from_us, within.to_us, time, embed.limit or 0)

    def _node_assembler(self, node: Node) -> int:
        own = self._rows_of(node).row
        inputs = [slot for embed in node.embeds for slot in inputs_of(node, embed)]
        computed = [Slot(each.name, each.type) for each in (*node.fields, *node.values)]
        places = Places(own, inputs, computed)
        row, scope = places.of(node.fields_scope), places.of(node.rank_scope)
        steps = [sql_over(each.expression, row) for each in node.fields]
        steps += [
            sql_over(each.expression, places.of(node.values_scope(before=i)))
            for i, each in enumerate(node.values)
        ]
        return self._draft.assembler(
            Assembler(
                name=node.path,
                own=own,
                inputs=tuple(inputs),
                steps=tuple(steps),
                where=sql_over(node.where, scope) if node.where else None,
                order=(
                    *self._time_in_front(node),
                    *(
                        OrderColumn(sql_over(each.expression, scope), each.descending)
                        for each in node.order
                    ),
                ),
                output=tuple(index for index, _ in places.of(dict(node.shown)).values()),
                type=node.output,
            )
        )

    def _time_in_front(self, node: Node) -> Iterator[OrderColumn]:
        """Yield what a row that is embedded by a time is sorted by first: its own, or its end."""
        uses = self._rows_of(node)
        if node.as_of is not None:
            end = len(uses.row) - 1
            slot = uses.row[end]
            place = ScopeName(slot.name, end, slot.type)
            yield OrderColumn(Sql(quoted(slot.name), (place,), slot.type), descending=False)
        if node.within is not None and uses.time is not None:
            slot = uses.row[uses.time]
            place = ScopeName(slot.name, uses.time, slot.type)
            yield OrderColumn(Sql(quoted(slot.name), (place,), slot.type), descending=False)
