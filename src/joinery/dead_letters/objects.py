"""Dead letters in an object store: JSON lines, an object a batch and query; marks beside them.

Invariant: as of a folder. An object is named by its checkpoint and its batch, so a batch that
runs again replaces its own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from joinery.dead_letters.dead_letter import Resolution, parse_resolution, resolution_line
from joinery.errors import SinkUnavailableError
from joinery.files import append_decided, join_synced
from joinery.place.object_path import ObjectPath
from joinery.place.place import matching
from joinery.place.s3 import ObjectStoreError

_MARKS = ".marks.jsonl"


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

    def lines(self) -> Iterator[bytes]:
        """Yield all letters, object by object."""
        for file in matching(self._folder, "[!.]*.jsonl"):
            yield from (line + b"\n" for line in file.read_bytes().split(b"\n") if line.strip())

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
