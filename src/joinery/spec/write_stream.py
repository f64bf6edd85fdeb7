"""Writes a stream back as plain data, in the shorthand a user would choose.

Invariant: reading what was written gives an equal stream; defaults are left out.
"""

from __future__ import annotations

from typing import Any

from joinery.errors import SpecError
from joinery.spec.quantity import duration_text
from joinery.spec.stream import (
    Cache,
    FilterSpec,
    Limits,
    LookupSpec,
    MapSpec,
    SelectSpec,
    StepSpec,
    StoreRead,
    StreamSpec,
    UnionSpec,
    WatermarkSpec,
    WithColumnsSpec,
)
from joinery.spec.write_part import fields_data, on_data, plain, section, sinks_data

Data = dict[str, Any]


def stream_data(spec: StreamSpec) -> Data:
    """Return a stream as the map under its name."""
    data: Data = {"from": spec.origin}
    data |= section("steps", [step_data(each) for each in spec.steps])
    data |= sinks_data(spec.sinks)
    return data | section("group", spec.group) | section("correction", spec.correction)


def watermark_data(spec: WatermarkSpec | None) -> Data:
    """Return a relation's watermark under its name, or nothing."""
    if spec is None:
        return {}
    data = {"delay": duration_text(spec.delay_ms)} if spec.delay_ms or spec.idle_ms is None else {}
    return {"watermark": data | _some("idle", spec.idle_ms)}


def step_data(spec: StepSpec) -> Data:
    """Return a step as a map.

    Raises:
        SpecError: A step calls a function that has no `module:name`.
    """
    match spec:
        case LookupSpec():
            return _lookup(spec)
        case FilterSpec(where):
            return {"filter": where}
        case SelectSpec(fields):
            return {"select": fields_data(fields)}
        case WithColumnsSpec(fields):
            return {"with_columns": dict(fields)}
        case UnionSpec(stream):
            return {"union": stream}
        case MapSpec():
            return {"map": {"function": _named(spec.function), "output": dict(spec.output)}}


def _lookup(spec: LookupSpec) -> Data:
    default = LookupSpec(spec.table)
    data: Data = {"lookup": spec.table, "on": on_data(spec.on)}
    data |= {} if spec.fields is None else {"fields": fields_data(spec.fields)}
    for name in ("read", "as_of", "time", "late", "on_miss", "on_change"):
        if getattr(spec, name) != getattr(default, name):
            data[name] = getattr(spec, name)
    if spec.wait_ms is not None:
        data["on_miss"] = f"wait:{duration_text(spec.wait_ms)}"
    data |= _some("for", spec.for_ms) | _some("every", spec.every_ms)
    data |= section("where", spec.where)
    data |= section("cache", _cache(spec.cache)) | section("limits", _limits(spec.limits))
    return data | ({"store": _store(spec.store)} if spec.store else {})


def _store(spec: StoreRead) -> Data:
    return {spec.kind: {name: _named(each) for name, each in plain(spec.options).items()}}


def _cache(spec: Cache) -> Data:
    default, data = Cache(), Data()
    data |= {"size": spec.rows} if spec.rows != default.rows else {}
    data |= {"ttl": duration_text(spec.ttl_ms)} if spec.ttl_ms != default.ttl_ms else {}
    if spec.negative_ttl_ms != default.negative_ttl_ms:
        data["negative"] = duration_text(spec.negative_ttl_ms)
    return data


def _limits(spec: Limits) -> Data:
    default = Limits()
    names = ("concurrency", "per_second", "batch")
    data: Data = {
        name: getattr(spec, name) for name in names if getattr(spec, name) != getattr(default, name)
    }
    return data | ({"warm_up": duration_text(spec.warm_up_ms)} if spec.warm_up_ms else {})


def _named(value: Any) -> Any:
    """Return a value as a file holds it; a function is told by name, or not at all."""
    if not callable(value):
        return value
    name = getattr(value, "__qualname__", "function")
    raise SpecError(
        f'function "{name}" cannot be written to a project file',
        code="SPEC_FUNCTION",
        detail="A project file names a function as module:name.",
        hint="Define it at the top of a module, and import it from there.",
    )


def _some(name: str, milliseconds: int | None) -> Data:
    return {} if milliseconds is None else {name: duration_text(milliseconds)}
