"""Parts of a kernel program in words, for its parts, its plan and its fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from joinery.model.type import Field, typed_names
from joinery.project.emit import AS_CHANGED
from joinery.project.window import Span
from joinery.solutions.spark_state.assembler import Address, AggregateColumn, Assembler, Slot, Sql
from joinery.solutions.spark_state.document_program import Interval, Near
from joinery.solutions.spark_state.event_fold_program import EventFold
from joinery.solutions.spark_state.group_program import (
    Closing,
    Deadlines,
    Group,
    SessionProgram,
    SlidingProgram,
    WindowProgram,
)
from joinery.solutions.spark_state.interval_program import Judged
from joinery.solutions.spark_state.pattern_program import Pattern
from joinery.solutions.spark_state.program import (
    GroupUse,
    KernelNode,
    KernelProgram,
    Retract,
    Versions,
)
from joinery.solutions.spark_state.search_program import Search
from joinery.solutions.spark_state.stream_program import (
    AsOf,
    Claim,
    CurrentLookup,
    Onward,
    PairEvents,
    Rolling,
)
from joinery.solutions.spark_state.versioning import History

# Checkpoints hold a program's hash and its parts, so these kinds keep their first names there.
FIRST_KINDS = {"to_one": "lookup", "current_lookup": "enrich"}


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


def order_text(assembler: Assembler) -> str:
    """Return an order as a user writes it."""
    return ", ".join(
        f"{each.expression.sql}{' desc' if each.descending else ''}" for each in assembler.order
    )


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


def pattern_text(program: KernelProgram, node: Pattern) -> str:
    """Return what is kept of rows, and how they stand: `c0 string, c1 timestamp; by time, key`."""
    kept = program.assemblers[node.input]
    order = ", ".join((*(["time"] if node.by_time else []), order_text(kept)))
    within = f", {micros_text(node.within_micros)} long at most" if node.within_micros >= 0 else ""
    return f"{typed_names(kept.type.fields)}; by {order}; matches{within}"


def search_text(program: KernelProgram, node: Search) -> str:
    """Return what is kept of queries and documents, in words."""
    stored = [each.name for each in program.assemblers[node.stored].type.fields]
    on = ", ".join(stored[each] for each in node.query_on.ordinals)
    documents = "documents and what they match" if node.retroactive else "what documents match"
    return f"{', '.join(stored)}{f', found by {on}' if on else ''}; {documents}"


def slides(program: KernelProgram, node: Closing | Deadlines) -> bool:
    """Return whether what a Closing tells of goes on with the watermark."""
    target = program.nodes[node.target]
    return isinstance(target, Group) and target.sliding is not None


def closing_text(program: KernelProgram, node: Closing | Deadlines) -> str:
    """Return when something is closed: `once the watermark (30 s behind) is 5 s past its end`."""
    behind = f" ({micros_text(node.delay_micros)} behind)" if node.delay_micros else ""
    if slides(program, node):
        return f"once the watermark{behind} reaches a row, and once it leaves it behind"
    if not isinstance(program.nodes[node.target], Group | Pattern):
        after = micros_text(node.allowed_micros - 1)
        return f"once the watermark{behind} is more than {after} past its time"
    past = f"{micros_text(node.allowed_micros)} past" if node.allowed_micros else "at"
    return f"once the watermark{behind} is {past} its end"


def micros_text(count: int) -> str:
    """Return a length of time."""
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


def near_text(near: Near | Interval) -> str:
    """Return how far times may be apart: `-60 s to 0 s of its time`."""
    return f"{micros_text(near.from_micros)} to {micros_text(near.to_micros)} of its time"


def sql_text(expression: Sql) -> str:
    """Return an expression with its type."""
    return f"{expression.sql} {expression.type}"
