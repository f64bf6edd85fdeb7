"""How tables are read beside the log, whichever server they are of."""

from __future__ import annotations

from typing import assert_never

from joinery.capture.database import LogDatabase
from joinery.capture.mysql import MysqlDatabase
from joinery.capture.mysql_reading import MysqlReading
from joinery.capture.postgres import PostgresDatabase
from joinery.capture.postgres_reading import PostgresReading


def reading_of(database: LogDatabase) -> PostgresReading | MysqlReading:
    """Return what asks a database for the rows of its tables."""
    match database:
        case PostgresDatabase():
            return PostgresReading(database)
        case MysqlDatabase():
            return MysqlReading(database)
        case _:
            assert_never(database)
