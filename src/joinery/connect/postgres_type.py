"""What a column of PostgreSQL becomes: the Spark type of the values that Debezium sends.

It holds for events with and without schemas, under Debezium's default modes and
`decimal.handling.mode` `string` or `precise`.
"""

from __future__ import annotations

import re

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
