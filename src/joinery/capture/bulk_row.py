"""A row of PostgreSQL as the JSON that the connector would tell of it, made by the server itself.

Types whose JSON is not known to be the connector's are in no row: a relation that has such a
column is refused, any other leaves it out.

Invariant: no line holds a byte below 0x20: JSON escapes them, so any two of them can be what
quotes and separates fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from joinery.capture.spool import CaptureError
from joinery.capture.sql import quote_name, quote_text

if TYPE_CHECKING:
    import psycopg

    Link = psycopg.Connection[tuple[Any, ...]]

# Of these, the server's JSON is the connector's.
_ALIKE = frozenset(
    (
        *("boolean", "smallint", "integer", "bigint", "real", "double precision"),
        *("text", "character varying", "character", "name", "citext", "uuid", "xml", "ltree"),
        *("inet", "cidr", "macaddr", "macaddr8", "int4range", "int8range", "numrange"),
        *("tsrange", "daterange", "timestamp with time zone"),
    )
)
# Numbers whose digits are kept, and JSON inside JSON, are texts.
_TEXTS = frozenset(("numeric", "json", "jsonb"))
_MADE = {
    "date": "case when isfinite({0}) then to_json({0} - date '1970-01-01') else to_json({0}) end",
    # Of later ones, the microseconds do not fit a bigint.
    "timestamp without time zone": "case when isfinite({0}) and {0} < '294247-01-01' then"
    " to_json((extract(epoch from {0}) * 1000000)::bigint) else to_json({0}) end",
    "time without time zone": "(extract(epoch from {0}) * 1000000)::bigint",
    "bytea": "translate(encode({0}, 'base64'), E'\\n', '')",
    "oid": "{0}::bigint",
}
_PRECISION = re.compile(r"\([0-9,-]*\)")
_COLUMNS = """
select a.attname, format_type(coalesce(nullif(t.typbasetype, 0), t.oid), null),
       coalesce(b.typtype, t.typtype) = 'e' or coalesce(e.typtype, 'b') = 'e'
from pg_attribute as a
join pg_type as t on t.oid = a.atttypid
left join pg_type as b on b.oid = nullif(t.typbasetype, 0)
left join pg_type as e on e.oid = nullif(t.typelem, 0) and t.typlen = -1
where a.attrelid = %s and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
order by a.attnum
"""


@dataclass(frozen=True, slots=True)
class Place:
    """Where rows that are read stand.

    Attributes:
        lsn: Below that of every change that follows them.
        at_ms: When they were read, in milliseconds since 1970.
    """

    lsn: int
    at_ms: int


def json_of(column: str, type_: str, *, enum: bool = False) -> str | None:
    """Return the SQL of a column's value as the connector tells it; None where that is not known.

    Args:
        column: As SQL.
        type_: As `format_type` writes it; of a domain, its base type.
        enum: It is an enumeration of the user's, or an array of one.

    Example:
        >>> json_of("tags", "text[]"), json_of("wait", "interval")
        ('tags', None)
    """
    base = _PRECISION.sub("", type_)
    if base.endswith("[]"):
        element = base.removesuffix("[]")
        if element in _TEXTS:
            return f"{column}::text[]"
        return column if enum or element in _ALIKE else None
    if enum or base in _ALIKE:
        return column
    if base == "numeric":
        return numeric_text(column)
    if base in _TEXTS:
        return f"{column}::text"
    return _MADE[base].format(column) if base in _MADE else None


def numeric_text(column: str) -> str:
    """Return the SQL of a `numeric` as text, with the connector's words for what is not finite."""
    return (
        f"case {column}::text when 'NaN' then 'NAN' when 'Infinity' then 'POSITIVE_INFINITY'"
        f" when '-Infinity' then 'NEGATIVE_INFINITY' else {column}::text end"
    )


@dataclass(frozen=True, slots=True)
class Line:
    """The line of the spool that a row is, as SQL.

    Attributes:
        columns: What is read of the row `t`.
        text: The line, of the row `r` that has these columns.
    """

    columns: str
    text: str


def bulk_columns(link: Link, oid: int) -> Mapping[str, bool]:
    """Return the columns of a table, and whether each has a type that can be read in bulk."""
    found: Sequence[tuple[Any, ...]] = link.execute(_COLUMNS, (oid,)).fetchall()
    return {name: json_of("", type_, enum=enum) is not None for name, type_, enum in found}


def line_of(link: Link, oid: int, table: str, needed: Collection[str], place: Place) -> Line:
    """Return the line that a row of a table is.

    Args:
        link: To its database.
        oid: The table's.
        table: As schema.table.
        needed: Columns that relations have.
        place: Where the rows stand.

    Raises:
        CaptureError: A column that is needed has a type that cannot be read so.
    """
    columns: list[str] = []
    found: Sequence[tuple[Any, ...]] = link.execute(_COLUMNS, (oid,)).fetchall()
    for name, type_, enum in found:
        quoted = quote_name(name)
        made = json_of(f"t.{quoted}", type_, enum=enum)
        if made is not None:
            columns.append(f"{made} as {quoted}")
        elif name in needed:
            raise CaptureError(
                f'column "{name}" of {table} has type {type_}, which cannot be read in bulk',
                hint="Run without --bootstrap-from database, so the connector reads the tables.",
            )
    before, after = line_frame(table, place)
    text = f"{quote_text(before)} || row_to_json(r.*)::text || {quote_text(after)}"
    return Line(", ".join(columns), text)


def line_frame(table: str, place: Place) -> tuple[str, str]:
    """Return the text before and after the row in a line of the spool.

    Args:
        table: As schema.table.
        place: Where the row stands.
    """
    schema, _, plain = table.partition(".")
    source = {"snapshot": "true", "ts_ms": place.at_ms, "lsn": place.lsn}
    source |= {"schema": schema, "table": plain}
    return '{"before":null,"after":', f',"source":{json.dumps(source)},"op":"r"}}'
