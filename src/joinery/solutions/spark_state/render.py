"""A kernel program as readable text: levels in order, what each node keeps and sends.

Reading downwards is the way of a change: every arrow leads to a later level.
"""

from __future__ import annotations

from collections.abc import Iterator

from joinery.solutions.spark_state.describe import (
    aggregate_text,
    columns_of,
    event_memory,
    node_title,
    onward_text,
    order_text,
    visible_row,
)
from joinery.solutions.spark_state.edges import SINKS, arrows, keys
from joinery.solutions.spark_state.program import (
    ROLE_PARENT,
    Arm,
    AsOf,
    Assembler,
    Claim,
    Enrich,
    Fold,
    KernelNode,
    KernelProgram,
    Lookup,
    MapEvents,
    Match,
)


def render_program(program: KernelProgram) -> str:
    """Return the text of a program."""
    lines = ["changes", *(f"  {line}" for line in _routes(program))]
    if program.entries:
        lines += ["events", *(f"  {line}" for line in _entries(program))]
    for level in range(1, program.levels + 1):
        lines.append(f"level {level}")
        for index, node in enumerate(program.nodes):
            if node.level == level:
                lines += [f"  {line}" for line in _node(program, index, node)]
    if program.reasons:
        lines += ["left out", *(f"  {reason}" for reason in program.reasons)]
    return "\n".join(lines) + "\n"


def _routes(program: KernelProgram) -> Iterator[str]:
    for route in program.routes:
        relation = program.relations[route.relation]
        target = node_title(program.nodes[route.node])
        role = " (as parent)" if route.role & ROLE_PARENT else ""
        yield f"{relation.name} -> {target} by {columns_of(relation.columns, route.address)}{role}"


def _entries(program: KernelProgram) -> Iterator[str]:
    for entry in program.entries:
        for onward in entry.onward:
            yield f"{program.relations[entry.relation].name} {onward_text(program, onward)}"


def _node(program: KernelProgram, index: int, node: KernelNode) -> Iterator[str]:
    key = keys(program)[index]
    yield f"{node_title(node)} by {key}" if key else node_title(node)
    for fact in node_facts(program, node):
        yield f"  {fact}"
    for arrow in arrows(program, index):
        target = "sinks" if arrow.target == SINKS else node_title(program.nodes[arrow.target])
        yield f"  {arrow.what} -> {target}{f' by {arrow.by}' if arrow.by else ''}"


def node_facts(program: KernelProgram, node: KernelNode) -> Iterator[str]:
    """Yield what is to be said of a node beside its kind, its key and what it sends."""
    match node:
        case Match():
            for arm in node.arms:
                yield from _window(program, arm, named=len(node.arms) > 1)
        case Lookup():
            kept = (node.child_relation, node.parent_relation)
            names = [program.relations[each].name for each in kept if each >= 0]
            if names:
                yield f"keeps the rows of {' and '.join(names)}"
        case Fold():
            if node.raw:
                yield f"keeps the rows of {program.relations[node.relation].name}"
            for branch in node.branches:
                fused = ", straight from its rows" if branch.fused else ""
                fails = f", fails above {branch.fail_above}" if branch.fail_above else ""
                shape = "aggregates only" if branch.shape == "none" else branch.shape
                yield f"holds {branch.name}: {shape}{fused}{fails}"
        case Claim():
            yield "remembers where each event is remembered, as it may be told again"
        case MapEvents():
            yield f"gives {', '.join(each.name for each in node.output.fields)}"
        case Enrich() | AsOf():
            row = visible_row(program, node.relation)
            asked = isinstance(node, Enrich) and node.asked
            yield f"{'asks for' if asked else 'keeps'} {', '.join(slot.name for slot in row)}"
            memory = event_memory(node)
            if memory != "no events":
                yield f"remembers {memory}"
        case _:
            row = visible_row(program, node.relation)
            yield f"keeps {', '.join(slot.name for slot in row)}"


def _window(program: KernelProgram, arm: Arm, *, named: bool) -> Iterator[str]:
    told = []
    if arm.one:
        told.append("the first row")
    elif arm.limit:
        told.append(f"the first {arm.limit} rows")
    assembler = _assembler_of(program, arm.name)
    if assembler is not None and assembler.order:
        rows = "" if told else "rows "
        told.append(f"{rows}in the order of {order_text(assembler)}")
    told += ["their total"] if arm.total else []
    told += [aggregate_text(each) for each in arm.aggregates]
    if told:
        of = f"{arm.name.rpartition('/')[2]}: " if named else ""
        yield f"{of}keeps {', '.join(told)}"


def _assembler_of(program: KernelProgram, path: str) -> Assembler | None:
    views = {relation.assembler for relation in program.relations}
    found = (
        each
        for index, each in enumerate(program.assemblers)
        if each.name == path and index not in views
    )
    return next(found, None)
