"""Staged lines as key, document text and version, without parsing the document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

_HEAD, _MIDDLE, _TAIL = '{"key":{', ',"value":', ',"version":'
_KEY = json.JSONDecoder(parse_float=Decimal)


class DocumentLine(NamedTuple):
    """One emission as staged; `document` is None for a tombstone."""

    key: dict[str, object]
    document: str | None
    version: int


def parse_line(line: str) -> DocumentLine:
    """Return the parts of a staged line.

    Example:
        >>> parse_line('{"key":{"id":1},"value":{"id":1,"name":"a"},"version":7}')
        DocumentLine(key={'id': 1}, document='{"id":1,"name":"a"}', version=7)
    """
    if line.startswith(_HEAD):
        key, end = _KEY.raw_decode(line, len(_HEAD) - 1)
        version_at = line.rfind(_TAIL)
        if line.startswith(_MIDDLE, end) and version_at > 0:
            document = line[end + len(_MIDDLE) : version_at]
            version = int(line[version_at + len(_TAIL) : line.rindex("}")])
            return DocumentLine(key, None if document == "null" else document, version)
    return _parse_spaced(line)


def _parse_spaced(line: str) -> DocumentLine:
    parts = _KEY.decode(line)
    value = parts["value"]
    text = None if value is None else json.dumps(value, ensure_ascii=False, default=str)
    return DocumentLine(parts["key"], text, parts["version"])


def read_lines(files: Iterable[Path]) -> Iterator[DocumentLine]:
    """Yield the lines of `files` in order."""
    for file in files:
        with file.open(encoding="utf-8", newline="\n") as lines:
            for line in lines:
                if line.strip():
                    yield parse_line(line)
