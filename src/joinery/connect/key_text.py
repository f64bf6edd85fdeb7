"""The text that stands for a root key where a target wants one: its value, or a JSON list."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal


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


def _json(value: object) -> str:
    if isinstance(value, Decimal):
        return str(value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
