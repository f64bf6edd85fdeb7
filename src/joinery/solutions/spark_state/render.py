"""A kernel program as readable text: levels in order, what each node keeps and sends.

Reading downwards is the way of a change: every arrow leads to a later level.

What the nodes of a kernel program send each other, and by what they are addressed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
from joinery.solutions.spark_state.group_program import Closing, Cuts, Deadlines, Group
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
    Route,
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
)
from joinery.solutions.spark_state.versioning import History
from joinery.solutions.spark_state.words import (
    aggregate_text,
    closing_text,
    columns_of,
    event_fold_text,
    event_memory,
    grouped_by,
    history_text,
    near_text,
    node_title,
    onward_text,
    order_text,
    pairing_text,
    pattern_text,
    rolling_text,
    search_text,
    session_text,
    sliding_text,
    visible_row,
    window_text,
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
    return (*_arrows(program, program.nodes[index]), *_read_arrows(program, program.nodes[index]))


def _read_arrows(program: KernelProgram, node: KernelNode) -> Iterator[Arrow]:
    """Yield where the documents of a node go as changes of a relation."""
    if not isinstance(node, Fold | Root | Group | EventFold):
        return
    read = [each.relation for each in program.reads if each.product == node.product]
    for route in program.routes:
        if route.relation in read:
            relation = program.relations[route.relation]
            by = columns_of(relation.columns, route.address)
            yield Arrow(f"changes of {relation.name}", route.node, by)


def keys(program: KernelProgram) -> tuple[str, ...]:
    """Return by what each node is keyed: the child's columns for a Match and a ToOne."""
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
    match node:
        case Retract() | Inserts() | Versions() | Fold() | Root() | History():
            relation = program.relations[node.relation]
            return ", ".join(relation.columns[each].name for each in relation.key)
        case EventFold():
            made = program.products[node.product].key
            return ", ".join(each.name for each in made.fields)
        case Pattern():
            partitioned = program.products[node.product].key.fields[: node.by]
            return ", ".join(each.name for each in partitioned)
        case Search():
            return f"a share of {program.relations[node.documents].name}"
        case Closing():
            return f"a share of {node_title(program.nodes[node.target])}"
        case Cuts() | Deadlines():
            return _own_key(program, program.nodes[node.target])
        case Group():
            columns = [each.name for each in grouped_by(program, node)]
            return ", ".join(columns if node.window is None else [*columns, "window"])
        case (
            ToOne()
            | Match()
            | FanOut()
            | Gather()
            | Rule()
            | Interval()
            | Valid()
            | CurrentLookup()
            | AsOf()
            | Claim()
            | MapEvents()
            | Rolling()
            | Seen()
            | PairEvents()
        ):
            return ""  # what comes to it says by what
        case Subjects():
            return "a subject"
        case Removed():
            return ""


def _arrows(program: KernelProgram, node: KernelNode) -> Iterator[Arrow]:
    match node:
        case Subjects():
            rows = {route.node for route in program.routes if route.relation == node.relation}
            for each in sorted(rows):
                if program.nodes[each] is not node:
                    yield Arrow("erasures", each)
        case Retract() | Inserts():
            row = visible_row(program, node.relation)
            yield from (_use(row, use) for use in node.uses)
        case Versions():
            row = visible_row(program, node.versions)
            yield from (_use(row, use) for use in node.uses)
        case ToOne(merge=None):
            yield _answer(program, node.fold, [node.branch])
        case Match():
            yield _answer(program, node.fold, [arm.branch for arm in node.arms])
        case FanOut():
            yield Arrow("first rows", node.target)
        case Rule():
            yield Arrow("the row", node.target)
        case Gather() | Interval() | Valid():
            yield _answer(program, node.fold, [node.branch])
        case ToOne(merge=merge):
            assert merge is not None
            row = visible_row(program, merge.relation)
            yield _upward(row, merge.upward, "assembled rows")
        case Claim():
            event = [Slot(each.name, each.type) for each in node.event.fields]
            yield Arrow("events", node.target, columns_of(event, node.on))
        case CurrentLookup() | AsOf() | MapEvents() | Rolling() | Seen() | PairEvents():
            yield from (_onward(program, each) for each in node.onward)
        case Group():
            yield Arrow("groups", SINKS)
        case History():
            yield Arrow("versions", SINKS)
        case EventFold():
            yield Arrow("states", SINKS)
        case Search() | Pattern():
            yield Arrow("matches", SINKS)
        case Removed():
            return
        case Closing() | Deadlines():
            yield Arrow("that they are closed", node.target)
        case Cuts():
            yield Arrow("where sessions end", node.closing)
        case Root():
            yield Arrow("documents", SINKS)
            if node.read is not None:
                row = visible_row(program, node.read)
                yield from (_use(row, use) for use in node.uses)
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
        case GroupUse():
            return Arrow("rows that come and go", use.target)
        case ThroughUse():
            led = columns_of(row, use.parent)
            return Arrow(f"whom it leads ({led})", use.target, columns_of(row, use.address))
        case SearchedUse():
            return Arrow("documents", use.target)
        case QueryUse():
            return Arrow("queries", use.target, "each share")


def _upward(row: Sequence[Slot], upward: Upward, what: str) -> Arrow:
    return Arrow(what, upward.target, columns_of(row, upward.address), child=True)


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
    for route in sourced(program):
        relation = program.relations[route.relation]
        target = node_title(program.nodes[route.node])
        if isinstance(program.nodes[route.node], Group):
            yield f"{relation.name} -> {target}, summed up by the task that reads it"
            continue
        if isinstance(program.nodes[route.node], EventFold):
            yield f"{relation.name} -> {target} by {keys(program)[route.node] or 'nothing'}"
            continue
        role = " (as parent)" if route.role & ROLE_PARENT else ""
        yield f"{relation.name} -> {target} by {columns_of(relation.columns, route.address)}{role}"
    for index, node in enumerate(program.nodes):
        if isinstance(node, Inserts):
            for arrow in arrows(program, index):
                yield f"{node.name}: {_told(program, arrow)}"


def sourced(program: KernelProgram) -> tuple[Route, ...]:
    """Return the routes of relations that are read from sources."""
    return tuple(each for each in program.routes if each.relation < len(program.decoded))


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
        yield f"  {_told(program, arrow)}"


def _told(program: KernelProgram, arrow: Arrow) -> str:
    target = "sinks" if arrow.target == SINKS else node_title(program.nodes[arrow.target])
    return f"{arrow.what} -> {target}{f' by {arrow.by}' if arrow.by else ''}"


def node_facts(program: KernelProgram, node: KernelNode) -> Iterator[str]:
    """Yield what is to be said of a node beside its kind, its key and what it sends."""
    match node:
        case Match():
            for arm in node.arms:
                yield from _window(program, arm, named=len(node.arms) > 1)
        case Interval():
            yield f"keeps rows by time, and sends those {near_text(node)} from one to the other"
        case Valid():
            yield "keeps versions, and sends those that were valid at the time of the row above"
        case ToOne():
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
                near = f", {near_text(branch.within)}" if branch.within else ""
                yield f"holds {branch.name}: {shape}{fused}{near}{fails}{_gathered(branch)}"
        case FanOut():
            yield from _window(program, node.arm, named=False)
            if node.hot_above:
                yield f"is hot above {node.hot_above} rows that lead here"
        case Gather():
            first = f"the first {node.limit} rows" if node.limit else "all rows"
            yield f"sends {first} of all that it is led to"
        case Group():
            yield from _group_facts(node)
        case History():
            columns = ", ".join(slot.name for slot in visible_row(program, node.relation))
            yield f"keeps every version of {columns}, {history_text(program, node)}"
        case EventFold():
            yield f"keeps {event_fold_text(program, node)}"
        case Pattern():
            yield f"keeps {pattern_text(program, node)}"
        case Rule():
            yield "keeps the row, and the keys whose rows see it"
        case Search():
            yield f"keeps {search_text(program, node)}"
        case Closing() | Deadlines():
            yield f"notifies its addresses {closing_text(program, node)}"
        case Cuts():
            yield "keeps the times of rows"
        case Claim():
            yield "remembers where each event is kept, as it may come again"
        case Seen():
            yield f"keeps times that are less than {node.for_micros / 1000:g} ms apart as one"
        case PairEvents():
            yield f"keeps events of two logs, and pairs those {pairing_text(node)}"
        case Rolling():
            yield f"looks back {rolling_text(node)}"
            yield f"keeps events, and {', '.join(map(aggregate_text, node.aggregates))}"
        case MapEvents():
            yield f"gives {', '.join(each.name for each in node.output.fields)}"
        case CurrentLookup() | AsOf():
            row = visible_row(program, node.relation)
            asked = isinstance(node, CurrentLookup) and node.asked
            yield f"{'queries' if asked else 'keeps'} {', '.join(slot.name for slot in row)}"
            memory = event_memory(node)
            if memory != "no events":
                yield f"remembers {memory}"
        case Versions():
            columns = ", ".join(slot.name for slot in visible_row(program, node.relation))
            yield f"keeps every version of {columns}, {history_text(program, node)}"
        case Subjects():
            yield "keeps the keys of rows in which something was sealed for the subject"
        case Root():
            readers = ", and the one before for its readers while it is held back"
            yield f"keeps the document{'' if node.read is None else readers}"
        case Inserts():
            return
        case Removed():
            yield "its product was removed, and nothing comes here any more"
        case Retract():
            row = visible_row(program, node.relation)
            yield f"keeps {', '.join(slot.name for slot in row)}"


def _gathered(branch: Branch) -> str:
    return f", the first {branch.gathers.limit} of all that it is led to" if branch.gathers else ""


def _group_facts(node: Group) -> Iterator[str]:
    if node.window is not None:
        yield f"windows: {window_text(node.window)}"
    if node.session is not None:
        yield f"windows: {session_text(node.session)}"
    if node.sliding is not None:
        yield f"windows: {sliding_text(node.sliding)}"
    told = ["how many rows it has", *map(aggregate_text, node.aggregates)]
    each_time = node.sliding is not None or (node.session is not None and node.session.divides)
    yield f"keeps {', '.join(told)}{', also of each time' if each_time else ''}"


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
