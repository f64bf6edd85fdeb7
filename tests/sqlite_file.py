"""A database of SQLite that a test looks into, or alters."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


@contextmanager
def sqlite_file(file: Path | str) -> Iterator[sqlite3.Connection]:
    """Open a database for a block, at whose end changes are committed and it is closed."""
    with closing(sqlite3.connect(file, timeout=60.0)) as database, database:
        yield database
