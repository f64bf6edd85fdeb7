"""The text that stands for a root key where a target wants one: its value, or a JSON list."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal

from joinery.connect.key import key_object
from joinery.model.type import Atomic, Struct
from joinery.model.type import Decimal as DecimalType

_NUMBERS = ("byte", "short", "int", "long", "float", "double", "boolean")


def key_text(key: Mapping[str, object]) -> str:
    """Return the one value of `key` as text, or the JSON text of the list of its values.

    Different keys of one relation have different texts, none of them empty: a text that is
    empty or begins with a quote is shown as JSON.

    Example:
        >>> key_text({"email": "ada@example.org"})
        'ada@example.org'
        >>> key_text({"owner": "ada", "number": 7})
        '["ada",7]'
    """
    if len(key) == 1:
        (value,) = key.values()
        plain = isinstance(value, str) and value and value[0] != '"'
        return str(value) if plain else _json(value)
    return f"[{','.join(_json(value) for value in key.values())}]"


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
        shown = number or text.startswith('"')
        values = [json.loads(text, parse_float=Decimal) if shown else text]
    else:
        values = json.loads(text, parse_float=Decimal)
    return key_object(key, values)


def _json(value: object) -> str:
    if isinstance(value, Decimal):
        return str(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
