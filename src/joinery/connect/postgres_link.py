"""Connections to PostgreSQL, with what goes wrong told without the password."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from joinery.errors import RunError

if TYPE_CHECKING:
    import psycopg

_CONNECT_S = 10


class DatabaseError(RunError):
    """A database cannot be asked."""

    code = "RUN_DATABASE"


def open_link(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Return a connection whose statements each stand alone.

    Args:
        url: `postgresql://user:password@host:port/database`.

    Raises:
        DatabaseError: The driver is missing, or the database does not let us in.
    """
    try:
        import psycopg
    except ImportError as error:
        raise DatabaseError(
            "PostgreSQL needs the package psycopg", hint="Run `pip install 'joinery[postgres]'`."
        ) from error
    try:
        return psycopg.connect(
            url, autocommit=True, connect_timeout=_CONNECT_S, application_name="joinery"
        )
    except psycopg.Error as error:
        raise DatabaseError(
            f"could not connect to the database {shown(url)}",
            detail=_reason(error, url),
            hint="Check its URL, and that it is up.",
        ) from error


def shown(url: str) -> str:
    """Return a database's URL without user and password.

    Example:
        >>> shown("postgresql://ada:engine@db:5433/shop?sslmode=require")
        'db:5433/shop'
    """
    try:
        parts = urlsplit(url)
        return f"{parts.hostname or 'localhost'}:{parts.port or 5432}{parts.path}"
    except ValueError:
        return "that was named"


def _reason(error: Exception, url: str) -> str:
    """Return the first line of a failure; never the password, whatever the driver says."""
    line = next(iter(str(error).strip().splitlines()), type(error).__name__)
    password = urlsplit(url).password if "://" in url else None
    return line.replace(password, "…") if password else line
