"""Writes a spec back as plain data, in the shorthand a user would choose.

Invariant: reading what was written gives an equal spec; defaults are left out.
"""

from __future__ import annotations

from typing import Any

from joinery.spec.product import (
    DefaultsSpec,
    NodeSpec,
    OrderSpec,
    OutboxSpec,
    ProductSpec,
    ProjectSpec,
    RelationSpec,
    RunSpec,
)
from joinery.spec.write_part import (
    fields_data,
    kind_data,
    on_data,
    plain,
    section,
    sink_data,
    sinks_data,
)
from joinery.spec.write_stream import stream_data, watermark_data

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
    data |= section(
        "sources", {each.name: kind_data(each.kind, each.options) for each in spec.sources}
    )
    data |= section("defaults", _defaults(spec.defaults))
    data["relations"] = {each.name: relation_data(each) for each in spec.relations}
    if spec.products or not spec.streams:
        data["products"] = {each.name: product_data(each) for each in spec.products}
    data |= section("streams", {each.name: stream_data(each) for each in spec.streams})
    data |= section("sinks", {name: sink_data(each) for name, each in spec.sinks})
    return data | section("run", _run(spec.run))


def relation_data(spec: RelationSpec) -> Data:
    """Return a relation as the map under its name."""
    data: Data = section("key", list(spec.key)) | {"fields": dict(spec.fields)}
    for name in ("topic", "source", "format", "position", "where"):
        data |= section(name, getattr(spec, name))
    data |= section("derive", dict(spec.derive))
    data |= section("time_unit", spec.time_unit if spec.time_unit != "micros" else None)
    data |= section("images", spec.images if spec.images != "full" else None)
    data |= section("unique", [list(each) for each in spec.unique])
    data |= section("append", spec.append) | section("time", spec.time)
    return data | watermark_data(spec.watermark)


def product_data(spec: ProductSpec) -> Data:
    """Return a product as the map under its name."""
    data: Data = _outbox(spec) if spec.outbox else {"root": spec.root.relation}
    data |= _shown(spec.root)
    data |= sinks_data(spec.sinks)
    data |= section("group", spec.group)
    if spec.solution_options:
        data["solution"] = {spec.solution: plain(spec.solution_options)}
    elif spec.solution != "spark-state":
        data["solution"] = spec.solution
    if spec.settle_ms is not None:
        data["emit"] = {"settle": f"{spec.settle_ms}ms"}
    return data | section("ready", list(spec.ready))


def _outbox(spec: ProductSpec) -> Data:
    default, outbox = OutboxSpec(), spec.outbox
    assert outbox is not None  # asked for before
    told: Data = {"relation": spec.root.relation}
    told |= section("key", outbox.key if outbox.key != default.key else None)
    told |= section("value", outbox.value if outbox.value != default.value else None)
    if outbox.headers is not None:
        told["headers"] = dict(outbox.headers)
    return {"outbox": told if len(told) > 1 else spec.root.relation}


def embed_data(spec: NodeSpec) -> Data:
    """Return an embed as the map under its name."""
    data: Data = {spec.cardinality: spec.relation, "on": on_data(spec.on), **_shown(spec)}
    data |= section("order", [_order(each) for each in spec.order])
    data |= section("limit", spec.limit)
    data |= section("overflow", spec.overflow if spec.overflow != "count" else None)
    data |= section("hidden", spec.hidden)
    return data | section("as", "map" if spec.keyed else None)


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
    data |= section("solutions", {name: plain(each) for name, each in spec.solutions})
    return data | section("spark", dict(spec.spark))
