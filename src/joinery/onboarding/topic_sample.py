"""Reads from a sample of a topic what its messages are: their format, columns and key."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from joinery.clients.kafka import Brokers
from joinery.clients.kafka_reader import Record, read_topic
from joinery.clients.schema_registry import SchemaRegistry
from joinery.errors import RunError
from joinery.model.table import Column, SourceTable
from joinery.model.type import Struct
from joinery.onboarding.json_sample import columns_of as columns_of_rows
from joinery.onboarding.json_sample import rows_of
from joinery.onboarding.registry_subject import columns_of, is_event, name_of, whole_of
from joinery.project.schema_registry import RegistryOptions

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
    if all(each.startswith(b"\0") for each in values):
        row, event = _avro(topic, values, registry)
        kind = "avro"
    else:
        row, event = _json(topic, values)
        kind = "json"
    return SourceTable(
        name=name_of(topic),
        columns=tuple(Column(each.name, str(each.type)) for each in row.fields),
        key=_key(sample, row),
        format=f"debezium-{kind}" if event else kind,
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
        raise SampleError(f'topic "{topic}" names schema {number}, which the registry has not')
    try:
        return columns_of(schema), is_event(whole_of(schema))
    except ValueError as error:
        raise SampleError(f'topic "{topic}" has no columns: {error}') from error


def _json(topic: str, values: Sequence[bytes]) -> tuple[Struct, bool]:
    messages = [each for each in map(_object, values) if each]
    rows, event = rows_of(messages)
    columns = columns_of_rows(rows)
    if not columns.fields:
        raise SampleError(f'the messages of topic "{topic}" are no objects of JSON')
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
