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


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (errors.AdminShutdown("terminating connection"), ServerAwayError),
        (psycopg.OperationalError("connection refused"), ServerAwayError),
        (errors.DiskFull("could not extend file: No space left on device"), ServerShortError),
        (errors.OutOfMemory("out of memory"), ServerShortError),
        (errors.IoError("could not read block 1"), ServerShortError),
        (psycopg.OperationalError(f"{FATAL}too many connections for role"), ServerShortError),
        (psycopg.OperationalError(f"{FATAL}password authentication failed"), CaptureError),
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

    assert "permission denied to use replication slots" == told.detail
    assert "alter role … replication" in told.hint
