"""Root keys as JSON text: written from a table's columns, and brought to one form.

Two writers may write one number or one escape differently, so keys are compared by
`canonical_key`.

The text that stands for a root key where a target wants one: its value, or a JSON list.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from joinery.errors import SinkError
from joinery.model.type import INT, Atomic, Field, Struct
from joinery.model.type import Decimal as DecimalType

_ONLY = Field("joinery_key", INT)


def stored_key(key: Struct) -> Struct:
    """Return the columns that a table has of a key: of an empty one a column that is always 0.

    Example:
        >>> [each.name for each in stored_key(Struct(())).fields]
        ['joinery_key']
    """
    return key if key.fields else Struct((_ONLY,))


def stored_values(key: Struct, told: Mapping[str, Any]) -> list[Any]:
    """Return the values of the columns that a table has of a key.

    Args:
        key: The key's columns and types.
        told: Its values by name.
    """
    return [told[each.name] for each in key.fields] or [0]


def free_name(name: str, taken: Collection[str]) -> str:
    """Return the name of a column that a sink adds to those of a key.

    Example:
        >>> free_name("version", ["id"]), free_name("version", ["id", "version"])
        ('version', 'joinery_version')
    """
    while name in taken:
        name = f"joinery_{name}"
    return name


def key_of_stored(key: Struct, values: Sequence[object]) -> str:
    """Return the JSON object of a root key from the values of the columns that a table has of it.

    Example:
        >>> key_of_stored(Struct(()), [0])
        '{}'
    """
    return key_object(key, values[: len(key.fields)])


def key_object(key: Struct, values: Sequence[object]) -> str:
    """Return the JSON object of a root key from the values of its columns.

    Args:
        key: The key's columns and types.
        values: As a database gives them: numbers also as text, booleans also as 0 and 1,
            objects also as JSON text, their fields in any order.

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
    if value is None:
        return "null"
    if isinstance(type, Struct):
        parts = json.loads(value, parse_float=Decimal) if isinstance(value, str) else value
        assert isinstance(parts, Mapping)
        return key_object(type, [parts[each.name] for each in type.fields])
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


_NULL = "null"
_NUMBERS = ("byte", "short", "int", "long", "float", "double", "boolean")


def key_text(key: Mapping[str, object]) -> str:
    """Return the one value of `key` as text, or the JSON text of the list of its values.

    Different keys of one relation have different texts, none of them empty: a text that is
    empty, begins with a quote or is that of a null is shown as JSON.

    Example:
        >>> key_text({"email": "ada@example.org"})
        'ada@example.org'
        >>> key_text({"owner": "ada", "number": 7})
        '["ada",7]'
        >>> key_text({"region": None}), key_text({"region": "null"})
        ('null', '"null"')
    """
    if len(key) == 1:
        (value,) = key.values()
        plain = isinstance(value, str) and value and value[0] != '"' and value != _NULL
        return str(value) if plain else key_json(value)
    return f"[{','.join(key_json(value) for value in key.values())}]"


def key_of_text(text: str, key: Struct) -> str:
    """Return the JSON object of the root key that a text stands for.

    Args:
        text: As `key_text` gives it.
        key: The key's columns and types.

    Raises:
        ValueError: No key of these columns has this text.

    Example:
        >>> from joinery.model.type import Field
        >>> columns = (Field("owner", Atomic("string")), Field("number", Atomic("long")))
        >>> key_of_text('["ada",7]', Struct(columns)), key_of_text("ada", Struct(columns[:1]))
        ('{"owner":"ada","number":7}', '{"owner":"ada"}')
    """
    if len(key.fields) == 1:
        type = key.fields[0].type
        number = isinstance(type, DecimalType) or (
            isinstance(type, Atomic) and type.name in _NUMBERS
        )
        shown = number or text.startswith('"') or text == _NULL
        values = [json.loads(text, parse_float=Decimal) if shown else text]
    else:
        values = json.loads(text, parse_float=Decimal)
    return key_object(key, values)


def listed_key(text: str, key: Struct, target: str) -> str:
    """Return the same of a text under which a target holds a document.

    Raises:
        SinkError: The text is none of these columns, as where the product's key changed.
    """
    try:
        return key_of_text(text, key)
    except (ValueError, TypeError) as error:
        raise SinkError(
            f"{target} holds documents under keys of other columns or types than the product's",
            detail="Did its key change? It is not known which of them are gone.",
            hint="Name another place for the product, or delete there what it sent before.",
        ) from error


def key_json(value: object) -> str:
    """Return the JSON text of one value of a key, its numbers with all their digits.

    Example:
        >>> key_json({"id": 7, "at": Decimal("1.50")})
        '{"id":7,"at":1.50}'
    """
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        parts = (f"{key_json(name)}:{key_json(each)}" for name, each in value.items())
        return f"{{{','.join(parts)}}}"
    return json.dumps(value, ensure_ascii=False, default=str)
