"""Connections to PostgreSQL, with what goes wrong told without the password."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from joinery.errors import RunError

if TYPE_CHECKING:
    import psycopg

_CONNECT_S = 10
# A setting of a connection string that is no URL: dbname=shop, or dbname='the shop'.
_NAMED = re.compile(r"(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s']\S*)")
# A password in either kind of connection string, as it stands there.
_WRITTEN = re.compile(r"(?:password\s*=\s*'?|://[^:/@\s]*:)([^'&@\s]+)")


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
            "PostgreSQL needs the package psycopg", hint="Install Joinery with the extra postgres."
        ) from error
    try:
        return psycopg.connect(
            url, autocommit=True, connect_timeout=_CONNECT_S, application_name="joinery"
        )
    except psycopg.Error as error:
        raise DatabaseError(
            f"could not connect to the database {shown(url)}",
            detail=redacted(first_line(error), url),
            hint="Check its URL, and that it is up.",
        ) from error


def shown(url: str) -> str:
    """Return a database's host, port and name: never its user or password.

    Example:
        >>> shown("postgresql://ada:engine@db:5433/shop?sslmode=require")
        'db:5433/shop'
        >>> shown("host=db dbname=shop password=engine")
        'db:5432/shop'
    """
    if "://" not in url:
        named = {name: value.strip("'") for name, value in _NAMED.findall(url)}
        host, port = named.get("host", "localhost"), named.get("port", "5432")
        return f"{host}:{port}/{named.get('dbname', '')}"
    try:
        parts = urlsplit(url)
        return f"{parts.hostname or 'localhost'}:{parts.port or 5432}{parts.path}"
    except ValueError:
        return "that was named"


def first_line(error: Exception) -> str:
    """Return the first line of a failure of the driver."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def redacted(text: str, url: str) -> str:
    """Return a text without the password of a database's URL, whatever the driver wrote.

    The URL may be any connection string: `postgresql://…`, whose password may be
    percent-encoded, or `host=… password=…`. Nothing of one that cannot be read is shown.
    """
    for secret in _secrets(url):
        text = text.replace(secret, "…")
    return text


def _secrets(url: str) -> tuple[str, ...]:
    """Return the texts that must not be shown: the password as it is meant and as written."""
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        meant = conninfo_to_dict(url).get("password")
    except psycopg.Error:
        meant = url
    written = _WRITTEN.findall(url)
    return tuple(str(each) for each in (meant, *written) if each)
