"""The tables of a vault, in SQLite and in PostgreSQL.

Invariant: a row of a subject is never removed: without a key it says that the key was destroyed.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joinery.clients.postgres import connect, database_errors, failure, first_line
from joinery.clients.sql import quoted
from joinery.errors import SinkUnavailableError
from joinery.project.kinds import VAULTS
from joinery.project.option import path_in
from joinery.project.product import ProjectSpec
from joinery.project.vault import PostgresVaultOptions, SqliteVaultOptions
from joinery.slices import slices
from joinery.vault.keys import Vault, VaultError, VaultStore, VaultUnavailableError

_MOST = 400  # names that one statement takes, also with a value each
_BUSY_S = 10.0
_ERASING = 7309454
"""The advisory lock of PostgreSQL under which erasures follow one another."""
_log = logging.getLogger(__name__)


def open_vault(spec: ProjectSpec) -> Vault:
    """Return the vault of a project.

    Raises:
        VaultError: It cannot be used, or the project has none.
        VaultUnavailableError: It is not there now.
    """
    if spec.vault is None:
        raise VaultError("the project has no vault", hint="Write vault: {sqlite: {path: …}, …}.")
    return Vault(vault_store(spec), spec.vault.master)


def vault_store(spec: ProjectSpec) -> VaultStore:
    """Return the tables of a project's vault."""
    assert spec.vault is not None  # asked for before
    options: Any = VAULTS.read(spec.vault.kind, dict(spec.vault.options))
    if isinstance(options, SqliteVaultOptions):
        return SqliteVault(path_in(spec.path_of("."), options.path))
    assert isinstance(options, PostgresVaultOptions)  # there are two kinds
    return PostgresVault(options.url, options.schema)


class _SqlVault:
    """What both databases say alike; `_?` stands for a parameter."""

    _mark = "?"
    _lock: threading.RLock

    def secret(self, name: str, made: bytes) -> bytes:
        with self._transaction() as run:
            run(
                "INSERT INTO {secrets} (name, wrapped) VALUES (_?, _?) ON CONFLICT DO NOTHING",
                (name, made),
            )
            ((wrapped,),) = run("SELECT wrapped FROM {secrets} WHERE name = _?", (name,))
        return bytes(wrapped)

    def secrets(self) -> tuple[str, ...]:
        with self._transaction() as run:
            return tuple(name for (name,) in run("SELECT name FROM {secrets} ORDER BY name", ()))

    def forget_secrets(self, names: Collection[str]) -> None:
        with self._transaction() as run:
            for name in names:
                run("UPDATE {secrets} SET wrapped = _? WHERE name = _?", (b"", name))
                run("DELETE FROM {secrets} WHERE name = _?", (name,))

    def keys(self, made: Mapping[bytes, bytes]) -> Mapping[bytes, bytes | None]:
        with self._transaction() as run:
            # In one order, so that two that add the same ones do not wait for each other.
            for some in slices(sorted(made), _MOST):
                rows = ", ".join("(_?, _?)" for _ in some)
                run(
                    f"INSERT INTO {{subjects}} (name, wrapped) VALUES {rows}"
                    " ON CONFLICT DO NOTHING",
                    [value for name in some for value in (name, made[name])],
                )
            return _known(run, list(made))

    def known(self, names: Collection[bytes]) -> Mapping[bytes, bytes | None]:
        with self._transaction() as run:
            return _known(run, list(names))

    def destroy(self, name: bytes) -> int:
        with self._transaction() as run:
            self._alone(run)
            run(
                "INSERT INTO {subjects} (name, wrapped) VALUES (_?, NULL)"
                " ON CONFLICT (name) DO UPDATE SET wrapped = NULL",
                (name,),
            )
            run("INSERT INTO {erasures} (name) VALUES (_?)", (name,))
            ((number,),) = run("SELECT max(number) FROM {erasures}", ())
        self._clean()
        return int(number)

    def destroyed_after(self, number: int) -> tuple[tuple[int, bytes], ...]:
        with self._transaction() as run:
            rows = run("SELECT number, name FROM {erasures} WHERE number > _?", (number,))
            return tuple((int(each), bytes(name)) for each, name in rows)

    def _transaction(self) -> Any:
        raise NotImplementedError

    def _alone(self, run: Any) -> None:
        """Wait until no other erasure is under way, so that numbers are in the order of commits."""

    def _clean(self) -> None:
        """Remove what the database keeps of a key that it was told to forget, as far as it can."""


def _known(run: Any, names: Sequence[bytes]) -> dict[bytes, bytes | None]:
    found: dict[bytes, bytes | None] = {}
    for some in slices(names, _MOST):
        marks = ", ".join("_?" for _ in some)
        for name, wrapped in run(
            f"SELECT name, wrapped FROM {{subjects}} WHERE name IN ({marks})", some
        ):
            found[bytes(name)] = None if wrapped is None else bytes(wrapped)
    return found


class SqliteVault(_SqlVault):
    """A vault in a file; what is forgotten is overwritten there."""

    def __init__(self, path: Path) -> None:
        self.target = f"sqlite {path}"
        self._path = path
        self._lock = threading.RLock()
        self._database: sqlite3.Connection | None = None

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        with self._lock:
            try:
                database = self._opened()
                database.execute("BEGIN IMMEDIATE")
                try:
                    yield lambda sql, values: database.execute(
                        _named(sql, "joinery_{}").replace("_?", "?"), values
                    ).fetchall()
                except BaseException:
                    database.rollback()
                    raise
                database.commit()
            except (sqlite3.OperationalError, OSError) as error:
                self.close()
                raise VaultUnavailableError(
                    f"the vault, {self.target}, is not available now", detail=f"{error}."
                ) from error
            except sqlite3.Error as error:
                self.close()
                raise VaultError(f"the vault, {self.target}, is broken: {error}") from error

    def _opened(self) -> sqlite3.Connection:
        if self._database is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.touch(mode=0o600)
            database = sqlite3.connect(
                self._path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
            )
            database.execute("PRAGMA secure_delete = ON")
            database.execute("PRAGMA synchronous = FULL")
            database.execute(
                "CREATE TABLE IF NOT EXISTS joinery_secrets"
                " (name TEXT PRIMARY KEY, wrapped BLOB NOT NULL) WITHOUT ROWID"
            )
            database.execute(
                "CREATE TABLE IF NOT EXISTS joinery_subjects"
                " (name BLOB PRIMARY KEY, wrapped BLOB) WITHOUT ROWID"
            )
            database.execute(
                "CREATE TABLE IF NOT EXISTS joinery_erasures"
                " (number INTEGER PRIMARY KEY AUTOINCREMENT, name BLOB NOT NULL)"
            )
            self._database = database
        return self._database

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            database, self._database = self._database, None
            if database is not None:
                database.close()


class PostgresVault(_SqlVault):
    """A vault in a schema of PostgreSQL; after an erasure its table is vacuumed."""

    def __init__(self, url: str, schema: str) -> None:
        from joinery.clients.postgres import shown

        self.target = f"postgres {shown(url)}, schema {schema}"
        self._url, self._schema = url, schema
        self._lock = threading.RLock()
        self._link: Any = None

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        with self._lock:
            try:
                link = self._opened()
                with link.transaction():
                    yield lambda sql, values: self._run(link, sql, values)
            except SinkUnavailableError as error:
                self.close()
                raise VaultUnavailableError(error.message, detail=error.detail) from error
            except database_errors() as error:
                self.close()
                told = failure(error, self._url, "could not use the vault in")
                kind = (
                    VaultUnavailableError if isinstance(told, SinkUnavailableError) else VaultError
                )
                raise kind(told.message, detail=told.detail) from error

    def _run(self, link: Any, sql: str, values: Sequence[Any]) -> list[Any]:
        schema = quoted(self._schema)
        named = _named(sql, f"{schema}.{{}}").replace("_?", "%s")
        cursor = link.execute(named, values)
        return cursor.fetchall() if cursor.description else []

    def _opened(self) -> Any:
        if self._link is None or self._link.closed:
            link = connect(self._url)
            schema = quoted(self._schema)
            with link.transaction():
                # Two that begin at once would both make the schema.
                link.execute("SELECT pg_advisory_xact_lock(7309453)")
                link.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
                link.execute(
                    f"CREATE TABLE IF NOT EXISTS {schema}.secrets"
                    " (name text PRIMARY KEY, wrapped bytea NOT NULL)"
                )
                link.execute(
                    f"CREATE TABLE IF NOT EXISTS {schema}.subjects"
                    " (name bytea PRIMARY KEY, wrapped bytea)"
                )
                link.execute(
                    f"CREATE TABLE IF NOT EXISTS {schema}.erasures"
                    " (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
                    " name bytea NOT NULL)"
                )
            self._link = link
        return self._link

    def _alone(self, run: Any) -> None:
        run(f"SELECT pg_advisory_xact_lock({_ERASING})", ())

    def _clean(self) -> None:
        """Have PostgreSQL overwrite what it kept of the row, where nobody else reads it."""
        try:
            with self._lock:
                link = self._opened()
                link.autocommit = True
                try:
                    link.execute(f"VACUUM {quoted(self._schema)}.subjects")
                finally:
                    link.autocommit = False
        except database_errors() as error:
            # The key is destroyed, and what follows from that has to be done all the same.
            _log.warning("the vault was not vacuumed after an erasure: %s", first_line(error))

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            link, self._link = self._link, None
            if link is not None:
                link.close()


def _named(sql: str, pattern: str) -> str:
    names = ("secrets", "subjects", "erasures")
    for name in names:
        sql = sql.replace(f"{{{name}}}", pattern.format(name))
    return sql
