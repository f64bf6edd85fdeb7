"""A row of MySQL or MariaDB as the JSON that the connector would tell of it, made by the server.

A line is made of bytes: the columns of a table may be of several character sets and collations,
which do not mix.

A value that is not known to be told as the connector tells it makes its whole line null, so that
whoever reads the line has the connector read the table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from joinery.capture.bulk_row import Place
from joinery.clients.mysql import MysqlLink

_NUMBERS = frozenset(("tinyint", "smallint", "mediumint", "int", "bigint", "double"))
_TEXTS = frozenset(
    ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set", "json")
)
_BYTES = frozenset(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"))
_DATES = frozenset(("date", "datetime", "timestamp"))
_BASE64 = "concat('\"', replace(to_base64({}), '\\n', ''), '\"')"
_MADE: Mapping[str, str] = {
    **dict.fromkeys(_NUMBERS, "{0} + 0"),
    **dict.fromkeys(_TEXTS, "json_quote(convert({0} using utf8mb4))"),
    **dict.fromkeys(_BYTES, _BASE64.format("{0}")),
    "decimal": "concat('\"', {0} + 0, '\"')",
    # The log tells a year of zeros so.
    "year": "if({0} = 0, 1900, {0} + 0)",
    "date": "to_days({0}) - 719528",
    "datetime": "timestampdiff(microsecond, '1970-01-01', {0})",
    "timestamp": "concat('\"', replace({0}, ' ', 'T'), 'Z\"')",
    # Both parts of a time have its sign, but what servers tell of the second one has none.
    "time": "cast(truncate(time_to_sec({0}), 0) as signed) * 1000000"
    " + if({0} < time '00:00:00', -1, 1) * microsecond({0})",
}
_BIT = "if({0} = 1, 'true', 'false')"
_BITS = _BASE64.format("reverse(cast({0} as binary))")
# Not a date: the log tells null, or the first of 1970 where a column cannot have that.
_NO_DATE = "year({0}) = 0 or month({0}) = 0 or dayofmonth({0}) = 0"
_EPOCHS = {"date": "0", "datetime": "0", "timestamp": "'\"1970-01-01T00:00:00Z\"'"}
_BEFORE = '_binary \'{"before":null,"after":{\''
_COLUMNS = """
select column_name, data_type, column_type, is_nullable, column_default,
  character_set_name, collation_name
from information_schema.columns where table_schema = %s and table_name = %s
order by ordinal_position
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    Attributes:
        name: As the server has it.
        type: Without what stands in parentheses.
        whole_type: With it.
        nullable: It may be null.
        defaults: It has a default other than null.
        charset: Of its texts; empty where it has none.
        collation: By which they are ordered.
    """

    name: str
    type: str
    whole_type: str
    nullable: bool = True
    defaults: bool = False
    charset: str = ""
    collation: str = ""


def columns_of(link: MysqlLink, table: str) -> list[Column]:
    """Return the columns of a table, in their order.

    Args:
        link: To its server.
        table: As database.table.
    """
    return [
        Column(
            name=str(name),
            type=str(type_),
            whole_type=_text(whole),
            nullable=str(nullable) == "YES",
            defaults=default is not None and _text(default) != "NULL",
            charset=str(charset or ""),
            collation=str(collation or ""),
        )
        for name, type_, whole, nullable, default, charset, collation in link.rows(
            _COLUMNS, *table.split(".", 1)
        )
    ]


def _text(value: object) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def json_of(column: Column) -> str | None:
    """Return the SQL of a column's value as JSON; None where that is not known of its type.

    Example:
        >>> json_of(Column(name="born", type="year", whole_type="year(4)", nullable=False))
        'if(t.`born` = 0, 1900, t.`born` + 0)'
        >>> json_of(Column(name="at", type="point", whole_type="point"))
    """
    name = f"t.{quote_name(column.name)}"
    if column.type == "bit":
        made = (_BIT if column.whole_type == "bit(1)" else _BITS).format(name)
    elif column.type in _MADE:
        made = _MADE[column.type].format(name)
    else:
        return None
    if column.type in _DATES:
        instead = _EPOCHS[column.type]
        if column.nullable or column.defaults:
            instead = "null"
        made = f"if({_NO_DATE.format(name)}, {instead}, {made})"
    return f"if({name} is null, 'null', {_told(column, made)})" if column.nullable else made


def _told(column: Column, made: str) -> str:
    return f"coalesce({made}, 'null')" if column.type in _DATES else made


def line_of(columns: Sequence[Column], table: str, place: Place) -> str | None:
    """Return the SQL of the line that a row `t` of a table is, with its end.

    The line is null where it would be longer than the server's `max_allowed_packet`.

    Args:
        columns: All of the table's.
        table: As database.table.
        place: Where the rows stand.

    Returns:
        None where the table has a column of a type whose JSON is not known.
    """
    parts: list[str] = []
    for each in columns:
        made = json_of(each)
        if made is None:
            return None
        comma = "," if parts else ""
        parts += [quote_text(f"{comma}{json.dumps(each.name)}:"), made]
    schema, plain = table.split(".", 1)
    source = {"snapshot": "true", "ts_ms": place.at_ms, "lsn": place.lsn}
    source |= {"db": schema, "table": plain}
    after = f'}},"source":{json.dumps(source)},"op":"r"}}\n'
    return f"concat({_BEFORE}, {', '.join(parts)}, {quote_text(after)})"


def quote_name(name: str) -> str:
    """Return a name as SQL."""
    doubled = name.replace("`", "``")
    return f"`{doubled}`"


def quote_table(table: str) -> str:
    """Return a table, told as database.table, as SQL."""
    return ".".join(map(quote_name, table.split(".", 1)))


def quote_text(text: str) -> str:
    r"""Return a text as SQL.

    Example:
        >>> print(quote_text("it's\n"))
        'it\'s
        '
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
