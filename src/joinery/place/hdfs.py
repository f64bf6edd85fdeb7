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
import os
import pwd
import random
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, ClassVar, NamedTuple, Self
from urllib.parse import quote, urlencode, urlsplit

from joinery.errors import RunError
from joinery.place.store import ConflictError, Found, Listed, ObjectStoreError

_ANSWER_S, _TRIES = 10.0, 5
_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 2.0
_WEB_PORT = 9870
_PREFIX = "spark.hadoop."
_CONFIGURED = ("core-site.xml", "hdfs-site.xml")
_ASIDE = ".joinery-"
_CURRENT = "~"
_LOOKS = 20  # for a content that others replace meanwhile
_BLOCK = 1 << 20
_FINAL = {
    "AccessControlException",
    "DSQuotaExceededException",
    "IllegalArgumentException",
    "InvalidToken",
    "NSQuotaExceededException",
    "ParentNotDirectoryException",
    "SecurityException",
    "UnsupportedOperationException",
}


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

        Example:
            >>> HdfsOptions.of("name:8020", {}).name_nodes
            ('name:9870',)
            >>> two = {"spark.hadoop.dfs.ha.namenodes.prod": "a,b"}
            >>> web = "spark.hadoop.dfs.namenode.http-address.prod"
            >>> HdfsOptions.of("prod", {**two, f"{web}.a": "x:1", f"{web}.b": "y:1"}).name_nodes
            ('x:1', 'y:1')
        """
        said = _configured()
        said |= {
            name.removeprefix(_PREFIX): str(value)
            for name, value in settings.items()
            if name.startswith(_PREFIX)
        }
        web = "dfs.namenode.http-address"
        several = said.get(f"dfs.ha.namenodes.{authority}", "")
        if nodes := [each.strip() for each in several.split(",") if each.strip()]:
            found = [
                said.get(f"{web}.{authority}.{node}")
                or _web(said.get(f"dfs.namenode.rpc-address.{authority}.{node}", node))
                for node in nodes
            ]
        else:
            found = [said.get(web, "")]
        return cls(tuple(_address(each, authority) for each in found), _user())

    @property
    def server(self) -> str:
        """Empty: the address of a file names it."""
        return ""

    def store(self, name: str) -> Hdfs:
        """Return the file system."""
        return Hdfs(name, self)


def _web(address: str) -> str:
    return f"{address.partition(':')[0]}:{_WEB_PORT}"


def _address(said: str, authority: str) -> str:
    """Return where a name node answers: Hadoop may say the port alone, or that of all addresses."""
    host, _, port = said.rpartition(":")
    if host in ("", "0.0.0.0"):
        host = authority.partition(":")[0]
    return f"{host}:{port or _WEB_PORT}"


def _configured() -> dict[str, str]:
    """Return what the files of `HADOOP_CONF_DIR` say."""
    folder = os.environ.get("HADOOP_CONF_DIR")
    return dict(_said_in(folder)) if folder else {}


@cache
def _said_in(folder: str) -> Mapping[str, str]:
    files = (Path(folder, name) for name in _CONFIGURED)
    return {name: value for file in files if file.is_file() for name, value in _properties(file)}


def _properties(file: Path) -> Iterator[tuple[str, str]]:
    from xml.etree import ElementTree as ET

    try:
        found = ET.parse(file)
    except ET.ParseError as error:
        raise RunError(
            f"cannot read {file}",
            detail=f"It is no XML: {error}.",
            hint="Mend it, or let HADOOP_CONF_DIR name another folder.",
        ) from error
    for each in found.iter("property"):
        yield (each.findtext("name") or "").strip(), (each.findtext("value") or "").strip()


def _user() -> str:
    """Return whom Hadoop's own client would name."""
    if said := os.environ.get("HADOOP_USER_NAME"):
        return said
    with suppress(KeyError):  # a container knows no name of its user
        return pwd.getpwuid(os.geteuid()).pw_name
    return ""


class _RefusedError(Exception):
    """A request was refused, for a reason that goes by itself, or not."""

    def __init__(self, reason: str, *, final: bool) -> None:
        super().__init__(reason)
        self.final = final


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


_ACTIVE: dict[tuple[str, ...], str] = {}
"""The name node that answered last, of those of a file system."""


@dataclass(frozen=True, slots=True)
class Hdfs:
    """One file system.

    Attributes:
        name: As its address names it.
    """

    name: str
    options: HdfsOptions
    can_rename: ClassVar = True

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
            ObjectStoreError: HDFS cannot be asked.
        """
        for _ in range(_LOOKS):
            with suppress(FileNotFoundError):
                return Found(self._opened(key), "")
            current = self._current(key)
            with suppress(FileNotFoundError):  # else it was replaced meanwhile
                return Found(self._opened(f"{key}/{current}"), current)
        raise self._failed("read", key, f"it was replaced each of {_LOOKS} times")

    def _current(self, key: str) -> str:
        """Return which content a file has that `replace` has put."""
        for each in self._list(key):
            if each.name.startswith(_CURRENT):
                return each.name.removeprefix(_CURRENT)
        raise FileNotFoundError(self._address(key))

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
            ObjectStoreError: HDFS cannot be asked.
        """
        with file.open("wb") as into:
            self._ask("GET", "OPEN", key, into=into)

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
            self._ask("PUT", "MKDIRS", f"{aside}/{_CURRENT}{fresh}", of=key)
            self._move_to_new(aside, key)
            return fresh
        try:
            # Never its folder, too: once that is gone another may stand there.
            self._create(f"{key}/{fresh}", content, of=key, parents=False)
            self._move(f"{key}/{_CURRENT}{seen}", f"{key}/{_CURRENT}{fresh}")
        except FileNotFoundError as error:
            self._discard(f"{key}/{fresh}")
            raise ConflictError(key) from error
        self._discard(f"{key}/{seen}")
        return fresh

    def copy(self, key: str, target: str, size: int) -> None:
        """Put a file with what another holds, which is taken through here."""
        with TemporaryDirectory(prefix="joinery-copy-") as scratch:
            here = Path(scratch, "file")
            self.fetch(key, here)
            self.put_file(target, here)

    def rename(self, key: str, target: str) -> None:
        """Give a folder another name, that nothing has; the folder above is made."""
        self._ask("PUT", "MKDIRS", target.rpartition("/")[0])
        self._move(key, target)

    def delete(self, key: str) -> None:
        """Delete a file, if there is one."""
        self._ask("DELETE", "DELETE", key, recursive="true")

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
            told = json.loads(self._ask("GET", "GETCONTENTSUMMARY", prefix))
        except FileNotFoundError:
            return False
        return bool(told["ContentSummary"]["fileCount"])

    def objects(self, prefix: str) -> Iterator[Listed]:
        """Yield what listings tell of the files below a folder."""
        for each in self._within(prefix):
            key = f"{prefix}{each.name}"
            if not each.folder:
                yield Listed(key, each.size, each.tag)
            elif current := self._replaced(key):
                yield current
            else:
                yield from self.objects(f"{key}/")

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
        told = json.loads(self._ask("GET", "LISTSTATUS", key))
        return [_Status.of(each) for each in told["FileStatuses"]["FileStatus"]]

    def _status(self, key: str) -> _Status:
        return _Status.of(json.loads(self._ask("GET", "GETFILESTATUS", key))["FileStatus"])

    def _opened(self, key: str) -> bytes:
        return self._ask("GET", "OPEN", key)

    def _create(self, key: str, content: bytes | BinaryIO, *, of: str, parents: bool) -> None:
        """Put what is of a file under another name, and make that name's folder or not."""
        told = "true" if parents else "false"
        self._ask("PUT", "CREATE", key, content=content, of=of, overwrite="true", createparent=told)

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
            self._ask("PUT", "RENAME", key, of=target, destination=to, renameoptions=how)
        except FileNotFoundError:
            # An earlier try may have moved it, and its answer was lost.
            with suppress(FileNotFoundError):
                self._status(target)
                return
            raise

    def _discard(self, key: str) -> None:
        """Delete what nobody reads, if that can be."""
        with suppress(ObjectStoreError):
            self.delete(key)

    def _aside(self, key: str) -> str:
        folder, slash, _ = key.rpartition("/")
        return f"{folder}{slash}{_ASIDE}{uuid.uuid4().hex}"

    def _ask(
        self,
        method: str,
        operation: str,
        key: str,
        *,
        content: bytes | BinaryIO | None = None,
        into: BinaryIO | None = None,
        of: str = "",
        **parameters: str,
    ) -> bytes:
        """Return what an active name node, or the data node that it names, answers.

        Args:
            method: That of HTTP.
            operation: That of WebHDFS.
            key: What is asked for.
            content: What is sent to a data node.
            into: Takes what is answered.
            of: What it is asked for, in messages; by default `key`.
            parameters: Of the operation.
        """
        asked = {"op": operation, "user.name": self.options.user, **parameters}
        query = urlencode({name: value for name, value in asked.items() if value})
        at = f"/webhdfs/v1/{quote(key.strip('/'))}?{query}"
        reasons: dict[str, str] = {}
        for attempt in range(self.options.tries):
            if attempt:
                time.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, _PAUSE_S * 2**attempt)))
            for node in self._nodes():
                try:
                    answer = self._answer(method, f"http://{node}{at}", content, into)
                except (OSError, HTTPException, _RefusedError) as error:
                    if isinstance(error, FileNotFoundError | FileExistsError):
                        raise
                    reasons[node] = f"{node}: {_told(error)}"
                    if isinstance(error, _RefusedError) and error.final:
                        raise self._failed(operation.lower(), of or key, reasons[node]) from error
                else:
                    _ACTIVE[self.options.name_nodes] = node
                    return answer
        raise self._failed(operation.lower(), of or key, "; ".join(reasons.values()))

    def _nodes(self) -> list[str]:
        """Return the name nodes, the one first that answered last."""
        last = _ACTIVE.get(self.options.name_nodes)
        return sorted(self.options.name_nodes, key=lambda each: each != last)

    def _answer(
        self, method: str, url: str, content: bytes | BinaryIO | None, into: BinaryIO | None
    ) -> bytes:
        """Ask once, going on to a data node where the name node says so."""
        with _Exchange(self.options.answer_s) as exchange:
            answer = exchange.ask(method, url, None)
            if answer.status == 307:
                answer.read()
                answer = exchange.ask(method, answer.headers["Location"], content)
            if answer.status >= 300:
                raise _refusal(answer, url)
            if into is None:
                return answer.read()
            into.seek(0)
            into.truncate()
            shutil.copyfileobj(answer, into, _BLOCK)
            return b""

    def _failed(self, what: str, key: str, why: str) -> ObjectStoreError:
        return ObjectStoreError(
            f"could not {_VERBS.get(what, what)} {self._address(key)}",
            detail=f"{why}".rstrip(".") + ".",
            hint="Check that HDFS is up, and that its web address is the one that"
            " dfs.namenode.http-address under run.spark says; then start again.",
        )

    def _address(self, key: str) -> str:
        return f"hdfs://{self.name}/{key}".rstrip("/")


_VERBS = {
    "open": "read",
    "create": "write",
    "rename": "put in place",
    "mkdirs": "make",
    "liststatus": "list",
    "getfilestatus": "look for",
    "getcontentsummary": "look for",
}


class _Exchange:
    """Connections of one request, which end with it."""

    def __init__(self, answer_s: float) -> None:
        self._answer_s = answer_s
        self._opened: list[HTTPConnection] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for each in self._opened:
            each.close()

    def ask(self, method: str, url: str, content: bytes | BinaryIO | None) -> HTTPResponse:
        """Make one request."""
        parts = urlsplit(url)
        connection = HTTPConnection(parts.netloc, timeout=self._answer_s)
        self._opened.append(connection)
        headers = {"Connection": "close"}
        if method == "PUT":
            headers["Content-Length"] = str(_size(content))
        connection.request(method, f"{parts.path}?{parts.query}", _from_start(content), headers)
        return connection.getresponse()


def _size(content: bytes | BinaryIO | None) -> int:
    if content is None:
        return 0
    return len(content) if isinstance(content, bytes) else os.fstat(content.fileno()).st_size


def _from_start(content: bytes | BinaryIO | None) -> bytes | BinaryIO | None:
    if content is not None and not isinstance(content, bytes):
        content.seek(0)
    return content


def _refusal(answer: HTTPResponse, url: str) -> Exception:
    """Return the error for an answer that is none."""
    body = answer.read()
    try:
        told = json.loads(body)["RemoteException"]
        kind, message = told["exception"], told.get("message") or ""
    except (ValueError, KeyError, TypeError):
        kind, message = f"{answer.status} {answer.reason}", ""
    first = message.strip().split("\n")[0]
    match kind:
        case "FileNotFoundException":
            return FileNotFoundError(first or url)
        case "FileAlreadyExistsException":
            return FileExistsError(first or url)
        case _:
            reason = f"{kind}: {first}" if first else kind
            return _RefusedError(reason, final=kind in _FINAL)


def _told(error: Exception) -> str:
    said = " ".join(f"{error}".split()) or type(error).__name__
    return said.rstrip(".")
