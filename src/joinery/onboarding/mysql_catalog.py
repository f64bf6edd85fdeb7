"""Reads from a server of MySQL or MariaDB what a table is: columns, keys, foreign keys.

What a column becomes: the Spark type of the values that Debezium sends, with
`decimal.handling.mode` `string` or `precise`.

Keys come from the table's definition, which whoever may read the table may see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import closing

from joinery.clients.mysql import MysqlLink
from joinery.model.table import (
    Column,
    DatabaseSchema,
    ForeignKey,
    SourceTable,
    TableName,
    nearest_table,
)
from joinery.project.mysql_address import MysqlAddress
from joinery.project.onboard import OnboardError

_TYPE = re.compile(r"(\w+)(?:\(([^)]*)\))?(.*)", re.DOTALL)
_MAX_DIGITS = 38
_MILLIS_DIGITS = 3
_WHOLE = {
    "tinyint": ("short", "short"),
    "smallint": ("short", "int"),
    "mediumint": ("int", "int"),
    "int": ("int", "long"),
    "bigint": ("long", "long"),  # above 2^63 - 1 a number is a dead letter, and never a wrong one
}
_TYPES = {
    "float": "float",
    "double": "double",
    "year": "int",
    "date": "date",
    "datetime": "timestamp_ntz",
    "timestamp": "timestamp",
    "time": "long",  # a number of microseconds
    "point": "struct<x: double, y: double>",
    **dict.fromkeys(("binary", "varbinary"), "binary"),
    **dict.fromkeys(("tinyblob", "blob", "mediumblob", "longblob"), "binary"),
    **dict.fromkeys(("char", "varchar", "enum", "set", "json"), "string"),
    **dict.fromkeys(("tinytext", "text", "mediumtext", "longtext"), "string"),
    **dict.fromkeys(
        (
            *("geometry", "linestring", "polygon", "multipoint", "multilinestring"),
            *("multipolygon", "geometrycollection", "geomcollection"),
        ),
        "struct<wkb: binary, srid: int>",
    ),
}
_QUOTED = r"`(?:[^`]|``)+`"
_LIST = rf"\(({_QUOTED}(?:, ?{_QUOTED})*)\)"  # with a space in foreign keys, without in indexes
_PRIMARY = re.compile(rf"PRIMARY KEY {_LIST}")
_UNIQUE = re.compile(rf"UNIQUE KEY {_QUOTED} {_LIST}")
_REFERENCES = re.compile(
    rf"CONSTRAINT {_QUOTED} FOREIGN KEY {_LIST} REFERENCES (?:({_QUOTED})\.)?({_QUOTED}) {_LIST}"
)
_COLUMNS = """
select column_name, column_type, is_nullable, coalesce(datetime_precision, 0)
from information_schema.columns where table_schema = %s and table_name = %s
order by ordinal_position
"""
_TABLES = """
select table_schema, table_name, table_type from information_schema.tables
where table_schema in ({listed}) order by binary table_schema, binary table_name
"""


def spark_type(type_: str) -> str | None:
    """Return the Spark DDL type of a column; None where Debezium does not send it.

    Args:
        type_: As `information_schema.columns` writes it.

    Example:
        >>> [spark_type(each) for each in ("int(10) unsigned", "decimal(12,4)", "bit(1)", "uuid")]
        ['long', 'decimal(12,4)', 'boolean', None]
    """
    found = _TYPE.fullmatch(type_.strip())
    if found is None:
        return None
    base, given, more = found[1].lower(), found[2] or "", found[3].lower()
    if base in _WHOLE:
        return _WHOLE[base]["unsigned" in more]
    if base == "decimal":
        precision, _, scale = given.partition(",")
        fits = int(precision) <= _MAX_DIGITS
        return f"decimal({precision},{scale or 0})" if fits else "string"
    if base == "bit":
        return "boolean" if given == "1" else "binary"
    return _TYPES.get(base)


def read_tables(url: str, names: Sequence[str]) -> tuple[SourceTable, ...]:
    """Return tables as the server describes them.

    Args:
        url: A database of it.
        names: Each as `table`, of that database, or `database.table`.

    Raises:
        MysqlError: The server does not answer.
        OnboardError: It does not have a table.
    """
    address = MysqlAddress.of(url)
    with closing(MysqlLink(address)) as link:
        return tuple(_table(link, address, name) for name in names)


def read_database(url: str, schemas: Sequence[str] = ()) -> DatabaseSchema:
    """Return the tables of a database that the user may read, as its server describes them.

    Args:
        url: The database.
        schemas: Databases of the same server that are looked at instead, where any is named.

    Raises:
        MysqlError: The server does not answer.
        OnboardError: It has no table.
    """
    address = MysqlAddress.of(url)
    looked_at = (*schemas,) or (address.database,)
    with closing(MysqlLink(address)) as link:
        found = [name for name, kind in _known(link, looked_at) if kind == "BASE TABLE"]
        if not found:
            where = f" in {', '.join(schemas)}" if schemas else ""
            raise OnboardError(
                f"the database {address.shown} has no tables{where} that its user may read",
                hint="Check its name, and what its user was granted.",
            )
        tables = tuple(_described(link, each) for each in found)
    return DatabaseSchema(address.database, tables, frozenset())


def _known(link: MysqlLink, schemas: Sequence[str]) -> list[tuple[TableName, str]]:
    statement = _TABLES.format(listed=", ".join("%s" for _ in schemas))
    return [
        (TableName(schema, name), kind) for schema, name, kind in link.rows(statement, *schemas)
    ]


def _table(link: MysqlLink, address: MysqlAddress, name: str) -> SourceTable:
    schema, _, table = name.rpartition(".")
    wanted = TableName(schema or address.database, table)
    known = dict(_known(link, (wanted.schema,)))
    if wanted not in known:
        names = [str(each) for each in known]
        near = nearest_table(wanted, [*known])
        raise OnboardError(
            f'the database {address.shown} has no table "{name}" that its user may read',
            detail=f"It has {_some(names)}." if names else "It has none.",
            hint=f'Use "{near}".' if near else "",
        )
    if known[wanted] != "BASE TABLE":
        raise OnboardError(
            f'"{name}" is a view, not a table',
            detail="Its changes are not in the server's log.",
            hint="Name the tables behind it.",
        )
    return _described(link, wanted)


def _described(link: MysqlLink, table: TableName) -> SourceTable:
    quoted = ".".join("`" + each.replace("`", "``") + "`" for each in (table.schema, table.table))
    ((_, definition, *_),) = link.rows(f"show create table {quoted}")
    rows = link.rows(_COLUMNS, table.schema, table.table)
    columns = [_column(str(name), str(type_), digits) for name, type_, _, digits in rows]
    nullable = frozenset(str(name) for name, _, null, _ in rows if null == "YES")
    return described(table, columns, nullable, str(definition))


def described(
    table: TableName,
    columns: Sequence[Column | tuple[str, str]],
    nullable: frozenset[str],
    definition: str,
) -> SourceTable:
    """Return a table by its columns and its definition.

    Args:
        table: Its name.
        columns: A pair is the name and type of one that Debezium does not send.
        nullable: Those of its columns that may be null.
        definition: As `show create table` writes it.
    """
    lines = [each.strip() for each in definition.splitlines()]
    primary = [_names(found[1]) for each in lines if (found := _PRIMARY.match(each))]
    unique = [_names(found[1]) for each in lines if (found := _UNIQUE.match(each))]
    key = primary[0] if primary else ()
    return SourceTable(
        name=table,
        columns=tuple(each for each in columns if isinstance(each, Column)),
        key=key,
        unique=tuple(each for each in unique if not nullable & {*each}),
        foreign_keys=tuple(_foreign_keys(table, lines, [frozenset(e) for e in (key, *unique)])),
        left_out=tuple(each for each in columns if not isinstance(each, Column)),
    )


def _foreign_keys(
    table: TableName, lines: Sequence[str], unique: Sequence[frozenset[str]]
) -> Iterator[ForeignKey]:
    for found in filter(None, map(_REFERENCES.match, lines)):
        mine, schema, parent, its = found.groups()
        columns = _names(mine)
        yield ForeignKey(
            table,
            TableName(_names(schema)[0] if schema else table.schema, _names(parent)[0]),
            tuple(zip(columns, _names(its), strict=True)),
            unique=any(each and each <= {*columns} for each in unique),
        )


def _names(listed: str) -> tuple[str, ...]:
    return tuple(each[1:-1].replace("``", "`") for each in re.findall(_QUOTED, listed))


def _column(name: str, type_: str, digits: int) -> Column | tuple[str, str]:
    """Return a column, or the name and type of one that Debezium does not send."""
    known = spark_type(type_)
    if known is None:
        return name, type_
    if known != "timestamp_ntz":
        return Column(name, known)
    return Column(name, known, unit="millis" if digits <= _MILLIS_DIGITS else "micros")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(names[:12]) + more
