"""A contract as JSON Schema (draft 2020-12) of the JSON that sinks write, and back.

| type | in JSON | `x-type` |
| --- | --- | --- |
| whole numbers, `decimal` | a number with all its digits, in the type's range | the type |
| `float`, `double` | a number, or the text `NaN`, `Infinity` or `-Infinity` | the type |
| `timestamp` | ISO 8601 in UTC with `Z`, six decimals of the second or none | the type |
| `timestamp_ntz` | the same without `Z` | the type |
| `binary` | base64 | the type |

Words of ours begin with `x-`; validators pass over them. A schema names what has to be there, and
allows more: a new field breaks no reader.

Invariant: `read_schema(schema_of(contract))` is equal to the contract.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from joinery.contract.contract import (
    Contract,
    Entries,
    Items,
    Member,
    Object,
    Scalar,
    Shape,
    Value,
)
from joinery.errors import SpecError
from joinery.model.type import STRING, Atomic, DataType, Decimal, parse_type
from joinery.model.typed import check_typed

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_DAY = "[+-]?[0-9]{4,}-[0-9]{2}-[0-9]{2}"
_TIME = "T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{6})?"
_FLOAT = {"type": ["number", "string"], "pattern": "^(NaN|-?Infinity)$"}
_BYTES = {"byte": 8, "short": 16, "int": 32, "long": 64}
_ATOMIC: Mapping[str, Mapping[str, Any]] = {
    "boolean": {"type": "boolean"},
    "string": {"type": "string"},
    "float": _FLOAT,
    "double": _FLOAT,
    "binary": {
        "type": "string",
        "contentEncoding": "base64",
        "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
    },
    "date": {"type": "string", "format": "date", "pattern": f"^{_DAY}$"},
    "timestamp": {"type": "string", "format": "date-time", "pattern": f"^{_DAY}{_TIME}Z$"},
    "timestamp_ntz": {"type": "string", "pattern": f"^{_DAY}{_TIME}$"},
    **{
        name: {"type": "integer", "minimum": -(1 << bits - 1), "maximum": (1 << bits - 1) - 1}
        for name, bits in _BYTES.items()
    },
}


class ContractFileError(SpecError):
    """What a contract is compared with cannot be read as one."""

    code = "SPEC_CONTRACT"


def bundle_of(project: str, contracts: Sequence[Contract]) -> dict[str, Any]:
    """Return one schema with those of several contracts under `$defs`, by name."""
    definitions = {each.name: _without_draft(schema_of(each)) for each in contracts}
    return {"$schema": DRAFT, "title": project, "$defs": definitions}


def schema_of(contract: Contract) -> dict[str, Any]:
    """Return the schema of the documents of a contract; `x-key` is that of their keys."""
    schema: dict[str, Any] = {"$schema": DRAFT, "title": contract.name}
    if contract.description:
        schema["description"] = contract.description
    schema |= _object(contract.value)
    schema["x-key"] = _object(contract.key)
    if contract.fresh_ms is not None:
        schema["x-fresh-ms"] = contract.fresh_ms
    return schema


def _without_draft(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != "$schema"}


def _value(value: Value) -> dict[str, Any]:
    schema = _shape(value.shape)
    if value.nullable:
        types = schema["type"]
        schema["type"] = [*([types] if isinstance(types, str) else types), "null"]
    if value.personal:
        schema["x-personal"] = value.personal
    return schema


def _shape(shape: Shape) -> dict[str, Any]:
    match shape:
        case Scalar(kind):
            return _scalar(kind)
        case Items(of):
            return {"type": "array", "items": _value(of)}
        case Entries(key, of):
            names = {} if key == STRING else {"propertyNames": {"x-type": str(key)}}
            return {"type": "object", **names, "additionalProperties": _value(of)}
        case Object():
            return _object(shape)


def _object(shape: Object) -> dict[str, Any]:
    properties = {}
    for each in shape.members:
        told = {"description": each.description} if each.description else {}
        properties[each.name] = {**told, **_value(each.value)}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _scalar(kind: Atomic | Decimal) -> dict[str, Any]:
    match kind:
        case Decimal(precision, scale):
            bound = 10 ** (precision - scale)
            word = "number" if scale else "integer"
            bounds = {"exclusiveMinimum": -bound, "exclusiveMaximum": bound}
            return {"type": word, **bounds, "x-type": str(kind)}
        case Atomic(name):
            return {**_ATOMIC[name], "x-type": name}


def read_schemas(data: Any, file: str) -> tuple[Contract, ...]:
    """Return the contracts of what `bundle_of` or `schema_of` gave.

    Args:
        data: As it is in JSON.
        file: What it was read from, for messages.

    Raises:
        ContractFileError: It is no such schema.
    """
    try:
        found = data["$defs"].values() if "$defs" in data else [data]
        return tuple(map(read_schema, found))
    except (KeyError, TypeError, AttributeError, IndexError, SpecError) as error:
        raise ContractFileError(
            f'"{file}" is no contract that joinery contract export wrote',
            detail=f"What could not be read: {error}.",
            hint="Write one with joinery contract export --format jsonschema.",
        ) from error


def read_schema(schema: Mapping[str, Any]) -> Contract:
    """Return the contract whose schema this is."""
    found = Contract(
        name=schema["title"],
        key=_read_object(schema["x-key"]),
        value=_read_object(schema),
        fresh_ms=schema.get("x-fresh-ms"),
        description=schema.get("description", ""),
    )
    check_typed(found, Contract)
    return found


def _read_object(schema: Mapping[str, Any]) -> Object:
    return Object(
        tuple(
            Member(name, _read_value(each), each.get("description", ""))
            for name, each in schema["properties"].items()
        )
    )


def _read_value(schema: Mapping[str, Any]) -> Value:
    types = schema["type"]
    named = [types] if isinstance(types, str) else list(types)
    return Value(
        _read_shape(schema, named[0]),
        nullable="null" in named,
        personal=schema.get("x-personal", ""),
    )


def _read_shape(schema: Mapping[str, Any], type_: str) -> Shape:
    if type_ == "array":
        return Items(_read_value(schema["items"]))
    if type_ == "object" and "properties" in schema:
        return _read_object(schema)
    if type_ == "object":
        names = schema.get("propertyNames")
        key: DataType = parse_type(names["x-type"]) if names else STRING
        return Entries(key, _read_value(schema["additionalProperties"]))
    kind = parse_type(schema["x-type"])
    if not isinstance(kind, Atomic | Decimal):
        raise TypeError(f'"{schema["x-type"]}" has parts')
    return Scalar(kind)
