"""What a function was told of each key, remembered in a file, so that it is not told it again.

A rebuild sends all documents, and a batch may run twice: a function that pays, mails or warns
should hear only of what it does not know yet.

Invariant: a document is noted only after a call that held it returned, so none is left out that
the function may not have had.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path

from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import SinkError, SinkUnavailableError

_TABLES = """
CREATE TABLE IF NOT EXISTS listener
  (id INTEGER PRIMARY KEY, function TEXT, product TEXT, UNIQUE (function, product));
CREATE TABLE IF NOT EXISTS told
  (listener INTEGER, key TEXT, document BLOB, PRIMARY KEY (listener, key)) WITHOUT ROWID;
"""
_LISTEN = "INSERT OR IGNORE INTO listener (function, product) VALUES (?, ?)"
_LISTENER = "SELECT id FROM listener WHERE function = ? AND product = ?"
_TOLD = "SELECT document FROM told WHERE listener = ? AND key = ?"
_NOTE = "INSERT OR REPLACE INTO told VALUES (?, ?, ?)"
_BUSY_S = 10.0


class ToldBefore:
    """The newest document of each key that a function was told.

    Args:
        path: The file, which others may use, too; made where it is not there.
        function: What tells the function from others that the file is of.
    """

    def __init__(self, path: Path, function: str) -> None:
        self._path, self._function = path, function
        self._listeners: dict[str, int] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(path, timeout=_BUSY_S, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise self._failed(error) from error
        try:
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.executescript(_TABLES)
        except sqlite3.Error as error:
            self._database.close()
            raise self._failed(error) from error

    def news(self, product: str, rows: Sequence[StagedRow]) -> list[StagedRow]:
        """Return the documents that are not what the function was told last of their key.

        Args:
            product: Whose documents.
            rows: In the order in which they are told.
        """
        last: dict[str, bytes | None] = {}
        found = []
        for row in rows:
            if row.key not in last:
                last[row.key] = self._noted(product, row.key)
            if last[row.key] != (document := _digest(row)):
                last[row.key] = document
                found.append(row)
        return found

    def note(self, product: str, rows: Collection[StagedRow]) -> None:
        """Note what the function was told, on the disk."""
        try:
            listener = self._listener(product)
            with self._database:
                told = ((listener, row.key, _digest(row)) for row in rows)
                self._database.executemany(_NOTE, told)
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def _noted(self, product: str, key: str) -> bytes | None:
        try:
            found = self._database.execute(_TOLD, (self._listener(product), key)).fetchone()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return None if found is None else bytes(found[0])

    def _listener(self, product: str) -> int:
        """Return the number under which the function is told the documents of a product."""
        if product not in self._listeners:
            names = (self._function, product)
            with self._database:
                self._database.execute(_LISTEN, names)
            [(number,)] = self._database.execute(_LISTENER, names)
            self._listeners[product] = int(number)
        return self._listeners[product]

    def _failed(self, error: Exception) -> SinkError:
        message = f"could not remember in {self._path} what a function was told"
        kind = SinkUnavailableError if "locked" in str(error) else SinkError
        hint = "Make the file usable again, or delete it: all documents are then told once more."
        return kind(message, detail=f"{error}.", hint=hint)


def _digest(row: StagedRow) -> bytes:
    """Return what tells a document from others; that of a tombstone is empty."""
    return b"" if row.value is None else hashlib.sha256(row.value.encode()).digest()
