"""Lowers the products of one query to a kernel program.

Documents become Folds and what joins them (`lower_document.py`), other forms a node of their own
(`lower_form.py`), each relation a Retract, and Versions where rows are embedded as of a time. A
Retract that is not needed is left out, with its reason:

- one whose key holds every join column used: its rows never move;
- one before a Group over an append relation: its rows never change;
- one of an append relation that documents hold: its rows are sent where they are decoded;
- one of a relation that is only searched: the Search keeps its rows.

A Group that leaves out late rows of a changelog has a Retract of its own, which leaves them out; so
has a product of each relation whose rows its intervals compare in time.

Rows with personal columns whose subject is not their key are kept by a Retract, and a Subjects in
front of it finds those of an erased subject.

A product that another reads sends its documents on as changes of a relation, so what keeps it
stands in levels before its readers.

Invariant: every message goes to a later level.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from joinery.errors import PlanError
from joinery.plan.aggregate import AggregateForm
from joinery.plan.fold import FoldForm
from joinery.plan.history import HistoryForm, columns_of_deletes
from joinery.plan.pattern import PatternForm
from joinery.plan.product import DocumentForm, OutboxForm, Product
from joinery.plan.search import SearchForm
from joinery.plan.stream import Stream
from joinery.solutions.spark_state.assembler import (
    Address,
)
from joinery.solutions.spark_state.document_program import Fold, ToOne
from joinery.solutions.spark_state.draft import Draft
from joinery.solutions.spark_state.group_program import Deadlines, Group
from joinery.solutions.spark_state.ledger import Ledger
from joinery.solutions.spark_state.level import leveled
from joinery.solutions.spark_state.lower_document import DocumentLowering
from joinery.solutions.spark_state.lower_form import (
    lower_event_fold,
    lower_group,
    lower_history,
    lower_pattern,
    lower_search,
)
from joinery.solutions.spark_state.places import RelationUses, rows_only_come, rows_stay
from joinery.solutions.spark_state.program import (
    ROLE_PARENT,
    ROLE_PRIMARY,
    ChildUse,
    GroupUse,
    Inserts,
    KernelNode,
    KernelProgram,
    OwnUse,
    ParentUse,
    ProductProgram,
    ProductRead,
    RelationProgram,
    Retract,
    Root,
    Route,
    Subjects,
    ThroughUse,
    Use,
    Versions,
)
from joinery.solutions.spark_state.search_program import QueryUse, Search, SearchedUse

DAY_MICROS = 86_400_000_000


def lower(
    products: Sequence[Product],
    *,
    tombstone_retention_micros: int = 7 * DAY_MICROS,
    max_document_bytes: int = 16 << 20,
    former: bool = False,
    keeps_judged: bool = False,
    keeps_gathers: bool = False,
    keeps_closings: bool = False,
    keeps_searched: bool = False,
    ledger: Ledger | None = None,
) -> KernelProgram:
    """Return the program of one query that keeps `products`.

    Args:
        products: The members of the query, in the order of the project; with those that they read.
        tombstone_retention_micros: How long a delete is remembered.
        max_document_bytes: The size of JSON above which a document is refused.
        former: Lower them as older checkpoints have them, where these go on.
        keeps_judged: In this, and what `keeps_gathers` says, alone: rows of logs in intervals are
            kept where they are judged.
        keeps_gathers: In this, and what `keeps_closings` says, alone: what rows lead to is gathered
            before the Fold.
        keeps_closings: In this, and what `keeps_searched` says, alone: deadlines of documents stand
            before the Fold.
        keeps_searched: In this alone: rows that are searched have a Retract.
        ledger: What a checkpoint holds that the program is to keep, though it may need less.
    """
    draft = Draft(
        products,
        former=former,
        keeps_judged=keeps_judged,
        keeps_gathers=keeps_gathers,
        keeps_closings=keeps_closings,
        keeps_searched=keeps_searched,
        ledger=ledger,
    )
    for place, product in enumerate(products):
        draft.products.append(ProductProgram(product.name, product.key, product.output))
        _lower_product(draft, product, place)
    return replace(
        _Finish(draft).program(),
        tombstone_retention_micros=tombstone_retention_micros,
        max_document_bytes=max_document_bytes,
    )


def has_former(program: KernelProgram) -> bool:
    """Return whether older checkpoints may have the same products as another program."""
    return any(_is_new(each, program) for each in program.nodes)


def judges_rows_that_come(program: KernelProgram) -> bool:
    """Return whether rows of logs in intervals are judged where they are decoded."""
    return any(isinstance(each, Inserts) and each.judged is not None for each in program.nodes)


def gathers_in_folds(program: KernelProgram) -> bool:
    """Return whether a Fold gathers what rows lead to itself."""
    return any(
        isinstance(each, Fold) and any(branch.gathers is not None for branch in each.branches)
        for each in program.nodes
    )


def has_deadlines_beside(program: KernelProgram) -> bool:
    """Return whether deadlines of documents stand in the level of their Fold."""
    return any(isinstance(each, Deadlines) for each in program.nodes)


def has_cells_in_searches(program: KernelProgram) -> bool:
    """Return whether a Search keeps the rows that are searched itself."""
    return any(isinstance(each, Search) and each.raw for each in program.nodes)


def _is_new(node: KernelNode, program: KernelProgram) -> bool:
    match node:
        case Root():
            return not program.relations[node.relation].append
        case Inserts():
            return any(isinstance(each, ThroughUse | SearchedUse) for each in node.uses)
        case _:
            return False


def _lower_product(draft: Draft, product: Product, place: int) -> None:
    match product.form:
        case DocumentForm() | OutboxForm():
            DocumentLowering(draft, product, place).lower()
        case AggregateForm():
            lower_group(draft, product.name, product.form, product=place)
        case HistoryForm():
            lower_history(draft, product.name, product.form, product=place)
        case SearchForm():
            lower_search(draft, product.name, product.form, product=place)
        case PatternForm():
            lower_pattern(draft, product.name, product.form, product=place)
        case FoldForm():
            lower_event_fold(draft, product.name, product.form, product=place)
        case Stream():
            raise PlanError(f'stream "{product.name}" has a program of its own')
        case _:
            assert_never(product.form)


class _Finish:
    """Decides which Retracts are needed, routes the relations to their nodes and sets levels."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def program(self) -> KernelProgram:
        """Return the program, without its limits."""
        routes: list[Route] = []
        for uses in self._draft.relations.values():
            routes += self._group_routes(uses)
            if uses.uses:
                routes += self._row_routes(uses)
            for use in uses.apart:
                primary = not uses.uses and use is uses.apart[0]
                routes.append(self._retract(uses, [use], primary=primary))
            for judged in (each for each in self._draft.judged if each.index == uses.index):
                if self._draft.keeps_judged or not rows_only_come(judged, self._draft.nodes):
                    primary = all(route.relation != uses.index for route in routes)
                    routes.append(self._retract(judged, judged.uses, primary=primary))
                else:
                    self._insert(judged)
            for each in uses.folds:
                routes.append(Route(uses.index, each, ROLE_PRIMARY, Address((), ())))
            for each in uses.histories:
                first = all(route.relation != uses.index for route in routes)
                role = ROLE_PRIMARY if first else 0
                routes.append(Route(uses.index, each, role, uses.key_address()))
            if uses.relation.name in self._draft.versions:
                first = all(route.relation != uses.index for route in routes)
                routes.append(self._versions_route(uses, primary=first))
            if uses.by_subject:
                routes.append(self._subjects_route(uses))
        reads = tuple(self._reads())
        self._draft.nodes = leveled(self._draft.nodes, reads, routes)
        return KernelProgram(
            levels=max((node.level for node in self._draft.nodes), default=0),
            relations=tuple(
                RelationProgram(
                    name=name,
                    columns=uses.columns,
                    key=tuple(uses.ordinal(each) for each in uses.relation.key),
                    assembler=self._draft.views[name],
                    sealed=uses.sealed if uses is self._draft.relations.get(name) else None,
                    append=uses.relation.append or None,
                )
                for name, uses in self._draft.all_rows()
            ),
            nodes=tuple(self._draft.nodes),
            assemblers=tuple(self._draft.assemblers),
            products=tuple(self._draft.products),
            routes=tuple(routes),
            tombstone_retention_micros=0,
            max_document_bytes=0,
            reasons=tuple(self._draft.reasons),
            reads=reads,
        )

    def _reads(self) -> Iterator[ProductRead]:
        """Yield the products that are read, in the order of their relations."""
        places = {each.name: index for index, each in enumerate(self._draft.products)}
        for uses in self._draft.relations.values():
            if (product := uses.relation.product) is not None:
                names = [each.name for each in (*product.key.fields, *product.output.fields)]
                found = {name: (place, -1) for place, name in reversed([*enumerate(names)])}
                for each in product.key_columns:
                    if each.inner is not None:
                        found[each.name] = each.place, each.inner
                read = [found[slot.name] for slot in uses.columns]
                inner = tuple(within for _, within in read)
                yield ProductRead(
                    places[product.name],
                    uses.index,
                    tuple(place for place, _ in read),
                    inner=inner if max(inner, default=-1) >= 0 else None,
                )

    def _row_routes(self, uses: RelationUses) -> Sequence[Route]:
        kept = self._draft.way_kept(uses.relation)
        if kept == "retract":
            return [self._retract(uses, uses.uses)]
        if kept == "inserts":
            self._insert(uses)
            return []
        searched = any(isinstance(each, SearchedUse) for each in uses.uses)
        kept_apart = uses.by_subject or (searched and self._draft.keeps_searched)
        if not kept_apart and rows_stay(uses, self._draft.nodes):
            return self._raw_routes(uses)
        judged = any(each.index == uses.index for each in self._draft.judged)
        versioned = uses.relation.name in self._draft.versions
        root = None if judged or versioned else self._root_of(uses)
        if root is not None:
            self._tell_from(root, uses)
            return []
        former = self._draft.former
        only_come = rows_only_come(uses, self._draft.nodes, former=former)
        if only_come and not judged and not versioned:
            self._insert(uses)
            return []
        return [self._retract(uses, uses.uses)]

    def _root_of(self, uses: RelationUses) -> int | None:
        """Return the Root that can send its documents to all that reads them; None for none."""
        product, view = uses.relation.product, self._draft.views[uses.relation.name]
        assembler = self._draft.assemblers[view]
        told = (OwnUse, ParentUse, ChildUse, GroupUse)
        if product is None or assembler.steps or assembler.where or uses.by_subject:
            return None
        if uses.groups or uses.apart or uses.histories or uses.folds or uses.judged or uses.kept:
            return None
        if not all(isinstance(use, told) and self._is_untimed(use) for use in uses.uses):
            return None
        names = [each.name for each in self._draft.products]
        return next(
            (
                index
                for index, each in enumerate(self._draft.nodes)
                if isinstance(each, Root) and names[each.product] == product.name
            ),
            None,
        )

    def _is_untimed(self, use: Use) -> bool:
        match use:
            case OwnUse() | ParentUse():
                return use.time is None
            case GroupUse():
                target = self._draft.nodes[use.target]
                return isinstance(target, Group) and target.late is None
            case _:
                return True

    def _tell_from(self, index: int, uses: RelationUses) -> None:
        root = self._draft.nodes[index]
        assert isinstance(root, Root)
        self._draft.nodes[index] = replace(root, read=uses.index, uses=tuple(uses.uses))
        self._draft.reasons.append(
            f"{uses.relation.name}: no Retract, since its Root knows what its documents were before"
        )

    def _insert(self, uses: RelationUses) -> None:
        name = uses.relation.name
        told = tuple(uses.uses)
        self._draft.nodes.append(Inserts(name, 0, uses.index, told, uses.judged, uses.kept))
        self._draft.reasons.append(
            f"{name}: no Retract, since rows of an append relation never change; "
            "they are sent where they are decoded"
        )

    def _group_routes(self, uses: RelationUses) -> list[Route]:
        if uses.groups:
            names = ", ".join(self._draft.nodes[index].name for index in uses.groups)
            self._draft.reasons.append(
                f"{uses.relation.name}: no Retract for {names}, since rows of an append relation "
                "never change; they are summed up before they are sent"
            )
        return [Route(uses.index, each, ROLE_PRIMARY, Address((), ())) for each in uses.groups]

    def _retract(self, uses: RelationUses, sent: Sequence[Use], *, primary: bool = True) -> Route:
        name, told = uses.relation.name, tuple(sent)
        self._draft.nodes.append(Retract(name, 0, uses.index, told, uses.judged, uses.kept))
        role = ROLE_PRIMARY if primary else 0
        return Route(uses.index, len(self._draft.nodes) - 1, role, uses.key_address())

    def _subjects_route(self, uses: RelationUses) -> Route:
        subject = uses.relation.erased_by
        assert subject is not None, "rows of a subject are found by it"
        self._draft.nodes.append(Subjects(uses.relation.name, 0, uses.index))
        address = uses.address([subject], [uses.relation.type_of(subject)])
        return Route(uses.index, len(self._draft.nodes) - 1, 0, address)

    def _versions_route(self, uses: RelationUses, *, primary: bool) -> Route:
        relation, versions = uses.relation, self._draft.versions[uses.relation.name]
        assert relation.time is not None, "versions are valid from a time on"
        told = columns_of_deletes(relation, relation.time)
        self._draft.nodes.append(
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
        return Route(uses.index, len(self._draft.nodes) - 1, role, uses.key_address())

    def _raw_routes(self, uses: RelationUses) -> list[Route]:
        routes: list[Route] = []
        for use in uses.uses:
            role = 0 if routes else ROLE_PRIMARY
            match use:
                case OwnUse():
                    fold = self._draft.nodes[use.target]
                    assert isinstance(fold, Fold)
                    self._draft.nodes[use.target] = replace(fold, raw=True)
                    routes.append(Route(uses.index, use.target, role, uses.key_address()))
                case ChildUse():
                    at = use.upward.target
                    lookup = self._draft.nodes[at]
                    assert isinstance(lookup, ToOne)
                    self._draft.nodes[at] = replace(
                        lookup, child_relation=uses.index, child_assembler=use.assembler
                    )
                    routes.append(Route(uses.index, at, role, use.upward.address))
                case SearchedUse():
                    search = self._draft.nodes[use.target]
                    assert isinstance(search, Search)
                    self._draft.nodes[use.target] = replace(search, raw=True)
                    routes.append(Route(uses.index, use.target, role, uses.key_address()))
                case GroupUse() | ThroughUse() | QueryUse():
                    raise AssertionError("of these rows it is told what came and what went")
                case ParentUse():
                    lookup = self._draft.nodes[use.target]
                    assert isinstance(lookup, ToOne)
                    self._draft.nodes[use.target] = replace(lookup, parent_relation=uses.index)
                    role |= ROLE_PARENT
                    routes.append(Route(uses.index, use.target, role, use.address))
        names = ", ".join(self._draft.nodes[route.node].name for route in routes)
        searched = all(isinstance(use, SearchedUse) for use in uses.uses)
        why = "it is only searched" if searched else "its key holds every join column used"
        self._draft.reasons.append(
            f"{uses.relation.name}: no Retract, since {why}; its rows are kept in {names}"
        )
        return routes
