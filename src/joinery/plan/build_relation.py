"""From declared relations to the plan's: columns, key and time, of changelogs and of products.

A product that is read is a relation whose columns are those of its key, then those of its value
beside; its rows are what the product is sent as.

Invariant: a relation over a product carries that product, so what reads it is whole by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace

from joinery.expression.typed import Expression
from joinery.model.type import TIMESTAMP, DataType, Field, parse_type, quoted
from joinery.plan.build_personal import build_personal
from joinery.plan.context import Context
from joinery.plan.join import comparable
from joinery.plan.product import DocumentForm, Product
from joinery.plan.relation import CLOCK, EVENT_TIME, LOG_TIME, Computed, Personal, Relation
from joinery.plan.source import captured_from, check_position, registry_of
from joinery.plan.timestamp_hint import timestamp_hint
from joinery.project.captured import CAPTURED, table_in
from joinery.project.form import LOG_TIME_WORD, HistorySpec
from joinery.project.kinds import DEBEZIUM_JSON, DEFAULT_FORMAT
from joinery.project.mark import Path
from joinery.project.relation import RelationSpec
from joinery.project.stream import ClocksSpec

Known = Mapping[str, tuple[Relation, frozenset[str]]]
"""Relations by name, each with the derived columns whose own problem is noted."""


def build_relation(context: Context, spec: RelationSpec) -> tuple[Relation, frozenset[str]]:
    """Return a relation, with the derived columns that could not be built."""
    declared = tuple(Field(name, parse_type(text)) for name, text in spec.fields)
    source = _source(context, spec)
    logged = isinstance(spec.time, ClocksSpec) and spec.time.received == LOG_TIME_WORD
    logged = logged or bool(_known_by_log(context, spec))
    by_log = (Field(LOG_TIME, TIMESTAMP),) if logged else ()
    if logged and not _not_taken(context, spec, declared, (LOG_TIME,)):
        by_log = ()
    clear, failed = _derived(context, spec, (*declared, *by_log))
    personal, columns, derived = build_personal(context, spec, declared, clear)
    columns = (*columns, *by_log)
    named = _named(columns, personal)
    scope = {each.name: each.type for each in named}
    scope |= {each.name: each.expression.type for each in derived}
    clocks: ClocksSpec | None = None
    time: str | None = EVENT_TIME
    if isinstance(spec.time, ClocksSpec):
        clocks = spec.time
        if clocks.received == LOG_TIME_WORD:
            clocks = replace(clocks, received=LOG_TIME)
        derived += _told_by_clocks(context, spec, clocks, scope, failed)
        scope |= {each.name: each.type for each in derived}
    else:
        time = _checked_time(context, spec, spec.time, scope, failed)
    _check_watermark(context, spec)
    _check_log_time(context, spec, source)
    _check_key(context, spec, declared)
    _check_unique(context, spec, {*scope, *failed})
    where = _where(context, spec, scope, failed)
    check_position(context, spec, columns)
    captured = captured_from(context, source)
    format_ = spec.format or context.spec.defaults.format or DEFAULT_FORMAT.name
    topic = spec.topic or spec.name
    if captured is not None:
        format_, topic = DEBEZIUM_JSON.name, table_in(captured, topic)
    relation = Relation(
        name=spec.name,
        source=source,
        topic=topic,
        format=format_,
        key=spec.key if personal is None else tuple(map(personal.key_of, spec.key)),
        columns=columns,
        derived=derived,
        where=where,
        unique=spec.unique,
        position=spec.position,
        time_unit=spec.time_unit,
        images=spec.images,
        registry=registry_of(context, spec, source=source, format_=format_),
        append=spec.append,
        time=time,
        watermark=spec.watermark,
        clocks=clocks,
        logged=logged,
        personal=personal,
    )
    return relation, failed


def _named(columns: tuple[Field, ...], personal: Personal | None) -> tuple[Field, ...]:
    """Return the columns that expressions may name: all but blind indexes."""
    hidden = personal.hidden if personal is not None else frozenset()
    return tuple(each for each in columns if each.name not in hidden)


def _known_by_log(context: Context, spec: RelationSpec) -> list[str]:
    """Return the products that keep when versions of a relation's rows became known to its log."""
    return [
        each.name
        for each in context.spec.products
        if each.root.relation == spec.name
        and isinstance(each.form, HistorySpec)
        and each.form.known_at == LOG_TIME_WORD
    ]


def _check_watermark(context: Context, spec: RelationSpec) -> None:
    """Refuse a watermark of rows that have no time: it would never move."""
    if spec.watermark is not None and spec.time is None:
        message = f'relation "{spec.name}" has a "watermark" and no "time"'
        hint = "Name the column of event time: time: COLUMN. Or leave the watermark out."
        place = ("relations", spec.name, "watermark")
        context.refuse("PLAN_WATERMARK", message, place, key=True, hint=hint)


def _check_log_time(context: Context, spec: RelationSpec, source: str) -> None:
    """Refuse to ask for the time of a log that has none."""
    kinds = {each.name: each.kind for each in context.spec.sources}
    files = kinds.get(source) in ("files", *CAPTURED)
    if not files and spec.product is None:
        return
    lacking = f"the time of the log, which {'files do' if files else 'a product does'} not have"
    path: Path = ("relations", spec.name)
    column = "Name a column with the time at which an event was received."
    for name in _known_by_log(context, spec):
        message = f'"known_at" of product "{name}" needs {lacking}'
        hint = "Name a column with the time at which a change became known."
        context.refuse("PLAN_LOG_TIME", message, ("products", name, "known_at"), hint=hint)
    clocks = spec.time if isinstance(spec.time, ClocksSpec) else None
    if clocks is not None and clocks.received == LOG_TIME_WORD:
        message = f'"{LOG_TIME_WORD}" of relation "{spec.name}" names {lacking}'
        context.refuse("PLAN_LOG_TIME", message, (*path, "time", "received"), hint=column)
    elif spec.watermark is not None and spec.watermark.ahead_ms is not None and clocks is None:
        message = f'"ahead" of relation "{spec.name}" needs {lacking}'
        hint = f"{column[:-1]}: time: {{event: …, sent: …, received: …}}. Or leave it out."
        context.refuse("PLAN_LOG_TIME", message, (*path, "watermark", "ahead"), key=True, hint=hint)


def _told_by_clocks(
    context: Context,
    spec: RelationSpec,
    clocks: ClocksSpec,
    scope: Mapping[str, DataType],
    failed: frozenset[str],
) -> tuple[Computed, ...]:
    """Return the columns that three clocks tell: whether they are believed, and the time."""
    before = len(context.problems)
    path = ("relations", spec.name, "time")
    for word, name in (
        ("event", clocks.event),
        ("sent", clocks.sent),
        ("received", clocks.received),
    ):
        if name not in failed:
            _check_timestamp(context, spec, name, (*path, word), scope)
    _not_taken(context, spec, scope, (CLOCK, EVENT_TIME))
    if len(context.problems) > before or not failed.isdisjoint(
        (clocks.event, clocks.sent, clocks.received)
    ):
        return ()
    told = dict(scope)
    made: list[Computed] = []
    for name, text in ((CLOCK, _clock_sql(clocks)), (EVENT_TIME, _event_time_sql(clocks))):
        found = context.expression(text, path, told)
        assert found is not None, "an expression of ours is typed"
        made.append(Computed(name, found[0]))
        told[name] = found[0].type
    return tuple(made)


def _not_taken(
    context: Context, spec: RelationSpec, taken: Collection[str | Field], names: Collection[str]
) -> bool:
    """Refuse columns that have the names of those that clocks, or the log's time, add."""
    known = {each.name if isinstance(each, Field) else each for each in taken}
    path = ("relations", spec.name, "time")
    for name in (found := [each for each in names if each in known]):
        message = f'relation "{spec.name}" has a field "{name}" already'
        adds = "the time of the log is" if name == LOG_TIME else "the three clocks add"
        hint = f"Rename the field: {adds} a column of this name."
        context.refuse("PLAN_DUPLICATE_OUTPUT", message, path, key=True, hint=hint)
    return not found


def _clock_sql(clocks: ClocksSpec) -> str:
    """Return which clocks are believed: those of an event that was sent after it happened."""
    event, sent, received = map(quoted, (clocks.event, clocks.sent, clocks.received))
    drift = f"abs(unix_micros({received}) - unix_micros({sent}))"
    missing = " or ".join(f"{each} is null" for each in (event, sent, received))
    return (
        f"case when {missing} or {sent} < {event} or {drift} > {clocks.max_ms * 1000}"
        f" then 'suspect' when {drift} >= {clocks.tolerance_ms * 1000}"
        " then 'repaired' else 'ok' end"
    )


def _event_time_sql(clocks: ClocksSpec) -> str:
    """Return an event's time: never above the time at which it was received."""
    event, sent, received = map(quoted, (clocks.event, clocks.sent, clocks.received))
    mended = f"unix_micros({event}) + (unix_micros({received}) - unix_micros({sent}))"
    return (
        f"case when {CLOCK} = 'ok' then least({event}, {received})"
        f" when {CLOCK} = 'repaired' then least(timestamp_micros({mended}), {received})"
        f" else {received} end"
    )


def relation_over(
    context: Context, spec: RelationSpec, product: Product
) -> tuple[Relation, frozenset[str]]:
    """Return the relation that a product is to those that read it.

    Args:
        context: Takes the problems.
        spec: How it is declared; of a product that is read by its own name, that name alone.
        product: What it is sent as.
    """
    key = product.key_columns
    named = {each.name for each in product.key.fields}
    beside = tuple(each for each in product.output.fields if each.name not in named)
    taken_out = tuple(Field(each.name, each.type) for each in key if each.inner is not None)
    columns = (*product.key.fields, *beside, *taken_out)
    derived, failed = _derived(context, spec, columns)
    scope = {each.name: each.type for each in columns}
    scope |= {each.name: each.expression.type for each in derived}
    where = _where(context, spec, scope, failed)
    assert not isinstance(spec.time, ClocksSpec), "a product has no device"
    time = _checked_time(context, spec, spec.time, scope, failed)
    _check_watermark(context, spec)
    _check_log_time(context, spec, "")
    _check_readable(context, product)
    _check_taken_out(context, product)
    relation = Relation(
        name=spec.name,
        source="",
        topic=spec.name,
        format="",
        key=tuple(each.name for each in key),
        columns=columns,
        derived=derived,
        where=where,
        time=time,
        watermark=spec.watermark,
        product=product,
    )
    return relation, failed


def _check_readable(context: Context, product: Product) -> None:
    """Refuse a product whose key is not in its value as it is, or that has no documents."""
    path = ("products", product.name)
    if product.outbox is not None:
        message = f'product "{product.name}" is an outbox, and has no rows to read'
        context.refuse("PLAN_PRODUCT", message, path, key=True)
    if not isinstance(product.form, DocumentForm):
        return
    key = {each.name for each in product.key.fields}
    for name, shown in product.root.shown:
        if name in key and not (isinstance(shown, Computed) and shown.kept):
            message = (
                f'product "{product.name}" is read by others, and "{name}" is not its key column'
            )
            detail = f'"{name}" is in its key, and readers see the columns of the key.'
            hint = "Give the output another name."
            context.refuse(
                "PLAN_DUPLICATE_OUTPUT", message, path, key=True, detail=detail, hint=hint
            )


def _check_taken_out(context: Context, product: Product) -> None:
    """Refuse an output that has the name of a column in an object of the key."""
    outputs = {each.name for each in product.output.fields}
    for each in product.key_columns:
        if each.inner is not None and each.name in outputs:
            context.refuse(
                "PLAN_DUPLICATE_OUTPUT",
                f'product "{product.name}" is read by others, and "{each.name}" is a column twice',
                ("products", product.name),
                key=True,
                detail="Readers see each column of the objects in its key.",
                hint="Give the output another name.",
            )


def _where(
    context: Context, spec: RelationSpec, scope: dict[str, DataType], failed: frozenset[str]
) -> Expression | None:
    if spec.where is None:
        return None
    return context.condition(spec.where, ("relations", spec.name, "where"), scope, failed)


def _checked_time(
    context: Context,
    spec: RelationSpec,
    time: str | None,
    scope: Mapping[str, DataType],
    failed: frozenset[str],
) -> str | None:
    """Return the column of a relation's times, checked as far as it could be built."""
    if time is not None and time not in failed:
        _check_timestamp(context, spec, time, ("relations", spec.name, "time"), scope)
    return time


def _check_timestamp(
    context: Context, spec: RelationSpec, name: str, path: Path, scope: Mapping[str, DataType]
) -> None:
    if name not in scope:
        message = f'relation "{spec.name}" has no field "{name}"'
        context.unknown("PLAN_UNKNOWN_FIELD", message, path, name=name, known=scope)
    elif scope[name] != TIMESTAMP:
        message = f'"time" of relation "{spec.name}" needs a timestamp, not {scope[name]}'
        hint = timestamp_hint(name, scope[name])
        context.refuse("PLAN_TYPE_MISMATCH", message, path, hint=hint)


def _derived(
    context: Context, spec: RelationSpec, columns: tuple[Field, ...]
) -> tuple[tuple[Computed, ...], frozenset[str]]:
    scope = {each.name: each.type for each in columns}
    derived: list[Computed] = []
    failed: set[str] = set()
    for name, text in spec.derive:
        path = ("relations", spec.name, "derive", name)
        found = context.expression(text, path, scope, failed=failed)
        if name in scope:
            message = f'relation "{spec.name}" has a field "{name}" already'
            context.refuse("PLAN_DUPLICATE_OUTPUT", message, path, key=True)
        elif found is None:
            failed.add(name)
        else:
            derived.append(Computed(name, found[0]))
            scope[name] = found[0].type
    return tuple(derived), frozenset(failed)


def _check_key(context: Context, spec: RelationSpec, columns: tuple[Field, ...]) -> None:
    types = {each.name: each.type for each in columns}
    for index, name in enumerate(spec.key):
        path = ("relations", spec.name, "key", index)
        if name in dict(spec.derive):
            message = f'"key" of relation "{spec.name}" names the derived column "{name}"'
            hint = "Name declared columns."
            context.refuse("PLAN_KEY", message, path, hint=hint)
        elif name not in types:
            message = f'relation "{spec.name}" has no field "{name}"'
            context.unknown("PLAN_UNKNOWN_FIELD", message, path, name=name, known=types)
        elif not comparable(types[name]):
            message = f'"key" of relation "{spec.name}" names "{name}" of type {types[name]}'
            context.refuse("PLAN_KEY", message, path, hint="Name columns of a simple type.")
    for name, times in Counter(spec.key).items():
        if times > 1:
            message = f'"key" of relation "{spec.name}" names "{name}" twice'
            context.refuse("PLAN_KEY", message, ("relations", spec.name, "key"))


def _check_unique(context: Context, spec: RelationSpec, known: set[str]) -> None:
    names = [name for name, _ in (*spec.fields, *spec.derive)]
    for index, columns in enumerate(spec.unique):
        for place, name in enumerate(columns):
            if name not in known:
                path = ("relations", spec.name, "unique", index, place)
                message = f'relation "{spec.name}" has no field "{name}"'
                context.unknown("PLAN_UNKNOWN_FIELD", message, path, name=name, known=names)


def _source(context: Context, spec: RelationSpec) -> str:
    """Return the name of a relation's source; empty where the project has none."""
    known = [each.name for each in context.spec.sources]
    name = spec.source
    path: tuple[str, ...] = ("relations", spec.name, "source")
    if name is None:
        name, path = context.spec.defaults.source, ("defaults", "source")
    if name is None:
        if len(known) > 1:
            message = f'relation "{spec.name}" names no source'
            hint = "Write source: NAME, or defaults: {source: NAME}."
            detail = f"The project has {', '.join(known)}."
            path = ("relations", spec.name)
            context.refuse("PLAN_UNKNOWN_SOURCE", message, path, key=True, detail=detail, hint=hint)
        return known[0] if known else ""
    if name not in known and not _noted(context, path):
        message = f'there is no source "{name}"'
        context.unknown("PLAN_UNKNOWN_SOURCE", message, path, name=name, known=known)
    return name


def _noted(context: Context, path: tuple[str, ...]) -> bool:
    """Say whether the default, which many relations share, was refused before."""
    place = context.spec.locate(path)
    told = [(each.code, each.location) for each in context.problems]
    return path[0] == "defaults" and ("PLAN_UNKNOWN_SOURCE", place) in told
