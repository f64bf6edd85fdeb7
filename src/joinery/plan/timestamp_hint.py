"""What to write where a column is not a timestamp and has to be one."""

from __future__ import annotations

from joinery.expression.token import RESERVED
from joinery.model.type import DATE, STRING, WHOLE_NUMBERS, Atomic, DataType, quoted


def as_timestamp(name: str, type_: DataType) -> str:
    """Return an expression that makes a timestamp of a column.

    Args:
        name: The column.
        type_: Its type; a number is taken for milliseconds since 1970.
    """
    plain = name.isidentifier() and name.lower() not in RESERVED
    column = name if plain else quoted(name)
    if type_ in (DATE, STRING, Atomic("timestamp_ntz")):
        return f"cast({column} as timestamp)"
    whole = str(type_) in WHOLE_NUMBERS
    return f"timestamp_millis({column if whole else f'cast({column} as bigint)'})"
