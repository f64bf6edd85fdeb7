"""How a column of a table in PostgreSQL is read as the value that its log would tell.

A declared type takes only columns whose values are known to arrive in it: another one is refused
by name, since a wrong guess would call right documents wrong.

Limits: a date or a time outside the years 1 to 9999 is read as `OUT_OF_RANGE`, infinities among
them: Python has none of them.

Invariant: a value that is read equals the one that a run makes of the captured row. `untold` says
of which rows that cannot be known: of a number that its declared type cannot hold, and of an
infinite date, a run makes a dead letter.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Context
from decimal import Decimal as Number
from enum import Enum
from typing import Any

from joinery.capture.bulk_row import numeric_text
from joinery.clients.sql import quoted
from joinery.model.type import Array, Atomic, DataType, Decimal, Field

_EXACT = Context(prec=200_000)  # PostgreSQL has no longer numbers.
_PRECISION = re.compile(r"\(.*?\)")
_TEXTS = frozenset(
    ("text", "character varying", "name", "citext", "uuid", "xml", "json", "jsonb", "ltree")
)
_WHOLE = {
    "smallint": ("short", "int", "long"),
    "integer": ("int", "long"),
    "bigint": ("long",),
}
_ELEMENTS = {
    "string": ("text", "character varying"),
    "int": ("integer",),
    "long": ("integer", "bigint"),
    "double": ("double precision",),
    "boolean": ("boolean",),
}


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column as the database has it.

    Attributes:
        name: Its own.
        type: As `format_type` writes it, of a domain its base type.
        enum: Whether it is an enumeration.
    """

    name: str
    type: str
    enum: bool = False

    @property
    def base(self) -> str:
        """The type without its precision."""
        return _PRECISION.sub("", self.type)

    @property
    def array(self) -> str:
        """The type of an array of its values; a bare `character` would cut them."""
        return "bpchar[]" if self.base == "character" else f"{self.base}[]"

    def read_as(self, field: Field, alias: str) -> str | None:
        """Return the SQL that reads it as a declared field; None where nothing is known to.

        Example:
            >>> from joinery.model.type import LONG, STRING
            >>> TableColumn("id", "integer").read_as(Field("id", LONG), "t")
            't."id"'
            >>> TableColumn("at", "money").read_as(Field("at", STRING), "t") is None
            True
        """
        return self._read(f"{alias}.{quoted(self.name)}", field.type)

    def _read(self, sql: str, kind: DataType) -> str | None:
        base = self.base
        match kind:
            case Atomic("string"):
                return self._text(sql)
            case Atomic("short" | "int" | "long" as name):
                if base == "time without time zone" and name == "long":
                    return f"(extract(epoch from {sql}) * 1000000)::bigint"
                return sql if name in _WHOLE.get(base, ()) else None
            case Atomic("float"):
                return sql if base == "real" else None
            case Atomic("double"):
                if base == "real":  # Its shortest digits travel, not its bits.
                    return f"({sql}::text)::float8"
                return sql if base == "double precision" else None
            case Decimal():
                return f"{sql}::numeric" if base in ("numeric", *_WHOLE) else None
            case Atomic("boolean" | "date"):
                return sql if base == kind.name else None
            case Atomic("binary"):
                return sql if base == "bytea" else None
            case Atomic("timestamp"):
                if base == "timestamp without time zone":
                    return f"({sql} AT TIME ZONE 'UTC')"
                return sql if base == "timestamp with time zone" else None
            case Atomic("timestamp_ntz"):
                return sql if base == "timestamp without time zone" else None
            case Array(Atomic(name)):
                return sql if base.removesuffix("[]") in _ELEMENTS.get(name, ()) else None
            case _:
                return None

    def _text(self, sql: str) -> str | None:
        if self.base == "character":  # A cast would leave out the blanks at its end.
            return f"(CASE WHEN {sql} IS NOT NULL THEN format('%s', {sql}) END)"
        if self.base == "numeric":
            return f"({numeric_text(sql)})"
        known = self.enum or self.base in _TEXTS
        return f"{sql}::text" if known else None


class OutOfRange(Enum):
    """What stands for a date or a time that Python does not have."""

    VALUE = "out of range"


OUT_OF_RANGE = OutOfRange.VALUE
_FIRST_DAY, _LAST_DAY = "0001-01-01", "9999-12-31"


def known_key(column: str, kind: DataType) -> str | None:
    """Return the condition that a key's column holds what can be compared; None for no condition.

    Args:
        column: As SQL.
        kind: The declared type.
    """
    match kind:
        case Atomic("date" | "timestamp" | "timestamp_ntz"):
            return f"{column} >= '{_FIRST_DAY}' AND {column}::date <= '{_LAST_DAY}'"
        case Atomic("float" | "double") | Decimal():
            return f"{column}::text NOT IN ('NaN', 'Infinity', '-Infinity')"
        case _:
            return None


def may_be_untold(kind: DataType) -> bool:
    """Return whether a column may hold a value of which `untold` tells something."""
    match kind:
        case Array(element):
            return may_be_untold(element)
        case Atomic(name):
            return name in ("float", "double", "date", "timestamp", "timestamp_ntz")
        case _:
            return isinstance(kind, Decimal)


def untold(value: Any, field: Field) -> str:
    """Return why it cannot be told what a run makes of a row that has a value; empty where it can.

    Args:
        value: As it is read.
        field: A column that `may_be_untold`.

    Example:
        >>> from joinery.model.type import DOUBLE
        >>> untold(0.5, Field("v", DOUBLE)), untold(math.nan, Field("v", DOUBLE))
        ('', 'is a dead letter: column "v" is not of type double')
    """
    if value is OUT_OF_RANGE:
        return f'has a column "{field.name}" that is infinite, or not in the years 1 to 9999'
    if not is_taken(value, field.type):
        return f'is a dead letter: column "{field.name}" is not of type {field.type}'
    return ""


def is_taken(value: Any, kind: DataType) -> bool:
    """Return whether a run takes a value of a column that `may_be_untold` for one of its type.

    Example:
        >>> from joinery.model.type import DOUBLE
        >>> is_taken(0.5, DOUBLE), is_taken(math.nan, DOUBLE)
        (True, False)
        >>> [is_taken(Number(each), Decimal(3, 2)) for each in ("1.500", "1.505", "10", "NaN")]
        [True, False, False, False]
    """
    match value, kind:
        case None, _:
            return True
        case list(), Array(element):
            return all(is_taken(each, element) for each in value)
        case Number(), Decimal(precision, scale):
            return value.is_finite() and _fits(value, precision, scale)
        case _, Atomic("float" | "double"):
            return math.isfinite(value)
        case _:
            return True


def _fits(value: Number, precision: int, scale: int) -> bool:
    if not value:
        return True
    least = value.normalize(_EXACT).as_tuple().exponent
    return value.adjusted() < precision - scale and int(least) >= -scale
