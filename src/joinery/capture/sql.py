"""Names, texts and single values, as SQL of PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

    Link = psycopg.Connection[tuple[Any, ...]]


def quote_name(name: str) -> str:
    """Return a name as SQL.

    Example:
        >>> quote_name("order"), quote_name("customer")
        ('"order"', '"customer"')
    """
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def quote_table(table: str) -> str:
    """Return a table as SQL.

    Example:
        >>> quote_table("public.order")
        '"public"."order"'
    """
    return ".".join(map(quote_name, table.split(".", 1)))


def quote_text(value: str) -> str:
    r"""Return a text as SQL, whatever it holds.

    Example:
        >>> print(quote_text("it's"))
        E'it\'s'
    """
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"E'{escaped}'"


def row_of(link: Link, statement: str, *given: object) -> Sequence[Any]:
    """Return the row of a statement that always gives one."""
    found = link.execute(statement.encode(), given).fetchone()
    assert found is not None  # asked for a row that always is
    return found


def text_of(link: Link, statement: str, *given: object) -> str:
    """Return the one value of a statement as a text."""
    return str(row_of(link, statement, *given)[0])


def number_of(link: Link, statement: str, *given: object) -> int:
    """Return the one value of a statement as a number."""
    return int(row_of(link, statement, *given)[0])


def lsn_text(place: int) -> str:
    """Return a place in the log as PostgreSQL writes it.

    Example:
        >>> lsn_text(4294967456)
        '1/A0'
    """
    return f"{place >> 32:X}/{place & 0xFFFFFFFF:X}"
