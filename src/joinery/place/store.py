"""What keeps files by their names that no disk of this machine has: an object store, or HDFS.

A name has parts between slashes. A folder is there at least as long as a file below it is.

Invariant: a file that `replace` has put is changed by one of those who saw the same, or the same
lack of it. If the answer to a put is lost, `ConflictError` may be raised although the put was made:
whoever meets it reads the file before deciding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from joinery.errors import RunError


class StorageError(RunError, OSError):
    """An object store or HDFS cannot be asked, or refuses."""

    code = "RUN_STORAGE"


class ConflictError(Exception):
    """A file is not what it was when it was read."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it was read.

    Attributes:
        tag: Changes with the file.
    """

    content: bytes
    tag: str


@dataclass(frozen=True, slots=True, order=True)
class Listed:
    """A file as a listing tells of it.

    Attributes:
        key: Its name.
        tag: Changes with the file.
    """

    key: str
    size: int
    tag: str


class Store(Protocol):
    """Files by their names. A `prefix` is empty, or ends with a slash.

    All raise `StorageError` where the store cannot be asked.
    """

    @property
    def can_rename(self) -> bool:
        """Whether a folder gets another name at once; else its files are copied."""

    def prepare(self) -> None:
        """Make what the first request needs."""

    def check_conditions(self, key: str) -> None:
        """See that `replace` keeps to its condition here; `key` is a name that nobody else has."""

    def read(self, key: str) -> Found:
        """Return a file.

        Raises:
            FileNotFoundError: There is none.
        """

    def modified_at(self, key: str) -> float | None:
        """Return when a file was put, in seconds since 1970; None where there is none."""

    def put(self, key: str, content: bytes) -> None:
        """Put a file whole in place of what is there, which `replace` has not put."""

    def put_file(self, key: str, file: Path) -> None:
        """Put what a file of this machine holds."""

    def fetch(self, key: str, file: Path) -> None:
        """Write a file to one of this machine.

        Raises:
            FileNotFoundError: There is none.
        """

    def create(self, key: str, content: bytes) -> None:
        """Put a file where none is.

        Raises:
            ConflictError: One is, or it was this very call that has put it.
        """

    def replace(self, key: str, content: bytes, seen: str | None) -> str:
        """Put a file if it is still as it was seen; return its tag.

        Args:
            key: Of a file that nothing else puts.
            content: What it is to hold.
            seen: Its tag; None where there was none.

        Raises:
            ConflictError: It is not, or it was this very call that has put it.
        """

    def copy(self, key: str, target: str, size: int) -> None:
        """Put a file with what another holds."""

    def make_folder(self, key: str) -> None:
        """Make a folder, where a file below it does not make it."""

    def rename(self, key: str, target: str) -> None:
        """Give a folder another name, that nothing has, where it can be renamed."""

    def delete(self, key: str) -> None:
        """Delete a file, if there is one."""

    def delete_all(self, keys: Iterable[str]) -> None:
        """Delete files, those that there are."""

    def delete_below(self, prefix: str) -> None:
        """Delete all files below a folder."""

    def any_below(self, prefix: str) -> bool:
        """Return whether a folder is there."""

    def files_below(self, prefix: str) -> Iterator[Listed]:
        """Yield what a listing tells of the files below a folder."""

    def children(self, prefix: str) -> Iterator[str]:
        """Yield the names of what is in a folder, once each."""

    def matching(self, prefix: str, pattern: Sequence[str]) -> Iterator[str]:
        """Yield the files below a folder whose names match a pattern, part for part."""
