"""The tables of a server of MySQL or MariaDB that are captured: what each has to have.

Each check says in one line what is wrong and, in its hint, the SQL that fixes it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from joinery.capture.gone_columns import TableColumns
from joinery.capture.spool import CaptureError
from joinery.clients.mysql import MysqlLink

if TYPE_CHECKING:
    from joinery.capture.mysql import MysqlDatabase

_CASCADE = re.compile(
    r"CONSTRAINT `((?:[^`]|``)+)` FOREIGN KEY .* ON (DELETE|UPDATE) (CASCADE|SET NULL|SET DEFAULT)"
)

_NO_MOMENTS = ("date", "time", "year")
_INSTEAD = {
    "uuid": "char(36)",
    "inet4": "varchar(15)",
    "inet6": "varchar(45)",
    "vector": "…",
    "compressed": "… without compressed",
}
_UNREADABLE = re.compile(
    r"`((?:[^`]|``)+)` (?:(uuid|inet4|inet6|vector)\b|\w+(?:\(\d+\))? /\*\S* (COMPRESSED)\*/)", re.I
)


def check_tables(link: MysqlLink, database: MysqlDatabase) -> None:
    """Refuse tables whose rows and changes are not all told.

    Raises:
        CaptureError: Something has to be fixed first; the hint says how.
        MysqlError: The server is gone, or refuses.
    """
    for table in database.tables:
        found = kind_of(link, table)
        if found is None:
            raise CaptureError(
                f"the database {database.shown} has no table {table} that its user may read",
                detail="Names are case-sensitive.",
                hint=f"Write topic: database.table under the relation. Or: grant select on"
                f" {_quoted(table)} to {user_of(link)};",
            )
        kind, engine = found
        if kind != "BASE TABLE":
            raise CaptureError(f"{table} is not a table, so it has no changes to capture")
        if engine != "InnoDB":
            raise CaptureError(
                f"table {table} uses {engine}, which cannot be read as of a position in the log",
                hint=f"alter table {_quoted(table)} engine = InnoDB;",
            )
        # What information_schema shows of keys takes more rights than to read a table.
        ((_, definition, *_),) = link.rows(f"show create table {_quoted(table)}")
        lines = [each.strip() for each in str(definition).splitlines()]
        if not any(each.startswith("PRIMARY KEY ") for each in lines):
            raise CaptureError(
                f"table {table} has no primary key, so its rows have no identity",
                hint=f"alter table {_quoted(table)} add primary key (…);",
            )
        _check_columns(table, lines)
        _check_cascades(table, lines)


def _check_columns(table: str, definition: Sequence[str]) -> None:
    """Refuse a table with a column that the connector does not read, or reads wrong."""
    for line in definition:
        if found := _UNREADABLE.match(line):
            column, type_ = found[1].replace("``", "`"), (found[2] or found[3]).lower()
            raise CaptureError(
                f"column {column} of table {table} is {type_}, which the connector does not read"
                " from the log",
                hint=f"alter table {_quoted(table)} modify {_quote(column)} {_INSTEAD[type_]};",
            )


def _check_cascades(table: str, definition: Sequence[str]) -> None:
    """Refuse a table whose rows the storage engine changes by itself: no log has that."""
    for line in definition:
        if found := _CASCADE.match(line):
            key, what, rule = found[1].replace("``", "`"), found[2].lower(), found[3].lower()
            raise CaptureError(
                f"foreign key {key} of table {table} has on {what} {rule}, and the server does"
                " not log what that changes",
                hint=f"alter table {_quoted(table)} drop foreign key {_quote(key)}; then add it"
                f" again with on {what} restrict.",
            )


def kind_of(link: MysqlLink, table: str) -> tuple[str, str] | None:
    """Return the kind of a table and its engine; None where there is none of that very name."""
    schema, name = table.split(".", 1)
    found = link.rows(
        "select table_schema, table_name, table_type, engine from information_schema.tables"
        " where table_schema = %s and table_name = %s",
        schema,
        name,
    )
    same = [each for each in found if (each[0], each[1]) == (schema, name)]
    return (str(same[0][2]), str(same[0][3])) if same else None


def columns_of_tables(link: MysqlLink, tables: Collection[str]) -> Mapping[str, TableColumns]:
    """Return the columns of those of some tables that are there, and that our user may read."""
    found: dict[str, TableColumns] = {}
    for table in tables:
        rows = link.rows(
            "select column_name, data_type from information_schema.columns"
            " where table_schema = %s and table_name = %s",
            *table.split(".", 1),
        )
        if rows:
            found[table] = TableColumns(
                frozenset(str(name) for name, _ in rows),
                no_moments={str(name): str(type) for name, type in rows if type in _NO_MOMENTS},
            )
    return found


def user_of(link: MysqlLink) -> str:
    """Return by which user we are known, as SQL."""
    ((user,),) = link.rows("select current_user()")
    name, _, host = str(user).rpartition("@")
    return f"'{name}'@'{host}'"


def _quoted(table: str) -> str:
    return ".".join(map(_quote, table.split(".", 1)))


def _quote(name: str) -> str:
    doubled = name.replace("`", "``")
    return f"`{doubled}`"
