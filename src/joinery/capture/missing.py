"""Change files that a spool should have and has not: removed by hand, or lost with a disk.

A file is named `<number>.<before>.jsonl`, where `before` is the number of its table's file before
it; the position says which the last of each table was, and `kept.json` up to which one they were
removed as no longer needed. So any other one that is gone is known; older files have their number
alone, and of those only the last is missed.

Invariant: a file that is written or removed meanwhile is not taken for one that is missing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from joinery.capture.keep import SpoolKeep
from joinery.capture.spool import SpoolFolder

_NAME = re.compile(r"(\d{16})(?:\.(\d{16}))?\.jsonl")

Missing = Mapping[str, Sequence[int]]
"""By table, the numbers of the change files that are missing, in order; only where any are."""


def missing_files(spool: SpoolFolder, tables: Collection[str]) -> Missing:
    """Return which change files of some tables are missing.

    Args:
        spool: The spool, which may be written meanwhile.
        tables: As schema.table.
    """
    found = _look(spool, tables)
    if found:
        # A folder that is listed while files come may tell of a later one and not of an earlier.
        again = _look(spool, found)
        both = {each: [n for n in again.get(each, ()) if n in found[each]] for each in found}
        found = {each: numbers for each, numbers in both.items() if numbers}
    return found


def _look(spool: SpoolFolder, tables: Collection[str]) -> Missing:
    position = spool.position  # asked for first: what it says was on the disk before it
    if position is None:
        return {}
    listed = {each: _numbered(spool.path / "files" / each) for each in tables}
    keep, found = SpoolKeep(spool), {}
    for table, there in listed.items():
        removed = keep.removed_of(table)
        told = {*there.values(), position.last.get(table, 0)} - {*there}
        if missing := sorted(each for each in told if each > removed):
            found[table] = missing
    return found


def _numbered(folder: Path) -> Mapping[int, int]:
    """Return, by the number of each file, that of the one before it; 0 where it tells none."""
    if not folder.is_dir():
        return {}
    names = (_NAME.fullmatch(each.name) for each in folder.iterdir())
    return {int(each[1]): int(each[2] or 0) for each in names if each is not None}


def missing_text(table: str, numbers: Sequence[int]) -> str:
    """Return which files of a table are missing, in words.

    Example:
        >>> missing_text("public.user", [5, 9])
        'change file 0000000000000005 of table public.user and 1 more'
    """
    more = f" and {len(numbers) - 1:,} more" if len(numbers) > 1 else ""
    return f"change file {numbers[0]:016d} of table {table}{more}"
