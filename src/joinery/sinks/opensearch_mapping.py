"""The mapping of an OpenSearch index, derived from a document's type.

| type | field |
| --- | --- |
| string | `text`, and `<field>.keyword` for exact matches, sorting and aggregation |
| boolean, byte, short, int, long, float, double | the same, as the server calls them |
| decimal | `double` (the document itself keeps every digit) |
| date, timestamp | `date` |
| binary | `binary` |
| struct | an object |
| list of structs | `nested`, so that a query sees one element at a time; or objects |
| map | `flat_object`: one field, however many keys |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct

_LONGEST_KEYWORD = 8191  # characters: a term may have 32,766 bytes
_TEXT: Mapping[str, Any] = {
    "type": "text",
    "fields": {"keyword": {"type": "keyword", "ignore_above": _LONGEST_KEYWORD}},
}
_NUMBERS = {
    **{name: name for name in ("byte", "short", "long", "float", "double")},
    "int": "integer",
}
_DATES = ("date", "timestamp", "timestamp_ntz")


def mapping_of(document: Struct, *, nested: bool = True, map_type: str) -> dict[str, Any]:
    """Return the mapping of an index that holds documents of this type.

    Args:
        document: The document's type.
        nested: False maps a list of structs as objects, whose fields are searched together.
        map_type: The server's word for a map in one field.

    Example:
        >>> from joinery.model.type import DATE, LONG, Field
        >>> type = Struct((Field("id", LONG), Field("at", DATE)))
        >>> mapping_of(type, map_type="flat_object")["properties"]
        {'id': {'type': 'long'}, 'at': {'type': 'date', 'ignore_malformed': True}}
    """
    properties = _Mapper(nested, map_type).properties(document)
    return {"dynamic": False, "properties": properties}


def merged(derived: Mapping[str, Any], chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return `derived` with what the user chose: a field is replaced whole, properties merge."""
    result = dict(derived)
    for name, value in chosen.items():
        stood = result.get(name)
        deeper = name == "properties" or _has_properties(value)
        result[name] = merged(stood, value) if deeper and isinstance(stood, Mapping) else value
    return result


def _has_properties(value: object) -> bool:
    return isinstance(value, Mapping) and "properties" in value


class _Mapper:
    def __init__(self, nested: bool, map_type: str) -> None:
        self._list = {"type": "nested"} if nested else {"type": "object"}
        self._map_type = map_type

    def properties(self, type: Struct) -> dict[str, Any]:
        return {each.name: self._field(each.type) for each in type.fields}

    def _field(self, type: DataType) -> Mapping[str, Any]:
        if isinstance(type, Array):
            element = _innermost(type)
            if isinstance(element, Struct):
                return {**self._list, "properties": self.properties(element)}
            return self._field(element)
        if isinstance(type, Struct):
            return {"type": "object", "properties": self.properties(type)}
        if isinstance(type, Map):
            return {"type": self._map_type}
        return _simple(type)


def _innermost(type: DataType) -> DataType:
    """Return the element of a list; lists in a list are one list to the index."""
    return _innermost(type.element) if isinstance(type, Array) else type


def _simple(type: Atomic | Decimal) -> Mapping[str, Any]:
    if isinstance(type, Decimal):
        return {"type": "double"}
    if type.name in _NUMBERS:
        return {"type": _NUMBERS[type.name]}
    if type.name in _DATES:
        # A year that the index cannot hold leaves the field out of it, not the document.
        return {"type": "date", "ignore_malformed": True}
    if type.name in ("boolean", "binary"):
        return {"type": type.name}
    return _TEXT if type.name == "string" else {"type": "object", "enabled": False}
