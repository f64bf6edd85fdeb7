"""The store `file`: all entries in one table of a SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from joinery.project.option import options, path_in, text
from joinery.solutions.choose import SolutionPlace
from joinery.solutions.key_value.store import Address
from joinery.solutions.stored.state import StoreError

_CREATE = """CREATE TABLE IF NOT EXISTS entry (
    partition BLOB, sort BLOB, value BLOB NOT NULL, PRIMARY KEY (partition, sort)
) WITHOUT ROWID"""


class FileStore:
    """Keeps entries in a file; each call of `put_many` is one transaction."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._database = sqlite3.connect(path, check_same_thread=False)
            self._database.execute(_CREATE)
        except sqlite3.Error as error:
            raise StoreError(f"could not open the store {path}", detail=f"{error}.") from error

    def get_many(self, addresses: Sequence[Address]) -> list[bytes | None]:
        """Return the value at each address; None where there is none."""
        select = "SELECT value FROM entry WHERE partition = ? AND sort = ?"
        found = (self._database.execute(select, address).fetchone() for address in addresses)
        return [None if row is None else row[0] for row in found]

    def put_many(self, entries: Mapping[Address, bytes | None]) -> None:
        """Put values in place of what stands at their addresses; None removes an entry."""
        put = [(*address, value) for address, value in entries.items() if value is not None]
        removed = [address for address, value in entries.items() if value is None]
        with self._database:
            self._database.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?)", put)
            self._database.executemany(
                "DELETE FROM entry WHERE partition = ? AND sort = ?", removed
            )

    def scan(self, partitions: Sequence[bytes]) -> Iterator[tuple[Address, bytes]]:
        """Yield all entries of some partitions."""
        select = "SELECT sort, value FROM entry WHERE partition = ?"
        for partition in partitions:
            for sort, value in self._database.execute(select, (partition,)).fetchall():
                yield (partition, sort), value

    def close(self) -> None:
        """Close the file."""
        self._database.close()


@options
class FileOptions:
    """`{kv: {store: file, path: state.db}}`; the file is in the checkpoint by default."""

    path: str = text("The file; by default in the checkpoint.", default="")

    def make(self, place: SolutionPlace) -> FileStore:
        """Return the store of a query, opened: the object behind the entry point."""
        if self.path:
            return FileStore(path_in(place.project, self.path))
        return FileStore(place.folder / "state.db")
