"""The newest documents of one product in a folder of files of JSON lines, whoever wrote them.

Limits: the place of each key's newest line is in memory, some 250 bytes per key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from joinery.errors import SinkError
from joinery.sinks.key import canonical_key
from joinery.sinks.line import parse_line
from joinery.sinks.reader import Held


class _Line(NamedTuple):
    """Where the newest line of a key is; `file` is None where that is a tombstone."""

    key: str
    version: int
    file: Path | None
    offset: int


class FilesReader:
    """Reads a folder, and again what has come since.

    Args:
        path: The folder.
    """

    def __init__(self, path: Path) -> None:
        self.target = f"files {path}"
        self._path = path
        self._newest: dict[str, _Line] = {}
        self._read: dict[Path, tuple[int, int]] = {}

    def keys(self) -> Iterator[str]:
        """Yield the root keys of all documents."""
        with self._told():
            self._look()
        yield from [each.key for each in self._newest.values() if each.file is not None]

    def read(self, keys: Sequence[str]) -> Mapping[str, Held]:
        """Return the documents of some root keys."""
        found: dict[str, Held] = {}
        with self._told():
            self._look()
            for key in keys:
                line = self._newest.get(canonical_key(key))
                if line is not None and line.file is not None:
                    with line.file.open("rb") as lines:
                        lines.seek(line.offset)
                        value = parse_line(lines.readline().decode()).value
                    if value is not None:
                        found[key] = Held(value, line.version)
        return found

    def close(self) -> None:
        """Nothing is held open."""

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell what the folder raises as errors of a sink; all is read again after one."""
        try:
            yield
        except (OSError, SinkError) as error:
            self._newest, self._read = {}, {}
            if isinstance(error, SinkError):
                raise
            raise SinkError(f"could not read {self._path}", detail=f"{error}.") from error

    def _look(self) -> None:
        """Read the files that came since the last look; all of them where one was altered."""
        standing = {each: _seen(each) for each in self._files()}
        if any(standing.get(each) != seen for each, seen in self._read.items()):
            self._newest, self._read = {}, {}
        for file, seen in standing.items():
            if file not in self._read:
                self._take(file)
                self._read[file] = seen

    def _files(self) -> list[Path]:
        """Return all files of lines, in the order of their names: a reader takes any for ours."""
        return sorted(each for each in self._path.glob("*.jsonl") if not each.name.startswith("."))

    def _take(self, file: Path) -> None:
        try:
            self._take_lines(file)
        except (ValueError, LookupError, TypeError) as error:
            raise SinkError(
                f"could not read {file}: it has a line that is not a document",
                hint="Move the file elsewhere if Joinery did not write it.",
            ) from error

    def _take_lines(self, file: Path) -> None:
        offset = 0
        with file.open("rb") as lines:
            for line in lines:
                if not line.isspace():
                    row = parse_line(line.decode())
                    key = canonical_key(row.key)
                    known = self._newest.get(key)
                    if known is None or row.version >= known.version:
                        stands = None if row.value is None else file
                        self._newest[key] = _Line(row.key, row.version, stands, offset)
                offset += len(line)


def _seen(file: Path) -> tuple[int, int]:
    told = file.stat()
    return told.st_size, told.st_mtime_ns
