"""Reads from a sample of a topic what its messages are: their format, columns and key.

What messages in JSON look like: the types of their columns, guessed from a sample.

A type is as wide as the sample needs: a whole number is a `long`, whatever its size.

Limits: a column that is null throughout, or of several kinds, is a `string`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from joinery.clients.kafka import Brokers
from joinery.clients.kafka_reader import Record, read_topic
from joinery.clients.schema_registry import SchemaRegistry
from joinery.errors import RunError
from joinery.model.table import Column, SourceTable
from joinery.model.type import (
    BOOLEAN,
    DATE,
    DOUBLE,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    DataType,
    Field,
    Struct,
)
from joinery.onboarding.registry_subject import columns_of, is_event, name_of, whole_of
from joinery.project.kinds import format_of
from joinery.project.schema_registry import RegistryOptions

Row = Mapping[str, Any]
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?")
_OWN = ("__deleted", "__position", "__op")
_UNAVAILABLE = "__debezium_unavailable_value"


def columns_of_rows(rows: Sequence[Row]) -> Struct:
    """Return the columns of some rows, in the order in which they first come.

    Example:
        >>> str(columns_of_rows([{"id": 1, "at": None}, {"id": 2, "at": "2026-01-02T03:04:05Z"}]))
        'struct<id: long, at: timestamp>'
    """
    names = dict.fromkeys(name for row in rows for name in row if name not in _OWN)
    return Struct(tuple(Field(name, _type_of(row.get(name) for row in rows)) for name in names))


def _type_of(values: Iterable[Any]) -> DataType:
    present = [each for each in values if each is not None and each != _UNAVAILABLE]
    if present and all(isinstance(each, Mapping) for each in present):
        return columns_of_rows(present)
    if present and all(isinstance(each, list) for each in present):
        return Array(_type_of(item for each in present for item in each))
    kinds = {_kind(each) for each in present}
    if kinds == {LONG, DOUBLE}:
        return DOUBLE
    if kinds == {DATE, TIMESTAMP}:
        return TIMESTAMP
    return kinds.pop() if len(kinds) == 1 else STRING


def _kind(value: Any) -> DataType:
    match value:
        case bool():
            return BOOLEAN
        case int():
            return LONG
        case float():
            return DOUBLE
        case str() if _DATE.fullmatch(value):
            return DATE
        case str() if _TIMESTAMP.fullmatch(value):
            return TIMESTAMP
        case _:
            return STRING


def rows_of(messages: Iterable[Mapping[str, Any]]) -> tuple[list[Row], bool]:
    """Return the rows that messages carry, and whether they are Debezium's events.

    Example:
        >>> rows_of([{"op": "c", "after": {"id": 1}}])
        ([{'id': 1}], True)
    """
    payloads = [_payload(each) for each in messages]
    events = [each for each in payloads if "op" in each and ("after" in each or "before" in each)]
    if not events:
        return payloads, False
    rows = [each.get("after") or each.get("before") for each in events]
    return [each for each in rows if isinstance(each, Mapping)], True


def _payload(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message without the schema that may be around it."""
    if message.keys() == {"schema", "payload"} and isinstance(message["payload"], Mapping):
        return message["payload"]
    return message


_MOST = 500


class SampleError(RunError):
    """The messages of a topic do not tell what they are."""

    code = "RUN_SAMPLE"


def read_topics(
    brokers: Brokers, topics: Sequence[str], registry: RegistryOptions | None
) -> tuple[SourceTable, ...]:
    """Return what the messages of some topics are, by the first of each partition.

    Args:
        brokers: Where.
        topics: Their names.
        registry: That of messages in Avro; None where there is none.

    Raises:
        SampleError: A topic has no messages, or they are neither JSON nor Avro.
    """
    return tuple(_table(brokers, each, registry) for each in topics)


def _table(brokers: Brokers, topic: str, registry: RegistryOptions | None) -> SourceTable:
    sample = list(islice(read_topic(brokers, topic), _MOST))
    values = [each.value for each in sample if each.value]
    if not values:
        raise SampleError(
            f'topic "{topic}" has no messages to learn from',
            hint="Name the database, or write the relation by hand.",
        )
    binary = all(each.startswith(b"\0") for each in values)
    row, event = _avro(topic, values, registry) if binary else _json(topic, values)
    return SourceTable(
        name=name_of(topic),
        columns=tuple(Column(each.name, str(each.type)) for each in row.fields),
        key=_key(sample, row),
        format=format_of(events=event, registry=binary).name,
        topic=topic,
    )


def _avro(
    topic: str, values: Sequence[bytes], registry: RegistryOptions | None
) -> tuple[Struct, bool]:
    """Return the columns by the newest schema of the sample."""
    if registry is None:
        hint = "Write registry: {url: …} under the source's kafka."
        raise SampleError(f'topic "{topic}" is in Avro, and no registry is named', hint=hint)
    size = registry.id_bytes
    number = max(int.from_bytes(each[1 : 1 + size], "big") for each in values)
    schema = SchemaRegistry(registry).schema(number)
    if schema is None:
        raise SampleError(
            f'topic "{topic}" names schema {number}, which the registry does not have'
        )
    try:
        return columns_of(schema), is_event(whole_of(schema))
    except ValueError as error:
        raise SampleError(f'topic "{topic}" has no columns: {error}') from error


def _json(topic: str, values: Sequence[bytes]) -> tuple[Struct, bool]:
    messages = [each for each in map(_object, values) if each]
    rows, event = rows_of(messages)
    columns = columns_of_rows(rows)
    if not columns.fields:
        raise SampleError(f'the messages of topic "{topic}" are not JSON objects')
    return columns, event


def _key(sample: Iterable[Record], row: Struct) -> tuple[str, ...]:
    """Return the columns of the keys, where keys are objects of JSON."""
    known = {each.name for each in row.fields}
    for each in sample:
        key = _object(each.key or b"")
        if key and isinstance(key.get("payload"), Mapping):
            key = dict(key["payload"])
        if key and set(key) <= known:
            return tuple(key)
    return ()


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        told = json.loads(text)
    except ValueError:
        return None
    return told if isinstance(told, dict) else None
