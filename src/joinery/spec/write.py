"""Writes a spec back as plain data, in the shorthand a user would choose.

Invariant: reading what was written gives an equal spec; defaults are left out.
"""

from __future__ import annotations

from typing import Any

from joinery.spec.product import (
    DefaultsSpec,
    NodeSpec,
    Options,
    OrderSpec,
    OutboxSpec,
    Pairs,
    ProductSpec,
    ProjectSpec,
    RelationSpec,
    RunSpec,
    SinkSpec,
)

Data = dict[str, Any]
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
    data |= _section(
        "sources", {each.name: _kind(each.kind, each.options) for each in spec.sources}
    )
    data |= _section("defaults", _defaults(spec.defaults))
    data["relations"] = {each.name: relation_data(each) for each in spec.relations}
    data["products"] = {each.name: product_data(each) for each in spec.products}
    data |= _section("sinks", {name: _sink(each) for name, each in spec.sinks})
    return data | _section("run", _run(spec.run))


def relation_data(spec: RelationSpec) -> Data:
    """Return a relation as the map under its name."""
    data: Data = {"key": list(spec.key), "fields": dict(spec.fields)}
    for name in ("topic", "source", "format", "position", "where"):
        data |= _section(name, getattr(spec, name))
    data |= _section("derive", dict(spec.derive))
    data |= _section("time_unit", spec.time_unit if spec.time_unit != "micros" else None)
    data |= _section("images", spec.images if spec.images != "full" else None)
    return data | _section("unique", [list(each) for each in spec.unique])


def product_data(spec: ProductSpec) -> Data:
    """Return a product as the map under its name."""
    data: Data = _outbox(spec) if spec.outbox else {"root": spec.root.relation}
    data |= _shown(spec.root)
    sinks = [_sink(each) for each in spec.sinks]
    data |= _section("sink", sinks[0] if len(sinks) == 1 else sinks)
    data |= _section("group", spec.group)
    if spec.solution_options:
        data["solution"] = {spec.solution: _plain(spec.solution_options)}
    elif spec.solution != "spark-state":
        data["solution"] = spec.solution
    if spec.settle_ms is not None:
        data["emit"] = {"settle": f"{spec.settle_ms}ms"}
    return data | _section("ready", list(spec.ready))


def _outbox(spec: ProductSpec) -> Data:
    default, outbox = OutboxSpec(), spec.outbox
    assert outbox is not None  # asked for before
    told: Data = {"relation": spec.root.relation}
    told |= _section("key", outbox.key if outbox.key != default.key else None)
    told |= _section("value", outbox.value if outbox.value != default.value else None)
    if outbox.headers is not None:
        told["headers"] = dict(outbox.headers)
    return {"outbox": told if len(told) > 1 else spec.root.relation}


def embed_data(spec: NodeSpec) -> Data:
    """Return an embed as the map under its name."""
    data: Data = {spec.cardinality: spec.relation, "on": _on(spec.on), **_shown(spec)}
    data |= _section("order", [_order(each) for each in spec.order])
    data |= _section("limit", spec.limit)
    data |= _section("overflow", spec.overflow if spec.overflow != "count" else None)
    data |= _section("hidden", spec.hidden)
    return data | _section("as", "map" if spec.keyed else None)


def _section(name: str, value: Any) -> Data:
    """Return `value` under `name`, or nothing where it is the default."""
    return {name: value} if value else {}


def _shown(spec: NodeSpec) -> Data:
    data: Data = {} if spec.fields is None else {"fields": _fields(spec.fields)}
    data |= _section("values", dict(spec.values))
    data |= _section("where", spec.where)
    return data | _section("embed", {each.name: embed_data(each) for each in spec.embed})


def _fields(pairs: Pairs) -> list[Any] | Data:
    """Return fields as a list while names stand for themselves, else as a map or a mix."""
    if len({name for name, _ in pairs}) == len(pairs) and all(name != text for name, text in pairs):
        return dict(pairs) if pairs else []
    return [name if name == text else {name: text} for name, text in pairs]


def _on(pairs: Pairs) -> list[str] | Data:
    if all(child == parent for child, parent in pairs):
        return [child for child, _ in pairs]
    return dict(pairs)


def _order(spec: OrderSpec) -> str:
    return f"-{spec.expression}" if spec.descending else spec.expression


def _kind(kind: str, options: Options) -> Data:
    return {kind: _plain(options)}


def _sink(spec: SinkSpec) -> str | Data:
    if spec.use is None:
        return _kind(spec.kind, spec.options)
    return {"use": spec.use, **_plain(spec.options)} if spec.options else spec.use


def _plain(options: Options) -> Data:
    return {name: _value(value) for name, value in options}


def _value(value: object) -> object:
    """Return an option as data; a tuple of named pairs was a map."""
    if not isinstance(value, tuple):
        return value
    if value and all(isinstance(each, tuple) and len(each) == 2 for each in value):
        return {name: _value(each) for name, each in value}
    return [_value(each) for each in value]


def _defaults(spec: DefaultsSpec) -> Data:
    return _section("source", spec.source) | _section("format", spec.format)


def _run(spec: RunSpec) -> Data:
    default, data = RunSpec(), Data()
    if spec.dead_letters != default.dead_letters:
        data["dead_letters"] = _sink(spec.dead_letters)
    for name in _RUN_SCALARS:
        if getattr(spec, name) != getattr(default, name):
            data[name] = getattr(spec, name)
    for name in ("trigger", "checkpoint_interval", "tombstone_retention"):
        if getattr(spec, f"{name}_ms") != getattr(default, f"{name}_ms"):
            data[name] = f"{getattr(spec, f'{name}_ms')}ms"
    data |= _section("lineage", dict(spec.lineage))
    return data | _section("spark", dict(spec.spark))
