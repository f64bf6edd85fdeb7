"""Digests of the documents in a table of PostgreSQL, made by the server: 32 bytes each.

They tell apart what differs by accident, and are no defence against who wants two documents to
have the same; a stronger one costs a tenth of all that a comparison does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from joinery.clients.sql import listed, quoted
from joinery.model.change import Key
from joinery.model.type import Atomic, Decimal, Struct
from joinery.sinks.postgres_table import column_type

if TYPE_CHECKING:
    import psycopg

# What a database gives of them is equal in Python where it is in the database.
_EQUAL = frozenset("boolean byte short int long string date timestamp timestamp_ntz binary".split())


def digest_sql(text: str) -> str:
    """Return the SQL of the digest of a text, the same in every server."""
    return f"md5(convert_to({text}, 'UTF8'))"


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
    def can_tell(key: Struct) -> bool:
        """Return whether keys of these columns can be asked for by ranges."""
        kinds = [each.type for each in key.fields]
        return bool(kinds) and all(
            isinstance(each, Decimal) or (isinstance(each, Atomic) and each.name in _EQUAL)
            for each in kinds
        )

    def between(self, after: Key | None, last: Key | None) -> Mapping[Key, str] | None:
        """Return the digests of all documents in a range of keys.

        Args:
            after: The key before the first one; None to begin with the first.
            last: The last key; None for all others, those with nulls included.

        Returns:
            None where keys stand in another order here, as of texts in another collation.
        """
        from psycopg import RawCursor

        fields = self._key.fields
        names = listed(each.name for each in fields)
        bounds = [(sign, key) for sign, key in ((">", after), ("<=", last)) if key is not None]
        given = [value for _, key in bounds for value in key]
        kept = [
            f"({names}) {sign} ({', '.join(self._slots(at))})"
            for at, (sign, _) in enumerate(bounds)
        ]
        sql = f"SELECT {names}, {digest_sql('document::text')} FROM {self._place}"
        statement = f"{sql} WHERE {' AND '.join(kept)}" if kept else sql
        if after is not None and last is None:
            nulls = " OR ".join(f"{quoted(each.name)} IS NULL" for each in fields)
            statement += f" UNION ALL {sql} WHERE {nulls}"
        with self._told() as connection, connection.transaction():
            cursor = RawCursor(connection)
            if after is not None and last is not None:
                told = cursor.execute(self._follows(), given).fetchone()
                if told is None or not told[0]:
                    return None
            return {row[:-1]: row[-1] for row in cursor.execute(statement, given, binary=True)}

    def _slots(self, place: int) -> list[str]:
        """Return the parameters of a key, the first being those of place 0."""
        fields = self._key.fields
        return [
            f"${place * len(fields) + at}::{column_type(each.type)}"
            for at, each in enumerate(fields, 1)
        ]

    def _follows(self) -> str:
        """Return what asks whether one key comes before another, in the collations of columns."""
        first = ", ".join(
            f"coalesce((SELECT {quoted(each.name)} FROM {self._place} LIMIT 0), {slot})"
            for each, slot in zip(self._key.fields, self._slots(0), strict=True)
        )
        return f"SELECT ({first}) < ({', '.join(self._slots(1))})"
