"""Where a table's columns are in a database: its own, or fields of its column `document`.

A table that a sink keeps as documents has the key's columns, `document` and `version`; what
is not a column of its own is then a field of the document.

Connections that are lent to one thread at a time: opened when needed, dropped when they fail.
"""

from __future__ import annotations

import difflib
import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from typing import Any, Generic, Protocol, TypeVar

from joinery.lookups.protocol import (
    Answer,
    Key,
    LookupStoreError,
    LookupTable,
    Row,
    Unfit,
)
from joinery.lookups.value import RowReader

DOCUMENT = "document"


class TableColumns:
    """Which columns are read, and how a row of them becomes a row of the table.

    Args:
        table: What is wanted.
        standing: The columns that the database's table has.
        target: The table, for messages.

    Raises:
        LookupStoreError: A wanted column is not there.
    """

    def __init__(self, table: LookupTable, standing: Collection[str], target: str) -> None:
        wanted = [each.name for each in table.columns]
        self._reader = RowReader(table.columns)
        self._key = RowReader(table.key)
        self._width = len(table.key)
        self._from_document = DOCUMENT in standing and DOCUMENT not in wanted
        for each in table.key:
            _check(each.name, standing, target)
        self._own = [name for name in wanted if name in standing]
        if not self._from_document:
            for name in wanted:
                _check(name, standing, target)
        self._wanted = wanted
        self._from_document = len(self._own) < len(wanted)

    @property
    def read(self) -> Sequence[str]:
        """The columns to read, in order."""
        return [*self._own, DOCUMENT] if self._from_document else self._own

    def row(self, values: Sequence[Any]) -> Row | Unfit:
        """Return the table's row from the values of `read`."""
        if not self._from_document:
            return self._reader.ordered(values)
        *own, text = values
        document = json.loads(text, parse_float=Decimal) if isinstance(text, str) else text
        if not isinstance(document, Mapping):
            return Unfit(f'column "{DOCUMENT}" does not hold an object')
        return self._reader.named({**document, **dict(zip(self._own, own, strict=True))})

    def rows(self, values: Sequence[Sequence[Any]]) -> dict[Key, Answer] | None:
        """Return rows by key from the values of the key's columns and of `read`.

        A row with a null in its key is found by no event, and left out.

        Returns:
            None where a key is not of its declared type: the database might still find it.
        """
        answers: dict[Key, Answer] = {}
        for each in values:
            key = self._key.ordered(each[: self._width])
            if isinstance(key, Unfit):
                return None
            if None not in key:
                answers[key] = self.row(each[self._width :])
        return answers

    def keys(self, values: Sequence[Sequence[Any]]) -> list[Key] | None:
        """Return keys from the values of the key's columns; None as `rows` does."""
        keys: list[Key] = []
        for each in values:
            key = self._key.ordered(each)
            if isinstance(key, Unfit):
                return None
            keys.append(key)
        return keys


def _check(name: str, standing: Collection[str], target: str) -> None:
    if name not in standing:
        near = difflib.get_close_matches(name, standing, n=1)
        raise LookupStoreError(
            f'{target} has no column "{name}"',
            detail=f"Its columns are {', '.join(sorted(standing))}.",
            hint=f'Use "{near[0]}".' if near else "",
        )


class Closable(Protocol):
    """What a pool holds."""

    def close(self) -> None:
        """Release it."""


Link = TypeVar("Link", bound=Closable)


class Pool(Generic[Link]):
    """Lends connections; as many are open as were ever in use at once.

    Args:
        connect: Opens one more.
    """

    def __init__(self, connect: Callable[[], Link]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._idle: list[Link] = []

    @contextmanager
    def lend(self) -> Iterator[Link]:
        """Lend a connection for the length of a block; one that a block fails with is closed."""
        with self._lock:
            link = self._idle.pop() if self._idle else None
        if link is None:
            link = self._connect()
        try:
            yield link
        except BaseException:
            _close(link)
            raise
        with self._lock:
            self._idle.append(link)

    def close(self) -> None:
        """Close those that are not lent."""
        with self._lock:
            idle, self._idle = self._idle, []
        for link in idle:
            _close(link)


def _close(link: Closable) -> None:
    with suppress(Exception):  # it is given up either way
        link.close()
