"""Tells where the rows of a relation have what a name stands for, and what they are for.

An assembler has more than rows: the embeds of a node, and what it computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from joinery.expression.typed import Aggregate
from joinery.model.type import DataType, Field
from joinery.plan.node import Hot, Named, Node, Total
from joinery.plan.relation import Computed, Relation
from joinery.solutions.spark_state.assembler import Address, Slot
from joinery.solutions.spark_state.document_program import Arm, FanOut, ToOne
from joinery.solutions.spark_state.embedding import aggregate_columns, is_total_used, shape_of
from joinery.solutions.spark_state.interval_program import Judged, Kept
from joinery.solutions.spark_state.program import (
    ChildUse,
    DocumentNode,
    GroupUse,
    OwnUse,
    ParentUse,
    Sealed,
    ThroughUse,
    Use,
)
from joinery.solutions.spark_state.sealing import sealed_of
from joinery.solutions.spark_state.search_program import QueryUse, Search, SearchedUse


@dataclass(slots=True)
class RelationUses:
    """A relation, or the versions of its rows, and all that they are for."""

    relation: Relation
    index: int
    row: tuple[Slot, ...]
    columns: tuple[Slot, ...]
    uses: list[Use] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    apart: list[GroupUse] = field(default_factory=list)
    histories: list[int] = field(default_factory=list)
    folds: list[int] = field(default_factory=list)
    judged: Judged | None = None
    kept: Kept | None = None

    def ordinal(self, column: str) -> int:
        """Return the place of a column in a row as products see it."""
        return next(i for i, slot in enumerate(self.row) if slot.name == column)

    def address(self, columns: Sequence[str], types: Sequence[DataType]) -> Address:
        """Return columns as an address, with the types they are compared as."""
        return Address(tuple(self.ordinal(each) for each in columns), tuple(types))

    @property
    def time(self) -> int | None:
        """The place of a row's time; None where none is needed."""
        names = [slot.name for slot in self.row]
        return names.index(self.relation.time) if self.relation.time in names else None

    @property
    def sealed(self) -> Sealed | None:
        """Which decoded columns are personal; None where the relation has no such columns."""
        return sealed_of(self.relation, [slot.name for slot in self.columns])

    @property
    def by_subject(self) -> bool:
        """Whether an erasure has to find rows: they hold what is sealed, and not for their key."""
        sealed = self.sealed
        return sealed is not None and bool(sealed.columns) and self.relation.erased_by is not None

    def key_address(self) -> Address:
        """Return the relation's key as an address."""
        key = self.relation.key
        return self.address(key, [self.relation.type_of(each) for each in key])


class Places:
    """Where an assembler has what a name stands for: the row, the embeds, what it computed.

    Args:
        own: The slots of the node's own row, which come first.
        inputs: Those of its embeds, after them.
        computed: Those of its fields and values, last.
    """

    def __init__(self, own: Sequence[Slot], inputs: Sequence[Slot], computed: Sequence[Slot]):
        places = count()
        self._own = {slot.name: (next(places), slot.type) for slot in own}
        self._inputs = {slot.name: (next(places), slot.type) for slot in inputs}
        self._computed = {slot.name: (next(places), slot.type) for slot in computed}

    def of(self, scope: Mapping[str, Named]) -> dict[str, tuple[int, DataType]]:
        """Return the places of a scope's names, without what the assembler is not given."""
        found = ((name, self._of(each).get(name)) for name, each in scope.items())
        return {name: place for name, place in found if place is not None}

    def _of(self, named: Named) -> Mapping[str, tuple[int, DataType]]:
        match named:
            case Field():
                return self._own
            case Computed():
                return self._computed
            case Node() | Total() | Hot() | Aggregate():
                return self._inputs


def arm_of(node: Node, embed: Node) -> Arm:
    """Return what a Match or a FanOut keeps of an embed."""
    return Arm(
        name=embed.path,
        child_type=embed.output,
        limit=embed.limit or 0,
        one=embed.cardinality == "one",
        entries=shape_of(node, embed) != "none",
        total=is_total_used(node, embed),
        aggregates=aggregate_columns(node, embed),
        branch=node.embeds.index(embed),
    )


def rows_only_come(
    uses: RelationUses, nodes: Sequence[DocumentNode], *, former: bool = False
) -> bool:
    """True where no use of the relation's rows needs to know what a row was before.

    A FanOut counts the rows that lead to it, also one that comes again, so it must not compare them
    with a bound. A search whose queries do not look back would take a row that comes again for one
    that changed. Rows that intervals compare in time are judged where they are sent: a use that
    has forgotten one would take it for another.

    Args:
        uses: Of the relation.
        nodes: What they send to.
        former: Whether rows that lead elsewhere, or are searched, always need it, as they did
            before.
    """
    relation = uses.relation
    if not relation.append or not relation.key or relation.personal is not None:
        return False
    judged = uses.judged is not None
    return not (uses.apart or uses.histories or uses.folds) and all(
        (isinstance(use, OwnUse | ParentUse) and (judged or use.time is None))
        or isinstance(use, ChildUse)
        or (not former and (is_tried_alike(use, nodes) or is_counted_for_nobody(use, nodes)))
        for use in uses.uses
    )


def is_tried_alike(use: Use, nodes: Sequence[DocumentNode]) -> bool:
    """True where a row that comes again matches what it matches already."""
    if not isinstance(use, SearchedUse):
        return False
    target = nodes[use.target]
    return isinstance(target, Search) and target.retroactive


def is_counted_for_nobody(use: Use, nodes: Sequence[DocumentNode]) -> bool:
    """True where rows lead to a FanOut that no number of them makes hot."""
    if not isinstance(use, ThroughUse):
        return False
    target = nodes[use.target]
    return isinstance(target, FanOut) and target.hot_above == 0


def keeps_cells(uses: RelationUses, nodes: Sequence[DocumentNode]) -> bool:
    """True where a relation's rows are searched and nothing else, so that the Search can keep them.

    It tries all of them on queries that come, so they are to be rows as products see them. Rows of
    a log need no cells.
    """
    relation = uses.relation
    if len(uses.uses) != 1 or uses.groups or uses.histories or uses.folds or uses.apart:
        return False
    if relation.append or relation.product is not None or relation.personal is not None:
        return False
    plain = relation.where is None and uses.row == uses.columns
    return plain and is_tried_alike(uses.uses[0], nodes)


def rows_stay(uses: RelationUses, nodes: Sequence[DocumentNode]) -> bool:
    """True where no row of the relation ever changes an address it is sent to."""
    return all(_is_raw(use, uses, nodes) for use in uses.uses)


def _is_raw(use: Use, uses: RelationUses, nodes: Sequence[DocumentNode]) -> bool:
    match use:
        case OwnUse():
            return use.time is None
        case SearchedUse():
            return keeps_cells(uses, nodes)
        case GroupUse() | ThroughUse() | QueryUse():
            return False
        case ChildUse() | ParentUse() if uses.relation.product is not None:
            return False  # A group's key may be null, which a ToOne must not be asked for.
        case ChildUse():
            target = nodes[use.upward.target]
            return isinstance(target, ToOne)
        case ParentUse():
            target = nodes[use.target]
            if not use.merged or not isinstance(target, ToOne) or target.merge is None:
                return False
            key = {uses.ordinal(each) for each in uses.relation.key}
            up = target.merge.upward.address
            return key.issuperset(use.address.ordinals) and key.issuperset(up.ordinals)
