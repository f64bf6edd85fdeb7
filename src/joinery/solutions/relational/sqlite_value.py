"""What SQLite holds for a value of each type.

A double's column has no declared type: under REAL a negative zero loses its sign. NaN,
which SQLite takes for null, is the text `NaN`.
"""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

from joinery.model.type import Array, Atomic, DataType, Decimal, Map, Struct
from joinery.solutions.relational.value import (
    Convert,
    exact_text,
    from_json_text,
    json_text,
    local_text,
    utc_text,
)

_DECLARED = {
    "boolean": "BOOLEAN",
    "byte": "INTEGER",
    "short": "INTEGER",
    "int": "INTEGER",
    "long": "INTEGER",
    "float": "",
    "double": "",
    "binary": "BLOB",
}


def declared_type(kind: DataType) -> str:
    """Return the type that a column is declared with; empty for none."""
    return _DECLARED.get(kind.name, "TEXT") if isinstance(kind, Atomic) else "TEXT"


def to_cell(kind: DataType) -> Convert | None:
    """Return the function from a value that is not null to a cell; None where it stays."""
    match kind:
        case Decimal():
            return exact_text(kind)
        case Array() | Map() | Struct():
            return json_text(kind)
        case Atomic("float" | "double"):
            return _number
        case Atomic("timestamp"):
            return utc_text
        case Atomic("timestamp_ntz"):
            return local_text
        case Atomic("date"):
            return lambda value: value.isoformat()
        case Atomic():
            return None


def from_cell(kind: DataType) -> Convert | None:
    """Return the way back from `to_cell`."""
    match kind:
        case Decimal():
            return decimal.Decimal
        case Array() | Map() | Struct():
            return from_json_text(kind)
        case Atomic("float" | "double"):
            return float
        case Atomic("boolean"):
            return bool
        case Atomic("timestamp" | "timestamp_ntz"):
            return dt.datetime.fromisoformat
        case Atomic("date"):
            return dt.date.fromisoformat
        case Atomic():
            return None


def _number(value: Any) -> Any:
    return "NaN" if value != value else value
