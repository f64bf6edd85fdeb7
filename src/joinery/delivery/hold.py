"""Documents held back between their batch and their sinks, on disk, the newest a key.

The first line of a key that waits says what the sink holds of it. A document that leaves and is the
same is left out: a document that has changed and changed back, or come and gone.

Invariant: of one key the newest version stays, and what was taken from a batch that runs again
is held once. No document is left out unless the sink holds the same: a batch that may have been
sent before tells nothing of that, nor does a line that does not know what it replaces. A flush
that was begun is written whole before the next one, in the same place, also after a crash; no two
flushes, and no flush and a batch, share a place.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from joinery.delivery.held_row import HeldRow, read_held
from joinery.sinks.key import canonical_key
from joinery.sinks.line import StagedRow
from joinery.sinks.protocol import SinkError, StagedBatch

_TABLES = (
    """CREATE TABLE IF NOT EXISTS held (key TEXT PRIMARY KEY, value TEXT,
        version INTEGER NOT NULL, first_at REAL NOT NULL, changed_at REAL NOT NULL,
        before TEXT, after TEXT) WITHOUT ROWID""",
    """CREATE TABLE IF NOT EXISTS leaving (key TEXT PRIMARY KEY, value TEXT,
        version INTEGER NOT NULL) WITHOUT ROWID""",
    "CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value) WITHOUT ROWID",
)
_COLUMNS = 7
_TOLD = ("before", "after")
_TAKEN = "taken"
OPENED = "opened_by_batch"
"""The batch that opened a gate, among the facts of a hold."""
# What another told of the sink is not believed where a line comes that does not know it.
_PUT = """INSERT INTO held VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET
    value = iif(excluded.version > version, excluded.value, value),
    changed_at = iif(excluded.version > version, excluded.changed_at, changed_at),
    before = iif(excluded.after IS NULL, NULL, before),
    after = iif(excluded.version > version, excluded.after, after),
    version = max(excluded.version, version)
    WHERE excluded.version > version OR (excluded.version < version AND excluded.after IS NULL)"""
# What was held at a time to come was held before the clock was set back.
_DUE = "(changed_at <= :quiet OR first_at <= :old OR max(first_at, changed_at) > :now)"
_DIFFERS = "(before IS NULL OR before <> after)"


class FlushPlace(NamedTuple):
    """Where a flush stands among batches, in the words of a `StagedBatch`."""

    query_id: str
    batch_id: int
    after: int


class Hold:
    """The documents of one product that were not sent yet; used by one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database: _Database | None = None

    def open(self) -> None:
        """Open the file, creating it where it is missing."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        except (sqlite3.Error, OSError) as error:
            raise _failed(self._path, error) from error
        self._database = database = _Database(connection, self._path)
        database.execute("PRAGMA journal_mode = WAL")
        for table in _TABLES:
            database.execute(table)
        known = {row[1] for row in database.rows("PRAGMA table_info(held)")}
        for column in (each for each in _TOLD if each not in known):  # of an earlier version
            database.execute(f"ALTER TABLE held ADD COLUMN {column} TEXT")

    def close(self) -> None:
        """Close the file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def put(self, batch: StagedBatch, now: float, *, begun: int = -1) -> None:
        """Hold the documents of a batch, and which it was; all of that or nothing.

        Args:
            batch: The batch.
            now: Seconds since 1970.
            begun: The last batch that was begun before this run. Whatever of such a batch the
                sink holds, it may hold now: documents were not always held, or not here.
        """
        again = self.is_again(batch.batch_id, begun)
        held = read_held(batch.files)
        self.hold(held, batch.query_id, batch.batch_id, now, again=again)

    def is_again(self, batch_id: int, begun: int) -> bool:
        """Return whether a batch may have been sent before; see `put`."""
        taken = self.number(_TAKEN)
        return batch_id <= max(begun, -1 if taken is None else taken)

    def hold(
        self, rows: Iterable[HeldRow], query_id: str, batch_id: int, now: float, *, again: bool
    ) -> None:
        """Hold documents, and of which batch they are; see `put`.

        Args:
            rows: The documents.
            query_id: Whose batch it is.
            batch_id: Its number.
            now: Seconds since 1970.
            again: What a key replaces that is not held is not known: the batch may have been
                sent before.
        """
        held = ((*row, now, now, None if again else before, after) for row, before, after in rows)
        with self._opened.transaction() as database:
            taken = self._fact(database, _TAKEN)
            database.executemany(_PUT, held)
            self._set(database, "query_id", query_id)
            self._set(database, "batch_id", batch_id)
            self._set(database, _TAKEN, batch_id if taken is None else max(batch_id, taken))

    def write_held(self, target: Path, *, hashed: bool = False) -> int:
        """Write all documents that are held as staged lines; return how many.

        Args:
            target: The file.
            hashed: Lines say what they replace, by hashes.
        """
        if not hashed:
            return write_rows(target, self.rows())
        told = self._opened.rows("SELECT key, value, version, before, after FROM held ORDER BY key")
        return write_rows(target, (HeldRow(StagedRow(*row[:3]), *row[3:]) for row in told))

    def missing(self, keys: Iterable[str]) -> Iterator[str]:
        """Yield those keys, as JSON texts, of which no document is held."""
        database = self._opened
        database.define("canonical", canonical_key)
        database.execute("DROP TABLE IF EXISTS temp.known")
        database.execute("CREATE TEMP TABLE known (key TEXT PRIMARY KEY) WITHOUT ROWID")
        database.execute("INSERT OR IGNORE INTO known SELECT canonical(key) FROM held")
        for key in keys:
            known = "SELECT 1 FROM known WHERE key = ?"
            if database.first(known, (canonical_key(key),)) is None:
                yield key
        database.execute("DROP TABLE temp.known")

    def rows(self) -> Iterator[StagedRow]:
        """Yield all documents that are held, by key."""
        return self._rows("SELECT key, value, version FROM held ORDER BY key")

    def rows_with(self, files: Sequence[Path]) -> Iterator[StagedRow]:
        """Yield all documents that are held, by key, and those of a batch that comes after them.

        Of a key that both have, the batch's is given, and what was held is forgotten: the batch
        is held by nobody, so it has to run again where this is broken off.
        """
        if self._opened.first("SELECT 1 FROM held LIMIT 1"):
            with self._opened.transaction() as database:
                keys = ((each.row.key,) for each in read_held(files))
                database.executemany("DELETE FROM held WHERE key = ?", keys)
        yield from self.rows()
        yield from (each.row for each in read_held(files))

    def forget_held(self) -> None:
        """Forget all documents that are held."""
        if self._opened.first("SELECT 1 FROM held LIMIT 1"):
            with self._opened.transaction() as database:
                database.execute("DELETE FROM held")

    def leave(self, now: float, *, quiet: float, old: float) -> bool:
        """Move what is due into the flush that is under way; False if nothing is.

        What the sink holds already is forgotten instead. Nothing moves while an earlier flush
        stands: it is to be written first, as it was.

        Args:
            now: When the flush begins, seconds since 1970.
            quiet: Documents that did not change since then are due.
            old: So are those held since then.
        """
        due = {"quiet": quiet, "old": old, "now": now}
        with self._opened.transaction() as database:
            if database.first("SELECT 1 FROM leaving LIMIT 1"):
                return True
            moved = database.execute(
                "INSERT INTO leaving SELECT key, value, version FROM held"
                f" WHERE {_DUE} AND {_DIFFERS}",
                due,
            ).rowcount
            database.execute(f"DELETE FROM held WHERE {_DUE}", due)
            if moved:
                self._place_flush(database, now)
        return moved > 0

    def has_due(self, now: float, *, quiet: float, old: float) -> bool:
        """Return whether a document is due; see `leave`."""
        due = {"quiet": quiet, "old": old, "now": now}
        return self._opened.first(f"SELECT 1 FROM held WHERE {_DUE} LIMIT 1", due) is not None

    def state(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of all tables."""
        tables = ("held", "leaving", "fact")
        names = ("held", "leaving", "facts")
        rows = (list(self._opened.rows(f"SELECT * FROM {each}")) for each in tables)
        return dict(zip(names, rows, strict=True))

    def replace(
        self,
        held: Iterable[Sequence[object]],
        leaving: Iterable[Sequence[object]],
        facts: Iterable[Sequence[object]],
    ) -> None:
        """Let the tables have the rows that `state` gave, and no others."""
        told = ((*row, *[None] * (_COLUMNS - len(row))) for row in held)  # of an earlier version
        with self._opened.transaction() as database:
            for table, rows, columns in (
                ("held", told, "?, ?, ?, ?, ?, ?, ?"),
                ("leaving", leaving, "?, ?, ?"),
                ("fact", facts, "?, ?"),
            ):
                database.execute(f"DELETE FROM {table}")
                database.executemany(f"INSERT INTO {table} VALUES ({columns})", rows)

    def _place_flush(self, database: _Database, now: float) -> None:
        """Give a flush a place after the last batch, and after all flushes before it."""
        # A hold of an earlier version has numbered its flushes from 1, as batches are.
        last = max(self._fact(database, name) or 0 for name in ("batch_id", "flush"))
        after = (self._fact(database, "flush_after") or 0) + 1
        self._set(database, "flush", last)
        self._set(database, "flush_after", max(after, round(now * 1000)))

    def write_leaving(self, target: Path) -> FlushPlace:
        """Write the flush that is under way as staged lines; return its place."""
        write_rows(target, self._rows("SELECT key, value, version FROM leaving ORDER BY key"))
        query_id = self._opened.first("SELECT value FROM fact WHERE name = 'query_id'")
        number, after = (self._fact(self._opened, name) or 0 for name in ("flush", "flush_after"))
        return FlushPlace(str(query_id[0]) if query_id else "", number, after)

    def forget_leaving(self) -> None:
        """Forget the flush that is under way: it was written."""
        with self._opened.transaction() as database:
            database.execute("DELETE FROM leaving")

    def next_due(self, *, settle: float, longest: float) -> float | None:
        """Return when the next document is due, seconds since 1970; None if none is held."""
        due = "SELECT min(min(changed_at + ?, first_at + ?)) FROM held"
        found = self._opened.first(due, (settle, longest))
        return float(found[0]) if found and found[0] is not None else None

    @property
    def waiting(self) -> int:
        """How many documents were not written yet."""
        count = "SELECT (SELECT count(*) FROM held) + (SELECT count(*) FROM leaving)"
        return int((self._opened.first(count) or (0,))[0])

    def unsent(self, done: int) -> int:
        """Return how many documents were not written yet, by a query that does not run.

        Args:
            done: Its last batch that was committed; -1 where none was. What a gate sends is
                held until a later batch, and counts until the batch that opened it is done.
        """
        opened = self.number(OPENED)
        return 0 if opened is not None and opened <= done else self.waiting

    def number(self, name: str) -> int | None:
        """Return a fact that `remember` kept."""
        return self._fact(self._opened, name)

    def remember(self, name: str, value: int) -> None:
        """Keep a fact beside the documents."""
        with self._opened.transaction() as database:
            self._set(database, name, value)

    def _rows(self, query: str) -> Iterator[StagedRow]:
        return (StagedRow(*row) for row in self._opened.rows(query))

    @staticmethod
    def _fact(database: _Database, name: str) -> int | None:
        found = database.first("SELECT value FROM fact WHERE name = ?", (name,))
        return int(found[0]) if found else None

    @staticmethod
    def _set(database: _Database, name: str, value: int | str) -> None:
        database.execute("INSERT OR REPLACE INTO fact VALUES (?, ?)", (name, value))

    @property
    def _opened(self) -> _Database:
        if self._database is None:
            raise SinkError(f"the hold {self._path.name} is not open")
        return self._database


class _Database:
    """A connection whose every failure is a `SinkError` that names the file."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def execute(
        self, statement: str, values: Sequence[object] | Mapping[str, object] = ()
    ) -> sqlite3.Cursor:
        """Run one statement."""
        with self._errors():
            return self._connection.execute(statement, values)

    def first(
        self, query: str, values: Sequence[object] | Mapping[str, object] = ()
    ) -> tuple[Any, ...] | None:
        """Return the first row of a query."""
        with self._errors():
            found: tuple[Any, ...] | None = self._connection.execute(query, values).fetchone()
            return found

    def executemany(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run one statement for each row."""
        with self._errors():
            self._connection.executemany(statement, rows)

    def rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query as they are read."""
        with self._errors():
            yield from self._connection.execute(query)

    def define(self, name: str, function: Callable[[str], str]) -> None:
        """Let statements use a function of one text."""
        with self._errors():
            self._connection.create_function(name, 1, function, deterministic=True)

    @contextmanager
    def transaction(self) -> Iterator[_Database]:
        """Commit at the end, roll back after an error."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield self
            self.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the connection."""
        with self._errors():
            self._connection.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _failed(self._path, error) from error


def write_rows(target: Path, rows: Iterable[StagedRow | HeldRow]) -> int:
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
