"""Columns that relations declare as moments, and whose tables have a date or a time of day in them.

The log tells these as bare numbers, of days or of a day's microseconds, which would be taken for
microseconds since 1970.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from joinery.capture.gone_columns import TableColumns
from joinery.capture.spool import CaptureError


def check_moments(
    declared: Mapping[str, Collection[str]], found: Mapping[str, TableColumns]
) -> None:
    """Refuse a column that is declared as a moment and is none.

    Args:
        declared: By table, the columns that relations declare as `timestamp` or `timestamp_ntz`.
        found: By table that is there, its columns.

    Raises:
        CaptureError: The relation has to be corrected first; the hint says how.
    """
    for table, columns in sorted(found.items()):
        for name in sorted({*declared.get(table, ())} & columns.no_moments.keys()):
            type = columns.no_moments[name]
            instead = "date" if type == "date" else "int" if type == "year" else "long"
            raise CaptureError(
                f'column "{name}" of table {table} is of type {type}, and a relation declares it as'
                " timestamp",
                detail="Its numbers in the log would be taken for microseconds since 1970.",
                hint=f"Declare it as {instead} in the relation"
                + ("; derive can cast it." if type == "date" else "."),
            )
