"""Reads from PostgreSQL's catalogue what a table is: columns, keys, replica identity.

What a column of PostgreSQL becomes: the Spark type of the values that Debezium sends.

It holds for events with and without schemas, under Debezium's default modes and
`decimal.handling.mode` `string` or `precise`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from joinery.clients.postgres import open_link, shown
from joinery.model.table import (
    Column,
    DatabaseSchema,
    ForeignKey,
    Identity,
    SourceTable,
    TableName,
    nearest_table,
)
from joinery.project.onboard import OnboardError

if TYPE_CHECKING:
    import psycopg

_NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")
_PRECISION = re.compile(r"\((\d+)\)")
_MAX_DIGITS = 38
_MILLIS_DIGITS = 3
_TYPES = {
    "boolean": "boolean",
    "smallint": "short",
    "integer": "int",
    "bigint": "long",
    "real": "float",
    "double precision": "double",
    "oid": "long",
    "bytea": "binary",
    "date": "date",
    "timestamp with time zone": "timestamp",
    "timestamp without time zone": "timestamp_ntz",
    # A time of day and an interval arrive as a number of microseconds.
    "time without time zone": "long",
    "interval": "long",
    "point": "struct<x: double, y: double>",
    "geometry": "struct<wkb: binary, srid: int>",
    "geography": "struct<wkb: binary, srid: int>",
}
_TEXTS = frozenset(
    (
        *("text", "character varying", "character", "name", "citext", "ltree", "uuid", "xml"),
        *("json", "jsonb", "inet", "cidr", "macaddr", "macaddr8", "money", "hstore"),
        *("time with time zone", '"char"', "numeric", "int4range", "int8range", "numrange"),
        *("tsrange", "tstzrange", "daterange"),
    )
)


def spark_type(type_: str, *, enum: bool = False) -> str | None:
    """Return the Spark DDL type of a column; None where Debezium leaves it out.

    Args:
        type_: As `format_type` writes it; of a domain, its base type.
        enum: It is an enumeration of the user's.

    Example:
        >>> spark_type("numeric(12,2)"), spark_type("character varying(80)[]")
        ('decimal(12,2)', 'array<string>')
    """
    if type_.endswith("[]"):
        element = spark_type(type_.removesuffix("[]"), enum=enum)
        return f"array<{element}>" if element else None
    numeric = _NUMERIC.fullmatch(type_)
    if numeric:
        return _decimal(int(numeric[1]), int(numeric[2]))
    if type_ == "bit(1)":
        return "boolean"
    base = _PRECISION.sub("", type_)
    if base in ("bit", "bit varying"):
        return "binary"
    if enum or base in _TEXTS:
        return "string"
    return _TYPES.get(base)


def timestamp_unit(type_: str) -> str | None:
    """Return what the number counts that a timestamp without a zone arrives as, else None.

    Example:
        >>> timestamp_unit("timestamp(3) without time zone")
        'millis'
    """
    if _PRECISION.sub("", type_) != "timestamp without time zone":
        return None
    precision = _PRECISION.search(type_)
    return "millis" if precision and int(precision[1]) <= _MILLIS_DIGITS else "micros"


def _decimal(precision: int, scale: int) -> str:
    """Return a decimal type, or text where Spark has none that holds it."""
    fits = 0 <= scale <= precision <= _MAX_DIGITS
    return f"decimal({precision},{scale})" if fits else "string"


_IDENTITIES: dict[str, Identity] = {"d": "default", "f": "full", "i": "index", "n": "nothing"}
_TABLES = """
SELECT c.oid, n.nspname, c.relname, c.relkind::text, c.relreplident::text
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relname = %(table)s
  AND CASE WHEN %(schema)s = '' THEN pg_table_is_visible(c.oid) ELSE n.nspname = %(schema)s END
"""
_NAMES = """
SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
ORDER BY 1, 2
"""
# A value of a bounded text is never large enough to be stored out of line by itself; where a
# table has rows and none of them has such a value, its columns hold codes and names.
_COLUMNS = """
SELECT a.attname,
       format_type(coalesce(nullif(t.typbasetype, 0), t.oid),
                   CASE WHEN t.typbasetype = 0 THEN a.atttypmod ELSE t.typtypmod END),
       coalesce(b.typtype, t.typtype) = 'e' OR coalesce(e.typtype, 'b') = 'e',
       a.attlen = -1 AND a.attstorage <> 'p'
         AND NOT (coalesce(b.typname, t.typname) IN ('varchar', 'bpchar')
                  AND greatest(a.atttypmod, t.typtypmod) BETWEEN 0 AND 504)
         AND coalesce(b.typname, t.typname) <> 'numeric'
         AND (pg_relation_size(c.oid) = 0 OR pg_relation_size(c.reltoastrelid) > 0),
       a.attgenerated <> ''
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_type b ON b.oid = nullif(t.typbasetype, 0)
LEFT JOIN pg_type e ON e.oid = nullif(t.typelem, 0) AND t.typlen = -1
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_INDEX = """
SELECT a.attname
FROM pg_index i
CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE i.indrelid = %(oid)s AND k.place <= i.indnkeyatts
  AND CASE WHEN %(identity)s THEN i.indisreplident ELSE i.indisprimary END
ORDER BY k.place
"""
_UNIQUE = """
SELECT array_agg(a.attname::text ORDER BY k.place)
FROM pg_index i
CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, place)
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
WHERE i.indrelid = %s AND i.indisunique AND i.indisvalid AND NOT i.indisprimary
  AND i.indpred IS NULL AND i.indexprs IS NULL AND k.place <= i.indnkeyatts
GROUP BY i.indexrelid HAVING bool_and(a.attnotnull)
ORDER BY 1
"""
_FOREIGN_KEYS = """
SELECT cn.nspname, c.relname, pn.nspname, p.relname,
       array(SELECT a.attname::text FROM unnest(f.conkey) WITH ORDINALITY k(n, place)
             JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = k.n ORDER BY place),
       array(SELECT a.attname::text FROM unnest(f.confkey) WITH ORDINALITY k(n, place)
             JOIN pg_attribute a ON a.attrelid = f.confrelid AND a.attnum = k.n ORDER BY place),
       EXISTS (SELECT FROM pg_index i WHERE i.indrelid = f.conrelid AND i.indisunique
               AND i.indpred IS NULL AND i.indexprs IS NULL
               AND (i.indkey::int2[])[0:i.indnkeyatts - 1] <@ f.conkey)
FROM pg_constraint f
JOIN pg_class c ON c.oid = f.conrelid JOIN pg_namespace cn ON cn.oid = c.relnamespace
JOIN pg_class p ON p.oid = f.confrelid JOIN pg_namespace pn ON pn.oid = p.relnamespace
WHERE f.contype = 'f' AND f.conparentid = 0 AND %(oid)s IN (f.conrelid, f.confrelid)
ORDER BY f.conname, f.oid
"""
# Tables of the user's: no partitions, whose rows are those of their table, and none of extensions.
_ALL = """
SELECT c.oid, n.nspname, c.relname, c.relkind::text, c.relreplident::text,
       has_schema_privilege(n.oid, 'usage') AND has_table_privilege(c.oid, 'select')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p'
  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  AND (n.nspname = ANY(%(schemas)s) OR %(schemas)s::text[] = '{}')
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass
                  AND d.objid = c.oid AND d.deptype = 'e')
ORDER BY n.nspname COLLATE "C", c.relname COLLATE "C"
"""


def read_tables(url: str, names: Sequence[str]) -> tuple[SourceTable, ...]:
    """Return tables as the database describes them.

    Args:
        url: The database.
        names: Each as `table`, found as the search path says, or `schema.table`.

    Raises:
        DatabaseError: The database does not answer.
        OnboardError: It does not have a table.
    """
    with open_link(url) as link:
        return tuple(_table(link, url, name) for name in names)


def read_database(url: str, schemas: Sequence[str] = ()) -> DatabaseSchema:
    """Return the tables of a database, as it describes them.

    Args:
        url: The database.
        schemas: Those that are looked at; all but the system's where none is named.

    Raises:
        DatabaseError: The database does not answer.
        OnboardError: It has no table.
    """
    with open_link(url) as link:
        found = link.execute(_ALL, {"schemas": list(schemas)}).fetchall()
        if not found:
            where = f" in schema {', '.join(schemas)}" if schemas else ""
            raise OnboardError(
                f"the database {shown(url)} has no tables{where}", hint="Check its name."
            )
        return DatabaseSchema(
            link.info.dbname,
            tuple(_described(link, *each[:5]) for each in found),
            frozenset(TableName(each[1], each[2]) for each in found if not each[5]),
        )


def _table(link: psycopg.Connection[tuple[Any, ...]], url: str, name: str) -> SourceTable:
    schema, _, table = name.rpartition(".")
    found = link.execute(_TABLES, {"schema": schema, "table": table}).fetchall()
    if not found:
        known = [TableName(*each) for each in link.execute(_NAMES).fetchall()]
        listed = f"It has {_some([*map(str, known)])}." if known else "It has none."
        near = nearest_table(TableName(schema or "public", table), known)
        raise OnboardError(
            f'the database {shown(url)} has no table "{name}"',
            detail=listed,
            hint=f'Use "{near}".' if near else "",
        )
    if found[0][3] not in ("r", "p"):
        raise OnboardError(
            f'"{name}" is a view or a foreign table, not a table',
            detail="Its changes are not in the database's log.",
            hint="Name the tables behind it.",
        )
    return _described(link, *found[0])


def _described(
    link: psycopg.Connection[tuple[Any, ...]],
    oid: int,
    schema: str,
    table: str,
    kind: str,
    identity: str,
) -> SourceTable:
    columns = [_column(*row) for row in link.execute(_COLUMNS, (oid,)).fetchall()]
    kept = tuple(each for each in columns if isinstance(each, Column))
    return SourceTable(
        name=TableName(schema, table),
        columns=kept,
        key=_index(link, oid, identity=False),
        unique=tuple(tuple(each) for (each,) in link.execute(_UNIQUE, (oid,)).fetchall()),
        foreign_keys=tuple(
            _foreign_key(row) for row in link.execute(_FOREIGN_KEYS, {"oid": oid}).fetchall()
        ),
        identity=_IDENTITIES[identity],
        identity_columns=_index(link, oid, identity=True),
        left_out=tuple(each for each in columns if not isinstance(each, Column)),
    )


def _column(
    name: str, type_: str, enum: bool, large: bool, generated: bool
) -> Column | tuple[str, str]:
    """Return a column, or the name and type of one that Debezium leaves out."""
    if generated:  # read with the tables, and then never again: it is not in the log
        return name, "generated columns"
    known = spark_type(type_, enum=enum)
    if known is None:
        return name, type_
    unit = cast(Literal["millis", "micros"] | None, timestamp_unit(type_))
    return Column(name, known, large=large, unit=unit)


def _index(
    link: psycopg.Connection[tuple[Any, ...]], oid: int, *, identity: bool
) -> tuple[str, ...]:
    rows = link.execute(_INDEX, {"oid": oid, "identity": identity}).fetchall()
    return tuple(str(name) for (name,) in rows)


def _foreign_key(row: tuple[Any, ...]) -> ForeignKey:
    child_schema, child, parent_schema, parent, columns, parent_columns, unique = row
    return ForeignKey(
        TableName(child_schema, child),
        TableName(parent_schema, parent),
        tuple(zip(columns, parent_columns, strict=True)),
        unique=unique,
    )


def _some(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - 12} more" if len(listed) > 12 else ""
    return ", ".join(listed[:12]) + more
