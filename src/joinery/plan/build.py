"""From a spec to the logical plan: names resolved, expressions typed, joins checked.

Invariant: either the whole plan holds, or every problem of the project is raised at once.
"""

from __future__ import annotations

from collections import Counter

from joinery.errors import JoineryError, Location, ProjectErrors
from joinery.expression.expression import Analyser
from joinery.expression.typed import Expression
from joinery.model.type import TIMESTAMP, DataType, Field, Struct, parse_type
from joinery.plan.aggregate import AggregateForm
from joinery.plan.build_aggregate import build_aggregate
from joinery.plan.build_node import build_root
from joinery.plan.build_stream import build_streams
from joinery.plan.context import Context
from joinery.plan.join import comparable
from joinery.plan.nodes import (
    Computed,
    DocumentForm,
    Node,
    OutboxForm,
    Plan,
    Product,
    Relation,
)
from joinery.plan.sink import Owner, build_sink, check_dead_letters, check_meeting, outbox_of
from joinery.plan.source import check_position, check_topics, registry_of
from joinery.plan.verify import verify, verify_stream
from joinery.project.kinds import AUTO, DEFAULT_FORMAT, DEFAULT_SOLUTION
from joinery.project.product import Options, ProductSpec, ProjectSpec, RelationSpec


def build_plan(spec: ProjectSpec, analyser: Analyser | None = None) -> Plan:
    """Return the plan of all products and streams of `spec`.

    Args:
        spec: The project.
        analyser: Types expressions outside the portable subset; without one they are
            refused as not checked.

    Raises:
        ProjectErrors: With every problem, in file order.
    """
    plan, problems, _ = examine(spec, analyser)
    if plan is None:
        raise ProjectErrors(problems)
    return plan


def examine(
    spec: ProjectSpec, analyser: Analyser | None = None
) -> tuple[Plan | None, tuple[JoineryError, ...], tuple[JoineryError, ...]]:
    """Return the plan, or None where there are problems; the problems; the warnings."""
    context = Context(spec, analyser)
    relations = {each.name: _relation(context, each) for each in spec.relations}
    check_topics(context, {name: each.source for name, (each, _) in relations.items()})
    check_dead_letters(context)
    products = [_product(context, each, relations) for each in spec.products]
    _check_queries(context)
    streams = build_streams(context, relations)
    made = tuple(each for each in products if each is not None)
    check_meeting(context, made)
    plan = Plan(made, streams, _ordered(context.warnings))
    if not context.problems:
        verify(plan)
        for each in plan.streams:
            verify_stream(each)
    broken = bool(context.problems)
    return None if broken else plan, _ordered(context.problems), plan.warnings


def _ordered(problems: list[JoineryError]) -> tuple[JoineryError, ...]:
    nowhere = Location("", 0, 0)
    return tuple(sorted(problems, key=lambda each: each.location or nowhere))


def _relation(context: Context, spec: RelationSpec) -> tuple[Relation, frozenset[str]]:
    """Return a relation, with the derived columns that could not be built."""
    path = ("relations", spec.name)
    columns = tuple(Field(name, parse_type(text)) for name, text in spec.fields)
    derived, failed = _derived(context, spec, columns)
    row = Struct(columns + tuple(Field(each.name, each.expression.type) for each in derived))
    scope = {each.name: each.type for each in row.fields}
    _check_key(context, spec, columns)
    _check_unique(context, spec, {*scope, *failed})
    where: Expression | None = None
    if spec.where is not None:
        where = context.condition(spec.where, (*path, "where"), scope, failed)
    check_position(context, spec, columns)
    _check_time(context, spec, scope, failed)
    source = _source(context, spec)
    format_ = spec.format or context.spec.defaults.format or DEFAULT_FORMAT.name
    relation = Relation(
        name=spec.name,
        source=source,
        topic=spec.topic or spec.name,
        format=format_,
        key=spec.key,
        columns=columns,
        derived=derived,
        where=where,
        unique=spec.unique,
        position=spec.position,
        time_unit=spec.time_unit,
        images=spec.images,
        registry=registry_of(context, spec, source=source, format_=format_),
        append=spec.append,
        time=spec.time,
        watermark=spec.watermark,
    )
    return relation, failed


def _check_time(
    context: Context, spec: RelationSpec, scope: dict[str, DataType], failed: frozenset[str]
) -> None:
    if spec.watermark is not None and spec.watermark.ahead_ms is not None:
        message = f'"ahead" of relation "{spec.name}" is not there yet'
        hint = "Leave it out: every time moves the watermark."
        place = ("relations", spec.name, "watermark", "ahead")
        context.refuse("PLAN_NOT_YET", message, place, key=True, hint=hint)
    path = ("relations", spec.name, "time")
    if spec.time is None or spec.time in failed:
        return
    if spec.time not in scope:
        message = f'relation "{spec.name}" has no field "{spec.time}"'
        context.unknown("PLAN_UNKNOWN_FIELD", message, path, name=spec.time, known=scope)
    elif scope[spec.time] != TIMESTAMP:
        message = f'"time" of relation "{spec.name}" needs a timestamp, not {scope[spec.time]}'
        hint = "Derive one, such as derive: {at: timestamp_millis(ts)}."
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


def _product(
    context: Context,
    spec: ProductSpec,
    relations: dict[str, tuple[Relation, frozenset[str]]],
) -> Product | None:
    context.solution = planned_solution(spec)
    _check_ready(context, spec, relations)
    read = frozenset(node.relation for node in spec.root.walk())
    owner = Owner("products", spec.name, len(spec.sinks), read, outbox=spec.outbox is not None)
    sinks = tuple(build_sink(context, each, owner, index) for index, each in enumerate(spec.sinks))
    form = _form(context, spec, relations)
    if form is None:
        return None
    return Product(
        name=spec.name,
        form=form,
        sinks=sinks,
        group=spec.group,
        solution=planned_solution(spec),
        solution_options=solution_options(context.spec, spec),
        settle_ms=spec.settle_ms,
        ready=spec.ready,
    )


def _form(
    context: Context, spec: ProductSpec, relations: dict[str, tuple[Relation, frozenset[str]]]
) -> DocumentForm | OutboxForm | AggregateForm | None:
    if spec.aggregate is not None:
        return build_aggregate(context, spec, spec.aggregate, relations)
    root = build_root(context, spec.root, ("products", spec.name), relations)
    if root is None:
        return None
    _check_keys(context, spec, root)
    outbox = outbox_of(context, spec, root.relation)
    return DocumentForm(root) if outbox is None else OutboxForm(root, outbox)


def _check_keys(context: Context, spec: ProductSpec, root: Node) -> None:
    """Refuse a product over events that no key tells apart."""
    for node in root.walk():
        if not node.relation.key:
            message = f'product "{spec.name}" reads "{node.relation.name}", which has no key'
            hint = "Declare its key, or make it a stream."
            context.refuse("PLAN_KEY", message, ("products", spec.name), key=True, hint=hint)


def planned_solution(spec: ProductSpec) -> str:
    """Return a product's solution; until a run has chosen one, `auto` is the default."""
    return DEFAULT_SOLUTION if spec.solution == AUTO else spec.solution


def solution_options(project: ProjectSpec, spec: ProductSpec) -> Options:
    """Return the options of a product's solution: its own, the project's where it has none."""
    common = dict(project.run.solutions).get(spec.solution, ())
    return tuple({**dict(common), **dict(spec.solution_options)}.items())


def _check_ready(
    context: Context,
    spec: ProductSpec,
    relations: dict[str, tuple[Relation, frozenset[str]]],
) -> None:
    read = dict.fromkeys(node.relation for node in spec.root.walk())
    for index, name in enumerate(spec.ready):
        path = ("products", spec.name, "ready", index)
        if name not in relations:
            message = f'there is no relation "{name}"'
            context.unknown("PLAN_UNKNOWN_RELATION", message, path, name=name, known=read)
        elif name not in read:
            message = f'product "{spec.name}" does not read relation "{name}"'
            context.unknown("PLAN_UNKNOWN_RELATION", message, path, name=name, known=read)


def _check_queries(context: Context) -> None:
    """Refuse products that would meet in one query without sharing a group on purpose."""
    products = context.spec.products
    taken = {each.group or each.name for each in products}
    for stream in context.spec.streams:
        if stream.name in taken or (stream.group or "") in taken:
            name = stream.name if stream.name in taken else stream.group
            message = f'stream "{stream.name}" would share the query "{name}" with a product'
            hint = "Give one of them another name."
            context.refuse("PLAN_GROUP", message, ("streams", stream.name), key=True, hint=hint)
    names = {each.name: each for each in products if each.group is None}
    first: dict[str, ProductSpec] = {}
    for each in products:
        if each.group is None:
            continue
        path = ("products", each.name, "group")
        if each.group in names:
            message = f'group "{each.group}" has the name of a product outside it'
            context.refuse("PLAN_GROUP", message, path, hint="Give the group another name.")
        other = first.setdefault(each.group, each)
        if other.solution != each.solution:
            message = f'group "{each.group}" mixes solutions'
            detail = f"They are {other.solution} and {each.solution}."
            context.refuse("PLAN_GROUP", message, path, detail=detail)
        elif solution_options(context.spec, other) != solution_options(context.spec, each):
            message = f'group "{each.group}" gives "{each.solution}" different options'
            hint = 'Write them once, under "solutions" of "run".'
            context.refuse("PLAN_GROUP", message, path, hint=hint)
