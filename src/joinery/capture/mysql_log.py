"""The binary log of a server of MySQL or MariaDB: its files, and what has to be in it.

Each check says in one line what is wrong and, in its hint, the SQL that fixes it.

The place of a row is one number, of the number of the log's file and the position in it, as the
capture's process makes it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from joinery.capture.mysql_tables import user_of
from joinery.capture.spool import CaptureError
from joinery.clients.mysql import MysqlError, MysqlLink

Plugin = Literal["mysql", "mariadb"]

_POSITION_BITS = 33  # as the capture's process shifts
_DENIED = (1044, 1142, 1227)
_NO_LOCK_OF_ALL = (1045, 1227)
_NO_SUCH_EVENT = 1220
_STATUS_RENAMED = (8, 2)
_ENCRYPTION_BYTES = 512  # in front of a file of MySQL's, before what positions count


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The files of a binary log that a server has.

    Attributes:
        names: With the positions of their ends, in their order.
        end: The place of the log's end.
    """

    names: tuple[tuple[str, int], ...]
    end: int

    @property
    def bytes(self) -> int:
        """The size of all."""
        return sum(size for _, size in self.names)

    def has(self, place: int) -> bool:
        """Return whether the log is there from a place on."""
        return any(_number(name) == place >> _POSITION_BITS for name, _ in self.names)

    def after(self, place: int) -> int:
        """Return how many bytes of the log come after a place."""
        file, position = place >> _POSITION_BITS, place & ((1 << _POSITION_BITS) - 1)
        later = sum(size for name, size in self.names if _number(name) > file)
        here = next((size for name, size in self.names if _number(name) == file), position)
        return later + max(0, here - position)


def place_of(file: str, position: int) -> int:
    """Return the place of a position in a file of the log, as one number.

    Example:
        >>> place_of("binlog.000012", 4) == (12 << 33) + 4
        True
    """
    return (_number(file) << _POSITION_BITS) + position


def _number(file: str) -> int:
    """Return the number of a file of the log.

    Example:
        >>> _number("binlog.000012")
        12
    """
    return int(file.rpartition(".")[2])


def plugin_of(link: MysqlLink) -> Plugin:
    """Return which connector a server needs."""
    ((version,),) = link.rows("select version()")
    return "mariadb" if "mariadb" in str(version).lower() else "mysql"


def files_of(link: MysqlLink, plugin: Plugin) -> LogFiles:
    """Return the files of a server's log.

    Raises:
        CaptureError: We may not ask for them.
        MysqlError: The server is gone.
    """
    try:
        file, position, *_ = _log_status(link, plugin)
        names = link.rows("show binary logs")
    except MysqlError as error:
        if error.number in _DENIED:
            raise _lacks(link, "REPLICATION CLIENT") from error
        raise
    named = tuple((str(file), _end_of(int(size), *beside)) for file, size, *beside in names)
    return LogFiles(named, place_of(str(file), int(position)))


def visible_place(link: MysqlLink) -> int | None:
    """Return a place of the log before which all that was committed is visible to who reads.

    A transaction is in the log shortly before its rows can be read. MariaDB tells up to where the
    log goes in what a transaction sees; with MySQL, commits wait for as long as the end is asked.

    Args:
        link: A connection that reads repeatably, and does not wait long for a lock.

    Returns:
        None where the server lets nobody lock all tables, as those of cloud providers.

    Raises:
        MysqlError: Statements ran for so long that the lock was not had, or the server is gone.
    """
    if plugin_of(link) == "mariadb":
        link.rows("start transaction with consistent snapshot")
        told = dict(link.rows("show status like 'binlog_snapshot_%'"))
        link.rows("rollback")
        return place_of(str(told["Binlog_snapshot_file"]), int(told["Binlog_snapshot_position"]))
    try:
        return _locked_end(link, "flush tables with read lock")
    except MysqlError as error:
        if error.number in _NO_LOCK_OF_ALL:
            return None
        raise


def visible_place_of(link: MysqlLink, table: str) -> int:
    """Return a place of MySQL's log before which all that was committed to a table is visible.

    A transaction that changed the table holds on to it until its rows can be read.

    Args:
        link: A connection that does not wait long for a lock.
        table: Its name, quoted.

    Raises:
        MysqlError: A transaction that changed the table is open for long, the user may not lock it,
            or the server is gone.
    """
    return _locked_end(link, f"lock tables {table} read")


def _locked_end(link: MysqlLink, lock: str) -> int:
    link.rows(lock)
    try:
        file, position, *_ = _log_status(link, "mysql")
    finally:
        link.rows("unlock tables")
    return place_of(str(file), int(position))


def _end_of(size: int, *beside: object) -> int:
    """Return the position at the end of a file, of its size and what MySQL tells beside it.

    Example:
        >>> _end_of(1024, "Yes"), _end_of(1024, "No"), _end_of(1024)
        (512, 1024, 1024)
    """
    return size - _ENCRYPTION_BYTES if beside[:1] == ("Yes",) else size


def is_of(link: MysqlLink, files: LogFiles, offset: Mapping[str, Any]) -> bool:
    """Return whether a log has an event where one was noted, so that it is still the same.

    In a log that was started over and has grown since, hardly ever does one begin just there. The
    number of the transaction tells nothing: a server of MariaDB that was asked for it begins to
    tell its places some way before. Of a place at which no event begins, MySQL 8.4 shows the next
    event, or none beyond the end; the others refuse to.

    Args:
        link: To its server.
        files: Of the log, asked for after the offset was noted.
        offset: Where the connector would go on.

    Raises:
        MysqlError: We may not ask, or the server is gone.
    """
    file, place = str(offset["file"]), int(offset["pos"])
    try:
        events = link.rows(f"show binlog events in %s from {place} limit 1", file)
    except MysqlError as error:
        if error.number == _NO_SUCH_EVENT:
            return False
        raise
    return int(events[0][1]) == place if events else dict(files.names).get(file) == place


def _log_status(link: MysqlLink, plugin: Plugin) -> tuple[Any, ...]:
    """Return a log's last file, its end, and the databases that are in it alone or left out.

    Raises:
        CaptureError: The server writes none.
        MysqlError: We may not ask, or the server is gone.
    """
    renamed = plugin == "mysql" and _version(link) >= _STATUS_RENAMED
    found = link.rows("show binary log status" if renamed else "show master status")
    if not found:
        raise _no_log()
    return found[0]


def check_logged(link: MysqlLink, plugin: Plugin, tables: Sequence[str]) -> None:
    """Refuse tables of databases that the server leaves out of its log.

    Raises:
        CaptureError: It does.
        MysqlError: We may not ask, or the server is gone.
    """
    _, _, only, never, *_ = (str(each or "") for each in _log_status(link, plugin))
    for table in tables:
        schema = table.split(".", 1)[0]
        if setting := _left_out(schema, only, never):
            raise CaptureError(
                f"the server does not log database {schema}, so changes of {table} cannot be"
                " captured",
                hint=f"Change {setting} in the server's configuration, then restart it.",
            )


def _left_out(schema: str, only: str, never: str) -> str:
    """Return the setting that leaves a database out of the log; empty where none does.

    Example:
        >>> _left_out("shop", "", "test,shop"), _left_out("shop", "crm", "")
        ('binlog_ignore_db', 'binlog_do_db')
        >>> _left_out("shop", "crm,shop", "test"), _left_out("shop", "", "")
        ('', '')
    """
    if never and schema in never.split(","):
        return "binlog_ignore_db"
    return "binlog_do_db" if only and schema not in only.split(",") else ""


def check_settings(link: MysqlLink, plugin: Plugin, server_id: int) -> None:
    """Refuse a server that does not write all of every row into its log.

    Raises:
        CaptureError: Something has to be fixed first; the hint says how.
    """
    if not _on(_setting(link, "log_bin")):
        raise _no_log()
    for name, needed in (("binlog_format", "ROW"), ("binlog_row_image", "FULL")):
        if (given := _setting(link, name)) != needed:
            raise CaptureError(
                f"the server's {name} is {given}; changes can be captured only with {needed}",
                detail="Open sessions keep their old setting.",
                hint=f"set global {name} = '{needed}';",
            )
    packed = "log_bin_compress" if plugin == "mariadb" else "binlog_transaction_compression"
    if _on(_setting(link, packed)):
        raise CaptureError(
            f"the server's {packed} is ON, so rows have no positions of their own in its log",
            hint=f"set global {packed} = OFF;",
        )
    if _setting(link, "binlog_row_value_options"):
        raise CaptureError(
            "the server's binlog_row_value_options lets the log leave out parts of a row",
            hint="set global binlog_row_value_options = '';",
        )
    if _setting(link, "server_id") == str(server_id):
        raise CaptureError(
            f"server_id {server_id} is the server's own", hint="Choose another: server_id: N."
        )


def _no_log() -> CaptureError:
    return CaptureError(
        "the server writes no binary log, so changes cannot be captured",
        hint="Write log_bin = binlog under [mysqld] in its configuration, then restart it.",
    )


def check_rights(link: MysqlLink) -> None:
    """Refuse a user who may not read the log, or not take its place.

    Raises:
        CaptureError: A right is missing; the hint grants it.
    """
    grants = [str(each) for (each,) in link.rows("show grants")]
    if any(" ON " not in each for each in grants):
        return  # a role: what it may is not told
    found = frozenset(right for each in grants for right in _rights_everywhere(each))
    for right, names in {
        "REPLICATION SLAVE": ("REPLICATION SLAVE", "REPLICATION REPLICA"),
        "REPLICATION CLIENT": ("REPLICATION CLIENT", "BINLOG MONITOR"),
        "RELOAD": ("RELOAD", "FLUSH_TABLES"),
    }.items():
        if not found & {*names, "ALL PRIVILEGES"}:
            raise _lacks(link, right)


def _rights_everywhere(grant: str) -> list[str]:
    """Return the rights that a grant gives on all databases.

    Example:
        >>> _rights_everywhere("GRANT SELECT, REPLICATION SLAVE ADMIN ON *.* TO `a`@`%`")
        ['SELECT', 'REPLICATION SLAVE ADMIN']
    """
    rights, everywhere, _ = grant.removeprefix("GRANT ").partition(" ON *.* TO ")
    return [each.strip() for each in rights.split(",")] if everywhere else []


def _lacks(link: MysqlLink, right: str) -> CaptureError:
    user = user_of(link)
    return CaptureError(
        f"user {user} lacks the privilege {right}",
        detail="It is needed to read the log, or to find the position as of which tables are read.",
        hint=f"grant {right.lower()} on *.* to {user};",
    )


def system_of(link: MysqlLink) -> str:
    """Return what tells a server from others: what it calls itself, else its machine and port."""
    told = _settings(link, ("server_uuid", "server_uid"))
    named = _settings(link, ("hostname", "port", "server_id"))
    return next(iter(told.values()), "") or "/".join(f"{each}" for each in named.values())


def _settings(link: MysqlLink, names: Collection[str]) -> dict[str, str]:
    listed = ", ".join("%s" for _ in names)
    rows = link.rows(f"show global variables where variable_name in ({listed})", *names)
    return {str(name): str(value) for name, value in sorted(rows)}


def _setting(link: MysqlLink, name: str) -> str:
    """Return a setting; empty where the server has none of the name."""
    return _settings(link, (name,)).get(name, "")


def _on(value: str) -> bool:
    return value.upper() in ("ON", "1")


def _version(link: MysqlLink) -> tuple[int, ...]:
    ((version,),) = link.rows("select version()")
    return tuple(int(each) for each in re.findall(r"\d+", str(version))[:2])
