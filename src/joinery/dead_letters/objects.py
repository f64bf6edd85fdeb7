"""Dead letters in a store: JSON lines, an object a batch and query; marks beside them.

Invariant: as of a folder. An object is named by its checkpoint and its batch, so a batch that
runs again replaces its own.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from joinery.dead_letters.dead_letter import Resolution, parse_resolution, resolution_line
from joinery.errors import SinkUnavailableError
from joinery.files import append_decided, join_synced
from joinery.place.object_path import ObjectPath
from joinery.place.store import Listed, ObjectStoreError

_MARKS, _LETTERS = ".marks.jsonl", "[!.]*.jsonl"
_MOST_LOOKED_AT = 1000  # objects


class DeadLetterObjects:
    """The dead letters of one query; several queries share the folder."""

    def __init__(self, folder: ObjectPath, query: str) -> None:
        self._folder, self._query = folder, query
        self.target = str(folder)

    def put(
        self, parts: Sequence[Path], *, query_id: str, batch_id: int, check: Callable[[], None]
    ) -> None:
        """Put the letters of one batch in place; without any, nothing is written."""
        filled = [each for each in parts if each.stat().st_size]
        if not filled:
            return
        file = self._folder / f"{self._query}-{query_id}-{batch_id:010d}.jsonl"
        with tempfile.TemporaryDirectory(prefix="joinery-letters-") as scratch:
            whole = join_synced(filled, Path(scratch, file.name))
            check()
            try:
                file.write_file(whole)
            except ObjectStoreError as error:
                raise SinkUnavailableError(
                    f"could not keep dead letters in {self.target}", detail=error.detail
                ) from error

    def close(self) -> None:
        """Nothing is held open."""


class DeadLetterObjectsReader:
    """All dead letters of a folder of an object store."""

    def __init__(self, folder: ObjectPath) -> None:
        self._folder = folder
        self.target = str(folder)

    @property
    def size(self) -> int:
        """The bytes of all letters; of more objects than are read for a look, more than any."""
        files = self._files()
        return sum(each.size for _, each in files) if len(files) <= _MOST_LOOKED_AT else sys.maxsize

    def lines(self) -> Iterator[bytes]:
        """Yield all letters, object by object."""
        for file, listed in self._files():
            content = _content(file, listed.tag)
            yield from (line + b"\n" for line in content.split(b"\n") if line.strip())

    def _files(self) -> list[tuple[ObjectPath, Listed]]:
        return sorted(
            (file, listed)
            for file, listed in self._folder.listed()
            if file.parent == self._folder and fnmatchcase(file.name, _LETTERS)
        )

    def marks(self) -> Iterator[Resolution]:
        """Yield the marks in the order in which they were made."""
        try:
            lines = (self._folder / _MARKS).read_bytes().splitlines()
        except FileNotFoundError:
            return
        yield from (parse_resolution(line) for line in lines if line.endswith(b"}"))

    def mark(self, marks: Sequence[Resolution]) -> None:
        """Append marks."""
        text = "\n".join(map(resolution_line, marks))
        added = text.encode()
        append_decided(
            self._folder / _MARKS, lambda before: None if before.rstrip().endswith(added) else text
        )


@lru_cache(maxsize=_MOST_LOOKED_AT)
def _content(file: ObjectPath, tag: str) -> bytes:
    """Return what an object holds; while it has `tag`, looking again asks for nothing."""
    return file.read_bytes()
