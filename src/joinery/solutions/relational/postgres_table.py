"""One relation's rows in PostgreSQL, and the statements that read and write sets of them.

Rows whose keys are known to be new are copied into the table; others are copied into a
temporary one, from which one statement upserts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from zlib import crc32

from joinery.clients.sql import listed, quoted
from joinery.model.change import Key, Row
from joinery.model.type import BOOLEAN, LONG, Atomic, Field
from joinery.semantics.row_key import key_reader
from joinery.semantics.rows import JoinValue
from joinery.solutions.relational.fence import foreign_table
from joinery.solutions.relational.layout import (
    AFTER_DELETE,
    CHANGED,
    DELETED,
    OFFSET,
    OWN_COLUMNS,
    PLACE,
    POSITION,
    STATE,
    VISIBLE,
    RelationTable,
    stored_cells,
)
from joinery.solutions.relational.postgres_database import (
    check_names,
    column_type,
    columns_of_table,
    copy_rows,
    escaped_cells,
    found,
    from_cell,
    key_of_table,
    needs_escape,
    to_cell,
    unescaped_cells,
    upsert_rows,
    widens,
)
from joinery.solutions.relational.value import Cells, probe_cells, rows_from, table_from
from joinery.solutions.stored.state import StoredRow

if TYPE_CHECKING:
    from joinery.solutions.relational.postgres_database import Connection

_OWN = (
    Field(STATE, Atomic("short")),
    Field(POSITION, LONG),
    Field(AFTER_DELETE, BOOLEAN),
    Field(CHANGED, LONG),
    Field(PLACE, LONG),
    Field(OFFSET, LONG),
)
_NEEDED = (STATE, AFTER_DELETE, CHANGED)


class PostgresTable:
    """The table of one relation.

    Args:
        table: What it holds.
        name: Its own.
    """

    def __init__(self, table: RelationTable, name: str) -> None:
        self.name = name
        self.escaped = False
        self._table = table
        self._relation = table.relation
        self._fields = {each.name: each for each in table.columns}
        self._key_fields = [self._fields[column] for column in table.relation.key]
        self._key_of = key_reader(table.relation)
        self._to_cells = stored_cells(table.relation, to_cell)
        self._rows = rows_from(table.columns, from_cell)
        self._shown = table_from(table.shown, from_cell)
        self._probes: dict[tuple[str, ...], Any] = {}
        self._known: tuple[set[Key], set[Key]] = (set(), set())
        check_names([name, *self._fields])

    def create(self, connection: Connection) -> None:
        """Create the table and its indexes where they are missing; add and widen columns.

        Raises:
            StoreError: A table of this name stands there with other columns.
        """
        standing = columns_of_table(connection, self.name)
        if not standing:
            connection.execute(self._create_statement())
        else:
            self._migrate(connection, standing)
        for columns in self._table.indexes:
            connection.execute(
                f"CREATE INDEX IF NOT EXISTS {self._index(columns)}"
                f" ON {quoted(self.name)} ({listed(columns)})"
            )
        connection.execute(
            f"CREATE INDEX IF NOT EXISTS {self._index(('deleted',))} ON {quoted(self.name)}"
            f" ({CHANGED}) WHERE {STATE} = {DELETED}"
        )

    def rows(self, connection: Connection, keys: Collection[Key]) -> dict[Key, StoredRow]:
        """Return what is stored under `keys`."""
        names = [*self._fields, *OWN_COLUMNS]
        cells = self._found(connection, self._relation.key, keys, names)
        stored = {
            self._key_of(row): StoredRow(
                None if state == DELETED else row,
                state == VISIBLE,
                position,
                after,
                changed,
                None if place is None else (place, offset),
            )
            for row, (*_, state, position, after, changed, place, offset) in zip(
                self._rows(cells), cells, strict=True
            )
        }
        self._known = (set(keys), set(stored))
        return stored

    def keys(self, connection: Connection) -> set[Key]:
        """Return the keys of all rows, deleted ones included."""
        statement = f"SELECT {listed(self._relation.key)} FROM {quoted(self.name)}"
        cells = connection.execute(statement, binary=True).fetchall()
        if self.escaped:
            cells = [*map(unescaped_cells, cells)]
        return set(map(self._key_of, rows_from(self._key_fields, from_cell)(cells)))

    def matching(
        self, connection: Connection, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return the visible rows whose `columns` equal one of `values`."""
        names = [each.name for each in self._table.shown]
        rest = f" WHERE kept.{STATE} = {VISIBLE}"
        return self._shown(self._found(connection, columns, values, names, rest))

    def write(self, connection: Connection, rows: Mapping[Key, StoredRow]) -> bool:
        """Store rows in place of those under their keys; return whether texts were escaped."""
        asked, standing = self._known
        new = [key for key in rows if key in asked and key not in standing]
        cells = self._to_cells((key, rows[key]) for key in new)
        rest = self._to_cells((key, rows[key]) for key in rows.keys() - set(new))
        escape = needs_escape([*cells, *rest], self._all)
        if escape:
            cells, rest = [*map(escaped_cells, cells)], [*map(escaped_cells, rest)]
        copy_rows(connection, quoted(self.name), self._all, cells)
        upsert_rows(connection, quoted(self.name), self._all, self._table.key, rest)
        self._known = (set(), set())
        return escape

    def forget(self, connection: Connection, before_us: int) -> None:
        """Forget rows that were deleted before a time."""
        connection.execute(
            f"DELETE FROM {quoted(self.name)} WHERE {STATE} = {DELETED} AND {CHANGED} < $1",
            [before_us],
        )

    def clear(self, connection: Connection) -> None:
        """Forget all rows."""
        connection.execute(f"TRUNCATE {quoted(self.name)}")

    @property
    def _all(self) -> list[Field]:
        return [*self._fields.values(), *_OWN]

    def _found(
        self,
        connection: Connection,
        columns: tuple[str, ...],
        values: Collection[JoinValue],
        names: Iterable[str],
        rest: str = "",
    ) -> list[Cells]:
        fields = [self._fields[each] for each in columns]
        if columns not in self._probes:
            self._probes[columns] = probe_cells(fields, to_cell)
        sought = self._probes[columns](values)
        cells = found(connection, self.name, fields, sought, names, rest)
        return [*map(unescaped_cells, cells)] if self.escaped else cells

    def _defined(self) -> str:
        return ", ".join(
            f"{quoted(each.name)} {column_type(each.type)}"
            f"{' NOT NULL' if each.name in (*_NEEDED, *self._relation.key) else ''}"
            for each in self._all
        )

    def _create_statement(self) -> str:
        return (
            f"CREATE TABLE {quoted(self.name)} ({self._defined()},"
            f" PRIMARY KEY ({listed(self._table.key)})) WITH (fillfactor = 80)"
        )

    def _index(self, columns: Sequence[str]) -> str:
        """Return the name of an index: cut, but still its own."""
        name = f"{self.name} by {' '.join(columns)}"
        return quoted(f"joinery {crc32(name.encode()):08x} {name[:40]}"[:50])

    def _migrate(self, connection: Connection, standing: Mapping[str, str]) -> None:
        key = key_of_table(connection, self.name)
        if set(key) != set(self._relation.key) or not set(OWN_COLUMNS) <= set(standing):
            raise foreign_table(self.name, f"Its primary key is {', '.join(key) or 'missing'}.")
        for field in self._fields.values():
            stands, wanted = standing.get(field.name), column_type(field.type)
            table, column = quoted(self.name), quoted(field.name)
            if stands is None:
                connection.execute(f"ALTER TABLE {table} ADD COLUMN {column} {wanted}")
            elif widens(stands, wanted):
                connection.execute(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {wanted}")
            elif stands != wanted:
                raise foreign_table(
                    self.name, f'Its column "{field.name}" is {stands}, but has to be {wanted}.'
                )
