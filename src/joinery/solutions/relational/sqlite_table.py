"""One relation's rows in SQLite, and the statements that read and write sets of them.

The values to look up are put into a temporary table, from which one statement joins.

Invariant: identifiers are quoted; values are parameters.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter

from joinery.clients.sql import listed, quoted
from joinery.expression.order import is_ordered_itself
from joinery.model.change import Key, Row
from joinery.model.type import Field
from joinery.semantics.row_key import key_reader
from joinery.semantics.rows import JoinValue
from joinery.solutions.relational.fence import foreign_table
from joinery.solutions.relational.layout import (
    CHANGED,
    DELETED,
    OFFSET,
    OWN_COLUMNS,
    PLACE,
    STATE,
    VISIBLE,
    RelationTable,
    stored_cells,
)
from joinery.solutions.relational.sqlite_database import (
    Column,
    check_names,
    columns_of_table,
    declared_type,
    found,
    from_cell,
    insert_rows,
    to_cell,
)
from joinery.solutions.relational.value import probe_cells, rows_from, table_from
from joinery.solutions.stored.state import StoredRow


class SqliteTable:
    """The table of one relation.

    Args:
        table: What it holds.
        name: Its own.
    """

    def __init__(self, table: RelationTable, name: str) -> None:
        self.name = name
        self._table = table
        self._relation = table.relation
        self._fields = {each.name: each for each in table.columns}
        check_names(self._fields, f'columns of "{table.relation.name}",')
        self._key_fields = [self._fields[column] for column in table.relation.key]
        self._rest = [each for each in table.columns if each.name not in table.relation.key]
        self._key_of = key_reader(table.relation)
        self._to_cells = stored_cells(table.relation, to_cell)
        self._key_cells = probe_cells(self._key_fields, to_cell)
        self._rows = rows_from(table.columns, from_cell)
        self._shown = table_from(table.shown, from_cell)
        self._probes = {
            columns: probe_cells([self._fields[each] for each in columns], to_cell)
            for columns in (table.relation.key, *table.indexes)
        }
        columns = listed([*self._fields, *OWN_COLUMNS])
        self._insert = f"INSERT INTO {quoted(name)} ({columns})"
        self._on_conflict = self._conflict_clause()
        self._sortable = all(is_ordered_itself(each.type) for each in self._key_fields)
        names = list(self._fields)
        self._place = itemgetter(*(names.index(column) for column in table.key))

    def create(self, database: sqlite3.Connection) -> None:
        """Create the table and its indexes where they are missing, and add missing columns.

        Raises:
            StoreError: A table of this name stands there with other columns.
        """
        standing = columns_of_table(database, self.name)
        if not standing:
            database.execute(self._create_statement())
        else:
            self._migrate(database, standing)
        for columns in self._table.indexes:
            # With the state, and the key that every index holds, it often answers by itself.
            index = quoted(f"{self.name} by {' '.join(columns)}")
            database.execute(
                f"CREATE INDEX IF NOT EXISTS {index} ON {quoted(self.name)}"
                f" ({listed((*columns, STATE))})"
            )
        index = quoted(f"{self.name} deleted")
        database.execute(
            f"CREATE INDEX IF NOT EXISTS {index} ON {quoted(self.name)} ({CHANGED})"
            f" WHERE {STATE} = {DELETED}"
        )

    def rows(self, database: sqlite3.Connection, keys: Collection[Key]) -> dict[Key, StoredRow]:
        """Return what is stored under `keys`."""
        columns = self._relation.key
        cells = found(
            database, self.name, columns, self._key_cells(keys), [*self._fields, *OWN_COLUMNS]
        )
        return {
            self._key_of(row): StoredRow(
                None if state == DELETED else row,
                state == VISIBLE,
                position,
                bool(after),
                changed,
                None if place is None else (place, offset),
            )
            for row, (*_, state, position, after, changed, place, offset) in zip(
                self._rows(cells), cells, strict=True
            )
        }

    def keys(self, database: sqlite3.Connection) -> set[Key]:
        """Return the keys of all rows, deleted ones included."""
        told = database.execute(f"SELECT {listed(self._relation.key)} FROM {quoted(self.name)}")
        keys = rows_from(self._key_fields, from_cell)(told.fetchall())
        return set(map(self._key_of, keys))

    def matching(
        self, database: sqlite3.Connection, columns: tuple[str, ...], values: Collection[JoinValue]
    ) -> Sequence[Row]:
        """Return the visible rows whose `columns` equal one of `values`."""
        if columns not in self._probes:
            fields = [self._fields[each] for each in columns]
            self._probes[columns] = probe_cells(fields, to_cell)
        sought = self._probes[columns](values)
        names = [each.name for each in self._table.shown]
        rest = f" WHERE kept.{STATE} = {VISIBLE}"
        return self._shown(found(database, self.name, columns, sought, names, rest))

    def write(self, database: sqlite3.Connection, rows: Mapping[Key, StoredRow]) -> None:
        """Store rows in place of those under their keys."""
        cells = self._to_cells(rows.items())
        if self._sortable:
            cells.sort(key=self._place)  # neighbours share a page
        insert_rows(database, self._insert, cells, self._on_conflict)

    def forget(self, database: sqlite3.Connection, before_us: int) -> None:
        """Forget rows that were deleted before a time."""
        database.execute(
            f"DELETE FROM {quoted(self.name)} WHERE {STATE} = {DELETED} AND {CHANGED} < ?",
            (before_us,),
        )

    def clear(self, database: sqlite3.Connection) -> None:
        """Forget all rows."""
        database.execute(f"DELETE FROM {quoted(self.name)}")

    def _create_statement(self) -> str:
        columns = [self._defined(each) for each in self._fields.values()]
        columns += [f"{STATE} INTEGER NOT NULL", "joinery_position INTEGER"]
        columns += ["joinery_after_delete BOOLEAN NOT NULL", f"{CHANGED} INTEGER NOT NULL"]
        columns += [f"{PLACE} INTEGER", f"{OFFSET} INTEGER"]
        return (
            f"CREATE TABLE {quoted(self.name)} ({', '.join(columns)},"
            f" PRIMARY KEY ({listed(self._table.key)})) WITHOUT ROWID"
        )

    def _defined(self, field: Field) -> str:
        return f"{quoted(field.name)} {declared_type(field.type)}".rstrip()

    def _conflict_clause(self) -> str:
        # The key's columns, too: a zero of another sign is the same key.
        changed = ", ".join(f"{quoted(name)} = excluded.{quoted(name)}" for name in self._updated())
        return f" ON CONFLICT ({listed(self._table.key)}) DO UPDATE SET {changed}"

    def _updated(self) -> list[str]:
        odd = [each.name for each in self._key_fields if str(each.type) in ("float", "double")]
        return [*odd, *(each.name for each in self._rest), *OWN_COLUMNS]

    def _migrate(self, database: sqlite3.Connection, standing: Mapping[str, Column]) -> None:
        key = tuple(name for name, each in standing.items() if each.key)
        if set(key) != set(self._relation.key) or not set(OWN_COLUMNS) <= set(standing):
            raise foreign_table(self.name, f"Its primary key is {', '.join(key) or 'missing'}.")
        for field in self._fields.values():
            found = standing.get(field.name)
            if found is None:
                database.execute(
                    f"ALTER TABLE {quoted(self.name)} ADD COLUMN {self._defined(field)}"
                )
            elif found.type != declared_type(field.type):
                raise foreign_table(
                    self.name,
                    f'Its column "{field.name}" is {found.type or "of no type"}, but has to be'
                    f" {declared_type(field.type) or 'of no type'}.",
                )
