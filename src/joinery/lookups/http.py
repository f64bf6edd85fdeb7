"""The lookup store http: rows that a service gives, many a request or one by one.

`url` takes `POST {"keys": [...]}` and answers with a JSON list of objects, or with an object
that holds the list under `rows`; a key of one column is its value, one of several an object.
`each` is an address with a `{column}` for each key column: `GET` answers with one object, or
with 404 where there is no row.

Where the service asks for patience, `Retry-After` says for how long (RFC 9110, 10.2.3).
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from decimal import Decimal
from email.utils import parsedate_to_datetime
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from joinery.errors import LookupOptionError, needs_extra
from joinery.expression.python_value import type_name
from joinery.lookups.protocol import (
    Answer,
    Key,
    LookupStoreError,
    LookupTable,
    LookupUnavailableError,
    Unfit,
)
from joinery.lookups.value import RowReader, answers_of, json_value
from joinery.project.option import Target, count, options, text, texts

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, PoolManager

_CONNECTIONS = 64
_PASSING = (408, 425, 429)
_FAILURES = 500  # the first status that tells of a failure of the service
_TYPE = {"Content-Type": "application/json", "Accept": "application/json"}


class HttpStore:
    """Asks a service for rows.

    Args:
        table: What is wanted.
        url: Of the endpoint for many keys; empty where there is none.
        each: The address of one row; used where `url` is empty.
        headers: Sent with each request; may hold secrets.
        timeout_s: How long an answer may take.
    """

    def __init__(
        self, table: LookupTable, url: str, each: str, headers: Mapping[str, str], timeout_s: float
    ) -> None:
        self._names = [column.name for column in table.key]
        self._key = RowReader(table.key)
        self._rows = RowReader(table.columns)
        self._url = url
        self._each = each
        self._headers = {**_TYPE, **headers}
        self._timeout_s = timeout_s
        self._pool: PoolManager | None = None
        self.most_keys: int | None = None if url else 1
        parts = urlsplit(url or each)
        self.target = f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"

    def open(self) -> None:
        """See that something listens there; what it answers is seen with the first keys."""
        urllib3 = _driver()
        self._pool = urllib3.PoolManager(
            maxsize=_CONNECTIONS, retries=False, timeout=self._timeout_s
        )
        self._send("HEAD", self.target, None)

    def fetch(self, keys: Sequence[Key]) -> Mapping[Key, Answer]:
        """Return what the service gives for `keys`."""
        if self._pool is None:
            raise LookupStoreError(f"{self.target} is not open")
        return self._many(keys) if self._url else self._one(keys[0])

    def close(self) -> None:
        """Close all connections."""
        if self._pool is not None:
            self._pool.clear()
            self._pool = None

    def _many(self, keys: Sequence[Key]) -> dict[Key, Answer]:
        objects = [dict(zip(self._names, map(json_value, key), strict=True)) for key in keys]
        asked = (
            [next(iter(each.values())) for each in objects] if len(self._names) == 1 else objects
        )
        body = json.dumps({"keys": asked}, ensure_ascii=False).encode()
        found = self._parsed(self._answered(self._send("POST", self._url, body)))
        rows = found.get("rows") if isinstance(found, dict) else found
        if not isinstance(rows, list) or not all(isinstance(each, dict) for each in rows):
            raise self._refused("The answer is not a list of objects, and has none as `rows`.")
        return answers_of(self._key, self._rows, rows)

    def _one(self, key: Key) -> dict[Key, Answer]:
        values = {
            name: quote(str(json_value(value)), safe="")
            for name, value in zip(self._names, key, strict=True)
        }
        response = self._send("GET", self._each.format(**values), None)
        if response.status == 404:
            return {}
        found = self._parsed(self._answered(response))
        if not isinstance(found, dict):
            return {key: Unfit(f"the answer is {type_name(found)}, not an object")}
        return {key: self._rows.named(found)}

    def _send(self, method: str, url: str, body: bytes | None) -> BaseHTTPResponse:
        urllib3 = _driver()
        assert self._pool is not None  # the callers have seen to it
        try:
            return self._pool.request(method, url, body=body, headers=self._headers)
        except urllib3.exceptions.HTTPError as error:
            raise LookupUnavailableError(
                f"could not read from {self.target}",
                detail=f"{type(error).__name__}: {str(error).rpartition(': ')[2]}.",
                hint="Check its address, and that it is up.",
            ) from error

    def _answered(self, response: BaseHTTPResponse) -> bytes:
        if response.status in _PASSING or response.status >= _FAILURES:
            raise LookupUnavailableError(
                f"could not read from {self.target}", detail=f"It answered {response.status}."
            ).after(retry_after_s(response.headers.get("Retry-After"), time.time()))
        if response.status != 200:
            raise self._refused(f"It answered {response.status}.")
        return response.data

    def _parsed(self, body: bytes) -> Any:
        try:
            return json.loads(body, parse_float=Decimal)
        except ValueError as error:
            raise self._refused("The answer is not JSON.") from error

    def _refused(self, why: str) -> LookupStoreError:
        return LookupStoreError(
            f"{self.target} refused a request",
            detail=why,
            hint="Check its address, its headers, and what it returns for one key.",
        )


def retry_after_s(told: str | None, now: float) -> float | None:
    """Return the seconds that a `Retry-After` header asks for; None where it cannot be read.

    Args:
        told: Its value: seconds, or a date of HTTP.
        now: Seconds since 1970.

    Example:
        >>> retry_after_s("120", 0.0)
        120.0
        >>> retry_after_s("Thu, 01 Jan 1970 00:01:00 GMT", 20.0)
        40.0
    """
    text = (told or "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, at.timestamp() - now) if at.tzinfo is not None else None


@options
class HttpOptions:
    """`{http: {url: …}}` or `{http: {each: "https://host/users/{id}"}}`."""

    url: str = text("Where many keys are requested at once by POST.", default="", secret=True)
    each: str = text(
        "Where one row is requested by GET.",
        default="",
        examples=["https://host/users/{id}"],
        secret=True,
    )
    headers: Mapping[str, str] = texts("Sent with each request.", default=None)
    timeout_s: int = count("Seconds to wait for an answer.", default=30)

    def make(self, table: LookupTable, folder: Path) -> HttpStore:
        """Return the store of a table."""
        if bool(self.url) == bool(self.each):
            raise LookupOptionError(
                'lookup store "http" needs one of "url" and "each"',
                hint="Write {http: {url: https://host/customers}}.",
            )
        for address in filter(None, (self.url, self.each)):
            if urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname:
                raise LookupOptionError('the address of lookup store "http" is not an http(s) URL')
        names = {column.name for column in table.key}
        if self.each and {name for _, name, _, _ in Formatter().parse(self.each) if name} != names:
            raise LookupOptionError(
                'option "each" of lookup store "http" does not name the key',
                detail=f"The key's columns are {', '.join(sorted(names))}.",
                hint="Write each of them once, in braces.",
            )
        return HttpStore(table, self.url, self.each, self.headers, self.timeout_s)

    def target(self, relation: str, folder: Path) -> Target | None:
        """What the service reads is its own."""
        return None


def _driver() -> Any:
    message = 'lookup store "http" needs the package urllib3'
    with needs_extra("http", message, LookupStoreError):
        import urllib3
    return urllib3
