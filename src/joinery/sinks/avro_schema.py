"""The Avro schema of documents and of their keys.

Every field of a document may be null. A record has a name of its own for each place, so that
a schema holds however deep it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from joinery.model.type import STRING, Array, Atomic, DataType, Decimal, Map, Struct

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ATOMIC: dict[str, Any] = {
    "boolean": "boolean",
    "byte": "int",
    "short": "int",
    "int": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros"},
    "timestamp_ntz": {"type": "long", "logicalType": "local-timestamp-micros"},
    "void": "null",
}


class AvroNameError(ValueError):
    """A field has a name that Avro does not allow; the message is the field's path."""


def record_schema(type_: Struct, name: str, *, filled: Collection[str] = ()) -> dict[str, Any]:
    """Return the schema of an object.

    Args:
        type_: Its fields.
        name: Of the record; what Avro does not allow in it becomes `_`.
        filled: Those of its own fields that are never null; those inside always may be.

    Raises:
        AvroNameError: A field cannot be named so in Avro.

    Example:
        >>> from joinery.model.type import INT, Field
        >>> record_schema(Struct((Field("id", INT),)), "key", filled={"id"})
        {'type': 'record', 'name': 'key', 'fields': [{'name': 'id', 'type': 'int'}]}
    """
    fields = []
    for field in type_.fields:
        if not _NAME.fullmatch(field.name):
            raise AvroNameError(field.name)
        try:
            inner = _schema(field.type, f"{name}_{field.name}")
        except AvroNameError as error:
            raise AvroNameError(f"{field.name}.{error}") from None
        fields.append(_field(field.name, inner, nullable=field.name not in filled))
    return {"type": "record", "name": _safe(name), "fields": fields}


def _field(name: str, schema: Any, *, nullable: bool) -> dict[str, Any]:
    if nullable:
        return {"name": name, "type": _or_null(schema), "default": None}
    return {"name": name, "type": schema}


def _or_null(schema: Any) -> Any:
    return schema if schema == "null" else ["null", schema]


def _schema(type_: DataType, name: str) -> Any:
    match type_:
        case Atomic():
            return _ATOMIC[type_.name]
        case Decimal(precision, scale):
            decimal = {"type": "bytes", "logicalType": "decimal"}
            return {**decimal, "precision": precision, "scale": scale}
        case Array(element):
            return {"type": "array", "items": _or_null(_schema(element, name))}
        case Map(key, value) if key == STRING:
            return {"type": "map", "values": _or_null(_schema(value, name))}
        case Map(key, value):
            # As Kafka Connect writes maps whose keys are not texts.
            key_field = {"name": "key", "type": _schema(key, f"{name}_key")}
            value_field = _field("value", _schema(value, f"{name}_value"), nullable=True)
            entry = {"type": "record", "name": _safe(name), "fields": [key_field, value_field]}
            return {"type": "array", "items": entry}
        case Struct():
            return record_schema(type_, name)


def _safe(name: str) -> str:
    safe = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return safe if _NAME.fullmatch(safe) else f"_{safe}"
