"""What must hold of sources: the topics that relations name can be there, and are read.

Whether a relation's source can bear its format, and what it needs for that.

What must hold of the column that a relation takes its positions from.

It is read from the message itself, before anything is derived; it need not be declared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from joinery.model.type import Field
from joinery.plan.context import Context
from joinery.project.captured import CAPTURED, table_in, tables_of
from joinery.project.kafka import KafkaOptions, is_named, kafka_options, pattern_of
from joinery.project.kind import SourceSpec
from joinery.project.kinds import DEBEZIUM_JSON, FORMATS
from joinery.project.mark import Path
from joinery.project.relation import RelationSpec
from joinery.project.schema_registry import RegistryOptions, registry_options

_KAFKA_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}")
_MOST_PATTERNS = 8


def check_topics(context: Context, sources: Mapping[str, str]) -> None:
    """Note every topic that cannot be, and every offset that nobody reads.

    Args:
        context: Takes the problems.
        sources: By relation, the name of its source.
    """
    known = {each.name: each for each in context.spec.sources}
    for relation in context.spec.changelogs:
        source = known.get(sources.get(relation.name, ""))
        if source is not None:
            _check_topic(context, relation, source)
    for source in context.spec.sources:
        if source.kind == "kafka" and dict(source.options).get("bootstrap"):
            read = [each for each in context.spec.changelogs if sources[each.name] == source.name]
            _check_patterns(context, source, read)
            _check_starting(context, source, read)


def _check_topic(context: Context, relation: RelationSpec, source: SourceSpec) -> None:
    topic = relation.topic or relation.name
    path: Path = ("relations", relation.name, *(("topic",) if relation.topic else ()))
    key = relation.topic is None
    if pattern_of(topic) is None:
        if source.kind == "kafka" and not _KAFKA_NAME.fullmatch(topic):
            message = f'Kafka has no topic named "{topic}"'
            hint = "Use letters, digits, . _ and -, or write pattern: and a regular expression."
            context.refuse("PLAN_TOPIC", message, path, key=key, hint=hint)
        if source.kind in CAPTURED:
            _check_table(context, relation, source)
    elif source.kind == "files":
        message = f'relation "{relation.name}" reads files, which have no patterns of topics'
        context.refuse("PLAN_TOPIC", message, path, key=key, hint="Name one folder.")
    elif source.kind in CAPTURED:
        message = f'relation "{relation.name}" reads a database, which has no patterns of topics'
        context.refuse("PLAN_TOPIC", message, path, key=key, hint="Name one table.")
    elif problem := _refused_pattern(topic):
        message = f'the pattern of relation "{relation.name}" cannot be read: {problem}'
        context.refuse("PLAN_TOPIC", message, path, key=key)


def _check_table(context: Context, relation: RelationSpec, source: SourceSpec) -> None:
    """Note a table that its source does not capture, and a format that no capture writes."""
    table = table_in(source, relation.topic or relation.name)
    known = tables_of(context.spec, source)
    if table not in known:
        path: Path = ("relations", relation.name, *(("topic",) if relation.topic else ()))
        message = f'source "{source.name}" does not name table {table} among its tables'
        key = relation.topic is None
        context.unknown("PLAN_TOPIC", message, path, name=table, known=known, key=key)
    if relation.format not in (None, DEBEZIUM_JSON.name):
        message = f'a database gives {DEBEZIUM_JSON.name}, not "{relation.format}"'
        path = ("relations", relation.name, "format")
        context.refuse("PLAN_TOPIC", message, path, hint="Leave format out.")


def captured_from(context: Context, source: str) -> SourceSpec | None:
    """Return the source of a name where it is a database whose log is captured, else None."""
    found = (each for each in context.spec.sources if each.name == source)
    return next((each for each in found if each.kind in CAPTURED), None)


def _refused_pattern(topic: str) -> str | None:
    pattern = pattern_of(topic) or ""
    if "(?P" in pattern:
        return "a group cannot have a name"
    try:
        re.compile(pattern)
    except re.error as error:
        return error.msg
    return None


def _check_patterns(context: Context, source: SourceSpec, read: list[RelationSpec]) -> None:
    patterns = {each.topic for each in read if each.topic and pattern_of(each.topic)}
    if len(patterns) > _MOST_PATTERNS:
        message = f'source "{source.name}" is read by {len(patterns)} patterns'
        hint = f"Use at most {_MOST_PATTERNS}, or name topics."
        context.refuse("PLAN_TOPIC", message, ("sources", source.name), key=True, hint=hint)


def _check_starting(context: Context, source: SourceSpec, read: list[RelationSpec]) -> None:
    options: KafkaOptions = kafka_options(source)
    if not isinstance(options.starting, Mapping):
        return
    topics = [each.topic or each.name for each in read]
    for topic in options.starting:
        if not any(is_named(each, topic) for each in topics if not _broken(each)):
            path = ("sources", source.name, "kafka", "starting", topic)
            message = f'no relation of source "{source.name}" reads topic "{topic}"'
            context.unknown("PLAN_TOPIC", message, path, name=topic, known=topics, key=True)


def _broken(topic: str) -> bool:
    return pattern_of(topic) is not None and _refused_pattern(topic) is not None


def registry_of(
    context: Context, spec: RelationSpec, *, source: str, format_: str
) -> RegistryOptions | None:
    """Return the schema registry of a relation's messages; None where they need none.

    Args:
        context: Takes the problem where there is no registry.
        spec: The relation.
        source: The name of its source.
        format_: The name of its format.
    """
    found = next((each for each in context.spec.sources if each.name == source), None)
    known = FORMATS.get(format_)
    if known is None or not known.registry or found is None or found.kind in CAPTURED:
        return None
    registry = registry_options(dict(found.options).get("registry"))
    if registry is None:
        _refuse(context, spec, found, format_)
    return registry


def _refuse(context: Context, spec: RelationSpec, source: SourceSpec, format_: str) -> None:
    path = ("relations", spec.name, "format") if spec.format else ("defaults", "format")
    message = f'format "{format_}" of relation "{spec.name}" needs a schema registry'
    if source.kind == "kafka":
        hint = "Write registry: {url: http://host:8081} under kafka."
        detail = f'Its source "{source.name}" names none.'
    else:
        texts = " or ".join(each.name for each in FORMATS.values() if not each.registry)
        hint = f"Read it from Kafka, or use {texts}."
        detail = f'Its source "{source.name}" is of kind {source.kind}, which carries texts.'
    context.refuse("PLAN_REGISTRY", message, path, detail=detail, hint=hint)


_ORDERED = ("byte", "short", "int", "long", "timestamp", "timestamp_ntz")


def check_position(context: Context, spec: RelationSpec, columns: Sequence[Field]) -> None:
    """Note a `position` that no message can have."""
    path: Path = ("relations", spec.name, "position")
    if spec.position in dict(spec.derive):
        message = f'"position" of relation "{spec.name}" names the derived column "{spec.position}"'
        hint = "Name a column of the messages: a whole number, or a timestamp."
        context.refuse("PLAN_KEY", message, path, hint=hint)
    kind = next((str(each.type) for each in columns if each.name == spec.position), None)
    if kind is not None and kind not in _ORDERED:
        needs = "a whole number or a timestamp"
        message = f'"position" of relation "{spec.name}" needs {needs}, not {kind}'
        context.refuse("PLAN_TYPE_MISMATCH", message, path)
