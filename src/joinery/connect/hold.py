"""Documents that wait behind the chain: the newest unsent one a key, in a SQLite file.

Both ways of delaying a product stand on it: `ready` (joinery.connect.gate) and
`emit: {settle: …}` (joinery.connect.settle).

Invariant: of one key the newest version stays; what was taken from a batch that runs again
is held once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from joinery.connect.key import canonical_key
from joinery.connect.line import StagedRow, read_rows
from joinery.connect.protocol import SinkError

_TABLES = (
    """CREATE TABLE IF NOT EXISTS held (key TEXT PRIMARY KEY, value TEXT,
        version INTEGER NOT NULL, first_at REAL NOT NULL, changed_at REAL NOT NULL)
        WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS leaving (key TEXT PRIMARY KEY, value TEXT,
        version INTEGER NOT NULL) WITHOUT ROWID""",
    "CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
)
_PUT = """INSERT INTO held VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET
    value = excluded.value, version = excluded.version, changed_at = excluded.changed_at
    WHERE excluded.version > version"""
_DUE = "changed_at <= :quiet OR first_at <= :old"


class Hold:
    """The documents of one product that were not sent yet; used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database: sqlite3.Connection | None = None

    def open(self) -> None:
        """Open the file, creating it where it is missing."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            database = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
            database.execute("PRAGMA journal_mode = WAL")
            for table in _TABLES:
                database.execute(table)
        except (sqlite3.Error, OSError) as error:
            raise _failed(self._path, error) from error
        self._database = database

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def put(self, files: Iterable[Path], now: float) -> None:
        """Hold the documents of staged files; all of them or none."""
        rows = ((key, text, version, now, now) for key, text, version in read_rows(files))
        with self._transaction() as database:
            database.executemany(_PUT, rows)

    def write_held(self, target: Path) -> int:
        """Write all documents that are held as staged lines; return how many."""
        return write_rows(target, self.rows())

    def missing(self, keys: Iterable[str]) -> Iterator[str]:
        """Yield those keys, as JSON texts, of which no document is held."""
        database = self._opened
        database.create_function("canonical", 1, canonical_key, deterministic=True)
        database.execute("DROP TABLE IF EXISTS temp.known")
        database.execute("CREATE TEMP TABLE known (key TEXT PRIMARY KEY) WITHOUT ROWID")
        database.execute("INSERT OR IGNORE INTO known SELECT canonical(key) FROM held")
        for key in keys:
            known = "SELECT 1 FROM known WHERE key = ?"
            if database.execute(known, (canonical_key(key),)).fetchone() is None:
                yield key
        database.execute("DROP TABLE temp.known")

    def rows(self) -> Iterator[StagedRow]:
        """Yield all documents that are held, by key."""
        return self._rows("SELECT key, value, version FROM held ORDER BY key")

    def forget_held(self) -> None:
        """Forget all documents that are held."""
        if self._opened.execute("SELECT 1 FROM held LIMIT 1").fetchone():
            with self._transaction() as database:
                database.execute("DELETE FROM held")

    def leave(self, *, quiet: float, old: float) -> bool:
        """Move what is due into the flush that is under way; False if nothing is.

        Nothing moves while an earlier flush stands: it is to be written first, as it was.

        Args:
            quiet: Documents that did not change since then are due, seconds since 1970.
            old: So are those held since then.
        """
        due = {"quiet": quiet, "old": old}
        with self._transaction() as database:
            if database.execute("SELECT 1 FROM leaving LIMIT 1").fetchone():
                return True
            database.execute(
                f"INSERT INTO leaving SELECT key, value, version FROM held WHERE {_DUE}", due
            )
            moved = database.execute(f"DELETE FROM held WHERE {_DUE}", due).rowcount
            if moved:
                self._set(database, "flush", (self._fact(database, "flush") or 0) + 1)
        return moved > 0

    def write_leaving(self, target: Path) -> int:
        """Write the flush that is under way as staged lines; return its number."""
        write_rows(target, self._rows("SELECT key, value, version FROM leaving ORDER BY key"))
        return self._fact(self._opened, "flush") or 0

    def forget_leaving(self) -> None:
        """Forget the flush that is under way: it was written."""
        with self._transaction() as database:
            database.execute("DELETE FROM leaving")

    def next_due(self, *, settle: float, longest: float) -> float | None:
        """Return when the next document is due, seconds since 1970; None if none is held."""
        found = self._opened.execute(
            "SELECT min(min(changed_at + ?, first_at + ?)) FROM held", (settle, longest)
        ).fetchone()
        return None if found[0] is None else float(found[0])

    @property
    def waiting(self) -> int:
        """How many documents were not written yet."""
        count = "SELECT (SELECT count(*) FROM held) + (SELECT count(*) FROM leaving)"
        return int(self._opened.execute(count).fetchone()[0])

    @property
    def query_id(self) -> str:
        """The identity of the checkpoint whose documents these are."""
        found = self._opened.execute("SELECT value FROM fact WHERE name = 'query_id'").fetchone()
        return str(found[0]) if found else ""

    def note(self, *, query_id: str) -> None:
        """Keep the identity of the checkpoint."""
        if query_id != self.query_id:
            with self._transaction() as database:
                self._set(database, "query_id", query_id)

    def number(self, name: str) -> int | None:
        """Return a fact that `remember` kept."""
        return self._fact(self._opened, name)

    def remember(self, name: str, value: int) -> None:
        """Keep a fact beside the documents."""
        with self._transaction() as database:
            self._set(database, name, value)

    def _rows(self, query: str) -> Iterator[StagedRow]:
        return (StagedRow(*row) for row in self._opened.execute(query))

    @staticmethod
    def _fact(database: sqlite3.Connection, name: str) -> int | None:
        found = database.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
        return int(found[0]) if found else None

    @staticmethod
    def _set(database: sqlite3.Connection, name: str, value: int | str) -> None:
        database.execute("INSERT OR REPLACE INTO fact VALUES (?, ?)", (name, value))

    @property
    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            raise SinkError(f"the hold {self._path.name} is not open")
        return self._database

    def _transaction(self) -> _Transaction:
        return _Transaction(self._opened, self._path)


class _Transaction:
    """Commits at its end, rolls back after an error."""

    def __init__(self, database: sqlite3.Connection, path: Path) -> None:
        self._database = database
        self._path = path

    def __enter__(self) -> sqlite3.Connection:
        self._database.execute("BEGIN IMMEDIATE")
        return self._database

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._database.execute("ROLLBACK" if error else "COMMIT")
        if isinstance(error, sqlite3.Error):
            raise _failed(self._path, error) from error


def write_rows(target: Path, rows: Iterable[StagedRow]) -> int:
    """Write rows as staged lines; return how many."""
    count = 0
    with target.open("w", encoding="utf-8", newline="\n") as lines:
        for row in rows:
            lines.write(row.line())
            count += 1
    return count


def _failed(path: Path, error: Exception) -> SinkError:
    return SinkError(
        f"could not keep documents that wait in {path}",
        detail=f"{error}.",
        hint="Free the file or the disk, then start the run again.",
    )
