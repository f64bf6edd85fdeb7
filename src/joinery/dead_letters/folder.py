"""Dead letters in a folder: JSON lines, one file per batch and query; marks beside them.

Invariant: a record that a query could not use stands there once, also after a replay of its
batch; nothing that stands there is ever removed, only marked.

Dead letters whose place is waited for, as sinks are: the stream stands still meanwhile.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from joinery.dead_letters.dead_letter import (
    Resolution,
    letter_line,
    parse_resolution,
    resolution_line,
)
from joinery.errors import SinkUnavailableError
from joinery.model.progress import Waiting
from joinery.retry import Retry
from joinery.sinks.batch_folder import BatchFolder

_MARKS = ".marks.jsonl"


class DeadLetterWriter(Protocol):
    """Where one query keeps what it could not use."""

    @property
    def target(self) -> str:
        """Where that is, for messages."""

    def put(
        self, parts: Sequence[Path], *, query_id: str, batch_id: int, check: Callable[[], None]
    ) -> None:
        """Keep the letters of one batch; what stands in `parts` is durable when it returns.

        Args:
            parts: Files of JSON lines.
            query_id: The identity of the checkpoint.
            batch_id: Repeats when the batch runs again, with the same letters.
            check: Raises once another run has taken over; called before they become visible.

        Raises:
            SinkUnavailableError: They cannot be kept now.
            SinkError: They cannot be kept at all.
        """

    def close(self) -> None:
        """Release connections."""


class DeadLetterReader(Protocol):
    """All dead letters of a project, and what was done about them."""

    @property
    def target(self) -> str:
        """Where they are, for messages."""

    def lines(self) -> Iterator[bytes]:
        """Yield all letters as they were written; some may stand there twice."""

    def marks(self) -> Iterator[Resolution]:
        """Yield what was done about them, in any order."""

    def mark(self, marks: Sequence[Resolution]) -> None:
        """Keep what was done; durable when it returns."""


class DeadLetterFolder:
    """The dead letters of one query; several queries share the folder."""

    def __init__(self, path: Path, query: str) -> None:
        self._folder = BatchFolder(path, prefix=f"{query}-")
        self.target = str(path)

    @property
    def path(self) -> Path:
        """Where the letters stand."""
        return self._folder.path

    def put(
        self, parts: Sequence[Path], *, query_id: str, batch_id: int, check: Callable[[], None]
    ) -> None:
        """Put the letters of one batch in place; without any, nothing is written."""
        try:
            self._folder.put(parts, query_id=query_id, batch_id=batch_id, check=check)
        except OSError as error:
            raise SinkUnavailableError(
                f"could not keep dead letters in {self.target}",
                detail=f"{error}.",
                hint="Free disk space, or make the folder writable.",
            ) from error

    def close(self) -> None:
        """Nothing is held open."""


class DeadLetterFolderReader:
    """All dead letters in a folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.target = str(path)

    @property
    def size(self) -> int:
        """The bytes of all letters."""
        return sum(each.stat().st_size for each in self._files())

    def _files(self) -> list[Path]:
        return sorted(self._path.glob("[!.]*.jsonl"))

    def lines(self) -> Iterator[bytes]:
        """Yield all letters, file by file."""
        for file in self._files():
            with file.open("rb") as lines:
                yield from (
                    letter_line(line, f"{file}:{number}")
                    for number, line in enumerate(lines, 1)
                    if line.strip()
                )

    def marks(self) -> Iterator[Resolution]:
        """Yield the marks in the order in which they were made."""
        try:
            lines = (self._path / _MARKS).read_bytes().splitlines()
        except FileNotFoundError:
            return
        for number, line in enumerate(lines, 1):
            if line.endswith(b"}"):
                yield parse_resolution(line, f"{self._path / _MARKS}:{number}")

    def mark(self, marks: Sequence[Resolution]) -> None:
        """Append marks; one that a crash cut off is as if it had not been made."""
        text = "".join(f"{resolution_line(each)}\n" for each in marks)
        with (self._path / _MARKS).open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.write(f"\n{text}".encode())
            file.flush()
            os.fsync(file.fileno())


class PatientDeadLetters:
    """Keeps letters in `writer`, and waits as long as its place is not there.

    Args:
        writer: Where they go.
        ended: True once the run is to end; a wait ends then.
        tell: Called with what is waited for, and None once that is over.
    """

    def __init__(
        self,
        writer: DeadLetterWriter,
        *,
        ended: Callable[[], bool],
        tell: Callable[[Waiting | None], None],
    ) -> None:
        self.target = writer.target
        self._writer = writer
        self._retry = Retry(
            "sink",
            {"product": "dead letters"},
            lambda: writer.target,
            outage=SinkUnavailableError,
            ended=ended,
            tell=tell,
        )

    def put(
        self, parts: Sequence[Path], *, query_id: str, batch_id: int, check: Callable[[], None]
    ) -> None:
        """Keep the letters of one batch, however long that takes."""

        def attempt() -> None:
            check()
            try:
                self._writer.put(parts, query_id=query_id, batch_id=batch_id, check=check)
            except SinkUnavailableError:
                self._writer.close()
                raise

        self._retry.until_done(attempt, f"could not write to {self.target}")

    def close(self) -> None:
        """Release connections."""
        self._writer.close()
