"""Tables that a page shows, and gives as CSV and as JSON.

Invariant: a cell of the CSV that a spreadsheet would take for a formula is text there, led by
an apostrophe. JSON and the page have every value as it is.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Value = str | int | float | bool | None
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def plain(value: Value) -> str:
    """Return a value as it reads: numbers in groups of three, a dash where there is none.

    Example:
        >>> [plain(each) for each in (None, 12345, 0.25, "a")]
        ['-', '12,345', '0.25', 'a']
    """
    if value is None or value == "":
        return "-"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:,.2f}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        name: In CSV and JSON.
        title: On the page.
        show: How its values read on the page.
        number: Whether they stand to the right.
        long: Whether they may take several lines, and be broken anywhere.
    """

    name: str
    title: str
    show: Callable[[Value], str] = plain
    number: bool = False
    long: bool = False


Row = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        name: In addresses.
        title: Above it, and for those who hear it.
        empty: What the page says where there are no rows.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    empty: str = "none"

    def to_json(self) -> str:
        """Return the rows as a JSON list of objects."""
        names = [each.name for each in self.columns]
        rows = [{name: row.get(name) for name in names} for row in self.rows]
        return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"

    def to_csv(self) -> str:
        """Return the rows as CSV of RFC 4180, the names of the columns first.

        Example:
            >>> columns = (Column("name", "Name"), Column("n", "N"))
            >>> print(Table("t", "T", columns, ({"name": "=1+1", "n": -1},)).to_csv())
            name,n
            '=1+1,-1
        """
        out = io.StringIO()
        lines = csv.writer(out)
        lines.writerow(each.name for each in self.columns)
        for row in self.rows:
            lines.writerow(_cell(row.get(each.name)) for each in self.columns)
        return out.getvalue()


def _cell(value: Value) -> Value:
    harmful = isinstance(value, str) and value.startswith(_FORMULA)
    return f"'{value}" if harmful else value
