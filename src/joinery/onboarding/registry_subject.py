"""Reads from a schema registry what the messages of a topic are: their columns and key.

An Avro schema is taken as the registry gives it, parsed from JSON. A type that Debezium or Kafka
Connect named decides what a column is, then the logical type, as when messages are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from joinery.clients.schema_registry import RegistryError, SchemaRegistry
from joinery.model.table import Column, SourceTable, TableName
from joinery.model.type import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    LONG,
    STRING,
    TIMESTAMP,
    Array,
    Atomic,
    DataType,
    Decimal,
    Field,
    Map,
    Struct,
)
from joinery.project.kinds import format_of
from joinery.project.onboard import OnboardError
from joinery.project.schema_registry import RegistryOptions

Schema = Mapping[str, Any] | list[Any] | str
_FLOAT, _LOCAL = Atomic("float"), Atomic("timestamp_ntz")
_PLAIN = {
    "boolean": BOOLEAN,
    "int": INT,
    "long": LONG,
    "float": _FLOAT,
    "double": DOUBLE,
    "string": STRING,
    "enum": STRING,
    "bytes": BINARY,
    "fixed": BINARY,
}
_DEBEZIUM, _CONNECT = "io.debezium.time.", "org.apache.kafka.connect.data."
_MEANT = {
    f"{_DEBEZIUM}Date": DATE,
    f"{_DEBEZIUM}Timestamp": _LOCAL,
    f"{_DEBEZIUM}MicroTimestamp": _LOCAL,
    f"{_DEBEZIUM}NanoTimestamp": _LOCAL,
    f"{_DEBEZIUM}ZonedTimestamp": TIMESTAMP,
    f"{_DEBEZIUM}Time": STRING,
    f"{_DEBEZIUM}MicroTime": STRING,
    f"{_DEBEZIUM}NanoTime": STRING,
    "io.debezium.data.VariableScaleDecimal": STRING,
    f"{_CONNECT}Date": DATE,
    f"{_CONNECT}Timestamp": TIMESTAMP,
    f"{_CONNECT}Time": STRING,
    "date": DATE,
    "time-millis": STRING,
    "time-micros": STRING,
    "timestamp-millis": TIMESTAMP,
    "timestamp-micros": TIMESTAMP,
    "timestamp-nanos": TIMESTAMP,
    "local-timestamp-millis": _LOCAL,
    "local-timestamp-micros": _LOCAL,
    "local-timestamp-nanos": _LOCAL,
    "uuid": STRING,
}
_DECIMALS = ("decimal", f"{_CONNECT}Decimal")
_MAX_DIGITS = 38


def columns_of(schema: Schema) -> Struct:
    """Return the columns of a record; of one of Debezium's events, those of its rows.

    Raises:
        ValueError: The schema is not of a record.
    """
    row = whole_of(schema)
    if not is_event(row):
        return row
    after = next(each.type for each in row.fields if each.name == "after")
    assert isinstance(after, Struct)  # `is_event` has seen to that
    return after


def is_event(row: Struct) -> bool:
    """Say whether a record is one of Debezium's change events."""
    types = {each.name: each.type for each in row.fields}
    return types.get("op") == STRING and isinstance(types.get("after"), Struct)


def whole_of(schema: Schema) -> Struct:
    """Return all fields of a record as columns.

    Raises:
        ValueError: The schema is not of a record.
    """
    row = _Types().of(_record(schema))
    assert isinstance(row, Struct)  # a record is a struct
    return row


def _record(schema: Schema) -> Schema:
    for each in schema if isinstance(schema, list) else [schema]:
        if isinstance(each, Mapping) and each.get("type") == "record":
            return each
    raise ValueError("the schema is not of a record")


class _Types:
    """Types of schemas, which may name those before them."""

    def __init__(self) -> None:
        self._known: dict[str, DataType] = {}

    def of(self, schema: Schema) -> DataType:
        if isinstance(schema, list):
            branches = [each for each in schema if each != "null"]
            # Several kinds of value in one column have no type in common but text.
            return self.of(branches[0]) if len(branches) == 1 else STRING
        if isinstance(schema, str):
            return _PLAIN.get(schema) or self._known.get(schema.rsplit(".", 1)[-1], STRING)
        return self._of_map(schema)

    def _of_map(self, schema: Mapping[str, Any]) -> DataType:
        kind = schema["type"]
        meaning = schema.get("connect.name") or schema.get("logicalType")
        if meaning in _MEANT:
            return _MEANT[meaning]
        if meaning in _DECIMALS:
            return _decimal(schema)
        match kind:
            case "record":
                return self._remembered(schema, self._struct(schema))
            case "array":
                return self._array(schema["items"])
            case "map":
                return Map(STRING, self.of(schema["values"]))
            case str() if kind in _PLAIN:
                return self._remembered(schema, _PLAIN[kind])
            case _:
                return self.of(kind)

    def _remembered(self, schema: Mapping[str, Any], type_: DataType) -> DataType:
        if "name" in schema:
            self._known[str(schema["name"]).rsplit(".", 1)[-1]] = type_
        return type_

    def _struct(self, schema: Mapping[str, Any]) -> DataType:
        fields = (Field(str(each["name"]), self.of(each["type"])) for each in schema["fields"])
        return Struct(tuple(fields))

    def _array(self, items: Schema) -> DataType:
        """Return a list, or the map that Connect writes as a list of entries."""
        element = self.of(items)
        if isinstance(element, Struct) and [each.name for each in element.fields] == [
            "key",
            "value",
        ]:
            key, value = element.fields
            return Map(key.type, value.type)
        return Array(element)


def _decimal(schema: Mapping[str, Any]) -> DataType:
    scale = int(schema.get("scale", 0))
    told = schema.get("connect.parameters", {}).get("connect.decimal.precision")
    precision = int(schema.get("precision") or told or _MAX_DIGITS)
    return Decimal(min(precision, _MAX_DIGITS), scale) if 0 <= scale <= precision else STRING


_VALUE, _KEY = "-value", "-key"


def read_subjects(options: RegistryOptions, subjects: Sequence[str]) -> tuple[SourceTable, ...]:
    """Return what the messages of some subjects are.

    Args:
        options: The registry.
        subjects: Such as `shop.public.order-value`, or the topic alone.

    Raises:
        RegistryError: The registry does not answer.
        OnboardError: It does not have a subject.
    """
    registry = SchemaRegistry(options)
    return tuple(_table(registry, each) for each in subjects)


def _table(registry: SchemaRegistry, subject: str) -> SourceTable:
    topic = subject.removesuffix(_VALUE)
    schema = registry.latest(topic + _VALUE) or registry.latest(subject)
    if schema is None:
        raise OnboardError(
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
        format=format_of(events=event, registry=True).name,
        topic=topic,
    )


def _key(schema: Schema, row: Struct) -> tuple[str, ...]:
    """Return the key's columns; none where the key is not a record of such."""
    try:
        names = tuple(each.name for each in whole_of(schema).fields)
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
