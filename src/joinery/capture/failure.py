"""What a failure of PostgreSQL's driver means to a capture: wait, or have somebody fix it."""

from __future__ import annotations

from joinery.capture.server import ServerAwayError, ServerShortError
from joinery.capture.spool import CaptureError
from joinery.clients.postgres import first_line, redacted, shown, sqlstate

# By SQLSTATE: no connection, no resources, an operator's doing, the system.
_PASSING = ("08", "53", "57", "58")
_SHORT = ("53", "58")
_CHECK = "Check the URL and its user."
_HINTS = {
    "55P03": "Another session has locked the table: end its transaction; see pg_locks.",
    "53100": "Free space on its disk.",
    "53200": "Give it more memory, or close sessions.",
    "58030": "See the server's log: its disk cannot be read or written.",
    "53300": "Close connections, or: alter system set max_connections = …; then restart it.",
    "42501": "Its user lacks a right: grant select on the tables; or alter role … replication, or,"
    " with row-level security, bypassrls;",
}
# Who is not let in is told no SQLSTATE: by what the server or the driver says, what fixes it.
_FULL = (
    "too many connections",
    "too many clients",
    "remaining connection slots",
    "requested standby connections exceed",
)
_REFUSED = {
    "invalid URI query parameter": _CHECK,
    "invalid connection option": _CHECK,
    "invalid sslmode value": _CHECK,
    "password authentication": _CHECK,
    "Peer authentication": _CHECK,
    "Ident authentication": _CHECK,
    "does not support SSL": _CHECK,
    "certificate verify failed": _CHECK,
    "no password": _CHECK,
    "does not exist": _CHECK,
    "no pg_hba.conf entry": "Let its user in: pg_hba.conf on the server.",
    "pg_hba.conf rejects": "Let its user in: pg_hba.conf on the server.",
    "not permitted to log in": "alter role … login;",
    "permission denied for database": "grant connect on database … to …;",
    "to start WAL sender": "alter role … replication;",
    "to start walsender": "alter role … replication;",  # until PostgreSQL 15
}


def is_full(said: str) -> bool:
    """Return whether a server says that it has no connection to spare."""
    return any(each in said for each in _FULL)


def failure_of(error: Exception, url: str) -> CaptureError:
    """Return what a failure of the driver means, without the password of the database's URL."""
    said = redacted(first_line(error), url)
    state = sqlstate(error) or ("53300" if is_full(said) else "08000")
    refused = next((hint for words, hint in _REFUSED.items() if words in said), "")
    if state.startswith(_PASSING) and not refused:
        short = state.startswith(_SHORT)
        kind, what = (ServerShortError, "use") if short else (ServerAwayError, "reach")
        return kind(
            f"could not {what} the database {shown(url)}: {said}", hint=_HINTS.get(state, "")
        )
    return CaptureError(
        f"the database {shown(url)} refused the request: {said}",
        hint=refused or _HINTS.get(state, _CHECK),
    )
