"""A database of MySQL or MariaDB whose log is captured, and how that stands.

Nothing is made on the server: it keeps its log for as long as it is told to, whoever reads it.

Invariant: nothing goes on over a gap: a log whose file was purged before it was read is refused,
and so is a server that stands behind the spool, or is another than the spool's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from joinery.capture.gone_columns import TableColumns
from joinery.capture.mysql_log import (
    LogFiles,
    Plugin,
    check_logged,
    check_rights,
    check_settings,
    files_of,
    is_of,
    place_of,
    plugin_of,
    system_of,
)
from joinery.capture.mysql_tables import check_tables, columns_of_tables, kind_of
from joinery.capture.schema_history import HISTORY, noted_since
from joinery.capture.server import Prepared, ServerAwayError, pattern_of
from joinery.capture.spool import ANEW, CaptureError, CaptureLostError, SpoolFolder
from joinery.clients.mysql import CLIENT_ERRORS, MysqlAddress, MysqlError, MysqlLink
from joinery.model.warning import RunWarning

_QUEUE_BYTES = 32 << 20
_SILENT_MS = 60_000
_NOT_UNDERSTOOD = "a statement that changes a captured table is not understood"
_ALONE_EVENTS = 2  # of a statement that changes tables: its identifier, and itself
# No connection, too many of them, the end of the server, a query that was killed.
_PASSING = (0, 1040, 1053, 1077, 1078, 1079, 1152, 1158, 1159, 1160, 1161, 1317, 1927)
_CONNECTORS: Mapping[Plugin, str] = {
    "mysql": "io.debezium.connector.mysql.MySqlConnector",
    "mariadb": "io.debezium.connector.mariadb.MariaDbConnector",
}


@dataclass(frozen=True, slots=True)
class MysqlDatabase:
    """A database of MySQL or MariaDB whose log is captured.

    Attributes:
        url: `mysql://user:password@host:port/name`.
        slot: What the spool is known by.
        tables: As database.table.
        server_id: The number by which the server knows us among its replicas.
    """

    url: str
    slot: str
    tables: tuple[str, ...]
    server_id: int

    @property
    def shown(self) -> str:
        """Host, port and name, for messages."""
        return self._address.shown

    @property
    def _address(self) -> MysqlAddress:
        try:
            return MysqlAddress.of(self.url)
        except MysqlError as error:
            raise CaptureError(error.message, hint=error.hint) from error

    def following(self, tables: tuple[str, ...]) -> Self:
        """Return the database with these tables."""
        return replace(self, tables=tables)

    def connect(self) -> MysqlLink:
        """Return a connection.

        Raises:
            ServerAwayError: The server is not there now.
            CaptureError: It does not let us in, or the driver is missing.
        """
        try:
            return MysqlLink(self._address)
        except MysqlError as error:
            raise self.failure(error) from error

    def failure(self, error: MysqlError) -> CaptureError:
        """Return what a failure means."""
        if error.number in CLIENT_ERRORS or (error.number in _PASSING and not error.hint):
            return ServerAwayError(f"could not reach the database {self.shown}: {error.detail}")
        if error.hint:  # the driver is missing
            return CaptureError(error.message, detail=error.detail, hint=error.hint)
        return CaptureError(
            f"the database {self.shown} refused the request: {error.detail}",
            hint="Check the URL and its user.",
        )

    def prepare(self, spool: SpoolFolder) -> Prepared:
        """Look whether the log can be captured into a spool; return what that is started with.

        Raises:
            ServerAwayError: The server is not there now.
            CaptureLostError: It has no longer all that the spool lacks.
            CaptureError: Something has to be mended first; the hint says how.
        """
        with self.connect() as link:
            try:
                plugin = self._check_server(link)
                check_logged(link, plugin, self.tables)
                check_tables(link, self)
                self._check_place(link, plugin, spool)
            except MysqlError as error:
                raise self.failure(error) from error
        return Prepared(self.settings(plugin, spool), 0, plugin=plugin, silent_ms=_SILENT_MS)

    def check_server(self) -> None:
        """Refuse a server whose log cannot be followed, or not by us.

        Raises:
            ServerAwayError: The server is not there now.
            CaptureError: Something has to be mended first; the hint says how.
        """
        with self.connect() as link:
            try:
                self._check_server(link)
            except MysqlError as error:
                raise self.failure(error) from error

    def _check_server(self, link: MysqlLink) -> Plugin:
        plugin = plugin_of(link)
        check_settings(link, plugin, self.server_id)
        check_rights(link)
        return plugin

    def settings(self, plugin: Plugin, spool: SpoolFolder) -> dict[str, str]:
        """Return the settings of Debezium's connector; the password is among them."""
        address = self._address
        return {
            "name": self.slot,
            "connector.class": _CONNECTORS[plugin],
            "topic.prefix": self.slot,
            "database.hostname": address.host,
            "database.port": str(address.port),
            "database.user": address.user,
            "database.password": address.password,
            "database.server.id": str(self.server_id),
            **_secured(plugin, address),
            "table.include.list": ",".join(map(pattern_of, self.tables)),
            "snapshot.mode": "initial",
            # Writers wait while the place in the log is taken, not while rows are read.
            "snapshot.locking.mode": "minimal",
            "include.schema.changes": "false",
            "schema.history.internal": "io.debezium.storage.file.history.FileSchemaHistory",
            "schema.history.internal.file.filename": str(spool.path.absolute() / HISTORY),
            # The columns of tables that join later have to be known by then.
            "schema.history.internal.store.only.captured.tables.ddl": "false",
            "schema.history.internal.store.only.captured.databases.ddl": "false",
            # One that alters a captured table ends the capture: it looks what the history notes.
            "schema.history.internal.skip.unparseable.ddl": "true",
            "decimal.handling.mode": "string",
            "bigint.unsigned.handling.mode": "precise",
            # A datetime(3) would else count milliseconds where a datetime(6) counts microseconds.
            "time.precision.mode": "microseconds",
            # It takes years below 100 for years of this century; a server's have four digits.
            "enable.time.adjuster": "false",
            "skipped.operations": "none",
            "tombstones.on.delete": "false",
            "event.deserialization.failure.handling.mode": "fail",
            "inconsistent.schema.handling.mode": "fail",
            # The end of each transaction is told: a place from which the log is read on.
            "provide.transaction.metadata": "true",
            "poll.interval.ms": "10",
            "max.queue.size.in.bytes": str(_QUEUE_BYTES),
            "errors.max.retries": "0",
            # A connection that breaks ends the process, which goes on from its position.
            "connect.keep.alive": "false",
            # The server tells of an idle log after 0.8 of this: then the position is at its end.
            "connect.keep.alive.interval.ms": "1000",
            "heartbeat.interval.ms": "1000",
        }

    def reading_settings(
        self, settings: Mapping[str, str], tables: Sequence[str]
    ) -> dict[str, str]:
        """Return the settings of a connector that reads tables whole, and not the log."""
        kept = {
            name: each
            for name, each in settings.items()
            if not name.startswith("schema.history.internal")
        }
        return {
            **kept,
            # Not that of the connector beside it, whose figures are registered under it.
            "topic.prefix": f"{settings['topic.prefix']}_read",
            "table.include.list": ",".join(map(pattern_of, tables)),
            "snapshot.mode": "initial_only",
            "schema.history.internal": "io.debezium.relational.history.MemorySchemaHistory",
        }

    def passes(self, said: str) -> bool:
        """Return whether what a process ended of is a server that has no connection to spare."""
        return "Too many connections" in said

    def refusal(self, said: str) -> CaptureError | None:
        """Return what has to be mended where the process ended of it; else waiting may help."""
        if said.startswith(_NOT_UNDERSTOOD):
            return CaptureLostError(
                said, detail="The columns of later changes are not known.", hint=ANEW
            )
        if "same server_uuid/server_id" not in said:
            return None
        return CaptureError(
            f"another client reads the log of {self.shown} as replica {self.server_id}",
            detail="A server sends its log to one replica per number, the one that connected last.",
            hint="Give one of them another number, next to url: server_id: N.",
        )

    def check_joining(self, table: str) -> None:
        """Refuse a table that cannot be followed and read.

        Raises:
            ServerAwayError: The server is not there now.
            CaptureError: Something has to be mended first; the hint says how.
        """
        with self.connect() as link:
            try:
                check_tables(link, self.following((table,)))
            except MysqlError as error:
                raise self.failure(error) from error

    def mark(self) -> int:
        """Return the place of the log's end: once captured, all that was committed is.

        Raises:
            ServerAwayError: The server is not there now.
            CaptureError: It refuses us.
        """
        return self.files().end

    def reached(self, spool: SpoolFolder, place: int) -> bool:
        """Return whether a spool has the log up to a place.

        The connector for MariaDB takes a statement that changes tables for the beginning of a
        transaction, and stays at it until the next one: the log tells that it was the last.

        Raises:
            ServerAwayError: The server is not there now.
            CaptureError: It refuses us.
        """
        position, offset = spool.position, spool.offset
        if position is None or position.lsn >= place:
            return position is not None
        file, begin = str(offset["file"]), int(offset["pos"])
        begun = place_of(file, begin)
        mariadb = ":" not in offset.get("gtids", ":")  # else each has the name of a server
        if not mariadb or position.lsn - begun < _ALONE_EVENTS:
            return False
        with self.connect() as link:
            try:
                events = link.rows(f"show binlog events in %s from {begin} limit 3", file)
            except MysqlError as error:
                raise self.failure(error) from error
        kinds = [str(each[2]) for each in events]
        return kinds == ["Gtid", "Query"] and begun - begin + int(events[1][4]) >= place

    def files(self) -> LogFiles:
        """Return the files of the log.

        Raises:
            ServerAwayError: The server is not there now.
            CaptureError: It refuses us.
        """
        with self.connect() as link:
            try:
                return files_of(link, plugin_of(link))
            except MysqlError as error:
                raise self.failure(error) from error

    def missing(self) -> list[str]:
        """Return those of the tables that the server does not have, or does not show us."""
        with self.connect() as link:
            try:
                return [each for each in self.tables if kind_of(link, each) is None]
            except MysqlError as error:
                raise self.failure(error) from error

    def check_same(self, spool: SpoolFolder) -> tuple[RunWarning, ...]:
        """Refuse a table that was dropped or renamed while the log is followed.

        Returns:
            What someone should look at: tables that lost rows, or swapped them with those of
            another table, of which the log does not tell.

        Raises:
            CaptureLostError: It was, and another one may have its name.
        """
        known = spool.identity
        tables = frozenset(known.tables if known is not None else ())
        noted = noted_since(spool.path / HISTORY, spool.history_bytes)
        for table in sorted({*noted.gone} & tables):
            raise CaptureLostError(
                f"table {table} was {noted.gone[table]} while it was being captured",
                detail="The log has no deletes for its rows, even if a table of the same name was"
                " created again.",
                hint=ANEW,
            )
        spool.note_history(noted.looked_at)
        return (
            *map(_swapped, sorted(noted.swapped & tables)),
            *(_emptied(each, noted.emptied[each]) for each in sorted({*noted.emptied} & tables)),
        )

    def columns_of(self, tables: Collection[str]) -> Mapping[str, TableColumns]:
        """Return the columns of those of some tables that are there.

        Raises:
            CaptureError: The server is not there now, or refuses.
        """
        with self.connect() as link:
            try:
                return columns_of_tables(link, tables)
            except MysqlError as error:
                raise self.failure(error) from error

    def check_unmoved(self, spool: SpoolFolder) -> None:
        """Refuse a log that no longer has what the spool lacks.

        Raises:
            ServerAwayError: The server is not there now.
            CaptureLostError: A file of the log was purged, or the log begun anew.
        """
        position, offset = spool.position, spool.offset
        if position is None:
            return
        with self.connect() as link:
            try:
                files = files_of(link, plugin_of(link))
                self._check_files(files, position.lsn)
                self._check_log(link, files, offset)
            except MysqlError as error:
                raise self.failure(error) from error

    def _check_place(self, link: MysqlLink, plugin: Plugin, spool: SpoolFolder) -> None:
        """Refuse another server than the spool's, and a log that lacks what the spool does."""
        known, position, offset = spool.identity, spool.position, spool.offset
        files, system = files_of(link, plugin), system_of(link)
        assert known is not None  # claimed before
        if position is None:
            spool.note_history(0)
        if position is None or not known.system:
            spool.note_database(system, "")
        elif known.system != system:
            raise CaptureLostError(
                f"{self.shown} is not the server whose changes are in {spool.path}",
                detail="The positions in its log are different.",
                hint=f"Change url back. If the database has moved: {ANEW}",
            )
        else:
            self._check_files(files, position.lsn)
            self._check_log(link, files, offset)

    def _check_log(self, link: MysqlLink, files: LogFiles, offset: Mapping[str, Any]) -> None:
        if not is_of(link, files, offset):
            raise CaptureLostError(
                f"the log of {self.shown} is not the one that was captured before",
                detail="It was reset, or the server was restored from a backup, and it has grown"
                " since.",
                hint=ANEW,
            )

    def _check_files(self, files: LogFiles, place: int) -> None:
        if files.end < place:
            raise CaptureLostError(
                f"the log of {self.shown} is behind what was captured from it",
                detail="It was reset, or the server was restored from a backup.",
                hint=ANEW,
            )
        if not files.has(place):
            raise CaptureLostError(
                f"the server {self.shown} has purged a log file that was not captured yet",
                detail="It keeps files for binlog_expire_logs_seconds, or until they are purged.",
                hint=f"set global binlog_expire_logs_seconds = 604800; {ANEW}",
            )


def _emptied(table: str, how: str) -> RunWarning:
    return RunWarning(
        code="WARN_TRUNCATED",
        about=f"table {table}",
        message=f"table {table} lost rows by {how} partition, but they stay in the documents",
        detail="The log does not say which rows they were.",
        hint=f"To remove them: {ANEW}",
    )


def _swapped(table: str) -> RunWarning:
    return RunWarning(
        code="WARN_TRUNCATED",
        about=f"table {table}",
        message=f"exchange partition swapped rows of table {table}, and the log does not say which",
        detail="Documents still have the rows that left, and lack those that came in.",
        hint=ANEW,
    )


def _secured(plugin: Plugin, address: MysqlAddress) -> dict[str, str]:
    if plugin == "mariadb":
        modes = {"disabled": "disable", "preferred": "disable", "required": "trust"}
        return {
            "database.ssl.mode": modes[address.ssl_mode],
            # The driver makes a date of a year else, and of the year 0 it cannot.
            "driver.yearIsDateType": "false",
        }
    # A password that is sent in clear needs a key of the server, where nothing else secures it.
    return {
        "database.ssl.mode": address.ssl_mode,
        "driver.allowPublicKeyRetrieval": "true",
    }
