"""From a declared sink to one with all its options: named ones looked up, defaults filled in.

Invariant: a problem is told at the option, or at the sink where an option is missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from joinery.plan.context import Context
from joinery.plan.outbox import ROUTE
from joinery.plan.product import Sink
from joinery.plan.target import check_loop
from joinery.project.kind import SinkSpec, SourceSpec
from joinery.project.kinds import DEAD_LETTER_KINDS, SINKS
from joinery.project.mark import Path
from joinery.project.option import wanted_instead

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
    elif not known:
        hint = f"Declare it beside the products: sinks: {{{name}: {{files: {{path: out}}}}}}."
    else:
        context.unknown("PLAN_UNKNOWN_SINK", message, path, name=name, known=known)
        return
    context.refuse("PLAN_UNKNOWN_SINK", message, path, hint=hint)


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
