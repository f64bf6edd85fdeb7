"""Reads from a schema registry what the messages of a topic are: their columns and key."""

from __future__ import annotations

from collections.abc import Sequence

from joinery.connect.avro_type import columns_of, is_event, whole_of
from joinery.connect.schema_registry import RegistryError, SchemaRegistry
from joinery.model.table import Column, SourceTable, TableName
from joinery.model.type import Struct
from joinery.spec.schema_registry import RegistryOptions

_VALUE, _KEY = "-value", "-key"


def read_subjects(options: RegistryOptions, subjects: Sequence[str]) -> tuple[SourceTable, ...]:
    """Return what the messages of some subjects are.

    Args:
        options: The registry.
        subjects: Such as `shop.public.order-value`, or the topic alone.

    Raises:
        RegistryError: The registry does not answer, or does not have a subject.
    """
    registry = SchemaRegistry(options)
    return tuple(_table(registry, each) for each in subjects)


def _table(registry: SchemaRegistry, subject: str) -> SourceTable:
    topic = subject.removesuffix(_VALUE)
    schema = registry.latest(topic + _VALUE) or registry.latest(subject)
    if schema is None:
        raise RegistryError(
            f'the schema registry has no subject "{topic + _VALUE}"',
            hint="Name a subject, or a topic whose values have one.",
        )
    try:
        row, event = columns_of(schema), is_event(whole_of(schema))
    except ValueError as error:
        raise RegistryError(f'subject "{subject}" has no columns: {error}') from error
    key = registry.latest(topic + _KEY)
    return SourceTable(
        name=name_of(topic),
        columns=tuple(Column(each.name, str(each.type)) for each in row.fields),
        key=_key(key, row) if key is not None else (),
        format="debezium-avro" if event else "avro",
        topic=topic,
    )


def _key(schema: object, row: Struct) -> tuple[str, ...]:
    """Return the key's columns; none where the key is no record of such."""
    try:
        names = tuple(each.name for each in whole_of(schema).fields)  # type: ignore[arg-type]
    except ValueError:
        return ()
    known = {each.name for each in row.fields}
    return names if set(names) <= known else ()


def name_of(topic: str) -> TableName:
    """Return the table that a topic is named after.

    Example:
        >>> str(name_of("shop.public.order"))
        'public.order'
    """
    schema, _, table = topic.rpartition(".")
    return TableName(schema.rpartition(".")[2], table)
