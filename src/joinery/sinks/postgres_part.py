"""One connection's share of a batch: copied, then applied by guarded statements.

Invariant: a document that the database refuses is left out alone, and told; nothing of a
share is seen before `commit`.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from joinery.clients.postgres import database_errors, refuses_document
from joinery.model.type import BINARY, Struct
from joinery.sinks.key import key_json, stored_key, stored_values
from joinery.sinks.line import StagedRow
from joinery.sinks.postgres_refusal import why_refused
from joinery.sinks.postgres_table import PostgresTable, Statements
from joinery.sinks.protocol import FencedError, Refusal, SinkError, StagedBatch

if TYPE_CHECKING:
    import psycopg

_FILLED: frozenset[str] = frozenset()
_MOST_REFUSED = 1_000
_TASKS_FROM = 1_000_000  # beyond the numbers of a driver's connections
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


class PostgresPart:
    """Writes the rows of some keys over one connection.

    Args:
        connection: Its own.
        url: For messages.
        number: Of this part, from 0.
    """

    def __init__(self, connection: psycopg.Connection[Any], url: str, number: int) -> None:
        self._connection = connection
        self._url = url
        self._number = number
        self._staged = False
        self.refused: list[Refusal] = []
        self.older = 0

    def begin(self, table: PostgresTable, batch: StagedBatch, *, task: int | None = None) -> None:
        """Begin a batch, unless a later run has claimed the table.

        Args:
            table: The table.
            batch: What is to be applied.
            task: The part of the batch that a task writes, where not the driver writes.

        Raises:
            FencedError: A later run has claimed it.
        """
        self.refused, self.older = [], 0
        self._lines = line_writer(batch.key)
        self._table = table
        self._statements = {_FILLED: table.statements()}
        self._nullable: frozenset[str] | None = None
        fence = table.fence
        if task is None:
            number, locked = self._number, fence.locked_epoch(batch.query_id, self._number)
        else:
            number, locked = task + _TASKS_FROM, fence.shared_epoch(batch.query_id)
        found = self._connection.execute(locked).fetchone()
        if found is None or found[0] > batch.epoch:
            raise FencedError(f'another run of "{batch.query}" is writing to table "{table.name}"')
        if task is not None:
            self._connection.execute(fence.note_part(batch.query_id, number, batch.epoch))
        self._connection.execute(
            fence.note_batch(batch.query_id, number, batch_id=batch.batch_id, epoch=batch.epoch)
        )
        if not self._staged:
            self._connection.execute(self._statements[_FILLED].stage)

    def apply(self, rows: Sequence[StagedRow]) -> None:
        """Apply rows; where the database refuses one, the others are applied without it."""
        for nulls, alike in by_nulls(newest(rows)).items():
            if self._takes(nulls):
                self._apply(alike, self._statements_of(nulls))
            else:
                self._refuse_nulls(alike)

    def _takes(self, nulls: frozenset[str]) -> bool:
        """Return whether the tables take nulls in these columns of the key."""
        if nulls and self._nullable is None:
            self._nullable = self._table.nullable(self._connection)
        return not nulls or nulls <= (self._nullable or _FILLED)

    def _statements_of(self, nulls: frozenset[str]) -> Statements:
        if nulls not in self._statements:
            self._statements[nulls] = self._table.statements(nulls)
        return self._statements[nulls]

    def _refuse_nulls(self, rows: Sequence[StagedRow]) -> None:
        """Refuse documents whose key the tables cannot hold; of tombstones nothing is lost."""
        why = self._table.why_refused(self._connection)
        told = [each for each in rows if each.value is not None]
        self.refused += [Refusal(each, "document_refused", why) for each in told]

    def _apply(self, rows: Sequence[StagedRow], statements: Statements) -> None:
        try:
            with self._connection.transaction():
                self._load(statements, rows)
        except database_errors() as error:
            if not refuses_document(error):
                raise
            self._refuse(rows, statements, error)

    def forget(self, table: PostgresTable, before: int) -> None:
        """Forget deletes with a version below `before`."""
        self._connection.execute(table.forget(before))

    def commit(self) -> None:
        """Make the share visible and durable."""
        self._connection.commit()
        self._staged = True

    def abandon(self) -> None:
        """Take the share back."""
        if not self._connection.closed:
            self._connection.rollback()

    def _load(self, statements: Statements, rows: Sequence[StagedRow]) -> None:
        with self._connection.cursor() as cursor:
            with cursor.copy(statements.copy) as copy:
                copy.write("".join(map(self._lines, rows)))
            upserts = sum(1 for row in rows if row.value is not None)
            if upserts:
                cursor.execute(statements.upsert)
                if cursor.rowcount < upserts:
                    self.older += self._count(cursor, statements)
            if upserts < len(rows):
                cursor.execute(statements.delete)
                cursor.execute(statements.remember)
            cursor.execute(statements.clear)

    def _count(self, cursor: psycopg.Cursor[Any], statements: Statements) -> int:
        found = cursor.execute(statements.older).fetchone()
        return int(found[0]) if found else 0

    def _refuse(self, rows: Sequence[StagedRow], statements: Statements, error: Exception) -> None:
        if len(rows) > 1:
            half = len(rows) // 2
            self._apply(rows[:half], statements)
            self._apply(rows[half:], statements)
            return
        why = why_refused(error, rows[0], self._url)
        self.refused.append(Refusal(rows[0], "document_refused", why))
        if len(self.refused) > _MOST_REFUSED:
            raise SinkError(
                f"the table refuses more than {_MOST_REFUSED} documents of one batch",
                detail=why,
                hint="Check the table's constraints.",
            ) from error


def newest(rows: Sequence[StagedRow]) -> Sequence[StagedRow]:
    """Return each key once: a log may tell an event twice, which one statement cannot write.

    Example:
        >>> twice = [StagedRow('{"a":1}', "{}", 7), StagedRow('{"a":1}', '{"b":2}', 7)]
        >>> newest(twice)
        [StagedRow(key='{"a":1}', value='{"b":2}', version=7)]
    """
    found: dict[str, StagedRow] = {}
    for row in rows:
        if row.key not in found or found[row.key].version <= row.version:
            found[row.key] = row
    return rows if len(found) == len(rows) else list(found.values())


def by_nulls(rows: Sequence[StagedRow]) -> Mapping[frozenset[str], Sequence[StagedRow]]:
    """Return the rows by the columns of their keys that are null.

    Example:
        >>> rows = [StagedRow('{"a":1}', "{}", 7), StagedRow('{"a":null}', "{}", 7)]
        >>> [(sorted(nulls), len(alike)) for nulls, alike in by_nulls(rows).items()]
        [([], 1), (['a'], 1)]
    """
    found: dict[frozenset[str], list[StagedRow]] = {}
    for row in rows:
        found.setdefault(row.nulls_in_key, []).append(row)
    return found


def line_writer(key: Struct) -> Callable[[StagedRow], str]:
    r"""Return the function that writes a row as a line of COPY's text format.

    A document needs its backslashes doubled and no more: JSON holds no raw control character.

    Example:
        >>> from joinery.model.type import LONG, STRING, Field
        >>> line_writer(Struct((Field("a", STRING), Field("b", LONG))))(
        ...     StagedRow('{"a":"x\\ty","b":2}', None, 7)
        ... )
        'x\\ty\t2\t\\N\t7\n'
    """
    nested = any(isinstance(each.type, Struct) for each in key.fields)
    whole, broken = (int, Decimal) if nested else (str, str)
    decode = json.JSONDecoder(parse_int=whole, parse_float=broken).decode
    binary = {each.name for each in key.fields if each.type == BINARY}
    names = [each.name for each in stored_key(key).fields]

    def line(row: StagedRow) -> str:
        values = zip(names, stored_values(key, decode(row.key)), strict=True)
        cells = [_cell(value, hex=name in binary) for name, value in values]
        document = "\\N" if row.value is None else row.value.replace("\\", "\\\\")
        return "\t".join((*cells, document, str(row.version))) + "\n"

    return line


def _cell(value: Any, *, hex: bool) -> str:
    if value is None:
        return "\\N"
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, dict):
        return key_json(value).translate(_ESCAPES)
    text = f"\\x{base64.b64decode(value).hex()}" if hex else str(value)
    return text.translate(_ESCAPES)
