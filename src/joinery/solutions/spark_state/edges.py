"""What the nodes of a kernel program send each other, and by what they are addressed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from joinery.solutions.spark_state.describe import columns_of, visible_row
from joinery.solutions.spark_state.program import (
    ROLE_PARENT,
    AsOf,
    ChildUse,
    Claim,
    Enrich,
    Fold,
    KernelNode,
    KernelProgram,
    Lookup,
    MapEvents,
    Match,
    Onward,
    OwnUse,
    ParentUse,
    Retract,
    Slot,
    Upward,
    Use,
)

SINKS = -1


@dataclass(frozen=True, slots=True)
class Arrow:
    """What a node sends.

    Attributes:
        what: Rows, documents, itself.
        target: The node's place, or `SINKS`.
        by: The sender's columns that address it; empty where it is the row's own key.
        child: True where the target keeps it as a child.
    """

    what: str
    target: int
    by: str = ""
    child: bool = False


def arrows(program: KernelProgram, index: int) -> tuple[Arrow, ...]:
    """Return what the node at `index` sends."""
    return tuple(_arrows(program, program.nodes[index]))


def keys(program: KernelProgram) -> tuple[str, ...]:
    """Return by what each node is keyed: the child's columns for a Match and a Lookup."""
    named = [_own_key(program, node) for node in program.nodes]
    for index in range(len(program.nodes)):
        for arrow in arrows(program, index):
            if arrow.child and not named[arrow.target]:
                named[arrow.target] = arrow.by
    for route in program.routes:
        if not named[route.node] and not route.role & ROLE_PARENT:
            columns = program.relations[route.relation].columns
            named[route.node] = columns_of(columns, route.address)
    return tuple(named)


def _own_key(program: KernelProgram, node: KernelNode) -> str:
    if not isinstance(node, Retract | Fold):
        return ""
    relation = program.relations[node.relation]
    return ", ".join(relation.columns[each].name for each in relation.key)


def _arrows(program: KernelProgram, node: KernelNode) -> Iterator[Arrow]:
    match node:
        case Retract():
            row = visible_row(program, node.relation)
            yield from (_use(row, use) for use in node.uses)
        case Lookup(merge=None):
            yield _answer(program, node.fold, [node.branch])
        case Match():
            yield _answer(program, node.fold, [arm.branch for arm in node.arms])
        case Lookup(merge=merge):
            assert merge is not None
            row = visible_row(program, merge.relation)
            yield _upward(row, merge.upward, "assembled rows")
        case Claim():
            event = [Slot(each.name, each.type) for each in node.event.fields]
            yield Arrow("events", node.target, columns_of(event, node.on))
        case Enrich() | AsOf() | MapEvents():
            yield from (_onward(program, each) for each in node.onward)
        case Fold():
            if node.upward is None:
                yield Arrow("documents", SINKS)
            else:
                yield _upward(visible_row(program, node.relation), node.upward, "assembled rows")


def _onward(program: KernelProgram, onward: Onward) -> Arrow:
    if onward.address is None:
        return Arrow("events", SINKS if onward.target < 0 else onward.target)
    row = [Slot(each.name, each.type) for each in program.assemblers[onward.assembler].type.fields]
    return Arrow("events", onward.target, columns_of(row, onward.address))


def _answer(program: KernelProgram, index: int, branches: Sequence[int]) -> Arrow:
    fold = program.nodes[index]
    assert isinstance(fold, Fold)
    return Arrow(", ".join(fold.branches[each].name for each in branches), index)


def _use(row: Sequence[Slot], use: Use) -> Arrow:
    match use:
        case OwnUse():
            return Arrow("own row", use.target)
        case ParentUse():
            what = "own row" if use.merged else "itself as a parent"
            return Arrow(what, use.target, columns_of(row, use.address))
        case ChildUse():
            return _upward(row, use.upward, "rows")


def _upward(row: Sequence[Slot], upward: Upward, what: str) -> Arrow:
    return Arrow(what, upward.target, columns_of(row, upward.address), child=True)
