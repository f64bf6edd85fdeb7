"""The parts of a declaration that relations, products and streams write alike."""

from __future__ import annotations

from typing import Any

from joinery.spec.product import Options, Pairs, SinkSpec

Data = dict[str, Any]


def section(name: str, value: Any) -> Data:
    """Return `value` under `name`, or nothing where it is the default."""
    return {name: value} if value else {}


def fields_data(pairs: Pairs) -> list[Any] | Data:
    """Return fields as a list while names stand for themselves, else as a map or a mix."""
    if len({name for name, _ in pairs}) == len(pairs) and all(name != text for name, text in pairs):
        return dict(pairs) if pairs else []
    return [name if name == text else {name: text} for name, text in pairs]


def on_data(pairs: Pairs) -> list[str] | Data:
    """Return the pairs of an `on` as a list where the names agree."""
    if all(child == parent for child, parent in pairs):
        return [child for child, _ in pairs]
    return dict(pairs)


def kind_data(kind: str, options: Options) -> Data:
    """Return a kind with its options."""
    return {kind: plain(options)}


def sinks_data(specs: tuple[SinkSpec, ...]) -> Data:
    """Return sinks under their name: one, a list, or nothing."""
    sinks = [sink_data(each) for each in specs]
    return section("sink", sinks[0] if len(sinks) == 1 else sinks)


def sink_data(spec: SinkSpec) -> str | Data:
    """Return one sink: a kind with its options, or the name of a declared one."""
    if spec.use is None:
        return kind_data(spec.kind, spec.options)
    return {"use": spec.use, **plain(spec.options)} if spec.options else spec.use


def plain(options: Options) -> Data:
    """Return options as a map."""
    return {name: _value(value) for name, value in options}


def _value(value: object) -> object:
    """Return an option as data; a tuple of named pairs was a map."""
    if not isinstance(value, tuple):
        return value
    if value and all(isinstance(each, tuple) and len(each) == 2 for each in value):
        return {name: _value(each) for name, each in value}
    return [_value(each) for each in value]
