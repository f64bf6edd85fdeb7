"""What differs between the databases that statements are written for.

Invariant: names and texts from a declaration reach a statement only through `quoted` and
`literal`.
"""

from __future__ import annotations

from typing import Any, Protocol
from zlib import crc32

from joinery.expression.aggregate import AggregateSql
from joinery.model.type import DataType
from joinery.solutions.trigger.statement.fragment import Fragment

_LONGEST_NAME = 63


def literal(text: str) -> str:
    """Return `text` as a literal of standard SQL."""
    return "'" + text.replace("'", "''") + "'"


def given_name(purpose: str, path: str) -> str:
    """Return the name of the table in which a statement is given its values.

    Example:
        >>> given_name("changed", "user_profile/starred_repos")
        'changed user_profile/starred_repos'
    """
    name = f"{purpose} {path}"
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    return f"{purpose} {crc32(path.encode()):08x}"


class Dialect(AggregateSql, Protocol):
    """Values as a database holds them, each function where it means the same.

    Methods raise `UntranslatableError` for what cannot be said faithfully.
    """

    join: str
    """The join that begins at what a statement is given."""

    def view(self, name: str, select: str) -> tuple[str, ...]:
        """Return the statements that make a view, or put it in place of its like."""

    def text(self, sql: str) -> str:
        """Return a JSON value, of the database's own type, as text."""

    def constant(self, value: Any, kind: DataType) -> str:
        """Return a constant."""

    def json(self, sql: str, kind: DataType) -> str:
        """Return the JSON text of a value, the text `null` for null."""

    def plain(self, sql: str, kind: DataType) -> str:
        """Return the text of a value as a key of a map shows it."""

    def sortable(self, sql: str, kind: DataType) -> str:
        """Return a value so that it compares as documents compare it."""

    def same(self, left: str, right: str) -> str:
        """Return the equality under which null equals null."""

    def joinable(self, left: DataType, right: DataType) -> None:
        """Refuse two columns whose stored values may differ where the values are equal."""

    def joined(self, alias: str, table: str, pick: Pick, key: tuple[str, ...]) -> str:
        """Return the join that adds the first row of `table` that a condition picks, or none.

        Args:
            alias: Of the row that is added.
            table: Where it is, quoted; `key` are the columns of its key.
            pick: The candidates.
            key: See above.
        """

    def gathered(self, texts: str, sign: str) -> str:
        """Return the texts of a column, in the order of their rows, with a sign between."""

    def convert(self, value: Fragment, source: DataType, target: DataType) -> Fragment:
        """Return a cast."""

    def arithmetic(
        self, function: str, arguments: list[Fragment], operand: DataType, result: DataType
    ) -> Fragment:
        """Return `+ - * / % div -x abs` over numbers of one type."""

    def extreme(self, function: str, values: list[str], kind: DataType) -> str:
        """Return `greatest` or `least` of values, nulls skipped."""

    def call(self, function: str, arguments: list[str], constants: list[Any]) -> str:
        """Return a function that never fails and is null where an argument is.

        Args:
            function: As `expression/functions.py` names it.
            arguments: Their SQL.
            constants: Their values where they are constants, else None.
        """


class Pick(Protocol):
    """Which row of a table a `one` embed shows."""

    alias: str

    def rest(self) -> str:
        """Return `FROM …` up to `LIMIT 1`, over rows named `alias`."""
