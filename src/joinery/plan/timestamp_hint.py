"""What to write where a column is not a timestamp and has to be one."""

from __future__ import annotations

from joinery.expression.token import RESERVED
from joinery.model.type import (
    DATE,
    STRING,
    WHOLE_NUMBERS,
    Atomic,
    DataType,
    Decimal,
    quoted,
)

_NO_TIME = frozenset({"boolean", "binary", "personal"})


def timestamp_hint(
    name: str, type_: DataType, *, made: str = "at", how: str = "Derive one, such as derive"
) -> str:
    """Return a hint with an expression that makes a timestamp of a column, where one can.

    Args:
        name: The column.
        type_: Its type; a number is taken for milliseconds since 1970.
        made: The name of the column that is made.
        how: How it is declared.
    """
    if str(type_) in _NO_TIME or not isinstance(type_, Atomic | Decimal):
        return f"Name a column that is one: of {type_} none can be made."
    return f"{how}: {{{made}: {_as_timestamp(name, type_)}}}."


def _as_timestamp(name: str, type_: DataType) -> str:
    plain = name.isidentifier() and name.lower() not in RESERVED
    column = name if plain else quoted(name)
    if type_ in (DATE, STRING, Atomic("timestamp_ntz")):
        return f"cast({column} as timestamp)"
    whole = str(type_) in WHOLE_NUMBERS
    return f"timestamp_millis({column if whole else f'cast({column} as bigint)'})"
