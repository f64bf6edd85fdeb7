"""The postgres sink: the current documents of one product as a table of PostgreSQL.

The table has the root key's columns, and either `document` (jsonb) and `version`, or a column
per field and `joinery_version`. A delete is remembered in `<table>__deleted`.

Invariant: documents, the memory of deletes and (query id, batch id, epoch) change in one
transaction per connection, and a lower epoch is refused. Over one connection that is the batch.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args
from zlib import crc32

from joinery.clients.postgres import connect, database_errors, failure, shown
from joinery.errors import SinkOptionError
from joinery.model.type import Struct
from joinery.project.option import Target, count, options, text, word
from joinery.sinks.key import key_of_stored
from joinery.sinks.line import StagedRow, read_chunks
from joinery.sinks.postgres_part import PostgresPart
from joinery.sinks.postgres_reader import PostgresReader
from joinery.sinks.postgres_table import MAX_NAME_BYTES, Mode, PostgresTable
from joinery.sinks.protocol import (
    FencedError,
    Guarantee,
    Promise,
    SinkError,
    StagedBatch,
    Writer,
    Written,
)

if TYPE_CHECKING:
    import psycopg

_CHUNK_ROWS = 10_000
_AHEAD = 2
_FORGET_EVERY_S = 60.0
# A table that somebody has locked is then told as what is waited for; 0 may be meant by a user.
_TELL_OF_LOCKS = """SELECT set_config('lock_timeout', '10s', false) FROM pg_settings
    WHERE name = 'lock_timeout' AND setting = '0'
    AND source NOT IN ('client', 'user', 'database', 'database user')"""
_ONE = Guarantee(
    summary="The table holds the newest document of each key; a batch is one transaction."
)
_MANY = Guarantee(
    summary="The table holds the newest document of each key.",
    gaps={Promise.ATOMIC: "each of several connections commits its share of a batch"},
)


class PostgresSink:
    """Keeps the newest document of each key.

    Args:
        url: `postgresql://…`, or what else libpq takes.
        table: Its name.
        schema: Empty for the first of the search path.
        mode: The table's form.
        connections: How many share a batch, each with keys of its own.
    """

    writer: Writer = "driver"

    def __init__(
        self, url: str, table: str, *, schema: str = "", mode: Mode = "jsonb", connections: int = 1
    ) -> None:
        self.target = f"postgres table {table} at {shown(url)}"
        self.guarantee = _ONE if connections == 1 else _MANY
        self._url = url
        self._name, self._schema, self._mode = table, schema, mode
        self._wanted = connections
        self._connections: list[psycopg.Connection[Any]] = []
        self._parts: list[PostgresPart] = []
        self._table: PostgresTable | None = None
        self._claimed: tuple[str, int] | None = None
        self._forgot_at = 0.0

    def open(self) -> None:
        """Connect; the table is created with the first batch, which tells its columns."""
        self.close()
        try:
            for number in range(self._wanted):
                connection = connect(self._url)
                self._connections.append(connection)
                with self._told(), connection.transaction():
                    connection.execute(_TELL_OF_LOCKS)
                self._parts.append(PostgresPart(connection, self._url, number))
        except BaseException:
            self.close()
            raise

    def write(self, batch: StagedBatch) -> Written:
        """Apply `batch`."""
        if not self._parts:
            raise SinkError(f'sink "postgres" for table "{self._name}" is not open')
        with self._told():
            table = self._prepared(batch)
            try:
                for part in self._parts:
                    part.begin(table, batch)
                self._apply(batch)
                self._forget(table, batch)
                for part in self._parts:
                    batch.check()
                    part.commit()
            except BaseException:
                for part in self._parts:
                    with suppress(*database_errors()):
                        part.abandon()
                raise
        return _told_of(self._parts)

    def begin(self, batch: StagedBatch) -> None:
        """Create the table where it is missing, and claim it for this run."""
        if not self._parts:
            raise SinkError(f'sink "postgres" for table "{self._name}" is not open')
        with self._told():
            self._prepared(batch)

    def write_part(self, batch: StagedBatch, part: int) -> Written:
        """Apply the documents of a part in a transaction of its own, which notes the batch."""
        if not self._parts:
            raise SinkError(f'sink "postgres" for table "{self._name}" is not open')
        mine = self._parts[0]
        with self._told():
            try:
                mine.begin(self._described(batch), batch, task=part)
                for chunk in read_chunks(batch.files, rows=_CHUNK_ROWS):
                    mine.apply(chunk)
                batch.check()
                mine.commit()
            except BaseException:
                with suppress(*database_errors()):
                    mine.abandon()
                raise
        return _told_of((mine,))

    def end(self, batch: StagedBatch) -> None:
        """Forget old deletes now and then."""
        with self._told(), self._connections[0].transaction():
            self._forget(self._prepared(batch), batch)

    def keys(self, batch: StagedBatch) -> Iterator[str]:
        """Yield the root keys of all documents in the table."""
        if not self._parts:
            raise SinkError(f'sink "postgres" for table "{self._name}" is not open')
        with self._told():
            query = self._prepared(batch).keys()
            with self._connections[0].transaction():
                cursor = self._connections[0].cursor(name="joinery_keys")
                cursor.itersize = _CHUNK_ROWS
                for values in cursor.execute(query):
                    yield key_of_stored(batch.key, values)

    def stands(self, batch: StagedBatch) -> bool:
        """Return whether the table is there."""
        if not self._parts:
            raise SinkError(f'sink "postgres" for table "{self._name}" is not open')
        with self._told():
            return self._described(batch).stands(self._connections[0])

    def last_batch(self, batch: StagedBatch) -> int | None:
        """Return the highest batch of the checkpoint that is noted beside the table."""
        from psycopg.errors import UndefinedTable

        if not self._parts:
            raise SinkError(f'sink "postgres" for table "{self._name}" is not open')
        first = self._connections[0]
        query = self._described(batch).fence.last_batch(batch.query_id)
        with self._told(), suppress(UndefinedTable), first.transaction():
            found = first.execute(query).fetchone()
            return None if found is None or found[0] is None else int(found[0])
        return None

    def close(self) -> None:
        """Close all connections."""
        for connection in self._connections:
            connection.close()
        self._connections, self._parts = [], []
        self._table, self._claimed = None, None

    def _apply(self, batch: StagedBatch) -> None:
        chunks = read_chunks(batch.files, rows=_CHUNK_ROWS)
        if len(self._parts) == 1:
            for chunk in chunks:
                self._parts[0].apply(chunk)
            return
        with _Lanes(len(self._parts)) as lanes:
            for chunk in chunks:
                for number, rows in enumerate(_split(chunk, len(self._parts))):
                    if rows:
                        lanes.give(number, self._parts[number], rows)

    def _forget(self, table: PostgresTable, batch: StagedBatch) -> None:
        if time.monotonic() - self._forgot_at > _FORGET_EVERY_S:
            self._parts[0].forget(table, batch.forget_before)
            self._forgot_at = time.monotonic()

    def _prepared(self, batch: StagedBatch) -> PostgresTable:
        """Return the table, there and claimed for this run."""
        first = self._connections[0]
        if self._table is None:
            table = self._described(batch)
            with first.transaction():
                table.create(first)
            self._table = table
        if self._claimed != (batch.query_id, batch.epoch):
            with first.transaction():
                _claim(first, self._table, batch, len(self._parts))
            self._claimed = (batch.query_id, batch.epoch)
        return self._table

    def _described(self, batch: StagedBatch) -> PostgresTable:
        return PostgresTable(
            self._name,
            self._schema,
            key=batch.key,
            value=batch.value,
            mode=self._mode,
            nullable=batch.nullable_key,
        )

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell what the driver raises as errors of a sink."""
        try:
            yield
        except database_errors() as error:
            what = f'could not write table "{self._name}" of'
            raise failure(error, self._url, what) from error


def _told_of(parts: Sequence[PostgresPart]) -> Written:
    return Written(
        refused=tuple(each for part in parts for each in part.refused),
        older=sum(part.older for part in parts),
    )


class _Lanes:
    """Applies chunks in a thread per part, in order, a few ahead of the reading."""

    def __init__(self, count: int) -> None:
        self._threads = [ThreadPoolExecutor(1, "joinery-postgres") for _ in range(count)]
        self._given: list[deque[Future[None]]] = [deque() for _ in range(count)]

    def __enter__(self) -> Self:
        return self

    def give(self, number: int, part: PostgresPart, rows: Sequence[StagedRow]) -> None:
        """Let a part apply rows; waits where it has enough to do, and raises what it met."""
        given = self._given[number]
        while len(given) >= _AHEAD:
            given.popleft().result()
        given.append(self._threads[number].submit(part.apply, rows))

    def __exit__(self, *failed: object) -> None:
        for thread in self._threads:
            thread.shutdown(cancel_futures=failed[0] is not None)
        if failed[0] is None:
            for given in self._given:
                for each in given:
                    each.result()


def _split(rows: Sequence[StagedRow], count: int) -> list[list[StagedRow]]:
    """Return the rows in parts, each key always in the same."""
    parts: list[list[StagedRow]] = [[] for _ in range(count)]
    for row in rows:
        parts[crc32(row.key.encode()) % count].append(row)
    return parts


def _claim(
    connection: psycopg.Connection[Any], table: PostgresTable, batch: StagedBatch, parts: int
) -> None:
    """Note that this run writes the table; one that wrote before ends its batch first, or fails.

    Raises:
        FencedError: A later run has claimed it.
    """
    newest = connection.execute(table.fence.newest(batch.query_id)).fetchone()
    if newest and newest[0] is not None and newest[0] > batch.epoch:
        raise FencedError(f'another run of "{batch.query}" is writing to table "{table.name}"')
    for part in range(parts):
        connection.execute(table.fence.note_part(batch.query_id, part, batch.epoch))
    connection.execute(table.fence.claim(batch.query_id, batch.epoch))


@options
class PostgresOptions:
    """`{postgres: {url: postgresql://…}}`; the table is the product's name."""

    keeps_all: ClassVar[bool] = False
    url: str = text(
        "The database.", examples=["postgresql://user:password@host:5432/name"], secret=True
    )
    table: str = text("The table; by default the product's name.", default="")
    schema: str = text("The table's schema; by default the first of the search path.", default="")
    mode: Mode = word(
        "One jsonb column for the document, or one column per field.",
        get_args(Mode),
        default="jsonb",
    )
    connections: int = count(
        "Connections that write at once; with 1 a batch is one transaction.", default=1
    )

    def make(self, product: str, folder: Path) -> PostgresSink:
        """Return the sink of a product."""
        table = self.table or product
        if len(f"{table}__deleted".encode()) > MAX_NAME_BYTES or "\0" in table:
            raise SinkOptionError(
                f'PostgreSQL cannot name a table "{table}__deleted"',
                hint=f"A name has at most {MAX_NAME_BYTES} bytes.",
            )
        return PostgresSink(
            self.url, table, schema=self.schema, mode=self.mode, connections=self.connections
        )

    def target(self, product: str, folder: Path) -> Target:
        """Return the table."""
        return Target("postgres", (self.url, self.schema), self.table or product, "table")

    def reader(self, product: str, folder: Path, key: Struct, value: Struct) -> PostgresReader:
        """Return what reads the documents of a product."""
        fields = value if self.mode == "columns" else None
        return PostgresReader(self.url, self.table or product, self.schema, key, fields)
