"""What goes wrong with a SQLite file that is written, told apart: wait, or stop."""

from __future__ import annotations

import sqlite3


def result_code(error: BaseException) -> int:
    """Return SQLite's own code of an error; 0 where Python's module found it."""
    return getattr(error, "sqlite_errorcode", 0)  # only errors of SQLite itself have one


def passes(error: BaseException) -> bool:
    """Return whether waiting may help: another writer holds the file, or the disk is full."""
    code = result_code(error)
    # That is what SQLite says of a disk without room for the shared memory beside its log.
    if code == sqlite3.SQLITE_IOERR_SHMSIZE:
        return True
    return code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL)
