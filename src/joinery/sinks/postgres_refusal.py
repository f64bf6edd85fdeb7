"""Says why PostgreSQL refuses a document, and in which column where it does not say."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from joinery.clients.postgres import reason, sqlstate
from joinery.sinks.line import StagedRow

_ZERO = ("22P05", "22021")  # in a document, in a key


def why_refused(error: Exception, row: StagedRow, url: str) -> str:
    """Return why a document was refused, as its dead letter tells it."""
    said = reason(error, url)
    place = next(zero_places(row), None) if sqlstate(error) in _ZERO else None
    if place is None:
        return said
    return f'"{place}" holds the character U+0000, which PostgreSQL cannot store: {said}'


def zero_places(row: StagedRow) -> Iterator[str]:
    r"""Yield where a row holds the character U+0000: columns with what is nested in them.

    Example:
        >>> value = '{"id":1,"name":"ann","tags":[{"text":"a\\u0000"}]}'
        >>> list(zero_places(StagedRow('{"id":1}', value, 7)))
        ['tags[0].text']
    """
    yield from _places(json.loads(row.key), "")
    yield from _places(json.loads(row.value or "null"), "")


def _places(value: Any, path: str) -> Iterator[str]:
    match value:
        case str() if "\0" in value:
            yield path
        case dict():
            for name, each in value.items():
                inner = f"{path}.{name}" if path else name
                if "\0" in name:
                    yield inner.replace("\0", "\\u0000")
                yield from _places(each, inner)
        case list():
            for number, each in enumerate(value):
                yield from _places(each, f"{path}[{number}]")
        case _:
            pass
