"""What must hold of targets: no two products meet in one, and none feeds what it reads.

Targets are told apart by what the file says of them; two addresses of one server are two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path as FilePath

from joinery.plan.context import Context
from joinery.plan.nodes import Product, Sink
from joinery.spec.kafka import is_named
from joinery.spec.location import Path
from joinery.spec.product import RelationSpec, SourceSpec

_TABLES: Mapping[str, tuple[tuple[str, ...], str]] = {
    "sqlite": (("path",), "table"),
    "postgres": (("url", "schema"), "table"),
    "opensearch": (("url",), "index"),
    "redis": (("url",), "prefix"),
}


def check_meeting(context: Context, products: Iterable[Product]) -> None:
    """Refuse products whose documents would replace each other's; warn of a shared topic."""
    first: dict[tuple[object, ...], str] = {}
    for product in products:
        if product.outbox is not None:
            continue
        for index, sink in enumerate(product.sinks):
            target = _target(sink, product.name)
            if target is None:
                continue
            if target in first:
                _meet(context, product, index, target, first[target])
            first.setdefault(target, product.name)


def check_loop(
    context: Context, sink: Sink, name: str, path: Path, read: Sequence[RelationSpec]
) -> None:
    """Refuse a sink of `name` from which a relation that it reads would be read again."""
    sources = {each.name: each for each in context.spec.sources}
    only = next(iter(sources)) if len(sources) == 1 else ""
    for relation in read:
        source = sources.get(relation.source or context.spec.defaults.source or only)
        if source is not None and _feeds(context, sink, name, source, relation):
            message = f'"{name}" would read what it writes, as changes of "{relation.name}"'
            hint = "Write to another place."
            context.refuse("PLAN_TARGET", message, path, hint=hint)
            return


def _meet(
    context: Context, product: Product, index: int, target: tuple[object, ...], other: str
) -> None:
    alone: Path = ("products", product.name, "sink")
    path = (*alone, index) if len(product.sinks) > 1 else alone
    kind, where = target[0], target[-1]
    if other == product.name:
        message = f'product "{product.name}" has this sink twice'
        context.refuse("PLAN_TARGET", message, path, hint="Remove one of the two.")
        return
    message = f'product "{product.name}" writes to "{where}", as product "{other}" does'
    detail = "Documents of one key would replace each other."
    hint = f"Give it a {_named(str(kind))} of its own."
    context.refuse("PLAN_TARGET", message, path, detail=detail, hint=hint, warning=kind == "kafka")


def _named(kind: str) -> str:
    return "topic" if kind == "kafka" else _TABLES[kind][1]


def _target(sink: Sink, name: str) -> tuple[object, ...] | None:
    """Return what tells one target from others; None where nothing does."""
    options = dict(sink.options)
    if sink.kind == "files":
        return ("files", options.get("path"), name)
    if sink.kind == "kafka":
        return ("kafka", options.get("bootstrap"), options.get("topic"))
    if sink.kind in _TABLES:
        where, table = _TABLES[sink.kind]
        return (sink.kind, *(options.get(each) for each in where), options.get(table) or name)
    return None


def _feeds(
    context: Context, sink: Sink, name: str, source: SourceSpec, relation: RelationSpec
) -> bool:
    if sink.kind != source.kind:
        return False
    written, read = dict(sink.options), dict(source.options)
    topic = relation.topic or relation.name
    if sink.kind == "files":
        folder = context.spec.path_of(str(read.get("path"))) / topic
        return FilePath(str(written.get("path"))) / name == folder
    same = written.get("bootstrap") == read.get("bootstrap")
    return sink.kind == "kafka" and same and is_named(topic, str(written.get("topic")))
