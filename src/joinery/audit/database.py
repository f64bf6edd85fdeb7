"""The tables of a database as a snapshot shows them, with the place in its log beside.

A snapshot is a read-only transaction (`repeatable read`), short: one for each chunk of a
comparison, so that the server can go on cleaning up.

Invariant: all that a snapshot shows was committed at or before `upper` in the log. Nothing is
locked but against a change of a table's columns, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from joinery.audit.column import OUT_OF_RANGE, TableColumn, known_key, may_be_untold, untold
from joinery.audit.error import DiffError, DiffFailedError
from joinery.capture.place_log import MARK
from joinery.capture.spool import CapturePosition
from joinery.clients.postgres import database_errors, open_link, reason, shown
from joinery.clients.sql import quoted
from joinery.model.change import Key, Row
from joinery.model.type import Field
from joinery.plan.relation import Relation
from joinery.project.postgres import table_of
from joinery.semantics.merge import RowMerge
from joinery.semantics.rows import Findings, JoinValue
from joinery.solutions.relational.value import probe_cells

if TYPE_CHECKING:
    import psycopg

    Link = psycopg.Connection[tuple[Any, ...]]

_SETTINGS = (
    "SET timezone = 'UTC'",
    "SET extra_float_digits = 3",  # Else a double may be shown as another one.
    "SET jit = off",
    "SET default_transaction_read_only = on",
    "SET idle_in_transaction_session_timeout = '10min'",
    "SET lock_timeout = '10s'",
    "SET statement_timeout = '10min'",
)
_COLUMNS = """SELECT a.attname,
       format_type(coalesce(nullif(t.typbasetype, 0), t.oid),
                   CASE WHEN t.typbasetype = 0 THEN a.atttypmod ELSE t.typtypmod END),
       coalesce(b.typtype, t.typtype) = 'e'
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type b ON b.oid = nullif(t.typbasetype, 0)
WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped"""
_LED = """SELECT a.attname::text FROM pg_index i
JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am m ON m.oid = c.relam
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
WHERE i.indrelid = to_regclass($1) AND i.indisvalid AND i.indpred IS NULL
  AND m.amname IN ('btree', 'hash')"""
_PLACE = """SELECT (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()
    ELSE pg_current_wal_insert_lsn() END - '0/0'::pg_lsn)::bigint"""
_BUILT_S = 30
_CANCEL_S = 5.0
_OWN = 2  # What is read beside a relation's columns.
_SNAPSHOT = f"{_PLACE}, pg_current_snapshot()::text"

# The letters of messages: I, U, D, T are inserts, updates, deletes and truncations; C is a commit.
_CHANGED = """WITH told AS MATERIALIZED (
    SELECT xid::text::bigint AS xid, lsn - '0/0'::pg_lsn AS at, get_byte(data, 0) AS letter
    FROM pg_logical_slot_peek_binary_changes($1::text::name, '0/0'::pg_lsn + $4::numeric, NULL,
        'proto_version', '1', 'publication_names', $1::text))
SELECT EXISTS (SELECT FROM told WHERE letter IN (73, 85, 68, 84)
    AND xid IN (SELECT xid FROM told WHERE letter = 67 AND at > $2::numeric)
    AND NOT (xid = $3::bigint AND at <= $2::numeric))"""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """One relation's table: its name, quoted, and how each declared column is read.

    Attributes:
        led: The columns that an index begins with.
        doubtful: The columns of whose values some may be `untold`, and their places.
    """

    relation: Relation
    name: str
    columns: dict[str, TableColumn]
    shown: str
    led: frozenset[str]
    doubtful: tuple[tuple[int, Field], ...]

    def array_of(self, column: str) -> str:
        """Return the type of an array of a column's values."""
        return self.columns[column].array

    def read(self, column: str) -> str:
        """Return the SQL that reads a declared column of a row under the alias `kept`."""
        field = next(each for each in self.relation.columns if each.name == column)
        return str(self.columns[column].read_as(field, "kept"))

    def key_of(self, cells: Sequence[Any]) -> Key:
        """Return the key of a row."""
        places = [each.name for each in self.relation.columns]
        return tuple(cells[places.index(each)] for each in self.relation.key)

    def refusal(self, cells: Sequence[Any]) -> str:
        """Return why it cannot be told what a run makes of a row; empty where it can."""
        found = next(filter(None, (untold(cells[at], each) for at, each in self.doubtful)), "")
        return f'a row of "{self.relation.name}" behind it {found}' if found else ""


@dataclass(slots=True)
class Snapshot:
    """What one transaction shows.

    Attributes:
        upper: A place in the log at or above all that it shows.
        lower: A place at or below which nothing is missing, but for commits that hang.
        transactions: Which transactions it shows, as PostgreSQL writes it.
        noting: Whether the versions of rows are noted.
        versions: Those of all rows that were read, by table, place and transaction.
        refused: By relation and key, why rows were left out of what was read: a run may make dead
            letters of them, and go on with what they were before, which is not known here.
    """

    link: Link
    database: SourceDatabase
    lower: int
    upper: int
    transactions: str
    noting: bool
    versions: set[tuple[str, str, str]] = field(default_factory=set)
    refused: dict[tuple[str, Key], str] = field(default_factory=dict)

    def matching(
        self, relation: str, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return the rows that products see, whose `columns` equal one of `values`."""
        table = self.database.tables[relation]
        fields = [each for each in table.relation.row.fields if each.name in columns]
        fields.sort(key=lambda each: columns.index(each.name))
        sought = [*dict.fromkeys(probe_cells(fields, lambda kind: None)(values))]
        if not sought:
            return []
        typed = ", ".join(f"${at}::{table.array_of(each)}" for at, each in enumerate(columns, 1))
        slots = ", ".join(f"v{at}" for at in range(len(columns)))
        same = " AND ".join(
            f"kept.{quoted(each)} = sought.v{at}" for at, each in enumerate(columns)
        )
        arrays = [list(each) for each in zip(*sought, strict=True)]
        own = "kept.ctid::text, kept.xmin::text" if self.noting else "NULL, NULL"
        statement = (
            f"SELECT {own}, {table.shown}"
            f" FROM unnest({typed}) AS sought ({slots}) JOIN {table.name} AS kept ON {same}"
        )
        found = self._run(statement, arrays)
        if self.noting:
            self.versions.update((table.name, place, by) for place, by, *_ in found)
        return self.database.seen(table, self._accepted(table, found))

    def roots(self, relation: Relation, after: Sequence[Any] | None, most: int) -> list[Key]:
        """Return the next keys of a table in the order of its key.

        Args:
            relation: Whose.
            after: The last key that was returned; None to begin.
            most: How many.
        """
        table = self.database.tables[relation.name]
        key = ", ".join(f"kept.{quoted(each)}" for each in relation.key)
        slots = ", ".join(
            f"${at}::{table.columns[each].array.removesuffix('[]')}"
            for at, each in enumerate(relation.key, 1)
        )
        conditions = [f"kept.{quoted(each)} IS NOT NULL" for each in relation.key]
        columns = [(f"kept.{quoted(each)}", relation.type_of(each)) for each in relation.key]
        conditions += [each for each in (known_key(*one) for one in columns) if each]
        known = " AND ".join(conditions)
        beyond = f" AND ({key}) > ({slots})" if after is not None else ""
        read = ", ".join(map(table.read, relation.key))
        statement = (
            f"SELECT {read} FROM {table.name} AS kept WHERE {known}{beyond}"
            f" ORDER BY {key} LIMIT {most}"
        )
        return [tuple(each) for each in self._run(statement, list(after or ()))]

    def _accepted(
        self, table: SourceTable, found: Sequence[tuple[Any, ...]]
    ) -> Sequence[tuple[Any, ...]]:
        """Return the rows that a run accepts; note why that is not known of the others."""
        if not table.doubtful:
            return found
        accepted: list[tuple[Any, ...]] = []
        for cells in found:
            if why := table.refusal(cells[_OWN:]):
                self.refused[table.relation.name, table.key_of(cells[_OWN:])] = why
            else:
                accepted.append(cells)
        return accepted

    def built(self, statement: str, ends: Sequence[Key]) -> list[tuple[Any, ...]]:
        """Return what a statement makes of the roots between keys.

        Raises:
            DiffFailedError: It failed, or took so long that rows are better read in sets.
        """
        self._run(f"SET LOCAL statement_timeout = '{_BUILT_S}s'", ())
        return self._run(statement, [value for key in ends for value in key])

    def _run(self, statement: str, given: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self.database.run(self.link, statement, given)


class SourceDatabase:
    """A PostgreSQL database, read only.

    Args:
        url: Of it, or of a physical standby.
        relations: Those whose tables are read.
    """

    def __init__(self, url: str, relations: Sequence[Relation]) -> None:
        self._url = url
        self._relations = relations
        self._link: Link | None = None
        self._merges = {each.name: RowMerge(each, Findings()) for each in relations}
        self.tables: dict[str, SourceTable] = {}

    @property
    def shown(self) -> str:
        """Host, port and name, for messages."""
        return shown(self._url)

    def open(self) -> None:
        """Connect, and look how the columns are read.

        Raises:
            DatabaseError: It does not let us in.
            DiffError: A table or column is not there, or is of a type that cannot be compared.
        """
        from psycopg import RawCursor

        self._link = link = open_link(self._url)
        link.cursor_factory = RawCursor
        _read_all_times(link)
        for setting in _SETTINGS:
            self.run(link, setting)
        self.tables = {each.name: self._table(link, each) for each in self._relations}

    @property
    def identity(self) -> tuple[str, str]:
        """The identifier of the cluster, and the name of the database."""
        statement = (
            "SELECT (SELECT system_identifier::text FROM pg_control_system()),"
            " current_database()::text"
        )
        [(system, name)] = self.run(self._opened, statement)
        return str(system), str(name)

    @property
    def place(self) -> int:
        """How far its log has come now."""
        return int(self.run(self._opened, _PLACE)[0][0])

    def mark(self) -> None:
        """Write an empty message into the log, which alters no table; where we may."""
        with suppress(*database_errors()), self._opened.transaction():
            self._opened.execute("SET TRANSACTION READ WRITE")
            self._opened.execute(MARK)

    def is_silent(self, slot: str, after: CapturePosition, place: int) -> bool:
        """Return whether the tables of a slot that nobody reads did not change between two places.

        The slot is looked into, and stays where it is; False where we may not look, or where
        nobody knows.
        """
        given = [slot, after.lsn, after.transaction or 0, place]
        with suppress(DiffFailedError):
            [(changed,)] = self.run(self._opened, _CHANGED, given)
            return not changed
        return False

    @contextmanager
    def snapshot(self, *, noting: bool = False) -> Iterator[Snapshot]:
        """Give what the tables show now; note the versions of rows where that is asked."""
        link, lower = self._opened, self.place
        try:
            with link.transaction():
                link.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                [(upper, transactions)] = self.run(link, _SNAPSHOT)
                yield Snapshot(link, self, lower, int(upper), str(transactions), noting)
        except database_errors() as error:
            raise self._failed(error) from error

    def run(self, link: Link, statement: str, given: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement.

        Raises:
            DiffFailedError: The database refuses it, or is away.
        """
        try:
            cursor = link.execute(statement.encode(), given, binary=True)
            return cursor.fetchall() if cursor.description is not None else []
        except database_errors() as error:
            raise self._failed(error) from error

    def seen(self, table: SourceTable, found: Sequence[tuple[Any, ...]]) -> list[Row]:
        """Return the rows that products see of those that were read."""
        names = [each.name for each in table.relation.columns]
        rows: list[Row] = [dict(zip(names, cells[_OWN:], strict=True)) for cells in found]
        if table.relation.derived or table.relation.where is not None:
            merge = self._merges[table.relation.name]
            rows = [row for row in map(merge.derived, rows) if merge.visible(row)]
        return rows

    def cancel(self) -> None:
        """Break off what another thread has it do."""
        if self._link is not None:
            with suppress(*database_errors()):
                self._link.cancel_safe(timeout=_CANCEL_S)

    def close(self) -> None:
        """Close the connection."""
        if self._link is not None:
            self._link.close()
            self._link = None

    @property
    def _opened(self) -> Link:
        if self._link is None or self._link.closed:
            self.open()
        assert self._link is not None
        return self._link

    def _failed(self, error: Exception) -> DiffFailedError:
        return DiffFailedError(
            f"could not read the database {self.shown}",
            detail=reason(error, self._url),
            hint="joinery diff --resume continues once it can be read.",
        )

    def _table(self, link: Link, relation: Relation) -> SourceTable:
        schema, _, table = table_name(relation).rpartition(".")
        name = f"{quoted(schema)}.{quoted(table)}"
        columns = {
            str(column): TableColumn(str(column), str(kind), bool(enum))
            for column, kind, enum in self.run(link, _COLUMNS, [name])
        }
        if not columns:
            raise DiffError(
                f'the database {self.shown} has no table {schema}.{table} for "{relation.name}"',
                hint="Name it as the relation's topic, or name another --database.",
            )
        read: list[str] = []
        for each in relation.columns:
            found = columns.get(each.name)
            sql = found.read_as(each, "kept") if found is not None else None
            if sql is None:
                told = "is not there" if found is None else f"is {found.type}"
                raise DiffError(
                    f'column "{each.name}" of {schema}.{table} cannot be compared: declared is'
                    f" {each.type}, and it {told}",
                    hint=f'Correct the fields of "{relation.name}", or leave the product out.',
                )
            read.append(sql)
        led = frozenset(str(column) for (column,) in self.run(link, _LED, [name]))
        doubtful = tuple(
            (at, each) for at, each in enumerate(relation.columns) if may_be_untold(each.type)
        )
        return SourceTable(relation, name, columns, ", ".join(read), led, doubtful)


def _read_all_times(link: Link) -> None:
    """Have dates and times that Python does not have read as `OUT_OF_RANGE`."""
    from psycopg.types import datetime as of

    loaders = {
        "date": of.DateBinaryLoader,
        "timestamp": of.TimestampBinaryLoader,
        "timestamptz": of.TimestamptzBinaryLoader,
    }
    for name, loader in loaders.items():
        link.adapters.register_loader(name, _reading_all(loader))


def _reading_all(loader: type[Any]) -> type[Any]:
    """Return a loader of the driver that has a value also where Python has none."""
    from psycopg import DataError

    def load(self: Any, data: Any) -> Any:
        try:
            return loader.load(self, data)
        except DataError:
            return OUT_OF_RANGE

    return type(f"All{loader.__name__}", (loader,), {"load": load})


def table_name(relation: Relation) -> str:
    """Return the table whose rows a relation's topic tells, with its schema.

    A connector leads the names of topics with a prefix of its own.

    Example:
        >>> table_of("customer"), ".".join("shop.public.customer".split(".")[-2:])
        ('public.customer', 'public.customer')
    """
    return table_of(".".join(relation.topic.split(".")[-2:]))
