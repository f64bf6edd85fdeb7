"""What each slot of a table means, in SQLite or PostgreSQL, with a copy in the table itself.

The registry is written before the copy, the copy before any row. One that was lost is built
again from the copy; where the two differ the table is not touched.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from joinery.clients.postgres import DatabaseError, open_link, passes
from joinery.project.option import path_in
from joinery.solutions.key_value.dynamodb_table import DynamoTable, Item
from joinery.solutions.single_table.slot import Need, assign, slot_name
from joinery.solutions.stored.state import StoreError, StoreUnavailableError

_CREATE = """CREATE TABLE IF NOT EXISTS joinery_slots (
    table_name TEXT NOT NULL, relation TEXT NOT NULL, columns TEXT NOT NULL,
    slot INTEGER NOT NULL,
    PRIMARY KEY (table_name, relation, columns), UNIQUE (table_name, relation, slot))"""
_SELECT = "SELECT relation, columns, slot FROM joinery_slots WHERE table_name = {0}"
_INSERT = (
    "INSERT INTO joinery_slots (table_name, relation, columns, slot) VALUES ({0}, {0}, {0}, {0})"
    " ON CONFLICT (table_name, relation, columns) DO NOTHING"
)
_COPY = "REGISTRY"


class Registry(Protocol):
    """Remembers which need has which slot of a table."""

    def read(self) -> dict[Need, int]:
        """Return all slots that were ever given.

        Raises:
            StoreError: The registry cannot be read.
        """

    def add(self, slots: Mapping[Need, int]) -> None:
        """Remember slots; one whose need is there stays as it is.

        Raises:
            StoreError: The registry cannot be written, or a slot is taken by another need.
        """


class SqliteRegistry:
    """A registry in a file of this machine."""

    def __init__(self, path: Path, table: str) -> None:
        self._path = path
        self._table = table

    def read(self) -> dict[Need, int]:
        """Return all slots that were ever given."""
        with self._opened() as database:
            return _needs(database.execute(_SELECT.format("?"), (self._table,)).fetchall())

    def add(self, slots: Mapping[Need, int]) -> None:
        """Remember slots."""
        with self._opened() as database:
            database.executemany(_INSERT.format("?"), _lines(self._table, slots))

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self._path, timeout=30)) as database, database:
                database.execute(_CREATE)
                yield database
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"could not use the slot registry {self._path}", detail=f"{error}."
            ) from error


class PostgresRegistry:
    """A registry in a PostgreSQL database."""

    def __init__(self, url: str, table: str) -> None:
        self._url = url
        self._table = table

    def read(self) -> dict[Need, int]:
        """Return all slots that were ever given."""
        with self._opened() as link:
            return _needs(link.execute(_SELECT.format("%s"), (self._table,)).fetchall())

    def add(self, slots: Mapping[Need, int]) -> None:
        """Remember slots."""
        with self._opened() as link, link.cursor() as cursor:
            cursor.executemany(_INSERT.format("%s"), _lines(self._table, slots))

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        try:
            link = open_link(self._url)
        except DatabaseError as error:
            away = error.__cause__ is not None and passes(error.__cause__)
            kind = StoreUnavailableError if away else StoreError
            raise kind(error.message, detail=error.detail, hint=error.hint) from error
        import psycopg

        try:
            with link:
                link.execute(_CREATE)
                yield link
        except psycopg.Error as error:
            kind = StoreUnavailableError if passes(error) else StoreError
            raise kind("could not use the slot registry", detail=f"{error}.") from error


def open_registry(url: str, table: str, file: Path, project: Path = Path()) -> Registry:
    """Return the registry in the database of a URL; an empty one is the SQLite `file`.

    Args:
        url: Of PostgreSQL, or `sqlite:///path`.
        table: Of DynamoDB.
        file: Where it is without a URL.
        project: Where relative paths begin.
    """
    if url.startswith(("postgresql://", "postgres://")):
        return PostgresRegistry(url, table)
    path = url.removeprefix("sqlite:///")
    return SqliteRegistry(path_in(project, path) if path else file, table)


def give_slots(
    needs: Collection[Need],
    registry: Registry,
    table: DynamoTable,
    make: Callable[[Sequence[str]], None],
) -> dict[Need, int]:
    """Return the slots of all needs, new ones remembered and their indexes made.

    Args:
        needs: Of the products that use the table now.
        registry: Brought up to the copy in the table, and the copy up to it.
        table: May not be there yet.
        make: Makes the table, with the indexes of some names, where they are missing.

    Raises:
        TooManySlotsError: There is no slot left; nothing was written.
        StoreError: Registry and table differ.
    """
    told = registry.read()
    make(_names(assign(needs, told)))
    copied = _copy_of(table)
    _compare(told, copied)
    slots = assign(needs, {**copied, **told})
    make(_names(slots))
    registry.add({need: slot for need, slot in slots.items() if need not in told})
    missing = {need: slot for need, slot in slots.items() if need not in copied}
    table.put({(_COPY, _named(need)): Item(_text(need, slot)) for need, slot in missing.items()})
    return slots


def _compare(told: Mapping[Need, int], copied: Mapping[Need, int]) -> None:
    for need in sorted(told.keys() & copied.keys()):
        if told[need] != copied[need]:
            raise StoreError(
                f"the slot registry differs from the table: {_named(need)} has"
                f" {slot_name(told[need])} in the registry, {slot_name(copied[need])} in the table",
                hint="Name the registry that belongs to the table, or another table.",
            )


def _names(slots: Mapping[Need, int]) -> list[str]:
    return [slot_name(slot) for slot in sorted(set(slots.values()))]


def _copy_of(table: DynamoTable) -> dict[Need, int]:
    values = table.partitions([_COPY])[0].values()
    told = (json.loads(value) for value in values)
    return {(each["relation"], tuple(each["columns"])): each["slot"] for each in told}


def _text(need: Need, slot: int) -> bytes:
    return json.dumps({"relation": need[0], "columns": need[1], "slot": slot}).encode()


def _named(need: Need) -> str:
    return f"{need[0]}.{','.join(need[1])}"


def _needs(rows: list[Any]) -> dict[Need, int]:
    return {(relation, tuple(json.loads(columns))): slot for relation, columns, slot in rows}


def _lines(table: str, slots: Mapping[Need, int]) -> list[tuple[Any, ...]]:
    return [
        (table, relation, json.dumps(columns), slot) for (relation, columns), slot in slots.items()
    ]
