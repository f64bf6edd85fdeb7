"""By what columns the nodes of a kernel program are keyed, for those who show a key.

Invariant: a key is shown only where its columns are known for sure, and none of them is personal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from joinery.model.type import TIMESTAMP, Field, is_personal
from joinery.plan.build_personal import index_name, key_name
from joinery.semantics.render import map_key_text
from joinery.solutions.spark_state.assembler import Address, Slot
from joinery.solutions.spark_state.document_program import (
    FanOut,
    Fold,
    Gather,
    Interval,
    Match,
    ToOne,
    Valid,
)
from joinery.solutions.spark_state.event_fold_program import EventFold
from joinery.solutions.spark_state.group_program import Closing, Cuts, Deadlines, Group
from joinery.solutions.spark_state.key_code import KeyCodeError, read_key
from joinery.solutions.spark_state.pattern_program import Pattern, Rule
from joinery.solutions.spark_state.program import (
    ROLE_PARENT,
    ChildUse,
    GroupUse,
    Inserts,
    KernelNode,
    KernelProgram,
    OwnUse,
    ParentUse,
    Removed,
    Retract,
    Root,
    Subjects,
    ThroughUse,
    Use,
    Versions,
)
from joinery.solutions.spark_state.search_program import QueryUse, Search, SearchedUse
from joinery.solutions.spark_state.stream_program import StreamNode
from joinery.solutions.spark_state.versioning import History
from joinery.solutions.spark_state.words import visible_row

_LONGEST = 80
PERSONAL_TEXT = "(personal)"


@dataclass(frozen=True, slots=True)
class NodeKey:
    """The columns by which a node is keyed.

    Attributes:
        columns: With the types that they are compared as.
        nulls: Whether a null is a value like any other; else it stands for no key.
    """

    columns: tuple[Slot, ...]
    nulls: bool = False

    @property
    def by(self) -> str:
        """The names of the columns."""
        return ", ".join(each.name for each in self.columns)

    @property
    def personal(self) -> bool:
        """Whether a column is personal, or tells which personal values are equal."""
        return any(
            is_personal(each.type) or each.name.endswith((index_name(""), key_name("")))
            for each in self.columns
        )

    def text(self, code: bytes, *, cut: bool) -> str | None:
        """Return a key as commands take it, or what stands for a personal one; None for no key.

        What a terminal would not show as it is, is escaped; what is long ends in an ellipsis.

        Args:
            code: The key's.
            cut: Whether something of it is missing at its end.
        """
        if self.personal:
            return PERSONAL_TEXT
        types = [each.type for each in self.columns]
        try:
            values = read_key(code, types, cut=cut)
        except KeyCodeError:
            return None
        if not self.nulls and None in values:
            return None
        text = _printable(map_key_text(values, types[: len(values)]))
        return f"{text[:_LONGEST]}…" if cut or len(text) > _LONGEST else text


def _printable(text: str) -> str:
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def node_keys(program: KernelProgram) -> tuple[NodeKey | None, ...]:
    """Return by what each node is keyed; None where that is nothing that a user could read."""
    found = [_own_key(program, node) for node in program.nodes]
    for index, key in _sent_keys(program):
        if found[index] is None and isinstance(program.nodes[index], _JOINS):
            found[index] = key
    return tuple(found)


_ANSWERING_JOINS = Match | FanOut | Gather | Interval | Valid
_JOINS = ToOne | _ANSWERING_JOINS
"""What is keyed by the columns of those who send to it."""
_ANSWERING = (
    _ANSWERING_JOINS | Search | Closing | Deadlines | Cuts | Rule | Subjects | Removed | StreamNode
)
"""What has no row of its own: it answers, by an address that it was told."""


def _own_key(program: KernelProgram, node: KernelNode) -> NodeKey | None:
    if isinstance(node, _ANSWERING):
        return None
    match node:
        case Retract() | Inserts() | Versions() | Fold() | Root() | History():
            relation = program.relations[node.relation]
            return NodeKey(tuple(relation.columns[each] for each in relation.key), nulls=True)
        case EventFold():
            return _of_fields(program.products[node.product].key.fields)
        case Pattern() | Group():
            return _of_fields(_grouped_by(program, node))
        case ToOne():
            return None
        case _:
            assert_never(node)


def _grouped_by(program: KernelProgram, node: Pattern | Group) -> Sequence[Field]:
    """Return the columns of a group and its window, or of a pattern, as its product names them."""
    names = [each.name for each in program.products[node.product].key.fields]
    types = [each.type for each in program.assemblers[node.input].type.fields[: node.by]]
    if isinstance(node, Group) and node.window is not None:
        types += [TIMESTAMP] * (2 if node.window.shape == "cumulative" else 1)
    return [Field(name, type_) for name, type_ in zip(names, types, strict=False)]


def _of_fields(fields: Sequence[Field]) -> NodeKey | None:
    """Return the columns as a key; None where there is none, as all rows are one group."""
    columns = tuple(Slot(each.name, each.type) for each in fields)
    return NodeKey(columns, nulls=True) if columns else None


def _sent_keys(program: KernelProgram) -> Iterator[tuple[int, NodeKey]]:
    """Yield what nodes are addressed by: first as children have it, then as parents do."""
    for children in (True, False):
        for node in program.nodes:
            for child, target, row, address in _addressed(program, node):
                if child == children:
                    yield target, _at(row, address)
        for route in program.routes:
            if (not route.role & ROLE_PARENT) == children:
                yield route.node, _at(program.relations[route.relation].columns, route.address)


_Addressed = tuple[bool, int, tuple[Slot, ...], Address]
"""Whether what is sent is a child, where it goes, and the columns that say so of a row."""


def _addressed(program: KernelProgram, node: KernelNode) -> Iterator[_Addressed]:
    if isinstance(node, _ANSWERING):
        return
    match node:
        case Retract() | Inserts() | Versions():
            own = node.versions if isinstance(node, Versions) else node.relation
            row = visible_row(program, own)
            for use in node.uses:
                yield from _used(row, use)
        case ToOne(merge=merge):
            if merge is not None:
                up = merge.upward
                yield True, up.target, visible_row(program, merge.relation), up.address
        case Fold(upward=up):
            if up is not None:
                yield True, up.target, visible_row(program, node.relation), up.address
        case Root():
            if node.read is not None:
                row = visible_row(program, node.read)
                for use in node.uses:
                    yield from _used(row, use)
        case History() | EventFold() | Pattern() | Group():
            pass  # what they make is the product
        case _:
            assert_never(node)


def _used(row: tuple[Slot, ...], use: Use) -> Iterator[_Addressed]:
    match use:
        case ParentUse() | ThroughUse():
            yield False, use.target, row, use.address
        case ChildUse():
            yield True, use.upward.target, row, use.upward.address
        case OwnUse() | GroupUse() | SearchedUse() | QueryUse():
            pass


def _at(row: Sequence[Slot], address: Address) -> NodeKey:
    named = zip((row[each].name for each in address.ordinals), address.types, strict=True)
    return NodeKey(tuple(Slot(name, type_) for name, type_ in named))
