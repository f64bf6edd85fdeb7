"""A kernel program's parts under readable names, each with what is said of it.

Invariant: two programs whose states could differ in meaning differ in some part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from joinery.model.type import Field
from joinery.project.emit import AS_CHANGED
from joinery.project.window import Span
from joinery.solutions.spark_state.assembler import Address, AggregateColumn, Assembler, Slot, Sql
from joinery.solutions.spark_state.event_fold_program import EventFold
from joinery.solutions.spark_state.group_program import (
    Closing,
    Cuts,
    Group,
    SessionProgram,
    SlidingProgram,
    WindowProgram,
)
from joinery.solutions.spark_state.interval_program import Judged
from joinery.solutions.spark_state.pattern_program import Pattern, Rule
from joinery.solutions.spark_state.program import (
    Arm,
    Branch,
    ChildUse,
    FanOut,
    Fold,
    Gather,
    GroupUse,
    Interval,
    KernelNode,
    KernelProgram,
    Match,
    Near,
    OwnUse,
    ParentUse,
    RelationProgram,
    Retract,
    Subjects,
    ThroughUse,
    ToOne,
    Upward,
    Use,
    Valid,
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

Part = tuple[str, str]

# Checkpoints hold a program's hash and its parts, so these kinds keep their first names there.
FIRST_KINDS = {"to_one": "lookup", "current_lookup": "enrich"}


def parts_of(program: KernelProgram) -> Iterator[Part]:
    """Yield the parts of a program: `relation "user": column "id"`, `long`."""
    for relation in program.relations:
        yield from _relation(program, relation)
    for product in program.products:
        yield f'product "{product.name}"', f"by {_types(product.key.fields)}"
    for assembler in _node_assemblers(program):
        yield from _assembler(assembler)
    for node in program.nodes:
        yield from _node(program, node)
    for route in program.routes:
        relation = program.relations[route.relation]
        name = f'relation "{relation.name}": changes go to {kept_title(program.nodes[route.node])}'
        yield name, f"by {columns_of(relation.columns, route.address)} as role {route.role}"


def path_title(path: str) -> str:
    """Return a node's path in words: `product "profile": embed "orders"`."""
    product, *embeds = path.split("/")
    root = f'product "{product}"'
    return f'{root}: embed "{".".join(embeds)}"' if embeds else root


def node_title(node: KernelNode) -> str:
    """Return the kind and the name of a node: `Match profile/orders`."""
    return f"{type(node).__name__} {node.name}"


def kept_title(node: KernelNode) -> str:
    """Return the same as a checkpoint keeps it."""
    return f"{FIRST_KINDS.get(node.kind, node.kind).capitalize()} {node.name}"


def columns_of(row: Sequence[Slot], address: Address) -> str:
    """Return the columns of an address, each with a type that it is widened to."""
    named = zip((row[ordinal] for ordinal in address.ordinals), address.types, strict=True)
    return ", ".join(
        slot.name if slot.type == type_ else f"{slot.name} as {type_}" for slot, type_ in named
    )


def visible_row(program: KernelProgram, relation: int) -> tuple[Slot, ...]:
    """Return the columns of a relation as products see them: decoded, then derived."""
    view = program.assemblers[program.relations[relation].assembler]
    return tuple(Slot(field.name, field.type) for field in view.type.fields)


def aggregate_text(aggregate: AggregateColumn) -> str:
    """Return an aggregate as its call."""
    read = [aggregate.argument.sql if aggregate.argument else "rows"]
    call = f"{aggregate.function}({', '.join([*read, *map(str, aggregate.numbers)])})"
    return f"{call} where {aggregate.filter.sql}" if aggregate.filter else call


def _relation(program: KernelProgram, relation: RelationProgram) -> Iterator[Part]:
    title = f'relation "{relation.name}"'
    view = program.assemblers[relation.assembler]
    yield f"{title}: key", ", ".join(relation.columns[each].name for each in relation.key)
    for place, column in enumerate(relation.columns):
        personal = relation.sealed is not None and place in relation.sealed.columns
        told = str(column.type).replace("personal", "sealed", 1) if personal else str(column.type)
        yield f'{title}: column "{column.name}"', told
    derived = view.type.fields[len(relation.columns) :]
    for field, step in zip(derived, view.steps, strict=True):
        yield f'{title}: derived column "{field.name}"', _sql(step)
    if view.where:
        yield f"{title}: where", view.where.sql


def _node_assemblers(program: KernelProgram) -> list[Assembler]:
    views = {relation.assembler for relation in program.relations}
    return [each for index, each in enumerate(program.assemblers) if index not in views]


def _assembler(assembler: Assembler) -> Iterator[Part]:
    title = path_title(assembler.name)
    given = len(assembler.own) + len(assembler.inputs)
    for field, slot in zip(assembler.type.fields, assembler.output, strict=True):
        yield f'{title}: field "{field.name}"', _slot(assembler, slot)
    hidden = [i for i in range(len(assembler.steps)) if i + given not in assembler.output]
    for number, step in enumerate(hidden):
        yield f"{title}: hidden value {number}", _sql(assembler.steps[step])
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
    return _sql(assembler.steps[slot - given])


def order_text(assembler: Assembler) -> str:
    """Return an order as a user writes it."""
    return ", ".join(
        f"{each.expression.sql}{' desc' if each.descending else ''}" for each in assembler.order
    )


def _node(program: KernelProgram, node: KernelNode) -> Iterator[Part]:
    title = path_title(node.name)
    match node:
        case Retract():
            yield f'relation "{node.name}": level of its rows', str(node.level)
            over = None if node.judged is None else kept_rows(node.judged)
            if over is not None:
                told = f"{_micros(over)} after they are decided"
                yield f'relation "{node.name}": forgotten', told
            for use in node.uses:
                yield from _use(program, node, use)
        case Subjects():
            yield f'relation "{node.name}": level of its subjects', str(node.level)
        case Versions():
            yield f'relation "{node.name}": level of its versions', str(node.level)
            yield f'relation "{node.name}": versions', history_text(program, node)
            for use in node.uses:
                yield from _use(program, node, use)
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
        case CurrentLookup() | AsOf() | Claim() | MapEvents() | Rolling() | Seen() | PairEvents():
            yield from _stream_node(program, node)
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
                yield f"{title}: forgotten", f"{_micros(retention)} after its end"
        case Rule():
            yield f"{title}: kept by", f"a Rule at level {node.level}"
            kept = (
                "never" if node.kept_micros < 0 else f"{_micros(node.kept_micros)} after its rows"
            )
            yield f"{title}: who sees it is forgotten", kept
        case Search():
            yield f"{title}: kept by", f"a Search at level {node.level}, in {node.buckets} shares"
            yield f"{title}: queries", search_text(program, node)
        case Closing():
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
    yield f"{title}: grouped by", f"{_types(grouped_by(program, node))}"
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
        yield f"{title}: forgotten", f"{_micros(retention)} after its end"


def kept_retention(program: KernelProgram, node: Group | Pattern) -> int | None:
    """Return after how many microseconds a window is forgotten, where its state must know.

    That is where rows change: what they take back from a window that is gone is not there, so a
    retention must not grow. The default is none that must be known.
    """
    late = node.late
    retracts = (each for each in program.nodes if isinstance(each, Retract))
    targets = (use.target for each in retracts for use in each.uses if isinstance(use, GroupUse))
    if late is None or all(program.nodes[each] is not node for each in targets):
        return None
    known = late.retention_micros in {-1, AS_CHANGED.retention_us}
    return None if known else late.retention_micros


def kept_rows(judged: Judged) -> int | None:
    """Return for how many microseconds rows of intervals still count, where state must know.

    As that of windows, a retention must not grow; the default is none that must be known.
    """
    retention = judged.late.retention_micros
    known = judged.counts_micros < 0 or retention == AS_CHANGED.retention_us
    return None if known else retention


def history_text(program: KernelProgram, node: History | Versions) -> str:
    """Return what versions go by: `by since, ended by deletes that have since`."""
    told = [program.relations[node.relation].columns[each].name for each in node.told]
    ended = f", ended by deletes that have {', '.join(told)}" if told else ""
    row = visible_row(program, node.relation)
    known = node.known if isinstance(node, History) else None
    kept = "" if known is None else f", known by {row[known].name}"
    return f"by {row[node.valid_from].name}{kept}{ended}"


def event_fold_text(program: KernelProgram, node: EventFold) -> str:
    """Return what is kept of events, in words."""
    row = visible_row(program, node.relation)
    input_ = program.assemblers[node.input]
    number = input_.steps[node.by].scope[0].name
    state = ", ".join(each.name for each in program.assemblers[node.initial].type.fields)
    return (
        f"{', '.join(slot.name for slot in row)} by {number}, of kinds by"
        f" {row[node.event_kind].name}; {state}, also at every 100th"
    )


def _assigned(assembler: Assembler) -> str:
    """Return what a state is made of: `sum = sum + event.x`."""
    given = len(assembler.own) + len(assembler.inputs)
    made = zip(assembler.output, assembler.type.fields, strict=True)
    told = [
        f"{each.name} {each.type} = {_sql(assembler.steps[place - given])}"
        for place, each in made
        if place >= given
    ]
    return ", ".join(told) or "nothing"


def _closing(program: KernelProgram, node: Closing) -> str:
    """Return which deadlines are told, in words."""
    target = f"notified by a Closing at level {node.level}, in {node.buckets} shares"
    return f"{target}, {closing_text(program, node)}"


def pattern_text(program: KernelProgram, node: Pattern) -> str:
    """Return what is kept of rows, and how they stand: `c0 string, c1 timestamp; by time, key`."""
    kept = program.assemblers[node.input]
    order = ", ".join((*(["time"] if node.by_time else []), order_text(kept)))
    within = f", {_micros(node.within_micros)} long at most" if node.within_micros >= 0 else ""
    return f"{_types(kept.type.fields)}; by {order}; matches{within}"


def search_text(program: KernelProgram, node: Search) -> str:
    """Return what is kept of queries and documents, in words."""
    stored = [each.name for each in program.assemblers[node.stored].type.fields]
    on = ", ".join(stored[each] for each in node.query_on.ordinals)
    documents = "documents and what they match" if node.retroactive else "what documents match"
    return f"{', '.join(stored)}{f', found by {on}' if on else ''}; {documents}"


def slides(program: KernelProgram, node: Closing) -> bool:
    """Return whether what a Closing tells of goes on with the watermark."""
    target = program.nodes[node.target]
    return isinstance(target, Group) and target.sliding is not None


def closing_text(program: KernelProgram, node: Closing) -> str:
    """Return when something is closed: `once the watermark (30 s behind) is 5 s past its end`."""
    behind = f" ({_micros(node.delay_micros)} behind)" if node.delay_micros else ""
    if slides(program, node):
        return f"once the watermark{behind} reaches a row, and once it leaves it behind"
    if not isinstance(program.nodes[node.target], Group | Pattern):
        after = _micros(node.allowed_micros - 1)
        return f"once the watermark{behind} is more than {after} past its time"
    past = f"{_micros(node.allowed_micros)} past" if node.allowed_micros else "at"
    return f"once the watermark{behind} is {past} its end"


def _micros(count: int) -> str:
    return _span(Span(count, "micros"))


def grouped_by(program: KernelProgram, node: Group) -> tuple[Field, ...]:
    """Return the columns that rows are grouped by."""
    return program.assemblers[node.input].type.fields[: node.by]


def session_text(session: SessionProgram) -> str:
    """Return sessions in words: `sessions with gaps of 1800 s, cut at 43200 s`."""
    told = f"sessions with gaps of {_span(Span(session.gap_micros, 'micros'))}"
    if session.max_micros:
        told += f", cut at {_span(Span(session.max_micros, 'micros'))}"
    return told


def sliding_text(sliding: SlidingProgram) -> str:
    """Return sliding windows in words: `the last 300 s up to the watermark`."""
    return f"the last {_span(Span(sliding.size_micros, 'micros'))} up to the watermark"


def window_text(window: WindowProgram) -> str:
    """Return windows in words: `hopping 60 s every 10 s`."""
    told = [f"{window.shape} {_span(window.size)}"]
    if window.shape != "tumbling":
        told.append(f"every {_span(window.every)}")
    if window.offset_micros:
        told.append(f"after {_span(Span(window.offset_micros, 'micros'))}")
    if window.zone is not None:
        told.append(f"in {window.zone}")
    return " ".join(told)


def _span(span: Span) -> str:
    if span.unit != "micros":
        return f"{span.count} {span.unit if span.count > 1 else span.unit[:-1]}"
    seconds, micros = divmod(span.count, 1_000_000)
    return f"{span.count} us" if micros else f"{seconds} s"


def _stream_node(program: KernelProgram, node: StreamNode) -> Iterator[Part]:
    title = f'stream node "{node.name}"'
    yield f"{title}: kept by", f"{kept_title(node)} at level {node.level}"
    yield f"{title}: events", _types(node.event.fields)
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


def pairing_text(node: PairEvents) -> str:
    """Return how far the times of a pair may be apart, and what is kept for that."""
    ends = f"{node.from_micros / 1000:g} to {node.to_micros / 1000:g} ms apart"
    return f"{ends}, up to {node.retention_micros / 1000:g} ms below the watermark"


def rolling_text(node: Rolling) -> str:
    """Return how far rolling columns look back, and what is kept for that."""
    over_ms, kept_ms = node.over_micros / 1000, node.retention_micros / 1000
    return f"{over_ms:g} ms, at events up to {kept_ms:g} ms below the watermark"


def event_memory(node: CurrentLookup | AsOf) -> str:
    """Return which events a lookup of a stream remembers."""
    match node:
        case AsOf():
            return _waiting_events(node)
        case CurrentLookup():
            return _remembered_events(node)


def _waiting_events(node: AsOf) -> str:
    what = "corrected" if node.corrects else "held"
    past = f"events that are {what} until the table is {node.max_delay_micros // 1000} ms past"
    kept = node.history_micros // 1000
    return past if node.history_micros < 0 else f"{past}, and the versions of {kept} ms"


def _remembered_events(node: CurrentLookup) -> str:
    told = []
    if node.miss == "wait":
        told.append(f"events that wait up to {node.wait_micros // 1000} ms")
    if node.for_micros >= 0:
        told.append(f"events of the last {node.for_micros // 1000} ms")
    return ", ".join(told) or "no events"


def claim_text(program: KernelProgram, node: Claim) -> str:
    """Return where events go that may be told again, by what, and how they are shared out."""
    row = [Slot(each.name, each.type) for each in node.event.fields]
    target = kept_title(program.nodes[node.target])
    return f"{target} by {columns_of(row, node.on)}, in {node.buckets} shares"


def onward_text(
    program: KernelProgram, onward: Onward, title: Callable[[KernelNode], str] = node_title
) -> str:
    """Return where an event goes next, and by which of its columns."""
    if onward.target < 0:
        return f'to product "{program.products[onward.product].name}"'
    if onward.address is None:
        return f"to {title(program.nodes[onward.target])}"
    row = program.assemblers[onward.assembler].type.fields
    columns = columns_of([Slot(each.name, each.type) for each in row], onward.address)
    return f"to {title(program.nodes[onward.target])} by {columns}"


def _arm(node: Match, arm: Arm) -> Iterator[Part]:
    title = path_title(arm.name)
    others = [each.name.rpartition("/")[2] for each in node.arms if each != arm]
    shared = f", with {', '.join(others)}" if others else ""
    yield f"{title}: kept by", f"a Match at level {node.level}{shared}"
    yield f"{title}: limit", str(arm.limit or "none")
    yield f"{title}: window", _window(arm)
    for number, aggregate in enumerate(arm.aggregates):
        yield f"{title}: aggregate {number}", aggregate_text(aggregate)


def _use(program: KernelProgram, node: Retract | Versions, use: Use) -> Iterator[Part]:
    row = visible_row(program, node.relation if isinstance(node, Retract) else node.versions)
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
            yield f"{title}: led by", f"{node.name} to {columns_of(row, use.address)}"
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
    if branch.within is not None or branch.valid is not None:
        for number, aggregate in enumerate(branch.aggregates):
            yield f"{title}: aggregate {number}", aggregate_text(aggregate)


def near_text(near: Near | Interval) -> str:
    """Return how far times may be apart: `-60 s to 0 s of its time`."""
    return f"{_micros(near.from_micros)} to {_micros(near.to_micros)} of its time"


def _window(arm: Arm) -> str:
    told = ["one row" if arm.one else "rows"] if arm.entries else []
    told += ["total"] if arm.total else []
    return ", ".join(told) or "nothing"


def _raw(relation: int) -> str:
    return "as decoded" if relation >= 0 else "as sent"


def _types(fields: Sequence[object]) -> str:
    return ", ".join(f"{each.name} {each.type}" for each in fields)  # type: ignore[attr-defined]


def _sql(expression: Sql) -> str:
    return f"{expression.sql} {expression.type}"
