"""What to write where a column is not a timestamp and has to be one."""

from __future__ import annotations

from joinery.model.type import DATE, STRING, DataType, quoted


def as_timestamp(name: str, type_: DataType) -> str:
    """Return an expression that makes a timestamp of a column.

    Args:
        name: The column.
        type_: Its type; a number is taken for milliseconds since 1970.
    """
    column = name if name.isidentifier() else quoted(name)
    if type_ in (DATE, STRING):
        return f"cast({column} as timestamp)"
    return f"timestamp_millis({column})"
