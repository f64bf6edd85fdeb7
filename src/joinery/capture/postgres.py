"""What a PostgreSQL server has to have before its log is captured: asked, and made where we may.

Each check says in one line what is wrong and, in its hint, the SQL that fixes it. A publication
is made where it is not there; the slot is made by the connector, which reads the tables as of it.

Invariant: nothing goes on over a gap: a slot that does not go on where the spool ends is refused,
and so is a database that stands behind the spool, or has another table under the name of one that
the spool has, and a publication that left changes out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from joinery.capture.failure import failure_of, is_full
from joinery.capture.gone_columns import TableColumns
from joinery.capture.postgres_key import check_key
from joinery.capture.publication import (
    check_published,
    entries_of,
    make_publication,
    note_followed,
    read_anew,
)
from joinery.capture.server import Prepared, ServerAwayError, ServerShortError, pattern_of
from joinery.capture.slot import RESTORED, check_slot, check_unmoved
from joinery.capture.spool import ANEW, GONE, CaptureError, CaptureLostError, SpoolFolder
from joinery.capture.sql import number_of, row_of, text_of
from joinery.capture.tables import check_same, check_table, columns_of_tables
from joinery.clients.postgres import database_errors, first_line, shown
from joinery.errors import needs_extra
from joinery.model.warning import RunWarning

if TYPE_CHECKING:
    import psycopg

    Link = psycopg.Connection[tuple[Any, ...]]

_CONNECT_S = 10
_SILENT_S = 20
_QUEUE_BYTES = 32 << 20
_PREFIX = "joinery"
_LOGS_SNAPSHOTS = 160_000
_LOCK_TIMEOUT = "set lock_timeout = '5s'"
_CLIENT_SETTINGS = {
    "host": "database.hostname",
    "port": "database.port",
    "user": "database.user",
    "password": "database.password",
    "dbname": "database.dbname",
    "sslmode": "database.sslmode",
    "sslrootcert": "database.sslrootcert",
    "sslcert": "database.sslcert",
    "sslkey": "database.sslkey",
}


@dataclass(frozen=True, slots=True)
class PostgresDatabase:
    """A database of PostgreSQL whose log is captured.

    Attributes:
        url: A connection string of PostgreSQL's own client library.
        slot: The replication slot, and the publication.
        tables: As schema.table.
        unused: Those of them that the spool has from before, and that no relation reads any more.
        columns: Those that relations read, by table; where a table has none, all may be needed.
    """

    url: str
    slot: str
    tables: tuple[str, ...]
    unused: frozenset[str] = frozenset()
    columns: Mapping[str, Collection[str]] = field(default_factory=dict)

    @property
    def shown(self) -> str:
        """Host, port and name, for messages."""
        return shown(self.url)

    def connect(self) -> Link:
        """Return a connection whose statements each stand alone.

        Raises:
            ServerAwayError: The server is not there now.
            CaptureError: It does not let us in, or the driver is missing.
        """
        with needs_extra("postgres", "PostgreSQL needs the package psycopg", CaptureError):
            import psycopg
        try:
            return psycopg.connect(
                self.url,
                autocommit=True,
                connect_timeout=_CONNECT_S,
                application_name=_PREFIX,
                keepalives_idle=_SILENT_S,  # not two hours, where the other end has vanished
            )
        except psycopg.Error as error:
            raise self.failure(error) from error

    def following(self, tables: tuple[str, ...]) -> Self:
        """Return the database with these tables."""
        return replace(self, tables=tables)

    def is_used(self, table: str) -> bool:
        """Return whether a relation reads a table."""
        return table not in self.unused

    def does_without(self, table: str, columns: Collection[str]) -> bool:
        """Return whether relations do without some columns of a table."""
        return not columns or {*self.columns.get(table, columns)}.isdisjoint(columns)

    def prepare(self, spool: SpoolFolder) -> Prepared:
        """As the function of this name."""
        return prepare(self, spool)

    def mark(self) -> int:
        """As the function of this name."""
        return mark(self)

    def reached(self, spool: SpoolFolder, place: int) -> bool:
        """Return whether a spool has the log up to a place."""
        position = spool.position
        return position is not None and position.lsn >= place

    def check_unmoved(self, spool: SpoolFolder) -> None:
        """As the function of this name."""
        check_unmoved(self, spool)

    def check_same(self, spool: SpoolFolder) -> tuple[RunWarning, ...]:
        """As `check_same` of `tables`, and `check_published`; there is nothing to warn of."""
        with self.connect() as link:
            try:
                check_same(link, self, spool)
                check_published(link, self, spool)
            except database_errors() as error:
                raise self.failure(error) from error
        return ()

    def columns_of(self, tables: Collection[str]) -> Mapping[str, TableColumns]:
        """Return the columns of those of some tables that are there.

        Raises:
            CaptureError: The server is not there now, or refuses.
        """
        with self.connect() as link:
            try:
                return columns_of_tables(link, tables)
            except database_errors() as error:
                raise self.failure(error) from error

    def refusal(self, said: str) -> CaptureError | None:
        """Return nothing: waiting may help, whatever the process ended of."""
        return None

    def passes(self, said: str) -> bool:
        """Return whether what a process ended of is a server that has no connection to spare."""
        return is_full(said)

    def check_joining(self, table: str) -> None:
        """As the function of this name."""
        check_joining(self, table)

    def reading_settings(
        self, settings: Mapping[str, str], tables: Sequence[str]
    ) -> dict[str, str]:
        """As the function of this name."""
        return reading_settings(settings, tables)

    def failure(self, error: Exception) -> CaptureError:
        """Return what a failure of the driver means."""
        return failure_of(error, self.url)


def prepare(database: PostgresDatabase, spool: SpoolFolder) -> Prepared:
    """Make a server ready for the capture of a spool; return what that is started with.

    Raises:
        ServerAwayError: The server is not there now.
        CaptureLostError: It has no longer all that the spool lacks.
        CaptureError: Something has to be fixed first; the hint says how.
    """
    with database.connect() as link:
        try:
            # Nobody follows the log meanwhile, and who waits for a lock cannot be told to end.
            link.execute(_LOCK_TIMEOUT)
            _check_settings(link)
            begun_at = _check_place(link, database, spool)
            # Before the publication has again what was taken out of it, or what has its name now.
            check_same(link, database, spool)
            check_published(link, database, spool)
            database = replace(database, tables=_needed(link, database, spool))
            joining = _joining(database, spool)
            strict = tuple(each for each in database.tables if each not in joining)
            for table in strict:
                check_table(link, database, table, reads=spool.position is None)
            check_slot(link, database, spool)
            if strict:
                _publish(link, replace(database, tables=strict))
            read_anew(link, database, spool, joining)
            lacking = _lacking(link, database, joining)
            spool.forget_followed(lacking)  # what is not followed may become another one
            note_followed(link, database, spool, {*joining} - {*lacking})
            if spool.position is None:
                spool.note_published(entries_of(link, database, database.tables))
            tables = tuple(each for each in database.tables if each not in lacking)
            if not tables:  # a connector without tables would follow all there are
                none = CaptureError(f"no relation reads a table of {database.shown} that is there")
                raise next(iter(lacking.values()), none)
            return Prepared(settings(link, replace(database, tables=tables)), begun_at, lacking)
        except database_errors() as error:
            raise database.failure(error) from error


def _needed(link: Link, database: PostgresDatabase, spool: SpoolFolder) -> tuple[str, ...]:
    """Return the tables without those that nobody reads any more and that can be followed no more.

    Those whose rows the spool has are marked, since their changes are missing from now on.
    """
    known = spool.identity
    assert known is not None  # claimed before
    numbers = (*spool.table_oids.items(), *spool.published.items())
    gone = {table for table, number in numbers if number == GONE} & database.unused
    lacking = _lacking(link, database, [*database.unused - gone])
    if spool.position is not None:
        spool.note_gone([each for each in lacking if each not in known.unread])
    return tuple(each for each in database.tables if each not in {*gone, *lacking})


def _joining(database: PostgresDatabase, spool: SpoolFolder) -> tuple[str, ...]:
    """Return the tables that may have to wait, without ending all: of these nothing is told yet."""
    known = spool.identity
    if known is None or spool.position is None:
        return ()
    # An export lacks what was not followed since it was taken, so its tables are followed or none.
    return tuple(e for e in database.tables if e in known.unread and e not in known.awaited)


def _publish(link: Link, database: PostgresDatabase) -> None:
    """Have tables published without which nothing begins: whoever has locked one is waited for."""
    import psycopg

    try:
        make_publication(link, database)
    except psycopg.errors.LockNotAvailable as error:
        raise ServerShortError(
            f"could not publish the tables of {database.shown}: another session has locked one;"
            f" see pg_locks ({first_line(error)})"
        ) from error


def _lacking(
    link: Link, database: PostgresDatabase, tables: Sequence[str]
) -> Mapping[str, CaptureError]:
    """Return why some tables cannot be followed; make the others so that they can."""
    lacking: dict[str, CaptureError] = {}
    for table in tables:
        try:
            check_table(link, database, table, reads=True)
            make_publication(link, replace(database, tables=(table,)))
        except CaptureError as error:
            lacking[table] = error
        except database_errors() as error:
            lacking[table] = failure = database.failure(error)
            if isinstance(failure, ServerAwayError):
                raise failure from error
    return lacking


def check_joining(database: PostgresDatabase, table: str) -> None:
    """Refuse a table that cannot be followed and read.

    Raises:
        ServerAwayError: The server is not there now.
        CaptureError: Something has to be fixed first; the hint says how.
    """
    with database.connect() as link:
        try:
            link.execute(_LOCK_TIMEOUT)
            for error in _lacking(link, database, (table,)).values():
                raise error
        except database_errors() as error:
            raise database.failure(error) from error


def make_slot(link: Link, database: PostgresDatabase) -> int:
    """Make the slot, once all that runs now has ended; return from where it follows the log."""
    link.execute("set statement_timeout = 0")
    made = "pg_create_logical_replication_slot(%s, 'pgoutput')"
    return number_of(link, f"select (lsn - '0/0'::pg_lsn)::bigint from {made}", database.slot)


def settings(link: Link, database: PostgresDatabase) -> dict[str, str]:
    """Return the settings of Debezium's connector for a database we are connected to."""
    known = {**link.info.get_parameters(), "password": link.info.password or ""}
    known |= {"host": link.info.host, "port": str(link.info.port)}
    check_key(known, database.shown)
    given = {ours: known[name] for name, ours in _CLIENT_SETTINGS.items() if known.get(name)}
    return {
        "name": database.slot,
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "topic.prefix": database.slot,
        "database.password": "",
        **given,
        "table.include.list": ",".join(map(pattern_of, database.tables)),
        "plugin.name": "pgoutput",
        "slot.name": database.slot,
        "publication.name": database.slot,
        "publication.autocreate.mode": "disabled",
        "snapshot.mode": "initial",
        "decimal.handling.mode": "string",
        # A timestamp(3) would else count milliseconds where a timestamp(6) counts microseconds.
        "time.precision.mode": "microseconds",
        "skipped.operations": "none",
        "tombstones.on.delete": "false",
        # Each commit tells its place: the only ones from which the log is read on.
        "provide.transaction.metadata": "true",
        "poll.interval.ms": "10",
        # Rows that wait to be written, however wide they are; the process has 256 MiB.
        "max.queue.size.in.bytes": str(_QUEUE_BYTES),
        "errors.max.retries": "0",
        "lsn.flush.mode": "connector",
        # Idle tables: what others write moves our position too, so that it frees the log.
        "heartbeat.interval.ms": "5000",
        # Rows that the user may not see are refused, not left out.
        "database.initial.statements": "set row_security = off",
        # Else a server may round doubles, also in the changes that it tells.
        "driver.options": "-c extra_float_digits=3",
        "heartbeat.action.query": _heartbeat(link),
    }


def _heartbeat(link: Link) -> str:
    """Return the statement that moves the slot though nobody writes to its tables.

    The server lets go of its log up to a snapshot of the running transactions, of which it writes
    one every 15 to 25 s itself; where we may, one is written with each message. It stands before
    the message: one that finds a transaction running frees the log up to the one before it only.
    """
    snapshot = "pg_log_standby_snapshot(), " if _may_log_snapshots(link) else ""
    return f"select {snapshot}pg_logical_emit_message(true, '{_PREFIX}', '')"


def _may_log_snapshots(link: Link) -> bool:
    if link.info.server_version < _LOGS_SNAPSHOTS:
        return False
    may = "select has_function_privilege('pg_log_standby_snapshot()', 'execute')"
    return bool(row_of(link, may)[0])


def reading_settings(settings: Mapping[str, str], tables: Sequence[str]) -> dict[str, str]:
    """Return the settings of a connector that reads tables whole, and does not follow the log."""
    kept = {name: each for name, each in settings.items() if name != "heartbeat.action.query"}
    return {
        **kept,
        # Not that of the connector beside it, whose figures are registered under it.
        "topic.prefix": f"{settings['topic.prefix']}_read",
        "table.include.list": ",".join(map(pattern_of, tables)),
        "snapshot.mode": "initial_only",
        "snapshot.isolation.mode": "repeatable_read",
    }


def mark(database: PostgresDatabase) -> int:
    """Write a mark into the log and return its place: once captured, all before it is."""
    with database.connect() as link:
        try:
            return number_of(
                link, "select pg_logical_emit_message(true, %s, '') - '0/0'::pg_lsn", _PREFIX
            )
        except database_errors() as error:
            raise database.failure(error) from error


def check_server(database: PostgresDatabase) -> None:
    """Refuse a server whose log cannot be followed, or not by us.

    Raises:
        ServerAwayError: The server is not there now.
        CaptureError: Something has to be fixed first; the hint says how.
    """
    with database.connect() as link:
        _check_settings(link)


def _check_settings(link: Link) -> None:
    if (level := text_of(link, "show wal_level")) != "logical":
        raise CaptureError(
            f"the server's wal_level is {level}; changes can be captured only with logical",
            hint="alter system set wal_level = 'logical'; then restart the server.",
        )
    may, user = row_of(
        link,
        "select rolsuper or rolreplication or exists (select from pg_roles as given where"
        " given.rolname in ('rds_replication', 'cloudsqlsuperuser', 'azure_pg_admin')"
        " and pg_has_role(given.oid, 'member')), quote_ident(rolname)"
        " from pg_roles where rolname = current_user",
    )
    if not may:
        raise CaptureError(f"user {user} may not replicate", hint=f"alter role {user} replication;")


def _check_place(link: Link, database: PostgresDatabase, spool: SpoolFolder) -> int:
    """Refuse another database than the spool's, and one that was put back; return its place."""
    system, name, end = row_of(
        link,
        "select (select system_identifier::text from pg_control_system()),"
        " current_database()::text, (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint",
    )
    known, position = spool.identity, spool.position
    assert known is not None  # claimed before
    if position is None or not known.system:
        spool.note_database(system, name)
    elif (known.system, known.database) != (system, name):
        raise CaptureLostError(
            f"{database.shown} is not the database whose changes are in {spool.path}",
            hint=f"Change url back. If the database has moved: {ANEW}",
        )
    elif end < position.lsn:
        raise CaptureLostError(
            f"the database {database.shown} is behind what was captured from it",
            detail=RESTORED,
            hint=ANEW,
        )
    return int(end)
