"""What messages in JSON look like: the types of their columns, guessed from a sample.

A type is as wide as the sample needs: a whole number is a `long`, whatever its size.

Limits: a column that is null throughout, or of several kinds, is a `string`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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

Row = Mapping[str, Any]
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?")
_OWN = ("__deleted", "__position", "__op")
_UNAVAILABLE = "__debezium_unavailable_value"


def columns_of(rows: Sequence[Row]) -> Struct:
    """Return the columns of some rows, in the order in which they first come.

    Example:
        >>> str(columns_of([{"id": 1, "at": None}, {"id": 2, "at": "2026-01-02T03:04:05Z"}]))
        'struct<id: long, at: timestamp>'
    """
    names = dict.fromkeys(name for row in rows for name in row if name not in _OWN)
    return Struct(tuple(Field(name, _type_of(row.get(name) for row in rows)) for name in names))


def _type_of(values: Iterable[Any]) -> DataType:
    present = [each for each in values if each is not None and each != _UNAVAILABLE]
    if present and all(isinstance(each, Mapping) for each in present):
        return columns_of(present)
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
