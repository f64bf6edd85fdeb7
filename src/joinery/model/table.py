"""A table as its source describes it: columns in Spark's types, key, foreign keys, identity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

Identity = Literal["default", "full", "index", "nothing"]


@dataclass(frozen=True, slots=True, order=True)
class TableName:
    """The name of a table; `schema` is empty where the source has none."""

    schema: str
    table: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.table}" if self.schema else self.table


def nearest_table(name: TableName, known: Sequence[TableName]) -> TableName | None:
    """Return the table that a misspelled name may mean; None where none is like it.

    Names are compared without their schemas: `public.zzz` is not like `public.part` for these.

    Example:
        >>> known = [TableName("public", "customer"), TableName("hr", "person")]
        >>> str(nearest_table(TableName("", "persn"), known))
        'hr.person'
        >>> nearest_table(TableName("public", "zzz"), known) is None
        True
    """
    near = get_close_matches(name.table, [each.table for each in known], n=1)
    alike = [each for each in known if near and each.table == near[0]]
    own = [each for each in alike if each.schema == name.schema]
    return next(iter((*own, *alike)), None)


@dataclass(frozen=True, slots=True)
class Column:
    """A column.

    Attributes:
        type: Its Spark DDL type.
        large: Its values may be stored out of line, so that an update may leave them out.
        unit: What the number counts that a timestamp arrives as; None for other types.
    """

    name: str
    type: str
    large: bool = False
    unit: Literal["millis", "micros"] | None = None


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns of `child` that name a row of `parent`, pair by pair.

    Attributes:
        unique: No two rows of `child` name the same row.
    """

    child: TableName
    parent: TableName
    pairs: tuple[tuple[str, str], ...]
    unique: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the child."""
        return tuple(child for child, _ in self.pairs)


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table that can become a relation.

    Attributes:
        key: The primary key's columns, in order; empty where there is none.
        unique: Other columns that name one row at most, and are never null.
        foreign_keys: From this table and to it.
        identity: What an update and a delete tell of the old row; None where nobody told.
        identity_columns: Those of the index, where `identity` is one.
        left_out: Columns, with their types, that the source does not send.
        format: What its messages are written in, where that is known.
        topic: Where they are, where that is known.
    """

    name: TableName
    columns: tuple[Column, ...]
    key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    identity: Identity | None = None
    identity_columns: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    format: str | None = None
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class DatabaseSchema:
    """What a database holds.

    Attributes:
        name: The database's.
        tables: By schema and name.
        unreadable: Those that the user of the connection may not read.
    """

    name: str
    tables: tuple[SourceTable, ...]
    unreadable: frozenset[TableName]
