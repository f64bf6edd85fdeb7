"""JSON for people: what fits a line stands on one, numbers keep the digits they were given."""

from __future__ import annotations

import json
from typing import Any

_WIDTH = 96


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


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
    return _pretty(json.loads(text, parse_float=_Number, parse_int=_Number), 0, width)


def _pretty(value: Any, indent: int, width: int, taken: int = 0) -> str:
    line = _line(value)
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


def _line(value: Any) -> str:
    match value:
        case _Number():
            return str(value)
        case dict():
            parts = (
                f"{json.dumps(name, ensure_ascii=False)}: {_line(each)}"
                for name, each in value.items()
            )
            return f"{{{', '.join(parts)}}}"
        case list():
            return f"[{', '.join(map(_line, value))}]"
        case _:
            return json.dumps(value, ensure_ascii=False)
