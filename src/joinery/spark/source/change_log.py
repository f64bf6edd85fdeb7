"""Changes in the files that a kernel has written, made again at each walk.

Of each change its place is in memory, some fifty bytes, and no more: a change as Python's own
values takes ten times as much as its line. The files may be removed meanwhile; what they held is
there until the changes are let go.
"""

from __future__ import annotations

import mmap
import shutil
import tempfile
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Self, overload

from joinery.model.change import Change
from joinery.plan.relation import Relation
from joinery.provenance.live_rows import Record
from joinery.semantics.read_change import change_reader
from joinery.spark.source.line_search import LineSearch

_HEAD = 5  # Relation, what it does, position, and the two parts of its place.
_NULL, _NONE = b"null", -(1 << 63)


class ChangeLog(Sequence[Change]):
    """Some changes of a text, in an order.

    Args:
        text: Of the kernel, a line per change.
        relations: In the order of the kernel's program.
    """

    def __init__(self, text: mmap.mmap | bytes, relations: Sequence[Relation]) -> None:
        self._text, self._relations = text, relations
        self._read = change_reader(relations)

    @classmethod
    def of(cls, files: Iterable[Path], relations: Sequence[Relation]) -> Self:
        """Return the changes of some files, in the order of their logs.

        Args:
            files: Of the kernel; a line per change.
            relations: In the order of the kernel's program.
        """
        return cls(_together(files), relations)

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Change]:
        return self._read(map(self._lines.line, self._order))

    @overload
    def __getitem__(self, at: int) -> Change: ...
    @overload
    def __getitem__(self, at: slice) -> Self: ...
    def __getitem__(self, at: int | slice) -> Change | Self:
        if isinstance(at, slice):
            return self._with(self._order[at])
        return next(self._read([self._lines.line(self._order[at])]))

    @cached_property
    def _lines(self) -> _Lines:
        return _Lines(self._text, [each.name for each in self._relations])

    @cached_property
    def _order(self) -> array[int]:
        return array("Q", self._lines.in_log_order())

    def search(self) -> LineSearch:
        """Return what finds changes by what they tell."""
        return LineSearch(self._text, self._relations, self._read)

    def among(self, found: Collection[int]) -> Self:
        """Return those that a search has found, in this order."""
        begin = self._lines.begin
        return self._with(array("Q", (each for each in self._order if begin[each] in found)))

    def records(self) -> Iterator[Record]:
        """Yield where each change stands, without what it says."""
        return map(self._lines.record, self._order)

    def of_relation(self, name: str) -> Self:
        """Return those of one relation."""
        return self._with(array("Q", (e for e in self._order if self._lines.relation(e) == name)))

    def reordered(self, order: Iterable[int]) -> Self:
        """Return those at some places, in that order."""
        return self._with(array("Q", (self._order[each] for each in order)))

    def _with(self, order: array[int]) -> Self:
        made = type(self)(self._text, self._relations)
        made._lines, made._order = self._lines, order
        return made


class _Lines:
    """The lines of a text, and what stands at the head of each.

    Args:
        text: A change a line.
        names: Of the relations, in the order of the kernel's program.

    Attributes:
        begin: Where each line begins, then where the text ends.
    """

    def __init__(self, text: mmap.mmap | bytes, names: Sequence[str]) -> None:
        self._text, self._names = text, names
        self.begin, self._relation = array("Q"), array("H")
        self._position, self._major, self._minor = array("q"), array("q"), array("q")
        at, end = 0, len(text)
        while at < end:
            self.begin.append(at)
            at = self._read(at) + 1
        self.begin.append(end)

    def _read(self, at: int) -> int:
        """Read the head of a line; return where the line ends."""
        end = self._text.find(b"\n", at)
        end = len(self._text) if end < 0 else end
        relation, _, position, major, minor, _ = self._text[at + 1 : end].split(b",", _HEAD)
        self._relation.append(int(relation))
        self._position.append(_NONE if position == _NULL else int(position))
        self._major.append(int(major))
        self._minor.append(int(minor))
        return end

    def in_log_order(self) -> list[int]:
        """Return the numbers of the lines by their places, of one place by their relations.

        Topics are decoded side by side, so the lines of different ones stand in any order.
        """
        places = list(zip(self._major, self._minor, self._relation, strict=True))
        return sorted(range(len(places)), key=places.__getitem__)

    def line(self, number: int) -> bytes:
        """Return a line."""
        return self._text[self.begin[number] : self.begin[number + 1]]

    def relation(self, number: int) -> str:
        """Return the relation of a line."""
        return self._names[self._relation[number]]

    def record(self, number: int) -> Record:
        """Return where the change of a line stands."""
        position = self._position[number]
        return Record(
            self.relation(number),
            (self._major[number], self._minor[number]),
            None if position == _NONE else position,
        )


def _together(files: Iterable[Path]) -> mmap.mmap | bytes:
    """Return what files hold, in a file that nobody else sees, which is read as it is asked for."""
    with tempfile.TemporaryFile(prefix="joinery-") as whole:
        for file in files:
            with file.open("rb") as part:
                shutil.copyfileobj(part, whole)
        whole.flush()
        return mmap.mmap(whole.fileno(), 0, access=mmap.ACCESS_READ) if whole.tell() else b""
