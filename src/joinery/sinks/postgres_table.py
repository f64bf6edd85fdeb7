"""The tables of one product in PostgreSQL, and the statements that load a batch into them.

Beside the table stand `<table>__deleted`, the versions of deleted documents, and the fence
(`postgres_fence.py`), which run wrote last. A batch is copied into a temporary table, from which
one guarded statement each upserts, deletes and remembers.

Invariant: identifiers are composed by the driver, never formatted; a statement with a name of
the user's takes no parameters, since a % in a name would be read as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from joinery.model.type import Atomic, DataType, Decimal, Field, Struct
from joinery.sinks.key import free_name, stored_key
from joinery.sinks.postgres_fence import PostgresFence
from joinery.sinks.postgres_nulls import (
    nullable_columns,
    replicate_whole_rows,
    takes_nulls,
    why_refused,
)
from joinery.sinks.protocol import SinkError

if TYPE_CHECKING:
    import psycopg
    from psycopg.sql import Composable, Composed

Mode = Literal["jsonb", "columns"]
STAGED = "joinery_staged"
MAX_NAME_BYTES = 63
_TYPES = {
    "boolean": "boolean",
    "byte": "smallint",
    "short": "smallint",
    "int": "integer",
    "long": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "timestamp_ntz": "timestamp without time zone",
    "void": "text",
}
_FIND = """SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped"""
_LZ4 = """SELECT 'lz4' = ANY (enumvals) FROM pg_settings WHERE name = 'default_toast_compression'"""


@dataclass(frozen=True, slots=True)
class Statements:
    """The SQL of one table; `copy` goes into the temporary table, the others read it."""

    stage: Composed
    copy: Composed
    upsert: Composed
    delete: Composed
    remember: Composed
    older: Composed
    clear: Composed


class PostgresTable:
    """The table of a product, in one of two forms.

    Args:
        name: The table's.
        schema: Empty for the first of the search path.
        key: The root key's columns.
        value: The document's type.
        mode: `jsonb` for the document in one column, `columns` for a column per field.
        nullable: The columns of the key that may be null.
    """

    def __init__(
        self,
        name: str,
        schema: str,
        *,
        key: Struct,
        value: Struct,
        mode: Mode,
        nullable: frozenset[str] = frozenset(),
    ) -> None:
        self.name = name
        self.fence = PostgresFence(name, schema)
        self._nullable = nullable
        self._schema = schema
        self._key = stored_key(key).fields
        self._mode = mode
        names = {each.name for each in self._key}
        self._fields = tuple(each for each in value.fields if each.name not in names)
        self._version = "version" if mode == "jsonb" else "joinery_version"
        self._deleted_version = free_name("version", names)
        self._staged_document = free_name("document", names)
        self._check_names()

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """The table's columns and their types, as PostgreSQL writes them."""
        shown = [("document", "jsonb")] if self._mode == "jsonb" else _typed(self._fields)
        return (*_typed(self._key), *shown, (self._version, "bigint"))

    def create(self, connection: psycopg.Connection[Any]) -> None:
        """Create the tables that are missing, and add the columns that are missing.

        Raises:
            SinkError: The table stands there with other types.
        """
        from psycopg.sql import SQL, Identifier

        # One at a time, since two that create a table at once make one of them fail.
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('joinery'), 0)")
        nullable = self._nullable if takes_nulls(connection) else frozenset()
        standing = self._standing(connection, self._at())
        if not standing:
            connection.execute(self._create(nullable, lz4=_has_lz4(connection)))
        else:
            self._migrate(connection, standing)
        if not self._standing(connection, self._side):
            connection.execute(self._create_side(nullable))
        connection.execute(
            SQL("CREATE INDEX IF NOT EXISTS {} ON {} ({})").format(
                Identifier(f"{self.name}__forget"), self._side, self._gone_at
            )
        )
        if nullable and not standing:
            replicate_whole_rows(connection, (self._at(), self._side))
        connection.execute(self.fence.create())

    def stands(self, connection: psycopg.Connection[Any]) -> bool:
        """Return whether the table is there."""
        return bool(self._standing(connection, self._at()))

    @property
    def _side(self) -> Composable:
        return self._at(f"{self.name}__deleted")

    def nullable(self, connection: psycopg.Connection[Any]) -> frozenset[str]:
        """Return the columns of the key that the tables as they stand take nulls in."""
        return nullable_columns(connection, (self._at(), self._side))

    def why_refused(self, connection: psycopg.Connection[Any]) -> str:
        """Return why the tables as they stand take no null in their keys, and what lets them."""
        keys = [each.name for each in self._key]
        return why_refused(connection, (self._at(), self._side), keys)

    def statements(self, nulls: frozenset[str] = frozenset()) -> Statements:
        """Return the statements that load rows.

        Args:
            nulls: The columns of the key that are null, in all of these rows; the others are
                not. So each comparison can use the index of the key.
        """
        from psycopg.sql import SQL, Identifier

        staged, side, table = Identifier(STAGED), self._side, self._at()
        keys = _listed(each.name for each in self._key)
        names = [each.name for each in self._key]
        same_side = _same(side, staged, names, nulls)
        same_table = _same(table, staged, names, nulls)
        typed = SQL(", ").join(
            SQL("{} {}").format(Identifier(name), SQL(type)) for name, type in _typed(self._key)
        )
        named = {
            "staged": staged,
            "side": side,
            "table": table,
            "keys": keys,
            "own": Identifier(self._version),
            "version": self._gone_at,
            "document": Identifier(self._staged_document),
        }
        return Statements(
            stage=SQL(
                "CREATE TEMP TABLE {staged} ({typed}, {document} jsonb, {version} bigint)"
            ).format(**named, typed=typed),
            copy=SQL("COPY {staged} ({keys}, {document}, {version}) FROM STDIN").format(**named),
            upsert=self._upsert(staged, side, same_side),
            delete=SQL(
                "DELETE FROM {table} USING {staged} WHERE {staged}.{document} IS NULL"
                " AND {same} AND {table}.{own} < {staged}.{version}"
            ).format(**named, same=same_table),
            remember=SQL(
                "INSERT INTO {side} ({keys}, {version}) SELECT {keys}, {version} FROM {staged}"
                " WHERE {document} IS NULL ON CONFLICT ({keys}) DO UPDATE"
                " SET {version} = EXCLUDED.{version} WHERE {side}.{version} < EXCLUDED.{version}"
            ).format(**named),
            older=SQL(
                "SELECT count(*) FROM {staged} WHERE {document} IS NOT NULL AND ("
                "EXISTS (SELECT FROM {table}"
                " WHERE {same} AND {table}.{own} > {staged}.{version})"
                " OR EXISTS (SELECT FROM {side}"
                " WHERE {gone} AND {side}.{version} > {staged}.{version}))"
            ).format(**named, same=same_table, gone=same_side),
            clear=SQL("TRUNCATE {}").format(staged),
        )

    def forget(self, before: int) -> Composed:
        """Return the statement that forgets deletes with a version below `before`."""
        from psycopg.sql import SQL, Literal

        return SQL("DELETE FROM {} WHERE {} < {}").format(
            self._side, self._gone_at, Literal(before)
        )

    @property
    def _gone_at(self) -> Composable:
        """The column of a version, in what is staged and in the memory of deletes."""
        from psycopg.sql import Identifier

        return Identifier(self._deleted_version)

    def keys(self) -> Composed:
        """Return the query for the root keys of all documents."""
        from psycopg.sql import SQL

        names = _listed(each.name for each in self._key)
        return SQL("SELECT {} FROM {}").format(names, self._at())

    def _upsert(self, staged: Composable, side: Composable, same_side: Composable) -> Composed:
        from psycopg.sql import SQL, Identifier

        names = [name for name, _ in self.columns]
        keys = [each.name for each in self._key]
        rest = [name for name in names if name not in keys]
        chosen: list[Composable] = [SQL("{}.{}").format(staged, Identifier(name)) for name in keys]
        chosen += self._shown(staged)
        return SQL(
            "INSERT INTO {table} AS kept ({names}) SELECT {chosen}, {staged}.{gone_at}"
            " FROM {staged}{fields} WHERE {staged}.{document} IS NOT NULL AND NOT EXISTS"
            " (SELECT FROM {side} WHERE {same} AND {side}.{gone_at} >= {staged}.{gone_at})"
            " ON CONFLICT ({keys}) DO UPDATE SET {changed}"
            " WHERE kept.{version} < EXCLUDED.{version}"
        ).format(
            table=self._at(),
            names=_listed(names),
            chosen=SQL(", ").join(chosen),
            staged=staged,
            fields=self._record(staged),
            side=side,
            same=same_side,
            keys=_listed(keys),
            changed=SQL(", ").join(SQL("{0} = EXCLUDED.{0}").format(Identifier(n)) for n in rest),
            version=Identifier(self._version),
            gone_at=self._gone_at,
            document=Identifier(self._staged_document),
        )

    def _shown(self, staged: Composable) -> list[Composable]:
        """Return what stands beside the key: the document, or each of its fields."""
        from psycopg.sql import SQL, Identifier

        if self._mode == "jsonb":
            return [SQL("{}.{}").format(staged, Identifier(self._staged_document))]
        return [
            SQL("decode(field.{}, 'base64')" if _binary(each) else "field.{}").format(
                Identifier(each.name)
            )
            for each in self._fields
        ]

    def _record(self, staged: Composable) -> Composable:
        """Return the document as a row of its fields, to be joined."""
        from psycopg.sql import SQL, Identifier

        if self._mode == "jsonb" or not self._fields:
            return SQL("")
        typed = SQL(", ").join(
            SQL("{} {}").format(
                Identifier(each.name), SQL("text" if _binary(each) else column_type(each.type))
            )
            for each in self._fields
        )
        return SQL(" CROSS JOIN LATERAL jsonb_to_record({}.{}) AS field ({})").format(
            staged, Identifier(self._staged_document), typed
        )

    def _create(self, nullable: frozenset[str], *, lz4: bool) -> Composed:
        from psycopg.sql import SQL

        return SQL("CREATE TABLE {} ({}, {}) WITH (fillfactor = 85)").format(
            self._at(),
            self._defined(self.columns, nullable, version=self._version, lz4=lz4),
            self._unique(nullable),
        )

    def _create_side(self, nullable: frozenset[str]) -> Composed:
        from psycopg.sql import SQL

        columns = (*_typed(self._key), (self._deleted_version, "bigint"))
        return SQL("CREATE TABLE {} ({}, {})").format(
            self._side,
            self._defined(columns, nullable, version=self._deleted_version),
            self._unique(nullable),
        )

    def _defined(
        self,
        columns: Iterable[tuple[str, str]],
        nullable: frozenset[str],
        *,
        version: str,
        lz4: bool = False,
    ) -> Composed:
        from psycopg.sql import SQL, Identifier

        keys = {each.name for each in self._key}
        filled = {version, *keys} - nullable
        defined = []
        for name, type in columns:
            more = ' COLLATE "C"' if name in keys and type == "text" else ""
            more += " COMPRESSION lz4" if lz4 and type == "jsonb" else ""
            more += " NOT NULL" if name in filled else ""
            defined.append(SQL("{} {}{}").format(Identifier(name), SQL(type), SQL(more)))
        return SQL(", ").join(defined)

    def _unique(self, nullable: frozenset[str]) -> Composed:
        from psycopg.sql import SQL

        unique = SQL("UNIQUE NULLS NOT DISTINCT" if nullable else "PRIMARY KEY")
        return SQL("{} ({})").format(unique, _listed(each.name for each in self._key))

    def _standing(self, connection: psycopg.Connection[Any], table: Composable) -> dict[str, str]:
        """Return the columns of a table as it stands; none where it does not."""
        found = connection.execute(_FIND, (table.as_string(connection),))
        return {str(name): str(type) for name, type in found}

    def _migrate(self, connection: psycopg.Connection[Any], standing: dict[str, str]) -> None:
        """Add the columns that a product gained; the table's other columns are left alone."""
        from psycopg.sql import SQL, Identifier

        keys = {each.name for each in self._key}
        for name, type in self.columns:
            found = standing.get(name)
            if found is None and self._mode == "columns" and name not in {*keys, self._version}:
                connection.execute(
                    SQL("ALTER TABLE {} ADD COLUMN {} {}").format(
                        self._at(), Identifier(name), SQL(type)
                    )
                )
            elif found != type:
                raise SinkError(
                    f'table "{self.name}" does not fit the product: "{name}" has to be {type}',
                    detail=f"It is {found}." if found else "There is no such column.",
                    hint="Name another one with the option `table`; drop this one only if"
                    " Joinery created it and nobody else uses it.",
                )

    def _at(self, name: str = "") -> Composable:
        from psycopg.sql import Identifier

        named = name or self.name
        return Identifier(self._schema, named) if self._schema else Identifier(named)

    def _check_names(self) -> None:
        names = [name for name, _ in self.columns]
        for name in (*names, f"{self.name}__deleted"):
            if len(name.encode()) > MAX_NAME_BYTES or "\0" in name or not name:
                raise SinkError(
                    f'PostgreSQL cannot name a table or column "{name}"',
                    detail=f"A name has from 1 to {MAX_NAME_BYTES} bytes.",
                    hint="Give it another name in fields, or with the option `table`.",
                )
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise SinkError(
                f'"{twice}" is a column that the sink adds to table "{self.name}", and one of the'
                " product's",
                hint="Give that field another name, or use the other mode, jsonb or columns.",
            )


def _typed(fields: Sequence[Field]) -> list[tuple[str, str]]:
    return [(each.name, column_type(each.type)) for each in fields]


def column_type(type: DataType) -> str:
    """Return the type of a column, as PostgreSQL's `format_type` writes it."""
    if isinstance(type, Decimal):
        return f"numeric({type.precision},{type.scale})"
    return _TYPES[type.name] if isinstance(type, Atomic) else "jsonb"


def _binary(field: Field) -> bool:
    return column_type(field.type) == "bytea"


def _listed(names: Iterable[str]) -> Composed:
    from psycopg.sql import SQL, Identifier

    return SQL(", ").join(map(Identifier, names))


def _same(
    one: Composable, other: Composable, names: Iterable[str], nulls: frozenset[str]
) -> Composed:
    """Return the condition that two tables have the same key, in which `nulls` are null."""
    from psycopg.sql import SQL, Identifier

    null, equal = SQL("{one}.{name} IS NULL"), SQL("{one}.{name} = {other}.{name}")
    return SQL(" AND ").join(
        (null if name in nulls else equal).format(one=one, other=other, name=Identifier(name))
        for name in names
    )


def _has_lz4(connection: psycopg.Connection[Any]) -> bool:
    found = connection.execute(_LZ4).fetchone()
    return bool(found and found[0])
