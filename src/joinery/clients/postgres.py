"""Connections to PostgreSQL for a sink, and its errors told apart: wait, stop, or leave one out.

Invariant: no message holds a password.

Connections to PostgreSQL, whose errors never show the password.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from joinery.errors import RunError, SinkError, SinkUnavailableError, needs_extra

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
    with needs_extra("postgres", "PostgreSQL needs the package psycopg", DatabaseError):
        import psycopg
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


_SETTINGS: dict[str, Any] = {
    "application_name": "joinery",
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
# By SQLSTATE: no connection, no resources, an operator's doing, a conflict, a read-only standby,
# a session that stood still in a transaction for too long.
_PASSING_CLASSES = ("08", "53", "57", "58")
_LOCKED = "55P03"
_PASSING = ("40001", "40P01", _LOCKED, "25006", "25P03", "XX000")
# What a server that starts, stops or is full says before it has given a SQLSTATE.
_PASSING_WORDS = (
    "starting up",
    "shutting down",
    "recovery mode",
    "too many",
    "remaining connection slots",
    "not yet accepting",
)
_OF_THE_DOCUMENT = ("22", "23", "54")


def connect(url: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Return a connection whose statements stand in transactions.

    Raises:
        SinkUnavailableError: The server cannot be reached now.
        SinkError: The driver is missing, or the server does not let us in.
    """
    with needs_extra("postgres", 'sink "postgres" needs the package psycopg', SinkError):
        import psycopg
    try:
        return psycopg.connect(url, prepare_threshold=None, **_SETTINGS)
    except psycopg.Error as error:
        raise failure(error, url, "could not connect to") from error


def database_errors() -> tuple[type[Exception], ...]:
    """Return what the driver raises."""
    import psycopg

    return (psycopg.Error,)


def refuses_document(error: Exception) -> bool:
    """Return whether an error is of the data that was sent: its text, its size, a constraint."""
    return sqlstate(error)[:2] in _OF_THE_DOCUMENT


def sqlstate(error: BaseException | None) -> str:
    """Return the code that a server gave an error; empty where it gave none."""
    import psycopg

    return (error.sqlstate or "") if isinstance(error, psycopg.Error) else ""


def reason(error: Exception, url: str) -> str:
    """Return a failure as one line, without data of rows and without the password."""
    import psycopg

    primary = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    return f"{redacted(primary or first_line(error), url)}."


def failure(error: Exception, url: str, what: str) -> SinkError:
    """Return the error that tells a failure of the driver."""
    message = f"{what} postgres at {shown(url)}"
    if passes(error):
        hint = "Check that the server is up, and has free disk space."
        if sqlstate(error) == _LOCKED:
            hint = "Another session has locked the table: end its transaction; see pg_locks."
        return SinkUnavailableError(message, detail=reason(error, url), hint=hint)
    hint = "Check the URL, its user's permissions, and the table."
    return SinkError(message, detail=reason(error, url), hint=hint)


def passes(error: BaseException | None) -> bool:
    """Return whether waiting may help with an error of the driver."""
    import psycopg

    state = sqlstate(error)
    if state:
        return state[:2] in _PASSING_CLASSES or state in _PASSING
    if not isinstance(error, psycopg.OperationalError):
        return False
    text = str(error)
    refused = "FATAL:" in text or "SSL" in text
    return not refused or any(word in text for word in _PASSING_WORDS)
