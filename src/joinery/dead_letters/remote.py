"""Dead letters in an object store or HDFS: JSON lines, a file per batch and query, and marks.

Invariant: as of a folder. A file is named by its checkpoint and its batch, so a batch that
runs again replaces its own.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path

from joinery.dead_letters.dead_letter import (
    Resolution,
    letter_line,
    parse_resolution,
    resolution_line,
)
from joinery.errors import SinkUnavailableError
from joinery.files import append_decided, join_synced
from joinery.place.remote_path import RemotePath
from joinery.place.store import Listed, StorageError

_MARKS, _LETTERS = ".marks.jsonl", "[!.]*.jsonl"
_MOST_LOOKED_AT = 1000  # files


class RemoteDeadLetters:
    """The dead letters of one query; several queries share the folder."""

    def __init__(self, folder: RemotePath, query: str) -> None:
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
            except StorageError as error:
                raise SinkUnavailableError(
                    f"could not keep dead letters in {self.target}", detail=error.detail
                ) from error

    def close(self) -> None:
        """Nothing is held open."""


class RemoteDeadLettersReader:
    """All dead letters of a folder in an object store or HDFS."""

    def __init__(self, folder: RemotePath) -> None:
        self._folder = folder
        self.target = str(folder)

    @property
    def size(self) -> int:
        """The bytes of all letters; of more files than are read for a look, more than any."""
        files = self._files()
        return sum(each.size for _, each in files) if len(files) <= _MOST_LOOKED_AT else sys.maxsize

    def lines(self) -> Iterator[bytes]:
        """Yield all letters, file by file."""
        for file, listed in self._files():
            content = _content(file, listed.tag)
            yield from (
                letter_line(line + b"\n", f"{file}:{number}")
                for number, line in enumerate(content.split(b"\n"), 1)
                if line.strip()
            )

    def _files(self) -> list[tuple[RemotePath, Listed]]:
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
        for number, line in enumerate(lines, 1):
            if line.endswith(b"}"):
                yield parse_resolution(line, f"{self._folder / _MARKS}:{number}")

    def mark(self, marks: Sequence[Resolution]) -> None:
        """Append marks."""
        text = "\n".join(map(resolution_line, marks))
        added = text.encode()
        append_decided(
            self._folder / _MARKS, lambda before: None if before.rstrip().endswith(added) else text
        )


@lru_cache(maxsize=_MOST_LOOKED_AT)
def _content(file: RemotePath, tag: str) -> bytes:
    """Return what a file holds; while it has `tag`, looking again asks for nothing."""
    return file.read_bytes()
