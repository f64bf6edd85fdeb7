"""Requests to HDFS by WebHDFS, its REST interface, each made again until it is answered.

https://hadoop.apache.org/docs/stable/hadoop-project-dist/hadoop-hdfs/WebHDFS.html
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, IncompleteRead
from typing import BinaryIO, Self
from urllib.parse import quote, urlencode, urlsplit

from joinery.place.store import StorageError

_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 2.0
_BLOCK = 1 << 20
_VERBS = {
    "open": "read",
    "create": "write",
    "rename": "put in place",
    "mkdirs": "make",
    "liststatus": "list",
    "getfilestatus": "look for",
    "getcontentsummary": "look for",
}
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
_ACTIVE: dict[tuple[str, ...], str] = {}
"""The name node that answered last, of those of a file system."""


class _RefusedError(Exception):
    """A request was refused, for a reason that goes by itself, or not."""

    def __init__(self, reason: str, *, final: bool) -> None:
        super().__init__(reason)
        self.final = final


@dataclass(frozen=True, slots=True)
class WebHdfs:
    """Asks one file system.

    Attributes:
        name: As its address names it.
        name_nodes: Where they answer HTTP; one of them is active.
        user: Whom requests are made for; empty where nobody can tell.
        answer_s: How long an answer is waited for.
        tries: How often a request is made that fails or is refused.
    """

    name: str
    name_nodes: tuple[str, ...]
    user: str
    answer_s: float
    tries: int

    def ask(
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
            key: The path of the file or folder.
            content: What is sent to a data node.
            into: Takes what is answered.
            of: The path that error messages name; by default `key`.
            parameters: Of the operation.
        """
        asked = {"op": operation, "user.name": self.user, **parameters}
        query = urlencode({name: value for name, value in asked.items() if value})
        at = f"/webhdfs/v1/{quote(key.strip('/'))}?{query}"
        reasons: dict[str, str] = {}
        for attempt in range(self.tries):
            if attempt:
                longest = min(_LONGEST_PAUSE_S, _PAUSE_S * 2**attempt)
                time.sleep(random.uniform(longest / 2, longest))
            for node in self._nodes():
                try:
                    answer = self._answer(method, f"http://{node}{at}", content, into)
                except (OSError, HTTPException, _RefusedError) as error:
                    if isinstance(error, FileNotFoundError | FileExistsError):
                        raise
                    reasons[node] = f"{node}: {_told(error)}"
                    if isinstance(error, _RefusedError) and error.final:
                        raise self.failed(operation.lower(), of or key, reasons[node]) from error
                else:
                    _ACTIVE[self.name_nodes] = node
                    return answer
        raise self.failed(operation.lower(), of or key, "; ".join(reasons.values()))

    def _nodes(self) -> list[str]:
        """Return the name nodes, the one first that answered last."""
        last = _ACTIVE.get(self.name_nodes)
        return sorted(self.name_nodes, key=lambda each: each != last)

    def _answer(
        self, method: str, url: str, content: bytes | BinaryIO | None, into: BinaryIO | None
    ) -> bytes:
        """Ask once, going on to a data node where the name node says so."""
        with _Exchange(self.answer_s) as exchange:
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
            if answer.length:  # an answer that breaks off raises only where it is read at once
                raise IncompleteRead(b"", answer.length)
            return b""

    def failed(self, what: str, key: str, why: str) -> StorageError:
        """Return the error for what could not be done with a file."""
        return StorageError(
            f"could not {_VERBS.get(what, what)} {self.address(key)}",
            detail=f"{why}".rstrip(".") + ".",
            hint="Check that HDFS is up, and that its web address is the one that"
            " dfs.namenode.http-address under run.spark says; then start again.",
        )

    def address(self, key: str) -> str:
        """Return the address of a file."""
        return f"hdfs://{self.name}/{key}".rstrip("/")


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
    """Return the error that a refused request raises."""
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
