"""The options of a Kafka source: where the brokers are, and where reading begins.

Invariant: options that were noted no problem for become a `KafkaOptions`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from joinery.project import grammar
from joinery.project.product import Pairs, SourceSpec
from joinery.project.reader import Reader
from joinery.project.schema_registry import check_registry
from joinery.project.tree import Entry, MapTree, Scalar, Tree

Edge = Literal["earliest", "latest"]
Offsets = Mapping[str, Mapping[int, int | Edge] | Edge]
PATTERN = "pattern:"
REPLAY = ".joinery-replay"  # after a topic's name: the one that holds its replayed records
_OWN = {
    "bootstrap.servers": "Write bootstrap beside properties.",
    "auto.offset.reset": "Write starting beside properties.",
    "enable.auto.commit": "Write group beside properties, which is told the read positions.",
    "key.deserializer": "Keys and values arrive as bytes; the relation's format reads them.",
    "value.deserializer": "Keys and values arrive as bytes; the relation's format reads them.",
    "interceptor.classes": "Spark's connector has none.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOptions:
    """What a Kafka source was asked for.

    Attributes:
        bootstrap: `host:port`, with commas between several.
        properties: Of Kafka's own client; may hold secrets, so never shown.
        starting: `earliest`, `latest`, milliseconds since 1970, or offsets by topic.
        group: The consumer group that is told the read positions.
        fail_on_data_loss: Fail where the log lost records that were not read yet.
    """

    bootstrap: str
    properties: Pairs = field(default=(), repr=False)
    starting: Edge | int | Offsets = "earliest"
    group: str | None = None
    fail_on_data_loss: bool = True


def kafka_options(source: SourceSpec) -> KafkaOptions:
    """Return the options of a source of kind `kafka`."""
    given: dict[str, Any] = dict(source.options)
    properties = tuple((name, _plain(value)) for name, value in given.get("properties") or ())
    return KafkaOptions(
        bootstrap=str(given["bootstrap"]),
        properties=properties,
        starting=_starting(given.get("starting")),
        group=given.get("group"),
        fail_on_data_loss=bool(given.get("fail_on_data_loss", True)),
    )


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


def check_kafka(reader: Reader, entry: Entry, part: str) -> None:
    """Note every problem of the options under `kafka`."""
    known = grammar.SOURCE_OPTIONS["kafka"]
    found = reader.named(entry.value, part, known)
    if "bootstrap" not in found and isinstance(entry.value, MapTree | Scalar):
        hint = "Write {kafka: {bootstrap: host:9092}}."
        reader.refuse("SPEC_MISSING_KEY", f'{part} needs "bootstrap"', entry.place, hint=hint)
    for name in ("bootstrap", "group"):
        if name in found:
            text = reader.text(found[name], f'"{name}" of {part}')
            if name == "bootstrap" and text:
                _check_bootstrap(reader, text, found[name], f'"bootstrap" of {part}')
    if "fail_on_data_loss" in found:
        reader.flag(found["fail_on_data_loss"], f'"fail_on_data_loss" of {part}')
    if "registry" in found:
        check_registry(reader, found["registry"], f'"registry" of {part}')
    if "properties" in found:
        _check_properties(reader, found["properties"], f'"properties" of {part}')
    if "starting" in found:
        _check_starting(reader, found["starting"], f'"starting" of {part}')


def without_port(bootstrap: str) -> str | None:
    """Return the first host of a list of brokers that has no port; None where all have one.

    Example:
        >>> without_port("a:9092, b"), without_port("a:9092,[::1]:9093")
        ('b', None)
    """
    hosts = (each.strip() for each in bootstrap.split(","))
    return next((each for each in hosts if re.fullmatch(r"\S+:\d+", each) is None), None)


def _check_bootstrap(reader: Reader, text: str, tree: Tree, part: str) -> None:
    if (host := without_port(text)) is not None:
        message = f'{part} needs a port behind each host, which "{host}" has not'
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
            reader.word(topic.value, f'"{topic.name}" of {part}', grammar.STARTS)
        for offset in reader.entries(topic.value, part) if _is_map(topic.value) else ():
            _check_offset(reader, offset, f'"{topic.name}" of {part}')


def _is_map(tree: Tree) -> bool:
    return isinstance(tree, MapTree)


def _check_moment(reader: Reader, tree: Tree, part: str) -> None:
    text = reader.text(tree, part)
    if text and text not in grammar.STARTS and _millis(text) is None:
        hint = "Write earliest, latest, a time such as 2026-01-31T12:00:00Z, or offsets by topic."
        reader.refuse("SPEC_VALUE", f'{part} cannot be "{text}"', tree.mark.value, hint=hint)


def _check_offset(reader: Reader, entry: Entry, part: str) -> None:
    if not entry.name.isdigit():
        message = f'{part} has no partition "{entry.name}"'
        reader.refuse("SPEC_VALUE", message, entry.place, hint="Write its number, such as 0.")
    value = entry.value.value if isinstance(entry.value, Scalar) else None
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if not whole and value not in grammar.STARTS:
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


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
