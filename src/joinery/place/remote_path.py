"""A name in an object store or HDFS, with as much of `pathlib.Path` as a checkpoint's files need.

A folder is there as long as a name below it is, so none is made.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Self

from joinery.place.hdfs import HdfsOptions
from joinery.place.s3 import S3Options
from joinery.place.store import ConflictError, Found, Listed, StorageError, Store

_MOST_LOOKS = 20
_PAUSE_S, _LONGEST_PAUSE_S = 0.01, 0.5


@dataclass(frozen=True, slots=True, order=True)
class RemotePath:
    """A file or folder.

    Attributes:
        bucket: The bucket, or what stands for it: the name node, or the name of several.
        key: Without slashes at its ends; empty for all of the bucket.
        options: How the store is reached.
    """

    bucket: str
    key: str
    options: S3Options | HdfsOptions = field(default=S3Options(), compare=False, repr=False)

    @classmethod
    def of(cls, address: str, options: S3Options | HdfsOptions) -> Self:
        """Return what an address names.

        Example:
            >>> str(RemotePath.of("s3a://bucket/folder/", S3Options()) / "file.json")
            's3a://bucket/folder/file.json'
        """
        bucket, _, key = address.removeprefix(f"{options.scheme}://").partition("/")
        return cls(bucket, key.strip("/"), options)

    def __str__(self) -> str:
        return f"{self.options.scheme}://{self.bucket}/{self.key}".rstrip("/")

    def __truediv__(self, name: str) -> Self:
        return self._named(f"{self.key}/{name}".lstrip("/"))

    @property
    def name(self) -> str:
        """The last part of its name."""
        return self._pure.name

    @property
    def stem(self) -> str:
        """Its name without the suffix."""
        return self._pure.stem

    @property
    def suffix(self) -> str:
        """What its name ends with, from the last dot."""
        return self._pure.suffix

    @property
    def parent(self) -> Self:
        """The folder that it is in."""
        return self._named("" if "/" not in self.key else str(self._pure.parent))

    def with_name(self, name: str) -> Self:
        """Return another file of the same folder."""
        return self._named(str(self._pure.with_name(name)))

    def with_suffix(self, suffix: str) -> Self:
        """Return the file whose name ends otherwise."""
        return self._named(str(self._pure.with_suffix(suffix)))

    def absolute(self) -> Self:
        """Return the same."""
        return self

    def resolve(self) -> Self:
        """Return the same."""
        return self

    def mkdir(self, *, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a folder needs no making."""

    def read_bytes(self) -> bytes:
        """Return what a file holds.

        Raises:
            FileNotFoundError: There is none.
            StorageError: The store cannot be asked.
        """
        return self._store.read(self.key).content

    def read_text(self, encoding: str = "utf-8") -> str:
        """Return what a file holds, as text."""
        return self.read_bytes().decode(encoding)

    def is_file(self) -> bool:
        """Return whether it is a file."""
        return self._store.modified_at(self.key) is not None

    def is_dir(self) -> bool:
        """Return whether something is in it."""
        return self._store.any_below(self._below)

    def within(self, answer_s: float, tries: int) -> Self:
        """Return the same, of which the store is asked with other patience."""
        return replace(self, options=replace(self.options, answer_s=answer_s, tries=tries))

    def exists(self) -> bool:
        """Return whether it is a file or a folder."""
        return self.is_file() or self.is_dir()

    def iterdir(self) -> Iterator[Self]:
        """Yield what is in a folder, each once."""
        return (self / name for name in self._store.children(self._below))

    def glob(self, pattern: str) -> Iterator[Self]:
        """Yield the files below a folder whose names match, part for part."""
        return map(self._named, self._store.matching(self._below, pattern.split("/")))

    def listed(self) -> Iterator[tuple[Self, Listed]]:
        """Yield the files below a folder, with what the store's listing tells of each."""
        return ((self._named(each.key), each) for each in self._store.files_below(self._below))

    def unlink(self, *, missing_ok: bool = False) -> None:
        """Delete a file; one that is not there is as good as deleted."""
        self._store.delete(self.key)

    def write(self, content: bytes) -> None:
        """Put a file whole in place of what is there."""
        self._store.put(self.key, content)

    def fetch(self, file: Path) -> None:
        """Write what it holds to a file of this machine."""
        self._store.fetch(self.key, file)

    def write_file(self, file: Path) -> None:
        """Put a file with what one of this machine holds."""
        self._store.put_file(self.key, file)

    def update(
        self, change: Callable[[bytes | None], bytes | None], known: Found | None = None
    ) -> Found | None:
        """Replace what a file holds; nobody else has written between the look and that.

        Args:
            change: Given what stands there, None where nothing does; returns what is to stand
                there, None to leave it. Called again after each write of others, and perhaps
                after its own: then with what it returned.
            known: What stood there at an earlier look, which then takes the place of the first.

        Returns:
            What stands there.

        Raises:
            StorageError: The store cannot be asked, or says each time that somebody has.
        """
        for attempt in range(_MOST_LOOKS):
            seen = known or self._found()
            after = change(seen.content if seen else None)
            if after is not None and (seen is None or after != seen.content):
                try:
                    tag = self._store.replace(self.key, after, seen.tag if seen else None)
                except ConflictError:
                    time.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, _PAUSE_S * 2**attempt)))
                else:
                    return Found(after, tag)
            elif known is None:
                return seen
            known = None  # what is left as it is, or was another, has to be looked at
        raise StorageError(
            f"could not write {self}",
            detail=f"It changed between reading and writing, {_MOST_LOOKS} times in a row.",
            hint="Check whether anything between here and the store alters ETags.",
        )

    def _found(self) -> Found | None:
        try:
            return self._store.read(self.key)
        except FileNotFoundError:
            return None

    def create(self, content: bytes) -> None:
        """Put a file that is not there yet.

        Raises:
            FileExistsError: It is there, with other content.
        """
        try:
            self._store.create(self.key, content)
        except ConflictError as error:
            if self.read_bytes() != content:  # else it may be this very call that has put it
                raise FileExistsError(str(self)) from error

    def check_conditions(self) -> None:
        """See that the store lets one change a file of those who saw the same.

        Needs a name that nobody else has.

        Raises:
            StorageError: It does not: of two who write at once, both would be told they did.
        """
        self._store.check_conditions(self.key)

    def prepare(self) -> None:
        """Make what the first request needs, which may take a second."""
        self._store.prepare()

    def remove(self) -> None:
        """Delete all files below a folder."""
        self._store.delete_below(self._below)

    def remove_files(self, files: Sequence[Self]) -> None:
        """Delete some files of the same bucket."""
        self._store.delete_all([each.key for each in files])

    def sizes(self) -> dict[str, int]:
        """Return the sizes of all files below a folder, by their names from there on."""
        below = len(self._below)
        return {each.key[below:]: each.size for each in self._store.files_below(self._below)}

    def copy(self, target: Self, size: int) -> None:
        """Copy a file to another of the same bucket, in place of what is there.

        Args:
            target: Where it goes.
            size: How large it is; a large one is copied in parts.
        """
        self._store.copy(self.key, target.key, size)

    @property
    def can_rename(self) -> bool:
        """Whether a folder gets another name at once; else its files are copied."""
        return self._store.can_rename

    def make_folder(self) -> None:
        """Make a folder, where a file below it does not make it."""
        self._store.make_folder(self.key)

    def rename(self, target: Self) -> None:
        """Give a folder another name, where it can be renamed."""
        self._store.rename(self.key, target.key)

    def copy_to(self, folder: Path, left_out: Sequence[str]) -> None:
        """Copy all files below into a folder of this machine.

        Args:
            folder: Where they go.
            left_out: Patterns of the names of files and folders that are not copied.
        """
        for listed in self._store.files_below(self._below):
            name = listed.key.removeprefix(self._below)
            parts = name.split("/")
            left = any(fnmatchcase(part, each) for part in parts for each in left_out)
            if parts[-1] and not left:  # others only mark a folder
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(self._named(listed.key).read_bytes())

    @property
    def _below(self) -> str:
        return f"{self.key}/" if self.key else ""

    @property
    def _pure(self) -> PurePosixPath:
        return PurePosixPath(self.key)

    @property
    def _store(self) -> Store:
        return self.options.store(self.bucket)

    def _named(self, key: str) -> Self:
        return replace(self, key=key)
