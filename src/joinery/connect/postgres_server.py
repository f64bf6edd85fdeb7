"""Connections to PostgreSQL for a sink, and its errors told apart: wait, stop, or leave one out.

Invariant: no message holds a password.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from joinery.connect.postgres_link import first_line, redacted, shown
from joinery.connect.protocol import SinkError, SinkUnavailableError

if TYPE_CHECKING:
    import psycopg

_SETTINGS: dict[str, Any] = {
    "application_name": "joinery",
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
# By SQLSTATE: no connection, no resources, an operator's doing, a conflict, a read-only standby.
_PASSING_CLASSES = ("08", "53", "57", "58")
_PASSING = ("40001", "40P01", "55P03", "25006", "XX000")
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
    try:
        import psycopg
    except ImportError as error:
        raise SinkError(
            'sink "postgres" needs the package psycopg',
            hint="Install Joinery with the extra postgres.",
        ) from error
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
    return str(getattr(error, "sqlstate", None) or "")[:2] in _OF_THE_DOCUMENT


def reason(error: Exception, url: str) -> str:
    """Return a failure as one line, without data of rows and without the password."""
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    return f"{redacted(primary or first_line(error), url)}."


def failure(error: Exception, url: str, what: str) -> SinkError:
    """Return the error that tells a failure of the driver."""
    message = f"{what} postgres at {shown(url)}"
    if passes(error):
        hint = "Check that the server is up, and has room."
        return SinkUnavailableError(message, detail=reason(error, url), hint=hint)
    hint = "Check the URL, what its user may do, and the table."
    return SinkError(message, detail=reason(error, url), hint=hint)


def passes(error: BaseException | None) -> bool:
    """Return whether waiting may help with an error of the driver."""
    import psycopg

    state = getattr(error, "sqlstate", None)
    if state:
        return state[:2] in _PASSING_CLASSES or state in _PASSING
    if not isinstance(error, psycopg.OperationalError):
        return False
    text = str(error)
    refused = "FATAL:" in text or "SSL" in text
    return not refused or any(word in text for word in _PASSING_WORDS)
