"""What a source may be told: the folder of files, or Kafka's brokers and where reading begins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from joinery.project.kind import SourceSpec
from joinery.project.option import (
    Option,
    Target,
    check_path,
    declared,
    duration,
    flag,
    options,
    options_of,
    path_in,
    properties,
    text,
)
from joinery.project.reader import Reader
from joinery.project.schema_registry import RegistryOptions, registry
from joinery.project.tree import Entry, MapTree, Scalar, Tree

Edge = Literal["earliest", "latest"]
_STARTS = ("earliest", "latest")
Offsets = Mapping[str, Mapping[int, int | Edge] | Edge]
PATTERN = "pattern:"
REPLAY = ".joinery-replay"  # after a topic's name: the one that holds its replayed records
_OWN = {
    "bootstrap.servers": "Write bootstrap next to properties.",
    "auto.offset.reset": "Write starting next to properties.",
    "enable.auto.commit": "Write group next to properties; the read positions are committed to it.",
    "key.deserializer": "Keys and values arrive as bytes; the relation's format reads them.",
    "value.deserializer": "Keys and values arrive as bytes; the relation's format reads them.",
    "interceptor.classes": "Spark's connector has none.",
}


def pattern_of(topic: str) -> str | None:
    """Return the regular expression of a topic written as `pattern:…`, else None.

    Example:
        >>> pattern_of("pattern:shard_[0-9]+[.]user")
        '(?!__)(?:shard_[0-9]+[.]user)'
    """
    if not topic.startswith(PATTERN):
        return None
    text = topic.removeprefix(PATTERN)
    return f"(?:{text})" if text.startswith("__") else f"(?!__)(?:{text})"


def is_named(named: str, topic: str) -> bool:
    """Say whether a relation's `topic` means the topic of that name.

    No pattern reaches a name that begins with `__`, which Kafka and its tools keep for
    themselves, unless it says so.

    Example:
        >>> is_named("pattern:.*", "user"), is_named("pattern:.*", "__heartbeat")
        (True, False)
    """
    pattern, topic = pattern_of(named), topic.removesuffix(REPLAY)
    return named == topic if pattern is None else re.fullmatch(pattern, topic) is not None


def without_port(bootstrap: str) -> str | None:
    """Return the first host of a list of brokers that has no port; None where all have one.

    Example:
        >>> without_port("a:9092, b"), without_port("a:9092,[::1]:9093")
        ('b', None)
    """
    hosts = (each.strip() for each in bootstrap.split(","))
    return next((each for each in hosts if re.fullmatch(r"\S+:\d+", each) is None), None)


def _check_bootstrap(reader: Reader, tree: Tree, what: str) -> None:
    text = reader.text(tree, what)
    if text and (host := without_port(text)) is not None:
        message = f'{what} needs a port behind each host, which "{host}" lacks'
        hint = f"Write {host or 'host'}:9092."
        reader.refuse("SPEC_VALUE", message, tree.mark.value, hint=hint)


def _check_properties(reader: Reader, tree: Tree, part: str) -> None:
    for entry in reader.entries(tree, part):
        name = entry.name.removeprefix("kafka.")
        if entry.name != name:
            message = f'{part} cannot have "{entry.name}"'
            reader.refuse("SPEC_VALUE", message, entry.place, hint=f'Write "{name}".')
        elif name in _OWN:
            message = f'{part} cannot have "{name}"'
            reader.refuse("SPEC_VALUE", message, entry.place, hint=_OWN[name])
        elif not (isinstance(entry.value, Scalar) and entry.value.value is not None):
            # Never the value itself: it may be a secret.
            message = f'"{name}" of {part} needs a text, a number or a boolean'
            reader.refuse("SPEC_SHAPE", message, entry.value.mark.value)


def _check_starting(reader: Reader, tree: Tree, part: str) -> None:
    if not isinstance(tree, MapTree):
        _check_moment(reader, tree, part)
        return
    for topic in reader.entries(tree, part):
        if isinstance(topic.value, Scalar):
            reader.word(topic.value, f'"{topic.name}" of {part}', _STARTS)
        for offset in reader.entries(topic.value, part) if _is_map(topic.value) else ():
            _check_offset(reader, offset, f'"{topic.name}" of {part}')


def _is_map(tree: Tree) -> bool:
    return isinstance(tree, MapTree)


def _check_moment(reader: Reader, tree: Tree, part: str) -> None:
    text = reader.text(tree, part)
    if text and text not in _STARTS and _millis(text) is None:
        hint = "Write earliest, latest, a time such as 2026-01-31T12:00:00Z, or offsets by topic."
        reader.refuse("SPEC_VALUE", f'{part} cannot be "{text}"', tree.mark.value, hint=hint)


def _check_offset(reader: Reader, entry: Entry, part: str) -> None:
    if not entry.name.isdigit():
        message = f'{part} has no partition "{entry.name}"'
        reader.refuse("SPEC_VALUE", message, entry.place, hint="Write its number, such as 0.")
    value = entry.value.value if isinstance(entry.value, Scalar) else None
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if not whole and value not in _STARTS:
        what = f'partition "{entry.name}" of {part}'
        reader.shape(entry.value, what, "an offset from 0, earliest or latest")


def _starting(value: Any) -> Edge | int | Offsets:
    if value is None or value == "earliest":
        return "earliest"
    if value == "latest":
        return "latest"
    if isinstance(value, tuple):
        return {topic: _offsets(each) for topic, each in value}
    return _millis(str(value)) or 0


def _offsets(value: Any) -> Mapping[int, int | Edge] | Edge:
    if isinstance(value, tuple):
        return {int(partition): offset for partition, offset in value}
    return "latest" if value == "latest" else "earliest"


def _millis(text: str) -> int | None:
    """Return a time in ISO 8601 as milliseconds since 1970; in UTC where it names no zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1000)


_OFFSET = {"anyOf": [{"enum": list(_STARTS)}, {"type": "integer", "minimum": 0}]}
_STARTING = {
    "description": "Where reading begins on a fresh checkpoint; by default `earliest`.",
    "anyOf": [
        {"type": "string", "description": "earliest, latest, or a time in ISO 8601."},
        {
            "type": "object",
            "description": "Offsets by topic and partition; all others begin earliest.",
            "additionalProperties": {
                "anyOf": [
                    {"enum": list(_STARTS)},
                    {"type": "object", "additionalProperties": _OFFSET},
                ],
            },
        },
    ],
}


@options
class FilesSourceOptions:
    """`{files: {path: data}}`."""

    path: str = text("The folder with one folder per topic.", check=check_path)

    def target(self, topic: str, folder: Path) -> Target:
        """Return the folder of a topic."""
        return Target("files", str(path_in(folder, self.path)), topic)


@options
class KafkaOptions:
    """`{kafka: {bootstrap: host:9092}}`."""

    bootstrap: str = text(
        "The bootstrap servers: host:port, separated by commas.",
        examples=["host:9092"],
        check=_check_bootstrap,
    )
    properties: Mapping[str, str] = properties(
        "Properties of Kafka's Java client, such as security.protocol.",
        default=None,
        check=_check_properties,
    )
    starting: Edge | int | Offsets = declared(
        Option(_STARTING, _starting, _check_starting), default="earliest"
    )
    group: str = text(
        "A consumer group to which the read positions are committed, for monitoring only.",
        default="",
        check=Reader.text,
    )
    fail_on_data_loss: bool = flag(
        "End the run where the log lost records that were not read yet, or has others than those"
        " that were read.",
        default=True,
        check=Reader.flag,
    )
    heartbeat: str = text(
        "A topic to which the source's connector writes regularly, such as Debezium's heartbeat"
        " topic.",
        default="",
        check=Reader.text,
    )
    silent_after: int = duration(
        "How long no heartbeat may come before the source counts as silent.", default="15s"
    )
    connector: str = text(
        "The name of Debezium's connector for PostgreSQL that writes the source's topics; `joinery"
        " wait` then takes places in the database's log.",
        default="",
        check=Reader.text,
    )
    connect_offsets: str = text(
        "The topic in which Kafka Connect keeps how far connectors are (`offset.storage.topic`).",
        default="connect-offsets",
        check=Reader.text,
    )
    registry: RegistryOptions | None = registry(
        "The schema registry of Avro messages.", default=None
    )

    def target(self, topic: str, folder: Path) -> Target:
        """Return a topic."""
        return Target("kafka", self.bootstrap, topic)


def kafka_options(source: SourceSpec) -> KafkaOptions:
    """Return the options of a source of kind `kafka`."""
    return options_of(KafkaOptions, dict(source.options), 'source "kafka"')
