"""JSON that is read and told again with the digits that its numbers were written with."""

from __future__ import annotations

import json
from typing import Any


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
