"""Writes a spec back as plain data, in the shorthand a user would choose.

Invariant: reading what was written gives an equal spec; defaults are left out.

"""

from __future__ import annotations

from typing import Any, assert_never

from joinery.project.form import (
    MINUTE_US,
    AggregateSpec,
    DocumentSpec,
    FoldSpec,
    FormSpec,
    HistorySpec,
    OrderSpec,
    OutboxSpec,
    PatternSpec,
    RuleSpec,
    SearchSpec,
    StateSpec,
)
from joinery.project.part import part_data
from joinery.project.product import (
    DefaultsSpec,
    NodeSpec,
    Options,
    PersonalSpec,
    ProductSpec,
    ProjectSpec,
    RelationSpec,
    RunSpec,
    ThroughSpec,
)
from joinery.project.quantity import micros_text, span_text
from joinery.project.read_kind import sink_data, sinks_data
from joinery.project.stream import LOG_TIME_WORD, ClocksSpec
from joinery.project.value import fields_data, on_data, options_data, within_data
from joinery.project.window import (
    AS_CHANGED,
    Cumulative,
    Emit,
    Hopping,
    Session,
    Sliding,
    Tumbling,
    Window,
)

Data = dict[str, Any]


def section(name: str, value: Any) -> Data:
    """Return `value` under `name`, or nothing where it is the default."""
    return {name: value} if value else {}


def kind_data(kind: str, options: Options) -> Data:
    """Return a kind with its options."""
    return {kind: options_data(options)}


_RUN_SCALARS = (
    "checkpoint",
    "dead_letters_wait",
    "real_time",
    "max_rows_per_batch",
    "max_bytes_per_batch",
    "max_record_bytes",
    "max_document_bytes",
    "http",
)


def project_data(spec: ProjectSpec) -> Data:
    """Return a project as the maps, lists and scalars of its file."""
    data: Data = {"joinery": 1, "name": spec.name}
    data |= section(
        "sources", {each.name: kind_data(each.kind, each.options) for each in spec.sources}
    )
    data |= section("defaults", _defaults(spec.defaults))
    data["relations"] = {each.name: relation_data(each) for each in spec.relations}
    if spec.products or not spec.streams:
        data["products"] = {each.name: product_data(each) for each in spec.products}
    data |= section("streams", {each.name: part_data(each) for each in spec.streams})
    data |= section("windows", {name: window_data(each) for name, each in spec.windows})
    data |= section("sinks", {name: sink_data(each) for name, each in spec.sinks})
    if spec.vault is not None:
        data["vault"] = kind_data(spec.vault.kind, spec.vault.options)
        data["vault"] |= {"master": spec.vault.master}
    return data | section("run", _run(spec.run))


def relation_data(spec: RelationSpec) -> Data:
    """Return a relation as the map under its name."""
    if spec.product is not None:
        data: Data = {"product": spec.product}
    else:
        data = section("key", list(spec.key)) | {"fields": dict(spec.fields)}
    for name in ("topic", "source", "format", "position", "where"):
        data |= section(name, getattr(spec, name))
    data |= section("derive", dict(spec.derive))
    data |= section("time_unit", spec.time_unit if spec.time_unit != "micros" else None)
    data |= section("images", spec.images if spec.images != "full" else None)
    data |= section("unique", [list(each) for each in spec.unique])
    time = part_data(spec.time) if isinstance(spec.time, ClocksSpec) else spec.time
    data |= section("append", spec.append) | section("time", time)
    data |= {"watermark": part_data(spec.watermark)} if spec.watermark else {}
    return data | ({"personal": _personal(spec.personal)} if spec.personal else {})


def _personal(spec: PersonalSpec) -> Data:
    data: Data = {"subject": spec.subject, "fields": list(spec.fields)}
    return data | section("join", list(spec.join))


def product_data(spec: ProductSpec) -> Data:
    """Return a product as the map under its name."""
    data: Data = _form(spec)
    data |= section("sink", sinks_data(spec.sinks))
    data |= section("group", spec.group)
    if spec.solution_options:
        data["solution"] = {spec.solution: options_data(spec.solution_options)}
    elif spec.solution != "spark-state":
        data["solution"] = spec.solution
    settle = {} if spec.settle_ms is None else {"settle": f"{spec.settle_ms}ms"}
    data |= section("emit", {**_emit(_timed(spec.form)), **settle})
    data |= section("ready", list(spec.ready))
    data |= section("erased", spec.erased if spec.erased != "redact" else None)
    return data | ({"expect": part_data(spec.expect)} if spec.expect else {})


def _timed(form: FormSpec) -> Emit:
    match form:
        case DocumentSpec() | AggregateSpec() | PatternSpec():
            return form.emit
        case OutboxSpec() | SearchSpec() | HistorySpec() | FoldSpec():
            return AS_CHANGED
        case _:
            assert_never(form)


def _form(spec: ProductSpec) -> Data:
    over: Data = {spec.form.word: spec.root.relation}
    match spec.form:
        case DocumentSpec():
            return over | _shown(spec.root)
        case OutboxSpec():
            return {spec.form.word: _outbox(spec.root.relation, spec.form)}
        case AggregateSpec():
            return over | _aggregate(spec.form)
        case SearchSpec():
            return over | _search(spec.form)
        case HistorySpec():
            return over | _history(spec.form)
        case PatternSpec():
            return over | _pattern(spec.form)
        case FoldSpec():
            return over | _fold(spec.form)
        case _:
            assert_never(spec.form)


def _search(spec: SearchSpec) -> Data:
    data: Data = {"queries": spec.queries, "query": spec.query}
    data |= {"on": on_data(spec.on)} if spec.on else {}
    data |= section("language", spec.language if spec.language != "sql" else None)
    data |= {} if spec.retroactive else {"retroactive": False}
    return data | ({"fields": fields_data(spec.fields)} if spec.fields else {})


def _aggregate(spec: AggregateSpec) -> Data:
    window = spec.window if isinstance(spec.window, str | None) else window_data(spec.window)
    data: Data = section("by", fields_data(spec.by)) | section("where", spec.where)
    return data | section("window", window) | section("values", dict(spec.values))


def _history(spec: HistorySpec) -> Data:
    track = {} if spec.track is None else {"track": list(spec.track)}
    known = True if spec.known_at == LOG_TIME_WORD else spec.known_at
    return {"valid": spec.valid, **track} | section("known_at", known)


def _pattern(spec: PatternSpec) -> Data:
    data: Data = section("by", fields_data(spec.by))
    data |= section("order", [_order(each) for each in spec.order])
    data |= section("define", dict(spec.define)) | {"match": spec.match}
    data |= {} if spec.within_us is None else {"within": micros_text(spec.within_us)}
    data |= {} if spec.after == "past_last" else {"after": spec.after}
    data |= section("rules", {each.name: _rule(each) for each in spec.rules})
    return data | section("fields", fields_data(spec.fields))


def _rule(spec: RuleSpec) -> Data:
    return {"one": spec.relation, "on": dict(spec.on)}


def _fold(spec: FoldSpec) -> Data:
    data: Data = section("by", fields_data(spec.by)) | {"sequence": spec.sequence}
    data |= section("kind", spec.kind if spec.kind != FoldSpec().kind else None)
    data["state"] = {each.name: _state(each) for each in spec.state}
    data |= section("when", {kind: dict(assigned) for kind, assigned in spec.when})
    wait = micros_text(spec.wait_us) if spec.wait_us else "0s"
    return data | ({} if spec.wait_us == MINUTE_US else {"wait": wait})


def _state(spec: StateSpec) -> str:
    return spec.type if spec.initial is None else f"{spec.type} = {spec.initial}"


def window_data(window: Window) -> Data:
    """Return a window as the map that declares it."""
    match window:
        case Tumbling(size, zone, offset_us):
            return {"tumbling": span_text(size), **_aligned(zone, offset_us)}
        case Hopping(size, every, zone, offset_us):
            told = {"hopping": span_text(size), "every": span_text(every)}
            return told | _aligned(zone, offset_us)
        case Cumulative(size, every, zone, offset_us):
            told = {"cumulative": span_text(size), "every": span_text(every)}
            return told | _aligned(zone, offset_us)
        case Session(gap_us, max_us):
            longest = {} if max_us is None else {"max": micros_text(max_us)}
            return {"session": micros_text(gap_us), **longest}
        case Sliding(size_us):
            return {"sliding": micros_text(size_us)}


def _aligned(zone: str | None, offset_us: int) -> Data:
    return section("zone", zone) | ({"offset": micros_text(offset_us)} if offset_us else {})


def _emit(emit: Emit) -> Data:
    default, data = Emit(), Data()
    data |= {"when": emit.when} if emit.when != default.when else {}
    data |= {"late": emit.late} if emit.late != default.late else {}
    if emit.allowed_us != default.allowed_us:
        data["allowed"] = micros_text(emit.allowed_us)
    if emit.retention_us != default.retention_us:
        data["retention"] = micros_text(emit.retention_us)
    return data


def _outbox(relation: str, outbox: OutboxSpec) -> Data | str:
    default = OutboxSpec()
    columns: Data = {"relation": relation}
    columns |= section("key", outbox.key if outbox.key != default.key else None)
    columns |= section("value", outbox.value if outbox.value != default.value else None)
    if outbox.headers is not None:
        columns["headers"] = dict(outbox.headers)
    return columns if len(columns) > 1 else relation


def embed_data(spec: NodeSpec) -> Data:
    """Return an embed as the map under its name."""
    data: Data = {spec.cardinality: spec.relation}
    data |= {"on": on_data(spec.on)} if spec.through is None else _through(spec, spec.through)
    data |= _shown(spec)
    data |= section("order", [_order(each) for each in spec.order])
    data |= section("as_of", spec.as_of)
    data |= section("limit", spec.limit)
    data |= section("overflow", spec.overflow if spec.overflow != "count" else None)
    data |= section("hidden", spec.hidden)
    if spec.within is not None:
        data["within"] = within_data(spec.within)
    return data | section("as", "map" if spec.keyed else None)


def _through(spec: NodeSpec, through: ThroughSpec) -> Data:
    data: Data = {"through": {through.relation: on_data(through.on)}}
    data["on"] = {child: f"{through.relation}.{column}" for child, column in spec.on}
    return data | ({} if through.hot_above is None else {"hot": {"above": through.hot_above}})


def _shown(spec: NodeSpec) -> Data:
    data: Data = {} if spec.fields is None else {"fields": fields_data(spec.fields)}
    data |= section("values", dict(spec.values))
    data |= section("where", spec.where)
    return data | section("embed", {each.name: embed_data(each) for each in spec.embed})


def _order(spec: OrderSpec) -> str:
    return f"-{spec.expression}" if spec.descending else spec.expression


def _defaults(spec: DefaultsSpec) -> Data:
    return section("source", spec.source) | section("format", spec.format)


def _run(spec: RunSpec) -> Data:
    default, data = RunSpec(), Data()
    if spec.dead_letters != default.dead_letters:
        data["dead_letters"] = sink_data(spec.dead_letters)
    for name in _RUN_SCALARS:
        if getattr(spec, name) != getattr(default, name):
            data[name] = getattr(spec, name)
    for name in ("trigger", "checkpoint_interval", "tombstone_retention"):
        if getattr(spec, f"{name}_ms") != getattr(default, f"{name}_ms"):
            data[name] = f"{getattr(spec, f'{name}_ms')}ms"
    data |= section("lineage", dict(spec.lineage))
    if spec.audit is not None:
        data["audit"] = part_data(spec.audit)
    data |= section("solutions", {name: options_data(each) for name, each in spec.solutions})
    return data | section("spark", dict(spec.spark))
