"""The rows of a table in chunks: how far that is, and how many rows make the next one.

A chunk is what stands, at the moment it is read, between the last key of the one before and a key
some thousand rows on. How many rows make a chunk follows from how wide those were that were read;
before any was, from the server's statistics, where it has some.

Invariant: what is noted as read is in files on the disk, so a reading that is broken off goes on
with the next chunk. That rows change between two chunks does no harm: all of them have a place in
the log from before the first, and whatever a chunk does not see is newer.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Self

from joinery.files import sync_folder, write_whole

_FORMAT = 1
_PROGRESS = "progress.json"
_LISTS = ("key", "types", "last")
_CHUNK_BYTES = 8 << 20
_CHUNK_ROWS = (100, 50_000)
_UNKNOWN_ROWS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunks:
    """How far a table has been read.

    Attributes:
        place: In the log, from before the reading: that of its rows.
        transaction: One that began after the place; all before it have to end first.
        first: The number of the first change file that may have what the reading does not see.
        oid: The table's, as the reading began; 0 where that is not told.
        key: The columns of the primary key; none before the first chunk.
        types: Their types, and by which collation each is ordered.
        last: Their values in the last row read, as texts.
        chunks: How many were read.
        rows: In these.
        bytes: In these.
        over: The last row is among them.
    """

    place: int
    transaction: int
    first: int
    oid: int = 0
    key: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    last: tuple[str, ...] = ()
    chunks: int = 0
    rows: int = 0
    bytes: int = 0
    over: bool = False

    @classmethod
    def noted(cls, folder: Path) -> Self | None:
        """Return what is noted in the folder of a table's rows; None where nothing is."""
        try:
            told = json.loads((folder / _PROGRESS).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        if told.pop("format", None) != _FORMAT:
            return None  # of another version: it is read from the start
        return cls(**{**told, **{each: tuple(told.get(each, ())) for each in _LISTS}})

    def note(self, folder: Path) -> None:
        """Note it, on the disk."""
        told = {"format": _FORMAT, **asdict(self)}
        write_whole(folder / _PROGRESS, json.dumps(told), synced=True)
        sync_folder(folder)


def begin_anew(done: Chunks, folder: Path) -> Chunks:
    """Have a reading start over: its chunks are removed, and it is noted as it began."""
    begun = Chunks(place=done.place, transaction=done.transaction, first=done.first)
    begun = replace(begun, oid=done.oid)
    begun.note(folder)
    for each in folder.glob("*.jsonl"):
        each.unlink()
    return begun


def rows_of_chunk(done: Chunks, row_bytes: float) -> int:
    """Return how many rows the next chunk should have.

    Args:
        done: What was read before, by whose width it goes.
        row_bytes: How wide rows are by the server's statistics; 0 where it has none.
    """
    guessed = row_bytes or _CHUNK_BYTES / _UNKNOWN_ROWS
    wide = done.bytes / done.rows if done.rows and done.bytes else guessed
    least, most = _CHUNK_ROWS
    return min(most, max(least, int(_CHUNK_BYTES / wide)))


def write_chunk(parts: Iterable[bytes | bytearray | memoryview], target: Path) -> tuple[int, int]:
    """Write whole lines into a file on the disk, unless there are none.

    Returns:
        How many lines, and how many bytes.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part, lines, size = target.with_name(f".{target.name}.part"), 0, 0
    with part.open("wb") as file:
        for each in parts:
            lines += bytes(each).count(b"\n")
            size += file.write(each)
        file.flush()
        os.fsync(file.fileno())
    if lines:
        part.replace(target)
    else:
        part.unlink()
    return lines, size
