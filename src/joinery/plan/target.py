"""What must hold of targets: no two products meet in one, and none feeds what it reads.

Targets are told apart by what the file says of them; two addresses of one server are two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path as FilePath

from joinery.plan.context import Context
from joinery.plan.product import Product, Sink
from joinery.project.kafka import is_named
from joinery.project.kind import SourceSpec
from joinery.project.kinds import SINKS
from joinery.project.mark import Path
from joinery.project.option import Target
from joinery.project.relation import RelationSpec


def check_meeting(context: Context, products: Iterable[Product]) -> None:
    """Refuse products whose documents would replace each other's; warn of a shared topic."""
    first: dict[Target, str] = {}
    for product in products:
        if product.outbox is not None:
            continue
        for index, sink in enumerate(product.sinks):
            target = _target(context, sink, product.name)
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


def _meet(context: Context, product: Product, index: int, target: Target, other: str) -> None:
    alone: Path = ("products", product.name, "sink")
    path = (*alone, index) if len(product.sinks) > 1 else alone
    if other == product.name:
        message = f'product "{product.name}" has this sink twice'
        context.refuse("PLAN_TARGET", message, path, hint="Remove one of the two.")
        return
    message = f'product "{product.name}" writes to "{target.name}", as product "{other}" does'
    detail = "Documents of one key would replace each other."
    hint = f"Give it a {target.noun} of its own."
    context.refuse("PLAN_TARGET", message, path, detail=detail, hint=hint, warning=target.log)


def _target(context: Context, sink: Sink, name: str) -> Target | None:
    return SINKS.target(sink.kind, dict(sink.options), name, context.spec.path_of("."))


def _feeds(
    context: Context, sink: Sink, name: str, source: SourceSpec, relation: RelationSpec
) -> bool:
    if sink.kind != source.kind:
        return False
    target, read = _target(context, sink, name), dict(source.options)
    topic = relation.topic or relation.name
    if target is None:
        return False
    if sink.kind == "files":
        folder = context.spec.path_of(str(read.get("path"))) / topic
        return FilePath(str(target.address)) / target.name == folder
    return target.address == read.get("bootstrap") and is_named(topic, target.name)
