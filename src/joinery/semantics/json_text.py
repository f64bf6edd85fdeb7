"""JSON that is read and told again with the digits that its numbers were written with."""

from __future__ import annotations

import json
from typing import Any

_WIDTH = 96


class WrittenNumber(str):
    """A number as it was written."""

    __slots__ = ()


def read_json(text: str) -> Any:
    """Return the value of a JSON text, its numbers as they were written."""
    return json.loads(text, parse_float=WrittenNumber, parse_int=WrittenNumber)


def json_line(value: Any) -> str:
    """Return a value as JSON text on one line.

    Example:
        >>> json_line(read_json('{"price":1.50,"tags":["a"]}'))
        '{"price": 1.50, "tags": ["a"]}'
    """
    match value:
        case WrittenNumber():
            return str(value)
        case dict():
            parts = (
                f"{json.dumps(name, ensure_ascii=False)}: {json_line(each)}"
                for name, each in value.items()
            )
            return f"{{{', '.join(parts)}}}"
        case list():
            return f"[{', '.join(map(json_line, value))}]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def pretty_json(text: str, width: int = _WIDTH) -> str:
    """Return JSON with objects and lists broken where they do not fit a line.

    Example:
        >>> print(pretty_json('{"id":1,"orders":[{"amount":1.50},{"amount":2.00}]}', 30))
        {
          "id": 1,
          "orders": [
            {"amount": 1.50},
            {"amount": 2.00}
          ]
        }
    """
    return _pretty(read_json(text), 0, width)


def _pretty(value: Any, indent: int, width: int, taken: int = 0) -> str:
    line = json_line(value)
    if not value or indent + taken + len(line) <= width or not isinstance(value, dict | list):
        return line
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        heads = (
            (f"{json.dumps(name, ensure_ascii=False)}: ", each) for name, each in value.items()
        )
        parts = [f"{head}{_pretty(each, indent + 2, width, len(head))}" for head, each in heads]
        opened, closed = "{", "}"
    else:
        parts = [_pretty(each, indent + 2, width) for each in value]
        opened, closed = "[", "]"
    body = ",\n".join(f"{inner}{each}" for each in parts)
    return f"{opened}\n{body}\n{' ' * indent}{closed}"
