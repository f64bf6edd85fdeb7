"""Root keys as JSON text: written from a table's columns, and brought to one form.

Two writers may write one number or one escape differently, so keys are compared by
`canonical_key`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

from joinery.model.type import Atomic, Struct
from joinery.model.type import Decimal as DecimalType


def key_object(key: Struct, values: Sequence[object]) -> str:
    """Return the JSON object of a root key from the values of its columns.

    Args:
        key: The key's columns and types.
        values: As a database gives them: numbers also as text, booleans also as 0 and 1.

    Example:
        >>> from joinery.model.type import Field
        >>> columns = (Field("owner", Atomic("string")), Field("number", Atomic("long")))
        >>> key_object(Struct(columns), ("ann", 7))
        '{"owner":"ann","number":7}'
    """
    parts = (
        f"{json.dumps(each.name, ensure_ascii=False)}:{_value_text(each.type, value)}"
        for each, value in zip(key.fields, values, strict=True)
    )
    return f"{{{','.join(parts)}}}"


def _value_text(type: object, value: object) -> str:
    if isinstance(type, DecimalType):
        return str(value)
    name = type.name if isinstance(type, Atomic) else ""
    if name == "boolean":
        return "true" if value else "false"
    if name in ("byte", "short", "int", "long", "float", "double"):
        return str(value)
    if isinstance(value, datetime):
        return f'"{_iso(value)}"'
    if isinstance(value, bytes):
        return f'"{base64.b64encode(value).decode()}"'
    return json.dumps(str(value), ensure_ascii=False)


def _iso(value: datetime) -> str:
    """Return a time as documents hold it: in UTC with a Z, where it has a zone."""
    if value.tzinfo is None:
        return value.isoformat()
    return f"{value.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"


def canonical_key(text: str) -> str:
    """Return a key's JSON text in the one form that equal keys share.

    Example:
        >>> canonical_key('{"id": 1.50}') == canonical_key('{"id":1.5}')
        True
    """
    values = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    return json.dumps(values, default=_number, separators=(",", ":"))


def _number(value: object) -> str:
    if not isinstance(value, Decimal):
        raise TypeError(f"a key holds {type(value).__name__}")
    return f"{value.normalize():f}"
