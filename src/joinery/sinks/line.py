"""Staged lines as key text, document text and version, sliced without parsing JSON.

A line is what the kernel writes, `{"key":{…},"value":{…} | null,"version":n}`. The first
`},"value":` ends the key, whose columns are simple values, and the last `,"version":` ends
the document: within a JSON text neither can stand, since a quote there is escaped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

_HEAD, _MIDDLE, _TAIL = '{"key":{', '},"value":', ',"version":'
_KEY_AT = len(_HEAD) - 1
_MIDDLE_BYTES, _TAIL_BYTES = _MIDDLE.encode(), _TAIL.encode()
_MIDDLE_SIZE, _TAIL_SIZE = len(_MIDDLE_BYTES), len(_TAIL_BYTES)
_JSON = json.JSONDecoder(parse_float=Decimal)


class StagedRow(NamedTuple):
    """One emission as staged.

    Attributes:
        key: The root key as a JSON object, compact.
        value: The document as JSON text; None for a tombstone.
        version: Rises strictly for its key; of an outbox's event the source's position, -1
            without one.
    """

    key: str
    value: str | None
    version: int

    def line(self) -> str:
        r"""Return the line as the kernel stages it, with its end.

        Example:
            >>> StagedRow('{"id":1}', None, 7).line()
            '{"key":{"id":1},"value":null,"version":7}\n'
        """
        value = "null" if self.value is None else self.value
        return f'{{"key":{self.key},"value":{value},"version":{self.version}}}\n'

    def key_values(self) -> dict[str, object]:
        """Return the key's columns by name; decimals are exact.

        Example:
            >>> StagedRow('{"owner":"ann","number":1}', None, 7).key_values()
            {'owner': 'ann', 'number': 1}
        """
        values: dict[str, object] = _JSON.decode(self.key)
        return values

    @property
    def nulls_in_key(self) -> frozenset[str]:
        """The columns of the key that are null, as those of a group of nulls."""
        if "null" not in self.key:
            return frozenset()
        return frozenset(name for name, value in self.key_values().items() if value is None)


def parse_line(line: str) -> StagedRow:
    """Return the parts of a staged line.

    Example:
        >>> parse_line('{"key":{"id":1},"value":{"id":1,"name":"a"},"version":7}')
        StagedRow(key='{"id":1}', value='{"id":1,"name":"a"}', version=7)
    """
    key, middle, rest = line.partition(_MIDDLE)
    value, tail, version = rest.rpartition(_TAIL)
    number = version.rstrip("}\n")
    whole = number.removeprefix("-").isdecimal()
    if not (middle and tail and whole and key.startswith(_HEAD)):
        return _parse_spaced(line)
    return StagedRow(key[_KEY_AT:] + "}", None if value == "null" else value, int(number))


def _parse_spaced(line: str) -> StagedRow:
    """Return the parts of a line that another hand wrote, with spaces."""
    parts = json.loads(line)
    value = parts["value"]
    return StagedRow(_text(parts["key"]), None if value is None else _text(value), parts["version"])


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_rows(files: Iterable[Path]) -> Iterator[StagedRow]:
    """Yield the rows of `files` in order."""
    for file in files:
        with file.open(encoding="utf-8", newline="\n") as lines:
            for line in lines:
                if not line.isspace():
                    yield parse_line(line)


def read_parts(files: Iterable[Path]) -> Iterator[tuple[bytes, bytes | None, bytes]]:
    """Yield key, document and version of each row as the bytes that were staged.

    It is `read_rows` for sinks that look into none of them, at a third of its cost.
    """
    for file in files:
        with file.open("rb") as lines:
            for line in lines:
                middle, tail = line.find(_MIDDLE_BYTES), line.rfind(_TAIL_BYTES)
                version = line[tail + _TAIL_SIZE : -2]
                if middle > 0 and tail > middle and line.endswith(b"}\n") and version.isdigit():
                    value = line[middle + _MIDDLE_SIZE : tail]
                    key = line[_KEY_AT : middle + 1]
                    yield key, None if value == b"null" else value, version
                elif not line.isspace():
                    row = parse_line(line.decode())
                    told = None if row.value is None else row.value.encode()
                    yield row.key.encode(), told, str(row.version).encode()


def read_chunks(
    files: Iterable[Path], *, rows: int = 5_000, characters: int = 8 << 20
) -> Iterator[list[StagedRow]]:
    """Yield the rows of `files` in lists of bounded size, none empty.

    Args:
        files: Staged files.
        rows: The most rows of a chunk.
        characters: A chunk ends with the row that reaches as many characters of documents.
    """
    chunk: list[StagedRow] = []
    size = 0
    for row in read_rows(files):
        chunk.append(row)
        size += len(row.value or "")
        if len(chunk) >= rows or size >= characters:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
