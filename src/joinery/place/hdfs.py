"""Files in HDFS by WebHDFS, its REST interface: read, list, put whole, put on a condition.

So `status` and `pause` need no JVM. What the project says to Hadoop, `spark.hadoop.dfs.…` under
`run.spark`, or else the files of `HADOOP_CONF_DIR`, tells where the name nodes answer.

A file is put under a name of its own beside its place, then renamed: it is whole or not there. HDFS
has no put on a condition. But of those who give one folder different names, one does, since then
it is not there for the others. So what `replace` puts is a folder with what it holds, and beside
that an empty folder named after it, which `replace` renames:

    profile.lease/~5f2c…   says that the content is 5f2c…; to replace it is to rename it
    profile.lease/5f2c…    the content

Limits: no Kerberos, no TLS. A writer that is killed in between leaves a small file, which nobody
reads.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, NamedTuple, Self

from joinery.place.hadoop_settings import hadoop_user, name_nodes
from joinery.place.store import ConflictError, Found, Listed, StorageError

if TYPE_CHECKING:
    from joinery.place.web_hdfs import WebHdfs

_ANSWER_S, _TRIES = 10.0, 5
_ASIDE = ".joinery-"
_CURRENT = "~"
_LOOKS = 20  # for a content that others replace meanwhile


@dataclass(frozen=True, slots=True)
class HdfsOptions:
    """How HDFS is reached.

    Attributes:
        name_nodes: Where they answer HTTP, such as `name:9870`; one of them is active.
        user: Whom requests are made for; empty where nobody can tell.
        answer_s: How long an answer is waited for.
        tries: How often a request is made that fails or is refused.
    """

    scheme: ClassVar = "hdfs"

    name_nodes: tuple[str, ...]
    user: str = ""
    answer_s: float = _ANSWER_S
    tries: int = _TRIES

    @classmethod
    def of(cls, authority: str, settings: Mapping[str, object]) -> Self:
        """Return what Spark's settings, else Hadoop's own files, say of a file system.

        Args:
            authority: Of its address: the name node, or the name of several.
            settings: Of Spark.

        """
        return cls(name_nodes(authority, settings), hadoop_user())

    @property
    def server(self) -> str:
        """Empty: the address of a file names it."""
        return ""

    def store(self, name: str) -> Hdfs:
        """Return the file system."""
        return Hdfs(name, self)


class _Status(NamedTuple):
    """What a listing tells of one entry."""

    name: str
    folder: bool
    size: int
    modified_at: float
    tag: str

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        tag = f"{told['fileId']}-{told['modificationTime']}"
        folder = told["type"] == "DIRECTORY"
        modified_at = told["modificationTime"] / 1000
        return cls(told["pathSuffix"], folder, told["length"], modified_at, tag)


@dataclass(frozen=True, slots=True)
class Hdfs:
    """One file system.

    Attributes:
        name: As its address names it.
    """

    name: str
    options: HdfsOptions
    can_rename: ClassVar = True

    @property
    def _web(self) -> WebHdfs:
        from joinery.place.web_hdfs import WebHdfs  # brings the HTTP client along

        told = self.options
        return WebHdfs(self.name, told.name_nodes, told.user, told.answer_s, told.tries)

    def prepare(self) -> None:
        """Need nothing."""

    def check_conditions(self, key: str) -> None:
        """See that a file can be put; to rename what is gone is refused by HDFS itself."""
        self._create(key, b"", of=key, parents=True)
        self.delete(key)

    def read(self, key: str) -> Found:
        """Return a file.

        Raises:
            FileNotFoundError: There is none.
            StorageError: HDFS cannot be asked.
        """
        for _ in range(_LOOKS):
            with suppress(FileNotFoundError):
                return Found(self._opened(key), "")
            current = self._current(key)
            with suppress(FileNotFoundError):  # else it was replaced meanwhile
                return Found(self._opened(f"{key}/{current}"), current)
        raise self._web.failed("read", key, f"it was replaced each of {_LOOKS} times")

    def _current(self, key: str) -> str:
        """Return which content a file has that `replace` has put."""
        for each in self._list(key):
            if each.name.startswith(_CURRENT):
                return each.name.removeprefix(_CURRENT)
        raise FileNotFoundError(self._web.address(key))

    def modified_at(self, key: str) -> float | None:
        """Return when a file was put, in seconds since 1970; None where there is none."""
        try:
            status = self._status(key)
            if status.folder:
                self._current(key)
        except FileNotFoundError:
            return None
        return status.modified_at

    def put(self, key: str, content: bytes) -> None:
        """Put a file whole in place of what is there, which `replace` has not put."""
        aside = self._aside(key)
        self._create(aside, content, of=key, parents=True)
        self._move(aside, key, "OVERWRITE")

    def put_file(self, key: str, file: Path) -> None:
        """Put what a file of this machine holds."""
        aside = self._aside(key)
        with file.open("rb") as content:
            self._create(aside, content, of=key, parents=True)
        self._move(aside, key, "OVERWRITE")

    def fetch(self, key: str, file: Path) -> None:
        """Write a file to one of this machine.

        Raises:
            FileNotFoundError: There is none.
            StorageError: HDFS cannot be asked.
        """
        with file.open("wb") as into:
            self._web.ask("GET", "OPEN", key, into=into)

    def create(self, key: str, content: bytes) -> None:
        """Put a file where none is.

        Raises:
            ConflictError: One is, or it was this very call that has put it.
        """
        aside = self._aside(key)
        self._create(aside, content, of=key, parents=True)
        self._move_to_new(aside, key)

    def replace(self, key: str, content: bytes, seen: str | None) -> str:
        """Put a file if it is still as it was seen; return its tag.

        Raises:
            ConflictError: It is not, or it was this very call that has put it.
        """
        fresh = uuid.uuid4().hex
        if seen is None:
            aside = self._aside(key)
            self._create(f"{aside}/{fresh}", content, of=key, parents=True)
            self._web.ask("PUT", "MKDIRS", f"{aside}/{_CURRENT}{fresh}", of=key)
            self._move_to_new(aside, key)
            return fresh
        aside = f"{key}/{_ASIDE}{fresh}"
        try:
            # Never its folder, too: once that is gone another may stand there. Nor under its name
            # at once: a request that comes late would empty what counts by then.
            self._create(aside, content, of=key, parents=False)
            self._move(aside, f"{key}/{fresh}")
            self._move(f"{key}/{_CURRENT}{seen}", f"{key}/{_CURRENT}{fresh}")
        except FileNotFoundError as error:
            self._discard(aside)
            self._discard(f"{key}/{fresh}")
            raise ConflictError(key) from error
        self._discard(f"{key}/{seen}")
        return fresh

    def copy(self, key: str, target: str, size: int) -> None:
        """Put a file with what another holds, which is taken through here."""
        with TemporaryDirectory(prefix="joinery-copy-") as scratch:
            here = Path(scratch, "file")
            self.fetch(key, here)
            if (found := here.stat().st_size) != size:
                raise self._web.failed("read", key, f"it has {found:,} bytes, not {size:,}")
            self.put_file(target, here)

    def make_folder(self, key: str) -> None:
        """Make a folder, if there is none."""
        self._web.ask("PUT", "MKDIRS", key)

    def rename(self, key: str, target: str) -> None:
        """Give a folder another name, that nothing has, in a folder that is there."""
        self._move(key, target)

    def delete(self, key: str) -> None:
        """Delete a file, if there is one."""
        self._web.ask("DELETE", "DELETE", key, recursive="true")

    def delete_all(self, keys: Iterable[str]) -> None:
        """Delete files, those that there are."""
        for each in keys:
            self.delete(each)

    def delete_below(self, prefix: str) -> None:
        """Delete a folder and all that is in it."""
        self.delete(prefix.rstrip("/"))

    def any_below(self, prefix: str) -> bool:
        """Return whether a file is below a folder."""
        try:
            told = json.loads(self._web.ask("GET", "GETCONTENTSUMMARY", prefix))
        except FileNotFoundError:
            return False
        return bool(told["ContentSummary"]["fileCount"])

    def files_below(self, prefix: str) -> Iterator[Listed]:
        """Yield what listings tell of the files below a folder."""
        for each in self._within(prefix):
            key = f"{prefix}{each.name}"
            if not each.folder:
                yield Listed(key, each.size, each.tag)
            elif current := self._replaced(key):
                yield current
            else:
                yield from self.files_below(f"{key}/")

    def children(self, prefix: str) -> Iterator[str]:
        """Yield the names of what is in a folder."""
        return (each.name for each in self._within(prefix))

    def matching(self, prefix: str, pattern: Sequence[str]) -> Iterator[str]:
        """Yield the files below a folder whose names match a pattern, part for part."""
        first, *rest = pattern
        for each in self._within(prefix):
            key = f"{prefix}{each.name}"
            if not fnmatchcase(each.name, first):
                continue
            if rest and each.folder:
                yield from self.matching(f"{key}/", rest)
            elif not rest and (not each.folder or self._replaced(key)):
                yield key

    def _replaced(self, key: str) -> Listed | None:
        """Return what `replace` has put under a name; None where that is a folder of files."""
        found = {each.name: each for each in self._within(f"{key}/")}
        for name in found:
            current = found.get(name.removeprefix(_CURRENT))
            if name.startswith(_CURRENT) and current is not None:
                return Listed(key, current.size, current.tag)
        return None

    def _within(self, prefix: str) -> Iterator[_Status]:
        """Yield what is in a folder, without what is under way; nothing where it is not there."""
        with suppress(FileNotFoundError):
            yield from (
                each
                for each in self._list(prefix)
                if each.name and not each.name.startswith(_ASIDE)
            )

    def _list(self, key: str) -> list[_Status]:
        told = json.loads(self._web.ask("GET", "LISTSTATUS", key))
        return [_Status.of(each) for each in told["FileStatuses"]["FileStatus"]]

    def _status(self, key: str) -> _Status:
        return _Status.of(json.loads(self._web.ask("GET", "GETFILESTATUS", key))["FileStatus"])

    def _opened(self, key: str) -> bytes:
        return self._web.ask("GET", "OPEN", key)

    def _create(self, key: str, content: bytes | BinaryIO, *, of: str, parents: bool) -> None:
        """Put what is of a file under another name, and make that name's folder or not."""
        told = "true" if parents else "false"
        self._web.ask(
            "PUT", "CREATE", key, content=content, of=of, overwrite="true", createparent=told
        )

    def _move_to_new(self, aside: str, key: str) -> None:
        """Move what was put aside to where nothing is."""
        try:
            self._move(aside, key)
        except FileExistsError as error:
            self._discard(aside)
            raise ConflictError(key) from error

    def _move(self, key: str, target: str, how: str = "NONE") -> None:
        """Rename a file or folder that nobody else moves to this place.

        Raises:
            FileNotFoundError: It is not there.
            FileExistsError: The other is, and is not to be overwritten.
        """
        to = f"/{target}"
        try:
            self._web.ask("PUT", "RENAME", key, of=target, destination=to, renameoptions=how)
        except FileNotFoundError:
            # An earlier try may have moved it, and its answer was lost.
            with suppress(FileNotFoundError):
                self._status(target)
                return
            raise

    def _discard(self, key: str) -> None:
        """Delete what nobody reads, if that can be."""
        with suppress(StorageError):
            self.delete(key)

    def _aside(self, key: str) -> str:
        folder, slash, _ = key.rpartition("/")
        return f"{folder}{slash}{_ASIDE}{uuid.uuid4().hex}"
