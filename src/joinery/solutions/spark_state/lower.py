"""Lowers the products of one query to a kernel program.

Each node of a product becomes a Fold, each edge a Match or a ToOne, or, where it leads through
another relation, a FanOut and a Gather, each relation a Retract, and Versions, with a Valid at the
edge, where rows are embedded as of a time; a product that aggregates becomes
a Group, with a Closing before it where it sends once its windows are closed. Then what is not
needed is left out, with its reason:

- a Match whose join value is the parent's own key: the Fold is the Match;
- a Match of embeds that hang on the same columns as another: it is an arm of that one;
- a Fold over a lone ToOne: the ToOne assembles its parents in place;
- a Retract whose key holds every join column used: its rows never move;
- a Retract before a Group over an append relation: its rows never change.

A Group that leaves out late rows of a changelog has a Retract of its own, which leaves them out.

A product that another reads sends its documents on as changes of a relation, so what keeps it
stands in levels before its readers.

Invariant: every message goes to a later level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from joinery.model.type import Field, Struct, quoted
from joinery.plan.aggregate import AggregateForm
from joinery.plan.history import HistoryForm, told_by_deletes
from joinery.plan.nodes import (
    DocumentForm,
    Hot,
    Node,
    Product,
    Relation,
    Through,
)
from joinery.plan.search import SearchForm
from joinery.project.window import Within
from joinery.solutions.spark_state.assembler import (
    Address,
    Assembler,
    OrderColumn,
    ScopeName,
    Slot,
    Sql,
)
from joinery.solutions.spark_state.embedding import (
    aggregate_columns,
    inputs_of,
    is_fusible,
    is_lookup,
    is_total_used,
    join_of,
    needed_columns,
    pair_of,
    shape_of,
    sharing,
    sql_over,
)
from joinery.solutions.spark_state.group_program import Closing, Group
from joinery.solutions.spark_state.grouping import (
    CLOSING_BUCKETS,
    closing_of,
    group_aggregates,
    group_assembler,
    idles,
    input_assembler,
    late_program,
    session_program,
    sliding_program,
    window_program,
)
from joinery.solutions.spark_state.level import leveled
from joinery.solutions.spark_state.places import Places, RelationUses, arm_of
from joinery.solutions.spark_state.program import (
    ROLE_PARENT,
    ROLE_PRIMARY,
    Branch,
    ChildUse,
    DocumentNode,
    FanOut,
    Fold,
    Gather,
    GroupUse,
    Interval,
    KernelProgram,
    Match,
    Merge,
    Near,
    OwnUse,
    ParentUse,
    ProductProgram,
    ProductRead,
    RelationProgram,
    Retract,
    Route,
    ThroughUse,
    ToOne,
    Upward,
    Use,
    Valid,
    ValidRows,
    Versions,
)
from joinery.solutions.spark_state.search_program import QueryUse, SearchedUse
from joinery.solutions.spark_state.searching import (
    match_assembler,
    search_node,
    stored_assembler,
)
from joinery.solutions.spark_state.versioning import (
    History,
    lasting_row,
    version_assembler,
)

NO_RELATION = -1
DAY_MICROS = 86_400_000_000


def lower(
    products: Sequence[Product],
    *,
    tombstone_retention_micros: int = 7 * DAY_MICROS,
    max_document_bytes: int = 16 << 20,
) -> KernelProgram:
    """Return the program of one query that keeps `products`.

    Args:
        products: The members of the query, in the order of the project; with those that they read.
        tombstone_retention_micros: How long a delete is remembered.
        max_document_bytes: The size of JSON above which a document is refused.
    """
    lowering = _Lowering(products)
    for product in products:
        lowering.lower_product(product)
    return replace(
        lowering.finish(),
        tombstone_retention_micros=tombstone_retention_micros,
        max_document_bytes=max_document_bytes,
    )


class _Lowering:
    """Collects nodes and uses, then decides which Retracts are needed and sets levels."""

    def __init__(self, products: Sequence[Product]) -> None:
        self._nodes: list[DocumentNode] = []
        self._assemblers: list[Assembler] = []
        self._products: list[ProductProgram] = []
        self._reasons: list[str] = []
        self._relations: dict[str, RelationUses] = {}
        self._views: dict[str, int] = {}
        self._versions: dict[str, RelationUses] = {}
        for name, (relation, needed) in needed_columns(products).items():
            self._add_relation(name, relation, needed)
        forms = [each.form for each in products if isinstance(each.form, DocumentForm)]
        for node in (one for each in forms for one in each.root.walk()):
            if node.as_of is not None and node.relation.name not in self._versions:
                self._add_versions(node.relation)

    def _add_relation(self, name: str, relation: Relation, needed: frozenset[str]) -> None:
        columns = tuple(
            Slot(each.name, each.type) for each in relation.columns if each.name in needed
        )
        derived = tuple(each for each in relation.derived if each.name in needed)
        row = columns + tuple(Slot(each.name, each.expression.type) for each in derived)
        slots = {slot.name: (index, slot.type) for index, slot in enumerate(row)}
        self._views[name] = self._assembler(
            Assembler(
                name=name,
                own=columns,
                inputs=(),
                steps=tuple(sql_over(each.expression, slots) for each in derived),
                where=sql_over(relation.where, slots) if relation.where else None,
                order=(),
                output=tuple(range(len(row))),
                type=Struct(tuple(Field(slot.name, slot.type) for slot in row)),
            )
        )
        self._relations[name] = RelationUses(relation, len(self._relations), row, columns)

    def _add_versions(self, relation: Relation) -> None:
        """Add the versions of a relation's rows, as one more relation."""
        lasting = lasting_row(relation, self._relations[relation.name].row)
        columns = tuple(Slot(each.name, each.type) for each in lasting.type.fields)
        self._views[_versions_name(relation)] = self._assembler(lasting)
        index = len(self._relations) + len(self._versions)
        self._versions[relation.name] = RelationUses(relation, index, columns, columns)

    def _rows_of(self, node: Node) -> RelationUses:
        """Return what a node's rows are: a relation's, or the versions of these."""
        known = self._relations if node.as_of is None else self._versions
        return known[node.relation.name]

    def lower_product(self, product: Product) -> None:
        self._products.append(ProductProgram(product.name, product.key, product.output))
        place = len(self._products) - 1
        if isinstance(product.form, AggregateForm):
            self._group(product.name, product.form, product=place)
        elif isinstance(product.form, HistoryForm):
            self._history(product.name, product.form, product=place)
        elif isinstance(product.form, SearchForm):
            self._search(product.name, product.form, product=place)
        else:
            waits = product.form.waits if isinstance(product.form, DocumentForm) else {}
            self._fold(product.root, upward=None, product=place, waits=waits)

    # Nodes of a product

    def _group(self, name: str, form: AggregateForm, *, product: int) -> None:
        uses = self._relations[form.relation.name]
        index = self._reserve()
        rows = input_assembler(name, uses.row, form)
        time = form.relation.time
        self._nodes[index] = Group(
            name=name,
            level=0,
            relation=uses.index,
            input=self._assembler(rows),
            by=len(form.by),
            window=window_program(form.window),
            session=session_program(form),
            sliding=sliding_program(form.window),
            aggregates=group_aggregates(rows.type, form),
            assembler=self._assembler(group_assembler(name, form)),
            product=product,
            late=late_program(form, time=None if time is None else uses.ordinal(time)),
        )
        clock = self._relations[form.relation.clock[0].name].index
        closing = closing_of(name, form, relation=clock, target=index)
        if closing is not None:
            self._nodes.append(closing)
        if form.relation.append:
            uses.groups.append(index)
        elif form.emit.late != "correct":
            uses.apart.append(GroupUse(index))
        else:
            uses.uses.append(GroupUse(index))

    def _history(self, name: str, form: HistoryForm, *, product: int) -> None:
        uses = self._relations[form.relation.name]
        told = form.told_by_deletes
        uses.histories.append(len(self._nodes))
        self._nodes.append(
            History(
                name=name,
                level=0,
                relation=uses.index,
                valid_from=uses.ordinal(form.valid),
                told=tuple(i for i, each in enumerate(uses.columns) if each.name in told),
                assembler=self._assembler(version_assembler(name, uses.row, form)),
                product=product,
            )
        )

    def _search(self, name: str, form: SearchForm, *, product: int) -> None:
        documents = self._relations[form.documents.name]
        queries = self._relations[form.queries.name]
        stored = stored_assembler(name, queries.row, form)
        made = match_assembler(name, documents.row, stored.type, form)
        kept, index = self._assembler(stored), len(self._nodes)
        node = search_node(name, form, documents.row, stored.type)
        self._nodes.append(
            replace(
                node,
                documents=documents.index,
                queries=queries.index,
                stored=kept,
                assembler=self._assembler(made),
                product=product,
            )
        )
        documents.uses.append(SearchedUse(index))
        queries.uses.append(QueryUse(index, kept))

    def _fold(
        self,
        node: Node,
        *,
        upward: Upward | None,
        product: int,
        waits: Mapping[Relation, int] = MappingProxyType({}),
    ) -> None:
        uses = self._rows_of(node)
        index = self._reserve()
        branches = tuple(
            self._edge(node, embed, fold=index, branch=place)
            for place, embed in enumerate(node.embeds)
        )
        self._nodes[index] = Fold(
            name=node.path,
            level=0,
            relation=uses.index,
            raw=False,
            branches=branches,
            assembler=self._node_assembler(node),
            product=product,
            upward=upward,
        )
        uses.uses.append(OwnUse(index, time=uses.time if waits else None))
        for relation, after_us in waits.items():
            self._nodes.append(self._decider(node, relation, after_us, target=index))

    def _decider(self, root: Node, relation: Relation, after_us: int, *, target: int) -> Closing:
        """Return what tells a root's Fold which documents the watermark of a relation decides."""
        clock, behind_ms = relation.clock
        return Closing(
            name=root.path,
            level=0,
            relation=self._relations[clock.name].index,
            target=target,
            delay_micros=behind_ms * 1000,
            allowed_micros=after_us + 1,  # the watermark is to be past it, not at it
            buckets=CLOSING_BUCKETS,
            idles=idles(relation),
            other=self._relations[root.relation.name].index if idles(relation) else None,
        )

    def _edge(self, node: Node, embed: Node, *, fold: int, branch: int) -> Branch:
        fused = is_fusible(node, embed)
        if fused:
            self._reasons.append(
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
            self._reasons.append(
                f"{embed.path}: no Match of its own, since it hangs on {', '.join(columns)} "
                f"like {arms[0].path}, whose Match keeps both"
            )
        return self._branch(node, embed, fused=fused)

    def _interval(self, node: Node, embed: Node, within: Within, *, fold: int, branch: int) -> None:
        index = self._reserve()
        self._nodes[index] = Interval(embed.path, 0, fold, branch, within.from_us, within.to_us)
        self._timed(node, embed, self._rows_of(node).time, index, fold=fold, branch=branch)

    def _valid(self, node: Node, embed: Node, as_of: str, *, fold: int, branch: int) -> None:
        index = self._reserve()
        self._nodes[index] = Valid(embed.path, 0, fold, branch)
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
        index = self._reserve()
        pairs = [pair_of(embed, child=key) for key in embed.relation.key]
        types = [pair.type for pair in pairs]
        parents = self._rows_of(node)
        self._nodes[index] = ToOne(
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
        index = self._reserve()
        arms = tuple(arm_of(node, embed) for embed in embeds)
        names = "+".join(embed.name for embed in embeds)
        self._nodes[index] = Match(f"{node.path}/{names}", 0, arms, fold)
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
        gather, fan_out = self._reserve(), self._reserve()
        total = is_total_used(node, embed)
        entries = shape_of(node, embed) != "none"
        self._nodes[gather] = Gather(
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
        self._nodes[fan_out] = FanOut(embed.path, 0, arm, gather, through.hot_above or 0)
        parents = self._rows_of(node)
        led = [pair.type for pair in through.on]
        address = parents.address([pair.parent for pair in through.on], led)
        parents.uses.append(ParentUse(gather, address, fold, (branch,), merged=False))
        leading = self._relations[through.relation.name]
        values = [pair.type for pair in embed.on]
        leading.uses.append(
            ThroughUse(
                fan_out,
                leading.address([pair.parent for pair in embed.on], values),
                leading.address([pair.child for pair in through.on], led),
            )
        )
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
            self._reasons.append(
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
        )

    def _near(self, node: Node, embed: Node) -> Near | None:
        within, time = embed.within, self._rows_of(node).time
        if within is None:
            return None
        assert time is not None, "both sides of an interval have a time"
        return Near(within.from_us, within.to_us, time, embed.limit or 0)

    # Assemblers

    def _assembler(self, assembler: Assembler) -> int:
        self._assemblers.append(assembler)
        return len(self._assemblers) - 1

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
        return self._assembler(
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

    # Finishing

    def _reserve(self) -> int:
        self._nodes.append(Retract("", 0, 0, ()))
        return len(self._nodes) - 1

    def finish(self) -> KernelProgram:
        routes: list[Route] = []
        for uses in self._relations.values():
            routes += self._group_routes(uses)
            if uses.uses:
                stay = self._rows_stay(uses)
                routes += self._raw_routes(uses) if stay else [self._retract(uses, uses.uses)]
            for use in uses.apart:
                primary = not uses.uses and use is uses.apart[0]
                routes.append(self._retract(uses, [use], primary=primary))
            for each in uses.histories:
                first = all(route.relation != uses.index for route in routes)
                role = ROLE_PRIMARY if first else 0
                routes.append(Route(uses.index, each, role, uses.key_address()))
            if uses.relation.name in self._versions:
                first = all(route.relation != uses.index for route in routes)
                routes.append(self._versions_route(uses, primary=first))
        reads = tuple(self._reads())
        self._nodes = leveled(self._nodes, reads, routes)
        return KernelProgram(
            levels=max((node.level for node in self._nodes), default=0),
            relations=tuple(
                RelationProgram(
                    name=name,
                    columns=uses.columns,
                    key=tuple(uses.ordinal(each) for each in uses.relation.key),
                    assembler=self._views[name],
                )
                for name, uses in self._all_rows()
            ),
            nodes=tuple(self._nodes),
            assemblers=tuple(self._assemblers),
            products=tuple(self._products),
            routes=tuple(routes),
            tombstone_retention_micros=0,
            max_document_bytes=0,
            reasons=tuple(self._reasons),
            reads=reads,
        )

    def _all_rows(self) -> Iterator[tuple[str, RelationUses]]:
        """Yield the relations by their names, after them the versions of some."""
        yield from self._relations.items()
        for uses in self._versions.values():
            yield _versions_name(uses.relation), uses

    def _reads(self) -> Iterator[ProductRead]:
        """Yield the products that are read, in the order of their relations."""
        places = {each.name: index for index, each in enumerate(self._products)}
        for uses in self._relations.values():
            if (product := uses.relation.product) is not None:
                columns = [each.name for each in product.key.fields]
                columns += [each.name for each in product.output.fields]
                found = tuple(columns.index(slot.name) for slot in uses.columns)
                yield ProductRead(places[product.name], uses.index, found)

    def _group_routes(self, uses: RelationUses) -> list[Route]:
        if uses.groups:
            names = ", ".join(self._nodes[index].name for index in uses.groups)
            self._reasons.append(
                f"{uses.relation.name}: no Retract for {names}, since rows of an append relation "
                "never change; they are summed up before they are sent"
            )
        return [Route(uses.index, each, ROLE_PRIMARY, Address((), ())) for each in uses.groups]

    def _retract(self, uses: RelationUses, sent: Sequence[Use], *, primary: bool = True) -> Route:
        self._nodes.append(Retract(uses.relation.name, 0, uses.index, tuple(sent)))
        role = ROLE_PRIMARY if primary else 0
        return Route(uses.index, len(self._nodes) - 1, role, uses.key_address())

    def _versions_route(self, uses: RelationUses, *, primary: bool) -> Route:
        relation, versions = uses.relation, self._versions[uses.relation.name]
        assert relation.time is not None, "versions are valid from a time on"
        told = told_by_deletes(relation, relation.time)
        self._nodes.append(
            Versions(
                name=relation.name,
                level=0,
                relation=uses.index,
                versions=versions.index,
                valid_from=uses.ordinal(relation.time),
                told=tuple(i for i, each in enumerate(uses.columns) if each.name in told),
                uses=tuple(versions.uses),
            )
        )
        role = ROLE_PRIMARY if primary else 0
        return Route(uses.index, len(self._nodes) - 1, role, uses.key_address())

    def _rows_stay(self, uses: RelationUses) -> bool:
        """True where no row of the relation ever changes an address it is sent to."""
        return all(self._is_raw(use, uses) for use in uses.uses)

    def _is_raw(self, use: Use, uses: RelationUses) -> bool:
        match use:
            case OwnUse():
                return use.time is None
            case GroupUse() | ThroughUse() | SearchedUse() | QueryUse():
                return False
            case ChildUse() | ParentUse() if uses.relation.product is not None:
                return False  # A group's key may be null, which a ToOne must not be asked for.
            case ChildUse():
                target = self._nodes[use.upward.target]
                return isinstance(target, ToOne)
            case ParentUse():
                target = self._nodes[use.target]
                if not use.merged or not isinstance(target, ToOne) or target.merge is None:
                    return False
                key = {uses.ordinal(each) for each in uses.relation.key}
                up = target.merge.upward.address
                return key.issuperset(use.address.ordinals) and key.issuperset(up.ordinals)

    def _raw_routes(self, uses: RelationUses) -> list[Route]:
        routes: list[Route] = []
        for use in uses.uses:
            role = 0 if routes else ROLE_PRIMARY
            match use:
                case OwnUse():
                    fold = self._nodes[use.target]
                    assert isinstance(fold, Fold)
                    self._nodes[use.target] = replace(fold, raw=True)
                    routes.append(Route(uses.index, use.target, role, uses.key_address()))
                case ChildUse():
                    at = use.upward.target
                    lookup = self._nodes[at]
                    assert isinstance(lookup, ToOne)
                    self._nodes[at] = replace(
                        lookup, child_relation=uses.index, child_assembler=use.assembler
                    )
                    routes.append(Route(uses.index, at, role, use.upward.address))
                case GroupUse() | ThroughUse() | SearchedUse() | QueryUse():
                    raise AssertionError("of these rows it is told what came and what went")
                case ParentUse():
                    lookup = self._nodes[use.target]
                    assert isinstance(lookup, ToOne)
                    self._nodes[use.target] = replace(lookup, parent_relation=uses.index)
                    role |= ROLE_PARENT
                    routes.append(Route(uses.index, use.target, role, use.address))
        names = ", ".join(self._nodes[route.node].name for route in routes)
        self._reasons.append(
            f"{uses.relation.name}: no Retract, since its key holds every join column used; "
            f"its rows stand in {names}"
        )
        return routes


def _versions_name(relation: Relation) -> str:
    return f"versions of {relation.name}"
