"""A kernel program's parts under readable names, each with what is said of it.

Invariant: two programs whose states could differ in meaning differ in some part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from joinery.model.type import typed_names
from joinery.solutions.spark_state.assembler import Assembler, Slot
from joinery.solutions.spark_state.document_program import (
    Arm,
    Branch,
    FanOut,
    Fold,
    Gather,
    Interval,
    Match,
    ToOne,
    Upward,
    Valid,
)
from joinery.solutions.spark_state.event_fold_program import EventFold
from joinery.solutions.spark_state.group_program import (
    Closing,
    Cuts,
    Deadlines,
    Group,
)
from joinery.solutions.spark_state.pattern_program import Pattern, Rule
from joinery.solutions.spark_state.program import (
    ChildUse,
    GroupUse,
    Inserts,
    KernelNode,
    KernelProgram,
    OwnUse,
    ParentUse,
    RelationProgram,
    Removed,
    Retract,
    Root,
    Subjects,
    ThroughUse,
    Use,
    Versions,
)
from joinery.solutions.spark_state.search_program import QueryUse, Search, SearchedUse
from joinery.solutions.spark_state.stream_program import (
    AsOf,
    Claim,
    CurrentLookup,
    MapEvents,
    Onward,
    PairEvents,
    Rolling,
    Seen,
    StreamNode,
)
from joinery.solutions.spark_state.versioning import History
from joinery.solutions.spark_state.words import (
    aggregate_text,
    claim_text,
    closing_text,
    columns_of,
    event_fold_text,
    event_memory,
    grouped_by,
    history_text,
    kept_retention,
    kept_rows,
    kept_title,
    micros_text,
    near_text,
    onward_text,
    order_text,
    pairing_text,
    path_title,
    pattern_text,
    rolling_text,
    search_text,
    session_text,
    slides,
    sliding_text,
    sql_text,
    visible_row,
    window_text,
)

Part = tuple[str, str]


def parts_of(program: KernelProgram) -> Iterator[Part]:
    """Yield the parts of a program: `relation "user": column "id"`, `long`."""
    for relation in program.relations:
        yield from _relation(program, relation)
    for product in program.products:
        yield f'product "{product.name}"', f"by {typed_names(product.key.fields)}"
    for assembler in _node_assemblers(program):
        yield from _assembler(assembler)
    for node in program.nodes:
        yield from _node(program, node)
    for route in program.routes:
        relation = program.relations[route.relation]
        name = (
            f'relation "{relation.own_name}": changes go to {kept_title(program.nodes[route.node])}'
        )
        yield name, f"by {columns_of(relation.columns, route.address)} as role {route.role}"


def _relation(program: KernelProgram, relation: RelationProgram) -> Iterator[Part]:
    title = f'relation "{relation.own_name}"'
    view = program.assemblers[relation.assembler]
    yield f"{title}: key", ", ".join(relation.columns[each].name for each in relation.key)
    for place, column in enumerate(relation.columns):
        personal = relation.sealed is not None and place in relation.sealed.columns
        told = str(column.type).replace("personal", "sealed", 1) if personal else str(column.type)
        yield f'{title}: column "{column.name}"', told
    if relation.sealed is not None and relation.sealed.derived is not None:
        yield from _derived_sealed(title, relation.sealed.derived)
    derived = view.type.fields[len(relation.columns) :]
    for field, step in zip(derived, view.steps, strict=True):
        yield f'{title}: derived column "{field.name}"', sql_text(step)
    if view.where:
        yield f"{title}: where", view.where.sql


def _derived_sealed(title: str, assembler: Assembler) -> Iterator[Part]:
    """Yield what is computed of personal columns while they are clear."""
    made = {place: slot.name for place, slot in enumerate(assembler.own)}
    for own, place in zip(assembler.own, assembler.output, strict=True):
        if place >= len(made):
            made[place] = own.name
    for number, step in enumerate(assembler.steps, len(assembler.own)):
        yield f'{title}: derived before sealing "{made.get(number, number)}"', sql_text(step)


def _node_assemblers(program: KernelProgram) -> list[Assembler]:
    """Return the assemblers that no other part tells, as relations and folds tell theirs."""
    told = {relation.assembler for relation in program.relations}
    for node in program.nodes:
        if isinstance(node, EventFold):
            told |= {node.initial, *(each.assembler for each in node.when)}
    return [each for index, each in enumerate(program.assemblers) if index not in told]


def _assembler(assembler: Assembler) -> Iterator[Part]:
    title = path_title(assembler.name)
    given = len(assembler.own) + len(assembler.inputs)
    for field, slot in zip(assembler.type.fields, assembler.output, strict=True):
        yield f'{title}: field "{field.name}"', _slot(assembler, slot)
    hidden = [i for i in range(len(assembler.steps)) if i + given not in assembler.output]
    for number, step in enumerate(hidden):
        yield f"{title}: hidden value {number}", sql_text(assembler.steps[step])
    if assembler.where:
        yield f"{title}: where", assembler.where.sql
    if assembler.order:
        yield f"{title}: order", order_text(assembler)


def _slot(assembler: Assembler, slot: int) -> str:
    own, given = len(assembler.own), len(assembler.own) + len(assembler.inputs)
    if slot < own:
        return f"{assembler.own[slot].name} {assembler.own[slot].type}"
    if slot < given:
        return f"what {assembler.inputs[slot - own].name} holds"
    return sql_text(assembler.steps[slot - given])


def _forgotten(node: Retract | Inserts) -> Iterator[Part]:
    over = None if node.judged is None else kept_rows(node.judged)
    if over is not None:
        yield f'relation "{node.name}": forgotten', f"{micros_text(over)} after they are decided"


def _node(program: KernelProgram, node: KernelNode) -> Iterator[Part]:
    if isinstance(node, StreamNode):
        yield from _stream_node(program, node)
        return
    title = path_title(node.name)
    match node:
        case Retract():
            yield f'relation "{node.name}": level of its rows', str(node.level)
            yield from _forgotten(node)
            for use in node.uses:
                yield from _use(program, node.name, visible_row(program, node.relation), use)
        case Inserts():
            yield f'relation "{node.name}": its rows', "are sent where they are decoded"
            yield from _forgotten(node)
            for use in node.uses:
                yield from _use(program, node.name, visible_row(program, node.relation), use)
        case Removed():
            return
        case Subjects():
            yield f'relation "{node.name}": level of its subjects', str(node.level)
        case Versions():
            yield f'relation "{node.name}": level of its versions', str(node.level)
            yield f'relation "{node.name}": versions', history_text(program, node)
            for use in node.uses:
                yield from _use(program, node.name, visible_row(program, node.versions), use)
        case ToOne():
            yield f"{title}: kept by", f"a Lookup at level {node.level}"
            yield (
                f"{title}: rows",
                f"{_raw(node.child_relation)}, parents {_raw(node.parent_relation)}",
            )
            if node.merge:
                row = visible_row(program, node.merge.relation)
                yield (
                    f"{title}: parents are assembled in place",
                    _upward(program, row, node.merge.upward),
                )
        case Group():
            yield from _group(program, node)
        case History():
            yield f"{title}: kept by", f"a History at level {node.level}"
            yield f"{title}: versions", history_text(program, node)
        case EventFold():
            yield f"{title}: kept by", f"an EventFold at level {node.level}"
            yield f"{title}: folds", event_fold_text(program, node)
            for each in node.when:
                yield f"{title}: {each.kind}", _assigned(program.assemblers[each.assembler])
            yield f"{title}: at first", _assigned(program.assemblers[node.initial])
        case Pattern():
            yield f"{title}: kept by", f"a Pattern at level {node.level}"
            yield f"{title}: rows", pattern_text(program, node)
            retention = kept_retention(program, node)
            if retention is not None:
                yield f"{title}: forgotten", f"{micros_text(retention)} after its end"
        case Rule():
            yield f"{title}: kept by", f"a Rule at level {node.level}"
            kept = (
                "never"
                if node.kept_micros < 0
                else f"{micros_text(node.kept_micros)} after its rows"
            )
            yield f"{title}: who sees it is forgotten", kept
        case Search():
            yield f"{title}: kept by", f"a Search at level {node.level}, in {node.buckets} shares"
            yield f"{title}: queries", search_text(program, node)
        case Closing() | Deadlines():
            told = "notified how far it has slid" if slides(program, node) else "sent once closed"
            yield f"{title}: {told}", _closing(program, node)
        case Cuts():
            yield f"{title}: cuts sent by", f"a Cuts at level {node.level}"
        case Match():
            for arm in node.arms:
                yield from _arm(node, arm)
        case FanOut():
            yield f"{title}: fanned out by", f"a FanOut at level {node.level}"
            yield f"{title}: fanned out", _window(node.arm)
            yield f"{title}: hot above", str(node.hot_above or "nothing")
        case Gather():
            yield f"{title}: kept by", f"a Gather at level {node.level}"
            yield f"{title}: limit", str(node.limit or "none")
        case Interval():
            yield f"{title}: kept by", f"an Interval at level {node.level}"
        case Valid():
            yield f"{title}: kept by", f"a Valid at level {node.level}"
        case Root():
            yield f"{title}: kept by", f"a Root at level {node.level}"
            if node.read is not None:
                for use in node.uses:
                    yield from _use(program, node.name, visible_row(program, node.read), use)
        case Fold():
            yield (
                f"{title}: assembled by",
                f"a Fold at level {node.level}, rows {_raw(0 if node.raw else -1)}",
            )
            if node.upward:
                row = visible_row(program, node.relation)
                yield f"{title}: goes on", _upward(program, row, node.upward)
            for branch in node.branches:
                yield from _branch(node, branch)


def _group(program: KernelProgram, node: Group) -> Iterator[Part]:
    title = path_title(node.name)
    yield f"{title}: kept by", f"a Group at level {node.level}, as sums"
    yield f"{title}: grouped by", f"{typed_names(grouped_by(program, node))}"
    if node.window:
        yield f"{title}: windows", window_text(node.window)
    if node.session:
        apart = ", may fall apart" if node.session.divides else ""
        yield f"{title}: windows", f"{session_text(node.session)}{apart}"
    if node.sliding:
        yield f"{title}: windows", sliding_text(node.sliding)
    for number, aggregate in enumerate(node.aggregates):
        yield f"{title}: aggregate {number}", aggregate_text(aggregate)
    retention = kept_retention(program, node)
    if retention is not None:
        yield f"{title}: forgotten", f"{micros_text(retention)} after its end"


def _assigned(assembler: Assembler) -> str:
    """Return what a state is made of: `sum = sum + event.x`."""
    given = len(assembler.own) + len(assembler.inputs)
    made = zip(assembler.output, assembler.type.fields, strict=True)
    told = [
        f"{each.name} {each.type} = {sql_text(assembler.steps[place - given])}"
        for place, each in made
        if place >= given
    ]
    return ", ".join(told) or "nothing"


def _closing(program: KernelProgram, node: Closing | Deadlines) -> str:
    """Return which deadlines are told, in words; checkpoints hold them."""
    if isinstance(node, Deadlines):
        return (
            f"notified by a Closing beside it, at level {node.level}, {closing_text(program, node)}"
        )
    target = f"notified by a Closing at level {node.level}, in {node.buckets} shares"
    return f"{target}, {closing_text(program, node)}"


def _stream_node(program: KernelProgram, node: StreamNode) -> Iterator[Part]:
    title = f'stream node "{node.name}"'
    yield f"{title}: kept by", f"{kept_title(node)} at level {node.level}"
    yield f"{title}: events", typed_names(node.event.fields)
    onwards: tuple[Onward, ...] = ()
    match node:
        case Claim():
            yield f"{title}: follows events to", claim_text(program, node)
        case CurrentLookup() | AsOf():
            yield f"{title}: rows", program.relations[node.relation].name
            yield f"{title}: a missing row", node.miss
            yield f"{title}: remembers", event_memory(node)
            onwards = node.onward
        case Seen():
            yield f"{title}: seen within", f"{node.for_micros / 1000:g} ms"
            onwards = node.onward
        case Rolling():
            yield f"{title}: looks back", rolling_text(node)
            for number, aggregate in enumerate(node.aggregates):
                yield f"{title}: aggregate {number}", aggregate_text(aggregate)
            onwards = node.onward
        case PairEvents():
            yield f"{title}: pairs events", pairing_text(node)
            onwards = node.onward
        case MapEvents():
            onwards = node.onward
    for number, onward in enumerate(onwards):
        yield f"{title}: goes on {number}", onward_text(program, onward, kept_title)


def _arm(node: Match, arm: Arm) -> Iterator[Part]:
    title = path_title(arm.name)
    others = [each.name.rpartition("/")[2] for each in node.arms if each != arm]
    shared = f", with {', '.join(others)}" if others else ""
    yield f"{title}: kept by", f"a Match at level {node.level}{shared}"
    yield f"{title}: limit", str(arm.limit or "none")
    yield f"{title}: window", _window(arm)
    for number, aggregate in enumerate(arm.aggregates):
        yield f"{title}: aggregate {number}", aggregate_text(aggregate)


def _use(program: KernelProgram, name: str, row: Sequence[Slot], use: Use) -> Iterator[Part]:
    match use:
        case ParentUse():
            target = program.nodes[use.target]
            yield f"{path_title(target.name)}: parents by", columns_of(row, use.address)
            if isinstance(target, Valid) and use.time is not None:
                yield f"{path_title(target.name)}: as of", row[use.time].name
        case ChildUse():
            assembler = program.assemblers[use.assembler]
            yield f"{path_title(assembler.name)}: rows go", _upward(program, row, use.upward)
        case ThroughUse():
            title = path_title(program.nodes[use.target].name)
            yield f"{title}: led by", f"{name} to {columns_of(row, use.address)}"
            yield f"{title}: leads", columns_of(row, use.parent)
        case OwnUse() | GroupUse() | SearchedUse() | QueryUse():
            pass  # said of the node that it belongs to


def _upward(program: KernelProgram, row: Sequence[Slot], upward: Upward) -> str:
    target = program.nodes[upward.target]
    return f"to {kept_title(target)} by {columns_of(row, upward.address)}"


def _branch(node: Fold, branch: Branch) -> Iterator[Part]:
    title = path_title(f"{node.name}/{branch.name}")
    yield f"{title}: shape", f"{branch.shape}{', fused' if branch.fused else ''}"
    yield f"{title}: total", "shown" if branch.total else "none"
    yield f"{title}: fails above", str(branch.fail_above or "nothing")
    if branch.within is not None:
        yield f"{title}: within", near_text(branch.within)
        yield f"{title}: limit", str(branch.within.limit or "none")
    if branch.valid is not None:
        yield f"{title}: valid", "at a time of its own"
        yield f"{title}: limit", str(branch.valid.limit or "none")
    if branch.gathers is not None:
        yield f"{title}: kept by", f"the Fold of {path_title(node.name)}"
        yield f"{title}: limit", str(branch.gathers.limit)
    if branch.within is not None or branch.valid is not None:
        for number, aggregate in enumerate(branch.aggregates):
            yield f"{title}: aggregate {number}", aggregate_text(aggregate)


def _window(arm: Arm) -> str:
    told = ["one row" if arm.one else "rows"] if arm.entries else []
    told += ["total"] if arm.total else []
    return ", ".join(told) or "nothing"


def _raw(relation: int) -> str:
    return "as decoded" if relation >= 0 else "as sent"
