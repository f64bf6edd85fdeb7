"""A staged line of a product that settles: a document, and what it replaces at the sink.

Both are given as hashes, made by the part that decides whether a document has changed; the empty
text stands for no document. A line has both or neither: it has neither where
the sink may hold something that is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from joinery.sinks.line import StagedRow, parse_line

_VERSION = ',"version":'
_BEFORE, _AFTER, _END = ',"before":"', '","after":"', '"}'


class HeldRow(NamedTuple):
    """One emission as staged, and what it replaces.

    Attributes:
        row: The emission.
        before: The hash of the document that the sink holds until then; None where what it
            holds is not known.
        after: The hash of the emission's own.
    """

    row: StagedRow
    before: str | None = None
    after: str | None = None

    def line(self) -> str:
        r"""Return the line as the kernel stages it, with its end.

        Example:
            >>> HeldRow(StagedRow('{"id":1}', None, 7), "9f", "").line()
            '{"key":{"id":1},"value":null,"version":7,"before":"9f","after":""}\n'
        """
        return told_line(self.row.line(), self.before, self.after)


def told_line(line: str, before: str | None, after: str | None) -> str:
    """Return a staged line, with its end, that tells what it replaces."""
    if before is None or after is None:
        return line
    return f"{line[:-2]}{_BEFORE}{before}{_AFTER}{after}{_END}\n"


def parse_held(line: str) -> HeldRow:
    """Return the parts of a staged line, which may tell what it replaces.

    Example:
        >>> parse_held('{"key":{"id":1},"value":null,"version":7,"before":"9f","after":""}')
        HeldRow(row=StagedRow(key='{"id":1}', value=None, version=7), before='9f', after='')
    """
    # The version is behind all that a document can say, and what is told behind the version.
    at = line.rfind(_BEFORE)
    if at < 0 or line.rfind(_VERSION) > at:
        return HeldRow(parse_line(line))
    before, _, after = line[at + len(_BEFORE) :].rstrip("\n").removesuffix(_END).partition(_AFTER)
    return HeldRow(parse_line(line[:at] + "}"), before, after)


def read_held(files: Iterable[Path]) -> Iterator[HeldRow]:
    """Yield the rows of `files` in order."""
    for file in files:
        with file.open(encoding="utf-8", newline="\n") as lines:
            for line in lines:
                if not line.isspace():
                    yield parse_held(line)
