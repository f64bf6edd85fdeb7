"""Digests of the documents in a table of PostgreSQL, made by the server: 32 bytes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from joinery.clients.sql import listed, quoted
from joinery.model.change import Key
from joinery.model.type import Atomic, Struct
from joinery.sinks.postgres_table import column_type

if TYPE_CHECKING:
    import psycopg

# Their values stand in the same order in every database, and are read as the same in Python.
_ORDERED = ("byte", "short", "int", "long", "date")


def digest_sql(text: str) -> str:
    """Return the SQL of the digest of a text, the same in every server."""
    return f"sha256(convert_to({text}, 'UTF8'))"


class PostgresDigests:
    """The documents of one table, by ranges of their keys.

    Args:
        told: Gives the connection.
        place: The table, quoted.
        key: The columns of its key.
    """

    def __init__(
        self,
        told: Callable[[], AbstractContextManager[psycopg.Connection[Any]]],
        place: str,
        key: Struct,
    ) -> None:
        self._told, self._place, self._key = told, place, key

    @staticmethod
    def ordered(key: Struct) -> bool:
        """Return whether keys stand in the same order in every database."""
        kinds = [each.type for each in key.fields]
        return bool(kinds) and all(
            isinstance(each, Atomic) and each.name in _ORDERED for each in kinds
        )

    def between(self, after: Key | None, last: Key | None) -> Mapping[Key, bytes]:
        """Return the digests of all documents in a range of keys.

        Args:
            after: The key before the first one; None to begin with the first.
            last: The last key; None for all others, those with nulls included.
        """
        from psycopg import RawCursor

        fields = self._key.fields
        names = listed(each.name for each in fields)
        given: list[Any] = []
        kept: list[str] = []
        for sign, bound in ((">", after), ("<=", last)):
            if bound is not None:
                slots = [
                    f"${len(given) + at}::{column_type(each.type)}"
                    for at, each in enumerate(fields, 1)
                ]
                kept.append(f"({names}) {sign} ({', '.join(slots)})")
                given += bound
        digest = digest_sql("document::text")
        sql = f"SELECT {names}, {digest} FROM {self._place}"
        statement = f"{sql} WHERE {' AND '.join(kept)}" if kept else sql
        if after is not None and last is None:
            nulls = " OR ".join(f"{quoted(each.name)} IS NULL" for each in fields)
            statement += f" UNION ALL {sql} WHERE {nulls}"
        with self._told() as connection, connection.transaction():
            found = RawCursor(connection).execute(statement, given, binary=True)
            return {row[:-1]: row[-1] for row in found}
