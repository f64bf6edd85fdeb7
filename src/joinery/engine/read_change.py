"""Reads the changes of a batch as the kernel writes them: see `ChangeLines` in `kernel/`.

Invariant: changes come in the order of their log.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

from joinery.engine.json_reader import Read, json_reader
from joinery.model.change import Change
from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct
from joinery.plan.nodes import Relation

_UPSERT, _TOMBSTONE = 0, 2
_PLACE = itemgetter(3, 4)
_TOGETHER = 1000
_FRACTIONS = ("float", "double")


def read_changes(lines: Iterable[bytes], relations: Sequence[Relation]) -> list[Change]:
    """Return the changes that `lines` tell, in log order.

    Args:
        lines: Of all parts, in any order.
        relations: In the order of the kernel's program.
    """
    readers = [_Reader(each) for each in relations]
    exact = any(_has_fractions(field.type) for each in relations for field in each.columns)
    decode = json.JSONDecoder(parse_float=str if exact else None).decode
    told: list[list[Any]] = []
    for some in _slices(lines):
        told += decode(f"[{b','.join(some).decode()}]")
    told.sort(key=_PLACE)
    return [readers[each[0]].change(*each) for each in told]


def _slices(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield so many lines at a time as are decoded together: faster than one by one."""
    rest = iter(lines)
    while some := list(islice(rest, _TOGETHER)):
        yield some


class _Reader:
    """Reads the changes of one relation."""

    def __init__(self, relation: Relation) -> None:
        self._name, self._key = relation.name, relation.key
        self._columns = [column.name for column in relation.columns]
        typed = ((column.name, json_reader(column.type)) for column in relation.columns)
        self._typed: list[tuple[str, Read]] = [(name, read) for name, read in typed if read]

    def change(
        self,
        relation: int,
        op: int,
        position: int | None,
        major: int,
        minor: int,
        absent: Sequence[int] | None,
        row: dict[str, Any],
    ) -> Change:
        """Return one change; the place of its relation in the program is known."""
        for name, read in self._typed:
            value = row[name]
            if value is not None:
                row[name] = read(value)
        key = {column: row[column] for column in self._key}
        for column in absent or ():
            row.pop(self._columns[column])
        after = row if op == _UPSERT else None
        return Change(self._name, key, after, position, op == _TOMBSTONE, (major, minor))


def _has_fractions(kind: DataType) -> bool:
    match kind:
        case Struct(fields):
            return any(_has_fractions(field.type) for field in fields)
        case Array(element):
            return _has_fractions(element)
        case Map(key, of):
            return _has_fractions(key) or _has_fractions(of)
        case Decimal():
            return True
        case Atomic():
            return str(kind) in _FRACTIONS
