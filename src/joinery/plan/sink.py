"""From a declared sink to one with all its options: named ones looked up, defaults filled in.

Invariant: a problem is told at the option, or at the sink where an option is missing.

Whether a relation can be an outbox, and which of its columns make an event.

What must hold of targets: no two products meet in one, and none feeds what it reads.

Targets are told apart by what the file says of them; two addresses of one server are two.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath
from typing import Any

from joinery.model.type import Array, Map, Struct
from joinery.plan.context import Context
from joinery.plan.product import Product, Sink
from joinery.plan.relation import Relation
from joinery.project.form import OutboxSpec
from joinery.project.kafka import is_named
from joinery.project.kind import SinkSpec, SourceSpec
from joinery.project.kinds import DEAD_LETTER_KINDS, SINKS
from joinery.project.option import Target, wanted_instead
from joinery.project.product import ProductSpec
from joinery.project.relation import RelationSpec
from joinery.project.tree import Path

_HEADERS = (("id", "id"), ("eventType", "type"))
ROUTE = re.compile(r"\{([^{}]*)\}")


def columns_of_route(topic: str) -> tuple[str, ...]:
    """Return the columns that a topic such as `orders.{type}` is made of.

    Example:
        >>> columns_of_route("outbox.{aggregatetype}")
        ('aggregatetype',)
    """
    return tuple(ROUTE.findall(topic))


def outbox_of(
    context: Context, spec: ProductSpec, outbox: OutboxSpec, relation: Relation
) -> OutboxSpec:
    """Return the outbox of a product with all of its headers.

    Args:
        context: Takes the problems.
        spec: The product.
        outbox: What it declares.
        relation: Its root.
    """
    path = ("products", spec.name, "outbox")
    known = [each.name for each in relation.columns]
    headers = outbox.headers
    if headers is None:
        headers = tuple(each for each in _HEADERS if each[1] in known)
    for name in (outbox.key, outbox.value, *(column for _, column in headers)):
        _check_column(context, relation, name, path, known)
    if relation.derived or relation.where:
        message = f'relation "{relation.name}" is an outbox, which has neither derive nor where'
        context.refuse("PLAN_OUTBOX", message, path)
    if relation.topic.startswith("pattern:"):
        message = f'relation "{relation.name}" is an outbox and reads several topics'
        context.refuse("PLAN_OUTBOX", message, path, hint="Give each topic a relation.")
    _check_sinks(context, spec, relation, known)
    return replace(outbox, headers=headers)


def _check_column(
    context: Context, relation: Relation, name: str, path: tuple[str, ...], known: list[str]
) -> None:
    if name not in known:
        message = f'relation "{relation.name}" has no field "{name}"'
        context.unknown("PLAN_UNKNOWN_FIELD", message, path, name=name, known=known)
    elif isinstance(relation.type_of(name), Array | Map | Struct):
        message = f'"{name}" of relation "{relation.name}" is {relation.type_of(name)}'
        hint = "Name columns of a simple type; a payload in JSON is a string."
        context.refuse("PLAN_OUTBOX", message, path, hint=hint)


def _check_sinks(context: Context, spec: ProductSpec, relation: Relation, known: list[str]) -> None:
    path = ("products", spec.name, "sink")
    for sink in spec.sinks:
        kind, options = sink.kind, dict(sink.options)
        if sink.use is not None:
            found = dict(context.spec.sinks).get(sink.use)
            kind = found.kind if found else "kafka"
            options = {**(dict(found.options) if found else {}), **options}
        if kind != "kafka":
            hint = "Write {kafka: {topic: …}}."
            message = f'product "{spec.name}" has an outbox, whose events go to Kafka'
            context.refuse("PLAN_OUTBOX", message, path, hint=hint)
        for name in columns_of_route(str(options.get("topic", ""))):
            _check_column(context, relation, name, (*path, "kafka", "topic"), known)
    if len(spec.sinks) > 1:
        message = f'product "{spec.name}" has an outbox, whose events go to one sink'
        context.refuse("PLAN_OUTBOX", message, path)


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


_SECURITY = ("security.", "sasl.", "ssl.")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


@dataclass(frozen=True, slots=True)
class Owner:
    """The product or stream that a sink is of.

    Attributes:
        section: `products` or `streams`.
        name: Its name there.
        sinks: How many sinks it has.
        reads: The relations it reads.
        outbox: Whether it sends events as they are.
    """

    section: str
    name: str
    sinks: int
    reads: frozenset[str]
    outbox: bool = False


def build_sink(context: Context, spec: SinkSpec, owner: Owner, index: int) -> Sink:
    """Return a sink of a product or stream, its paths made absolute."""
    kind, options = spec.kind, dict(spec.options)
    path = _path(owner, index)
    if spec.use is not None:
        known = dict(context.spec.sinks)
        found = known.get(spec.use)
        if found is None:
            _no_sink(context, spec.use, (*path, "use"))
            return Sink("")
        kind = found.kind
        _check_use(context, kind, options, path)
        options = {**dict(found.options), **options}
        _check_needed(context, kind, options, path)
    if kind == "kafka":
        options = _with_brokers(context, options, owner, path)
        options = _with_registry(context, options, owner, path)
    if isinstance(options.get("path"), str):
        options["path"] = str(context.spec.path_of(str(options["path"])))
    sink = Sink(kind, tuple(options.items()))
    read = [each for each in context.spec.changelogs if each.name in owner.reads]
    check_loop(context, sink, owner.name, path, read)
    return sink


def check_dead_letters(context: Context) -> None:
    """Note a place for dead letters that is not there, or cannot hold them."""
    sink, path = context.spec.run.dead_letters, ("run", "dead_letters")
    named = dict(context.spec.sinks).get(sink.use) if sink.use is not None else sink
    if named is None:
        _no_sink(context, str(sink.use), (*path, "use"))
    elif named.kind in SINKS.built_in and named.kind not in DEAD_LETTER_KINDS:
        message = f'dead letters cannot be kept in "{named.kind}"'
        hint = "Write {files: {path: …}} or {kafka: {topic: …}}."
        context.refuse("SPEC_DEAD_LETTERS", message, path, hint=hint)


def _no_sink(context: Context, name: str, path: Path) -> None:
    message, known = f'there is no sink "{name}"', dict(context.spec.sinks)
    if name in SINKS.built_in:
        hint = f"Write {{{name}: {{…}}}} for a sink of this kind, with its options."
        context.refuse("PLAN_UNKNOWN_SINK", message, path, hint=hint)
        return
    context.unknown("PLAN_UNKNOWN_SINK", message, path, name=name, known=known)


def _path(owner: Owner, index: int) -> Path:
    alone: Path = (owner.section, owner.name, "sink")
    return (*alone, index) if owner.sinks > 1 else alone


def _check_use(context: Context, kind: str, options: dict[str, Any], path: Path) -> None:
    """Check the options that stand beside a `use`, whose kind the reader did not know."""
    known = SINKS.known(kind)
    for name, value in options.items() if known is not None else ():
        assert known is not None  # as above
        if name not in known:
            message = f'sink "{kind}" has no option "{name}"'
            context.unknown(
                "SPEC_UNKNOWN_KEY", message, (*path, name), name=name, known=known, key=True
            )
        elif wanted := wanted_instead(value, known[name].fragment):
            message = f'"{name}" of sink "{kind}" needs {wanted}'
            context.refuse("SPEC_SHAPE", message, (*path, name))


def _check_needed(context: Context, kind: str, options: dict[str, Any], path: Path) -> None:
    for name, option in (SINKS.known(kind) or {}).items():
        if option.needed and name not in options:
            context.refuse("SPEC_MISSING_KEY", f'sink "{kind}" needs "{name}"', path)


def _with_brokers(
    context: Context, options: dict[str, Any], owner: Owner, path: Path
) -> dict[str, Any]:
    """Return the options of a Kafka sink, with the brokers of the source as a default.

    Of the source's properties those of security come too, and no others.
    """
    _check_topic(context, options, owner, path)
    if options.get("bootstrap"):
        return options
    sources = _kafka_sources(context, owner)
    if len(sources) == 1:
        given: dict[str, Any] = dict(sources[0].options)
        properties = tuple(
            each for each in given.get("properties") or () if each[0].startswith(_SECURITY)
        )
        return {"bootstrap": given.get("bootstrap"), "properties": properties, **options}
    detail = "It is the default only where the product reads one Kafka source."
    hint = "Write {kafka: {topic: …, bootstrap: host:9092}}."
    message = 'sink "kafka" needs "bootstrap"'
    context.refuse("SPEC_MISSING_KEY", message, path, detail=detail, hint=hint)
    return options


def _with_registry(
    context: Context, options: dict[str, Any], owner: Owner, path: Path
) -> dict[str, Any]:
    """Return the options of a sink in Avro, with the registry of the source as a default."""
    if options.get("format") != "avro":
        return options
    if owner.outbox:
        message = f'product "{owner.name}" has an outbox, whose events go as they are'
        context.refuse("PLAN_OUTBOX", message, (*path, "kafka", "format"))
        return options
    known = [dict(each.options).get("registry") for each in _kafka_sources(context, owner)]
    if options.get("registry") is None and len(known) == 1:
        options = {**options, "registry": known[0]}
    if options.get("registry") is None:
        hint = "Write registry: {url: http://host:8081} next to format."
        message = 'sink "kafka" in Avro needs a schema registry'
        context.refuse("PLAN_REGISTRY", message, (*path, "kafka", "format"), hint=hint)
    return options


def _check_topic(context: Context, options: dict[str, Any], owner: Owner, path: Path) -> None:
    topic = options.get("topic")
    if isinstance(topic, str) and owner.outbox:
        topic = ROUTE.sub("x", topic)  # what columns will stand for
    if isinstance(topic, str) and topic and (not _TOPIC.fullmatch(topic) or topic in (".", "..")):
        context.refuse(
            "SPEC_NAME",
            f'a topic cannot be named "{topic}"',
            (*path, "kafka", "topic"),
            hint="Use letters, digits, _ - and ., 249 at most.",
        )


def _kafka_sources(context: Context, owner: Owner) -> list[SourceSpec]:
    """Return the Kafka sources that a product or stream reads."""
    sources = {each.name: each for each in context.spec.sources}
    only = next(iter(sources)) if len(sources) == 1 else None
    default = context.spec.defaults.source or only
    names = {each.source or default for each in context.spec.changelogs if each.name in owner.reads}
    return [each for name, each in sources.items() if name in names and each.kind == "kafka"]
