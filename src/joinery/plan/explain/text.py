"""The logical plan as text.

A line's input is the next line of the same indent; what is indented below a Nest or a
Lookup is its other side. Pairs of `on` name the child's column first.

The plan of a stream as text, and in words how each lookup runs.

Lines stand in the order in which events pass them, as in a project file; what is indented
below a Lookup or a Union is its other side. Pairs of `on` name the table's column first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import assert_never

from joinery.expression.typed import Aggregate
from joinery.model.type import quoted
from joinery.plan.aggregate import WINDOW_SECONDS, AggregateForm
from joinery.plan.fold import FoldForm
from joinery.plan.history import HistoryForm
from joinery.plan.nodes import (
    Computed,
    DocumentForm,
    Node,
    OrderKey,
    OutboxForm,
    Plan,
    Product,
    Relation,
)
from joinery.plan.pattern import PatternForm
from joinery.plan.search import SearchForm
from joinery.plan.seen import SEEN
from joinery.plan.stream import (
    Filter,
    Lookup,
    MapRows,
    Rolling,
    SeenFilter,
    Select,
    Step,
    Stream,
    Union,
    WithColumns,
    beside,
    whole_ms,
    why_no_filter,
    why_not_whole,
)
from joinery.plan.support import STORED_GROUPS
from joinery.project.product import OutboxSpec
from joinery.project.quantity import duration_text, micros_text, offset_text, span_text
from joinery.project.window import Cumulative, Hopping, Session, Sliding, Tumbling, Window

_INDENT = "  "


def render_plan(plan: Plan) -> str:
    """Return all products of a plan, an empty line between them."""
    return "\n".join(render_product(product) for product in plan.products)


def render_product(product: Product) -> str:
    """Return the plan of one product.

    Example:
        >>> from joinery.model.type import STRING, Field
        >>> from joinery.expression.typed import Expression
        >>> user = Relation("user", "", "user", "json", ("id",), (Field("id", STRING),))
        >>> shown = (Computed("id", Expression("id", STRING, frozenset({"id"}))),)
        >>> root = Node("users", "users", "root", user, (), shown)
        >>> print(render_product(Product("users", DocumentForm(root))))
        Emit users by id
          Project id
          Scan user [id]
    """
    steps: Iterable[str]
    match product.form:
        case DocumentForm():
            head, steps = _emit(product), _documented(product.form)
        case OutboxForm(root, columns):
            head, steps = _relay(product, columns), _scan(root, ())
        case AggregateForm():
            head, steps = _emit(product), _aggregated(product.form, product.solution)
        case HistoryForm():
            head, steps = _emit(product), _history(product.form)
        case SearchForm():
            head, steps = _emit(product), _searched(product.form)
        case PatternForm():
            head, steps = _emit(product), _looked_for(product.form)
        case FoldForm():
            head, steps = _emit(product), _folded(product.form)
        case Stream():
            return render_stream(product.form)
        case _:
            assert_never(product.form)
    lines = [head, *(_INDENT + line for line in steps)]
    return "\n".join(lines) + "\n"


def _relay(product: Product, outbox: OutboxSpec) -> str:
    topics = ", ".join(str(dict(each.options).get("topic")) for each in product.sinks)
    return f"Relay {outbox.value} of {product.name} by {outbox.key} to kafka {topics}"


def _emit(product: Product) -> str:
    key = ", ".join(each.name for each in product.key.fields)
    parts = [f"Emit {product.name} by {key or 'nothing'}"]
    if product.sinks:
        parts.append("to " + ", ".join(sink.kind for sink in product.sinks))
    if product.settle_ms is not None:
        parts.append(f"after {product.settle_ms} ms of quiet")
    if product.ready:
        parts.append(f"ready after {', '.join(product.ready)}")
    return " ".join(parts)


def _documented(form: DocumentForm) -> Iterator[str]:
    """Yield the steps of a product of documents, last first."""
    for relation, after_us in form.waits.items():
        yield f"Wait until {relation.name} is past its time {_sum_text(after_us)}"
    yield from _lines(form.root, ())


def _sum_text(micros: int) -> str:
    return f"- {micros_text(-micros)}" if micros < 0 else f"+ {offset_text(micros)}"


def _aggregated(form: AggregateForm, solution: str) -> Iterator[str]:
    """Yield the steps of a product that aggregates, last first."""
    emit = form.emit
    if emit.when == "closed":
        yield f"Close after {micros_text(emit.allowed_us)}"
    if form.values:
        yield f"Compute {values_text(form.values, form.aggregates)}"
    yield group_text(form)
    if form.window is not None:
        read = form.relation.product
        late = _late_rows(form) if read is None else f"as of {read.name}"
        kept = solution in STORED_GROUPS
        yield "Keep windows for ever" if kept else f"Watermark of {form.relation.name}: {late}"
    if form.where is not None:
        yield f"Filter {form.where.sql}"
    yield from _scan_relation(form.relation, _used_by(form))


def _searched(form: SearchForm) -> Iterator[str]:
    """Yield the steps of a product that searches, last first."""
    if form.fields:
        yield f"Project {computed_text(form.fields)}"
    yield match_text(form)
    for line in _scan_relation(form.queries, _all_columns(form.queries)):
        yield _INDENT + line
    yield from _scan_relation(form.documents, _all_columns(form.documents))


def _all_columns(relation: Relation) -> frozenset[str]:
    return frozenset(each.name for each in relation.row.fields)


def match_text(form: SearchForm) -> str:
    """Return in words which queries match which documents."""
    pairs = ", ".join(f"{pair.child} = {pair.parent}" for pair in form.on)
    told = f"Match {form.queries.name}.{form.query} as {form.language}"
    told += f" on {pairs}" if pairs else ""
    # A new query then finds what changes after it, so batches decide what is sent.
    return told if form.retroactive else f"{told}, new queries with later documents only"


def _history(form: HistoryForm) -> Iterator[str]:
    """Yield the steps of a product that keeps versions, last first."""
    yield history_text(form)
    used = with_sources(form.relation, set(form.used))
    yield from _scan_relation(form.relation, frozenset(used))


def history_text(form: HistoryForm) -> str:
    """Return in words what tells versions apart."""
    return f"Versions by {form.valid} of {', '.join(form.track) or 'being there'}"


def _folded(form: FoldForm) -> Iterator[str]:
    """Yield the steps of a product that folds events, last first."""
    yield fold_text(form)
    for column in form.state:
        initial = "null" if column.initial is None else column.initial.sql
        yield f"  {column.name} {column.type}: {initial} at first"
    for each in form.when:
        told = ", ".join(f"{one.name} = {one.expression.sql}" for one in each.assigned)
        yield f"  {each.kind}: {told or 'nothing'}"
    if form.wait_us:
        by = "the clock" if form.relation.time is None else f"the watermark of {form.relation.name}"
        yield f"Events behind a gap wait {micros_text(form.wait_us)} by {by}"
    names = {each.name for each in form.relation.row.fields}
    yield from _scan_relation(form.relation, frozenset(names))


def fold_text(form: FoldForm) -> str:
    """Return in words which events are folded, and in what order."""
    by = computed_text(form.by) if form.by else "nothing"
    return f"Fold by {by} in the order of {form.sequence}, by {form.kind}"


def _looked_for(form: PatternForm) -> Iterator[str]:
    """Yield the steps of a product that finds patterns, last first."""
    if form.waits:
        yield f"Wait until {micros_text(form.within_us or 0)} after the first row are over"
    if form.fields:
        yield f"Compute {matched_text(form)}"
    yield pattern_text(form)
    for each in form.variables:
        if each.condition is not None:
            yield f"  {each.name}: {_read_back(each.condition.sql, form)}"
    if form.relation.time is not None:
        read = form.relation.product
        late = _late_rows(form) if read is None else f"as of {read.name}"
        yield f"Watermark of {form.relation.name}: {late}"
    yield from _scan_relation(form.relation, _read_of_rows(form))


def pattern_text(form: PatternForm) -> str:
    """Return in words what is looked for."""
    by = computed_text(form.by) if form.by else "nothing"
    within = "" if form.within_us is None else f" within {micros_text(form.within_us)}"
    after = "" if form.after == "past_last" else ", from each row"
    return f"Match {form.written} by {by}{within}{after}"


def matched_text(form: PatternForm) -> str:
    """Return what a match shows, as it was written but for spaces."""
    return ", ".join(f"{e.name} = {_read_back(e.expression.sql, form)}" for e in form.fields)


def _read_back(sql: str, form: PatternForm) -> str:
    """Return an expression with what it reads of a match in place of placeholders."""
    for each in reversed(form.reads):
        variable = f"{each.variable}." if each.variable else ""
        argument = f"{variable}{each.argument.sql}" if each.argument else each.variable or "*"
        sql = sql.replace(each.name, f"{each.function}({argument})")
    return sql


def _read_of_rows(form: PatternForm) -> frozenset[str]:
    """Return the columns of a row that a pattern reads."""
    read = frozenset(form.relation.key).union(*(each.references for each in form.expressions()))
    time = form.relation.time
    known = {each.name for each in form.relation.row.fields}
    return (read | ({time} if time else set())) & known


def _late_rows(form: AggregateForm | PatternForm) -> str:
    watermark = form.relation.watermark
    idle_ms = watermark.idle_ms if watermark else None
    idle = f", without partitions silent for {duration_text(idle_ms or 0)} by the clock"
    kept = f"kept {micros_text(form.emit.retention_us)}"
    return f"late rows {_LATE[form.emit.late]}, {kept}{idle if idle_ms else ''}"


def group_text(form: AggregateForm) -> str:
    """Return in words how rows are grouped."""
    by = computed_text(form.by) if form.by else "nothing"
    return f"Group by {by}" + (f" in {window_text(form.window)}" if form.window else "")


_LATE = {"correct": "correct", "dead_letter": "are dead letters", "drop": "are dropped"}


def window_text(window: Window) -> str:
    """Return a window in words."""
    match window:
        case Tumbling(size):
            text = f"windows of {span_text(size)}"
        case Hopping(size, every):
            text = f"windows of {span_text(size)} every {span_text(every)}"
        case Cumulative(size, every):
            text = f"windows up to {span_text(size)}, longer by {span_text(every)}"
        case Session(gap_us, max_us):
            most = "" if max_us is None else f", at most {micros_text(max_us)}"
            return f"sessions with gaps below {micros_text(gap_us)}{most}"
        case Sliding(size_us):
            return f"the last {micros_text(size_us)}"
    zone = f" in {window.zone}" if window.zone else ""
    return text + zone + (f" from {micros_text(window.offset_us)}" if window.offset_us else "")


def _used_by(form: AggregateForm) -> frozenset[str]:
    expressions = [each.expression for each in form.by] + ([form.where] if form.where else [])
    expressions += [each for one in form.aggregates for each in (one.argument, one.filter) if each]
    used = {*form.relation.key, *(name for each in expressions for name in each.references)}
    used |= {form.relation.time} if form.relation.time else set()
    return frozenset(with_sources(form.relation, used))


def _lines(node: Node, joined: tuple[str, ...]) -> Iterator[str]:
    """Yield the steps of a node, last first; `joined` are columns that its parent uses."""
    if node.where is not None:
        yield f"Filter {node.where.sql}"
    if node.values:
        yield f"Compute {values_text(node.values, node.aggregates)}"
    for embed in node.embeds:
        yield _edge(embed)
        for line in _lines(embed, tuple(_compared(embed))):
            yield _INDENT + line
        if embed.through is not None:
            for line in _scan_relation(embed.through.relation, _used_through(embed)):
                yield _INDENT + line
    yield f"Project {computed_text(node.fields)}" if node.fields else "Project nothing"
    yield from _scan(node, joined)


def _used_through(embed: Node) -> frozenset[str]:
    """Return the columns that are needed of the relation that leads to an embed."""
    assert embed.through is not None
    relation = embed.through.relation
    used = {*relation.key, *(pair.child for pair in embed.through.on)}
    used.update(pair.parent for pair in embed.on)
    return frozenset(with_sources(relation, used))


def _compared(embed: Node) -> Iterator[str]:
    """Yield the columns that the join of an embed compares."""
    yield from (pair.child for pair in embed.on)
    if embed.within is not None and embed.relation.time is not None:
        yield embed.relation.time


def _scan(node: Node, joined: tuple[str, ...]) -> Iterator[str]:
    yield from _scan_relation(node.relation, used_columns(node, joined))


def _scan_relation(relation: Relation, used: frozenset[str]) -> Iterator[str]:
    if relation.where is not None:
        yield f"Filter {relation.where.sql}"
    derived = tuple(each for each in relation.derived if each.name in used)
    if derived:
        yield f"Derive {computed_text(derived)}"
    columns = ", ".join(each.name for each in relation.columns if each.name in used)
    if relation.product is None:
        yield f"Scan {relation.name} [{columns}]"
    else:
        alias = "" if relation.name == relation.product.name else f" as {relation.name}"
        yield f"Read {relation.product.name}{alias} [{columns}]"


def used_columns(node: Node, joined: Iterable[str] = ()) -> frozenset[str]:
    """Return the columns, declared and derived, that a node needs of its relation.

    Args:
        node: The node.
        joined: The columns that the join with its parent compares.
    """
    hidden = {each.name for each in node.embeds if each.cardinality == "one"}
    values = {each.name for each in node.values}
    used = {*node.relation.key, *joined}
    used.update(pair.parent for embed in node.embeds for pair in embed.parent_on)
    used.update(embed.as_of for embed in node.embeds if embed.as_of is not None)
    used |= {node.relation.time} if node.as_of is not None and node.relation.time else set()
    if node.relation.time is not None and any(each.within is not None for each in node.embeds):
        used.add(node.relation.time)
    for field in node.fields:
        used |= field.expression.references - hidden
    shown = [key.expression for key in node.order] + ([node.where] if node.where else [])
    for expression in shown:
        used |= expression.references - hidden - values
    return frozenset(with_sources(node.relation, used))


def with_sources(relation: Relation, used: set[str]) -> set[str]:
    """Return `used` with the columns that its derived columns and the filter read."""
    found = used | (relation.where.references if relation.where else set())
    for derived in reversed(relation.derived):
        if derived.name in found:
            found |= derived.expression.references
    return found


def _edge(embed: Node) -> str:
    return f"{_verb(embed)} {embed.name} <- {embed.relation.name} {'; '.join(edge_parts(embed))}"


def _verb(embed: Node) -> str:
    match embed.cardinality:
        case "one":
            return "Lookup"
        case "many":
            return "Nest"
        case "root":
            raise AssertionError(embed.path)  # nothing embeds it


def edge_parts(embed: Node) -> list[str]:
    """Return what is said of an embed's join and window, part by part."""
    parts = list(_joined(embed))
    if embed.as_of is not None:
        parts.append(f"as of {embed.as_of}")
    if embed.within is not None:
        ends = (offset_text(each) for each in (embed.within.from_us, embed.within.to_us))
        parts.append(f"within [{', '.join(ends)}]")
    if embed.order:
        parts.append("order by " + ", ".join(_order(key) for key in embed.order))
    if embed.limit is not None:
        parts.append(f"limit {embed.limit}, {_overflow(embed)}")
    if embed.keyed:
        parts.append("as map")
    if embed.hidden:
        parts.append("hidden")
    return parts


def _joined(embed: Node) -> Iterator[str]:
    prefix = ""
    if embed.through is not None:
        prefix = f"{embed.through.relation.name}."
        pairs = (f"{pair.child} = {pair.parent}" for pair in embed.through.on)
        yield f"through {embed.through.relation.name} on {', '.join(pairs)}"
    yield "on " + ", ".join(f"{pair.child} = {prefix}{pair.parent}" for pair in embed.on)
    if embed.hot_name is not None and embed.through is not None:
        yield f"without those that more than {embed.through.hot_above} name, in {embed.hot_name}"


def _overflow(embed: Node) -> str:
    if embed.total_name is None:
        return "more than that fail"
    return f"total kept in {embed.total_name}"


def _order(key: OrderKey) -> str:
    return f"{key.expression.sql}{' desc' if key.descending else ''}"


def computed_text(pairs: Iterable[Computed]) -> str:
    """Return expressions under their names, a name alone where it stands for itself."""
    return ", ".join(_assignment(each) for each in pairs)


def _assignment(each: Computed) -> str:
    sql = each.expression.sql
    return sql if sql in (each.name, quoted(each.name)) else f"{each.name} = {sql}"


def values_text(values: Iterable[Computed], aggregates: Iterable[Aggregate]) -> str:
    """Return values under their names, the aggregates in them as calls."""
    calls = {each.name: aggregate_text(each) for each in aggregates}
    calls[WINDOW_SECONDS.name] = "window_seconds"
    text = computed_text(values)
    return _PLACEHOLDER.sub(lambda found: calls.get(found.group(), found.group()), text)


_PLACEHOLDER = re.compile(r"\b__\w+")


def aggregate_text(aggregate: Aggregate) -> str:
    """Return an aggregate as its call, over the names of its embed or its group."""
    argument = aggregate.argument.sql if aggregate.argument else aggregate.embed or "*"
    distinct = "distinct " if aggregate.distinct else ""
    most = "".join(f", {each:g}" for each in aggregate.numbers)
    call = f"{aggregate.function}({distinct}{argument}{most})"
    over = f"{call} over {aggregate.embed}" if aggregate.argument and aggregate.embed else call
    return f"{over} filter (where {aggregate.filter.sql})" if aggregate.filter else over


def render_stream(stream: Stream) -> str:
    """Return the plan of one stream.

    Example:
        >>> from joinery.model.type import LONG, Field
        >>> clicks = Relation("clicks", "", "clicks", "json", (), (Field("at", LONG),), append=True)
        >>> print(render_stream(Stream("views", clicks, columns=clicks.columns)))
        Scan clicks [at]
        Emit views by place
    """
    return "\n".join([*_render_stream_lines(stream), _render_stream_emit(stream)]) + "\n"


def step_text(step: Step) -> str:
    """Return one step as a line."""
    match step:
        case Filter(where):
            return f"Filter {where.sql}"
        case Select(fields):
            return f"Select {computed_text(fields)}"
        case WithColumns(fields):
            return f"With {computed_text(fields)}"
        case MapRows(_, output):
            return f"Map {step.name} -> {', '.join(each.name for each in output.fields)}"
        case Union(other):
            return f"Union {other.name}"
        case SeenFilter(column, _, for_us, where):
            asked = where.sql.replace(SEEN, f"seen({column}, for => '{micros_text(for_us)}')")
            return f"Filter {asked}"
        case Rolling(by, _, over_us):
            values = values_text(step.values, step.aggregates)
            return f"Rolling {micros_text(over_us)} by {', '.join(by)} -> {values}"
        case Lookup():
            on = ", ".join(f"{pair.child} = {pair.parent}" for pair in step.on)
            return "; ".join([f"Lookup {step.table.name} on {on}", *switches(step)])


def switches(lookup: Lookup) -> list[str]:
    """Return what is said of a lookup, switch by switch."""
    if lookup.read == "event":
        return ["in the event already"]
    told = ["in state" if lookup.read == "state" else f"in {_store(lookup)}"]
    if lookup.as_of == "event":
        told.append(f"as of {lookup.event_time} by {lookup.valid_from}, {_late(lookup)}")
    if lookup.on_miss != "null":
        told.append(f"on miss: {_miss(lookup)}")
    if lookup.on_change != "keep":
        told.append(_change(lookup))
    return told


def runs(stream: Stream) -> list[str]:
    """Return how each lookup runs and what follows from that, and what the plan moved."""
    told: list[str] = []
    for each in stream.lookups:
        told.append(f"{each.table.name}: {_runs(each)}")
        told += [f"{each.table.name}: {why}" for why in _chosen(each)]
    for other in stream.united:
        told += runs(other)
    return told + list(stream.notes)


def _render_stream_emit(stream: Stream) -> str:
    told = f"Emit {stream.name} by {', '.join(each.name for each in stream.key.fields)}"
    if stream.sinks:
        told += " to " + ", ".join(sink.kind for sink in stream.sinks)
    return told + (f", corrections marked in {stream.correction}" if stream.correction else "")


def _render_stream_lines(stream: Stream) -> Iterator[str]:
    """Yield what is read, and the steps with what they read beside it."""
    yield from _render_stream_scan(
        stream.relation, {each.name for each in stream.relation.row.fields}
    )
    for step in stream.steps:
        yield step_text(step)
        match beside(step):
            case Lookup() as lookup:
                yield from (_INDENT + line for line in _table(lookup))
                yield f"{_INDENT}Project {computed_text(lookup.fields) or 'nothing'}"
            case Union(other):
                yield from (_INDENT + line for line in _render_stream_lines(other))
            case None:
                pass


def _table(lookup: Lookup) -> Iterator[str]:
    used = {*lookup.table.key, *({lookup.valid_from} if lookup.valid_from else set())}
    for each in lookup.fields:
        used |= each.expression.references
    yield from _render_stream_scan(lookup.table, used)


def _render_stream_scan(relation: Relation, used: set[str]) -> Iterator[str]:
    found = with_sources(relation, set(used))
    columns = ", ".join(each.name for each in relation.columns if each.name in found)
    yield f"Scan {relation.name} [{columns}]"
    derived = tuple(each for each in relation.derived if each.name in found)
    if derived:
        yield f"Derive {computed_text(derived)}"
    if relation.where is not None:
        yield f"Filter {relation.where.sql}"


def _store(lookup: Lookup) -> str:
    return lookup.store.kind if lookup.store else "a store"


def _late(lookup: Lookup) -> str:
    return "held" if lookup.late == "hold" else "corrected"


def _miss(lookup: Lookup) -> str:
    return (
        f"wait up to {duration_text(lookup.wait_ms or 0)}"
        if lookup.on_miss == "wait"
        else (lookup.on_miss.replace("_", " "))
    )


def _change(lookup: Lookup) -> str:
    word = lookup.on_change.replace("_", "-")
    told = f"on change: {word} for {duration_text(lookup.for_ms or 0)}"
    if lookup.every_ms is not None:
        told += f", every {duration_text(lookup.every_ms)}"
    return told + (f", where {lookup.where.sql}" if lookup.where else "")


def _runs(lookup: Lookup) -> str:
    """Return where a lookup's rows are, and what that means for replay and staleness."""
    if lookup.read == "event":
        return "nothing is looked up; the columns are checked"
    if lookup.read == "database":
        cache, limits = lookup.cache, lookup.limits
        rate = "" if limits.per_second is None else f", {limits.per_second:g} a second"
        return (
            f"{_store(lookup)} is queried once a batch, {limits.batch} keys a request,"
            f" {limits.concurrency} at once{rate}; an answer is at most"
            f" {duration_text(cache.ttl_ms)} old, and of now on replay"
        )
    key = ", ".join(lookup.table.key)
    told = f"its changes are kept as state under {key}, beside the events of the same key"
    if lookup.as_of == "processing":
        return f"{told}; on replay an event may meet a newer row"
    versions = _versions(lookup)
    if lookup.late == "correct":
        return f"{told}, {versions}; an event is sent at once and corrected"
    waits = f"an event waits until they are {duration_text(lookup.max_delay_ms)} past its time"
    if lookup.idle_ms is None:
        return f"{told}, {versions}; {waits}; the same on replay"
    quiet = f"or quiet for {duration_text(lookup.idle_ms)}"
    return f"{told}, {versions}; {waits}, {quiet}; but for the quiet the same on replay"


def _chosen(lookup: Lookup) -> list[str]:
    """Return what is chosen for a table that is small or lacks keys, or why nothing is."""
    if lookup.read == "event":
        return []
    if lookup.read == "database":
        return [_broadcast(lookup), _filtered(lookup)]
    return [
        "not broadcast, as its changes are state and events meet state by key;"
        " keys without a row are found absent by the state store's own filter"
    ]


def _broadcast(lookup: Lookup) -> str:
    """Return when a table of a store is broadcast, or why never."""
    if why := why_not_whole(lookup):
        return f"not broadcast, as {why}"
    return (
        f"broadcast while it has at most {lookup.limits.batch} rows, as to read it whole then"
        f" costs no more than one request for keys; read again once"
        f" {duration_text(whole_ms(lookup))} old"
    )


def _filtered(lookup: Lookup) -> str:
    """Return when there is a filter of all keys, or why never."""
    negative = duration_text(lookup.cache.negative_ms)
    told = f"a key without a row is not requested again for {negative}"
    if why := why_no_filter(lookup):
        return f"{told}; no filter of all keys, as {why}"
    return (
        f"{told}; once most keys have no row, all keys are read into a filter by one request,"
        f" and those that it lacks are not requested; read again once {negative} old"
    )


def _versions(lookup: Lookup) -> str:
    """Return which versions are kept."""
    if lookup.history_ms is None:
        return "all versions"
    return f"the versions of the last {duration_text(lookup.history_ms)} before its watermark"
