"""Finds changes in the lines that the kernel has written by what they tell of a column.

A value has one text in them, so it is looked for as bytes, which takes a second for some hundred
megabytes, where reading each line takes a minute.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from joinery.model.change import Change
from joinery.model.type import STRING
from joinery.plan.relation import Relation
from joinery.semantics.render import document_json
from joinery.semantics.rows import JoinValue

_PART = 16 << 20
"""Bytes of the text that are searched at a time: a copy of these is searched faster."""
_FEW = 8
"""The most values that are looked for one by one."""
_VALUE = rb'("(?:[^"\\]|\\.)*"|[^,}\]]+)'
_ENDS = (b",", b"}")


class LineSearch:
    """Searches a text; a change is known by the place where its line begins.

    Args:
        text: A change a line, as `ChangeLines` in `kernel/` writes them.
        relations: In the order of the kernel's program.
        read: Makes changes of lines.
    """

    def __init__(
        self,
        text: mmap.mmap | bytes,
        relations: Sequence[Relation],
        read: Callable[[Iterable[bytes]], Iterator[Change]],
    ) -> None:
        self._text, self._read = text, read
        self._heads = {each.name: b"[%d," % at for at, each in enumerate(relations)}
        self._made: dict[int, Change] = {}

    def holding(
        self, relation: Relation, columns: Sequence[str], values: Collection[JoinValue]
    ) -> set[int]:
        """Return the changes that tell some value of each of some columns."""
        told = zip(columns, zip(*values, strict=True), strict=True)
        return set.intersection(*(self._telling(relation, name, {*each}) for name, each in told))

    def _telling(self, relation: Relation, column: str, values: Collection[Any]) -> set[int]:
        type_ = relation.type_of(column)
        name = document_json(column, STRING) + ":"
        # What is no UTF-8, such as a mistyped key, is in no line.
        texts = {document_json(each, type_).encode(errors="surrogatepass") for each in values}
        find = _each_of if len(texts) <= _FEW else _among
        head, found = self._heads[relation.name], set[int]()
        for begin, part in self._parts():
            for at in find(part, name.encode(), texts):
                line = part.rfind(b"\n", 0, at) + 1
                if part.startswith(head, line):
                    found.add(begin + line)
        return found

    def changes(self, numbers: Collection[int]) -> Mapping[int, Change]:
        """Return changes that were found."""
        new = [each for each in numbers if each not in self._made]
        lines = (self._text[each : self._text.find(b"\n", each)] for each in new)
        self._made.update(zip(new, self._read(lines), strict=True))
        return {each: self._made[each] for each in numbers}

    def _parts(self) -> Iterator[tuple[int, bytes]]:
        """Yield the text in parts of whole lines, each with where it begins."""
        begin, size = 0, len(self._text)
        while begin < size:
            end = self._text.find(b"\n", min(begin + _PART, size - 1)) + 1
            yield begin, self._text[begin:end]
            begin = end


def _each_of(part: bytes, name: bytes, texts: Collection[bytes]) -> Iterator[int]:
    for text in texts:
        token = name + text
        at = part.find(token)
        while at >= 0:
            after = at + len(token)
            if part[after : after + 1] in _ENDS:
                yield at
            at = part.find(token, after)


def _among(part: bytes, name: bytes, texts: Collection[bytes]) -> Iterator[int]:
    for each in re.finditer(re.escape(name) + _VALUE, part):
        if each[1] in texts:
            yield each.start()
