"""What failures of PostgreSQL mean: an outage is waited for, a lack told, the rest refused."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors

from joinery.capture.postgres import PostgresDatabase
from joinery.capture.server import ServerAwayError, ServerShortError
from joinery.capture.spool import CaptureError

DATABASE = PostgresDatabase("postgresql://ada:engine@db/shop", "joinery_t", ())
FATAL = "connection failed: FATAL:  "
SHORT = ServerShortError
STANDBYS = "number of requested standby connections exceeds"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.AdminShutdown("terminating connection"), ServerAwayError),
        (psycopg.OperationalError("connection refused"), ServerAwayError),
        (errors.DiskFull("could not extend file: No space left on device"), SHORT),
        (errors.OutOfMemory("out of memory"), SHORT),
        (errors.IoError("could not read block 1"), SHORT),
        (psycopg.OperationalError(f"{FATAL}too many connections for role"), SHORT),
        (psycopg.OperationalError(f"{FATAL}sorry, too many clients already"), SHORT),
        (psycopg.OperationalError(f"{FATAL}{STANDBYS} max_wal_senders (currently 2)"), SHORT),
        (psycopg.OperationalError(f'{FATAL}{STANDBYS} "max_wal_senders" (currently 2)'), SHORT),
        (psycopg.ProgrammingError('invalid URI query parameter: "ssl"'), CaptureError),
        (psycopg.OperationalError('invalid sslmode value: "on"'), CaptureError),
        (psycopg.OperationalError(f"{FATAL}password authentication failed"), CaptureError),
        (psycopg.OperationalError(f"{FATAL}Peer authentication failed"), CaptureError),
        (
            psycopg.OperationalError("server does not support SSL, but it was required"),
            CaptureError,
        ),
        (psycopg.OperationalError("SSL error: certificate verify failed"), CaptureError),
        (errors.UndefinedColumn("no such column"), CaptureError),
    ],
)
def test_a_failure_is_an_outage_a_lack_or_a_refusal(
    error: psycopg.Error, kind: type[CaptureError]
) -> None:
    assert type(DATABASE.failure(error)) is kind


def test_a_right_that_is_lacking_may_be_that_to_replicate() -> None:
    told = DATABASE.failure(
        errors.InsufficientPrivilege("permission denied to use replication slots")
    )

    assert told.message.endswith("refused the request: permission denied to use replication slots")
    assert "alter role … replication" in told.hint


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("pg_hba.conf rejects connection for host", "pg_hba.conf on the server"),
        ('role "ada" is not permitted to log in', "alter role … login;"),
        ('permission denied for database "shop"', "grant connect on database"),
        ("permission denied to start WAL sender", "alter role … replication;"),
        ("must be superuser or replication role to start walsender", "… replication;"),
    ],
)
def test_what_somebody_has_to_mend_is_not_waited_for(said: str, hint: str) -> None:
    told = DATABASE.failure(psycopg.OperationalError(f"{FATAL}{said}"))

    assert type(told) is CaptureError
    assert told.message.endswith(f": {FATAL}{said}")
    assert hint in told.hint
