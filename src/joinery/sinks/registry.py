"""Sinks by name: those of Joinery, and those that installed packages add as entry points.

A package adds a sink by an entry point of the group `joinery.sinks` that names a
`SinkFactory`. Invariant: a name means one factory; a package cannot replace a built-in one.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import cast

from joinery.errors import SpecError
from joinery.project.grammar import SPOOL
from joinery.sinks.protocol import Sink, SinkFactory

_GROUP = "joinery.sinks"
_BUILT_IN = {
    "console": "joinery.sinks.console:console_sink",
    "files": "joinery.sinks.files:files_sink",
    "foreach": "joinery.sinks.foreach:foreach_sink",
    "kafka": "joinery.sinks.kafka:kafka_sink",
    "opensearch": "joinery.sinks.opensearch:opensearch_sink",
    "postgres": "joinery.sinks.postgres:postgres_sink",
    "redis": "joinery.sinks.redis:redis_sink",
    "sqlite": "joinery.sinks.sqlite:sqlite_sink",
}


class UnknownSinkError(SpecError):
    """No sink has this name here."""

    code = "SPEC_UNKNOWN_SINK"


def sink_kinds() -> tuple[str, ...]:
    """Return the names of all sinks that are installed."""
    return tuple(sorted({*_BUILT_IN, *_added()}))


def make_sink(kind: str, product: str, options: Mapping[str, object], folder: Path) -> Sink:
    """Return the sink `kind` of a product, not yet opened.

    Raises:
        SpecError: No such sink is installed, or its options are not what it takes.
    """
    own = {name: value for name, value in options.items() if name not in SPOOL}
    return _factory(kind)(product, own, folder)


def _factory(kind: str) -> SinkFactory:
    if kind in _BUILT_IN:
        module, _, name = _BUILT_IN[kind].partition(":")
        return cast(SinkFactory, getattr(import_module(module), name))
    if entry := _added().get(kind):
        return cast(SinkFactory, entry.load())
    known = sink_kinds()
    near = difflib.get_close_matches(kind, known, n=1)
    raise UnknownSinkError(
        f'sink "{kind}" is not installed',
        detail=f"Installed are {', '.join(known)}.",
        hint=f'Use "{near[0]}".' if near else "",
    )


def _added() -> dict[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=_GROUP)}
